import { texts } from './texts.ts';

/** Text for speech: without code, markdown syntax and link addresses. */
export function spokenText(markdown: string): string {
  return markdown
    .replace(/^(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^\1[^\n]*$|(?![\s\S]))/gm, ` ${texts.spoken.code} `)
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s{0,3}(?:#{1,6}|>|[-*+]|\d+\.)\s+/gm, '')
    .replace(/^\s*\|?(?:\s*:?-{2,}:?\s*\|)+.*$/gm, '')
    .replaceAll('|', ', ')
    .replace(/(\*\*|__|~~|`)(.*?)\1/g, '$2')
    .replace(/(^|\W)[*_](\S(?:.*?\S)?)[*_](?=\W|$)/g, '$1$2')
    .replace(/\n{2,}/g, '\n')
    .trim();
}
