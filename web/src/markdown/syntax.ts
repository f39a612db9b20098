import { Marked, type MarkedExtension } from 'marked';
import type { Lex } from './blocks.ts';
import { citation } from './citations.ts';
import { footnotes } from './footnotes.ts';
import { escaped, maths } from './maths.ts';
import { speech } from './speech.ts';

/** Harmless HTML tags that models use in markdown. All others are shown as text. */
const harmless = /^(?:<\/?(?:br|sub|sup|kbd|mark|u|b|i|s|em|strong|details|summary|p|hr)\s*\/?>\s*)+$/i;

const options: MarkedExtension = {
  gfm: true,
  breaks: true,
  extensions: [...maths, ...footnotes, citation],
  renderer: {
    html: ({ text }) => (harmless.test(text.trim()) ? text : escaped(text)),
    // Showing a text must not load anything from other servers.
    image: ({ href, text }) =>
      href.startsWith('data:image/')
        ? `<img src="${escaped(href)}" alt="${escaped(text)}">`
        : `<a href="${escaped(href)}">${escaped(text || href)}</a>`,
  },
};
const plain = new Marked(options);
const roleplay = new Marked(options, { extensions: speech });

export const lex: Lex = (text) => plain.lexer(text);

/** `speech`: quoted speech gets its own element. */
export function htmlOf(text: string, { speech: quotes = false } = {}): string {
  return (quotes ? roleplay : plain).parse(text, { async: false });
}
