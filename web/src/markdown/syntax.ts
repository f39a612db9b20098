import { Marked } from 'marked';
import type { Lex } from './blocks.ts';
import { escaped, maths } from './maths.ts';

/** Harmless HTML tags that models use in markdown. All others are shown as text. */
const harmless = /^(?:<\/?(?:br|sub|sup|kbd|mark|u|b|i|s|em|strong|details|summary|p|hr)\s*\/?>\s*)+$/i;

const marked = new Marked({
  gfm: true,
  breaks: true,
  extensions: maths,
  renderer: {
    html: ({ text }) => (harmless.test(text.trim()) ? text : escaped(text)),
    // Showing a text must not load anything from other servers.
    image: ({ href, text }) =>
      href.startsWith('data:image/')
        ? `<img src="${escaped(href)}" alt="${escaped(text)}">`
        : `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
  },
});

export const lex: Lex = (text) => marked.lexer(text);

export function htmlOf(text: string): string {
  return marked.parse(text, { async: false });
}
