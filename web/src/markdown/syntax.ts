import { Marked } from 'marked';
import type { Lex } from './blocks.ts';
import { escaped, maths } from './maths.ts';

/** The few tags that models write among markdown and that do no harm; all others are shown as the text they are. */
const harmless = /^(?:<\/?(?:br|sub|sup|kbd|mark|u|b|i|s|em|strong|details|summary|p|hr)\s*\/?>\s*)+$/i;

const marked = new Marked({
  gfm: true,
  breaks: true,
  extensions: maths,
  renderer: {
    html: ({ text }) => (harmless.test(text.trim()) ? text : escaped(text)),
    // Nothing is fetched from elsewhere by showing a text.
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
