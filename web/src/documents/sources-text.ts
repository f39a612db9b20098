import type { Source } from '../conversations/conversation.ts';

const instruction =
  'Sources. Cite the number of each that you use in brackets, such as [1], after the sentence that it supports:';

/** The sources of a message as the model reads them: numbered, with their titles, each text in a fence. */
export function sourcesText(sources: readonly Source[]): string {
  if (sources.length === 0) return '';
  const list = sources.map(({ title, url, text }, index) => {
    const heading = url === undefined ? title : `${title} (${url})`;
    const fence = fenceFor(text);
    return `[${index + 1}] ${heading}\n${fence}\n${text.trim()}\n${fence}`;
  });
  return `${instruction}\n\n${list.join('\n\n')}`;
}

/** Longer than any run of backticks in the text. */
export function fenceFor(text: string): string {
  let longest = 2;
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length);
  return '`'.repeat(longest + 1);
}
