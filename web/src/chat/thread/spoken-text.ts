import { type StoryPart, splitNarration } from '../../sound/narration.ts';
import { texts } from './texts.ts';

/** Text for speech: without code, markdown syntax and link addresses. */
export function spokenText(markdown: string): string {
  return withoutMarks(withoutBlocks(markdown));
}

/** Speech and narration of a story, each as text for speech. `plain` is the kind of a text without quotation marks and actions. */
export function spokenParts(markdown: string, plain: StoryPart['kind']): readonly StoryPart[] {
  return splitNarration(withoutBlocks(markdown), plain)
    .map(({ kind, text }) => ({ kind, text: withoutMarks(text).replace(leftover, '') }))
    .filter(({ text }) => /[\p{L}\p{N}]/u.test(text));
}

/** The punctuation between a quotation and what follows it. */
const leftover = /^[\s,;.:،–—-]+/;

function withoutBlocks(markdown: string): string {
  return markdown
    .replace(/^(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^\1[^\n]*$|(?![\s\S]))/gm, ` ${texts.spoken.code} `)
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1');
}

function withoutMarks(markdown: string): string {
  return markdown
    .replace(/^\s{0,3}(?:#{1,6}|>|[-*+]|\d+\.)\s+/gm, '')
    .replace(/^\s*\|?(?:\s*:?-{2,}:?\s*\|)+.*$/gm, '')
    .replaceAll('|', ', ')
    .replace(/(\*\*|__|~~|`)(.*?)\1/g, '$2')
    .replace(/(^|\W)[*_](\S(?:.*?\S)?)[*_](?=\W|$)/g, '$1$2')
    .replace(/\n{2,}/g, '\n')
    .trim();
}
