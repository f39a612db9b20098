import type { TokenizerAndRendererExtension } from 'marked';

/** Quoted speech on one line, with the marks of several languages. An inch mark after a digit opens nothing. */
const quoted = /^(?:"(?=\S)[^"\n]+"|“[^”\n]+”|„[^“”\n]+[“”]|«[^»\n]+»|「[^」\n]+」|『[^』\n]+』)/;

/** Speech of characters: `"Hello."` becomes an element with its own color. */
export const speech: TokenizerAndRendererExtension[] = [
  {
    name: 'speech',
    level: 'inline',
    start: (source) => /(?<![\d\p{L}])"|[“„«「『]/u.exec(source)?.index,
    tokenizer(source) {
      const raw = quoted.exec(source)?.[0];
      if (raw === undefined) return undefined;
      const [open = '', close = ''] = [raw.at(0), raw.at(-1)];
      return { type: 'speech', raw, open, close, tokens: this.lexer.inlineTokens(raw.slice(1, -1)) };
    },
    renderer({ open, close, tokens }) {
      return `<span class="speech">${mark(String(open))}${this.parser.parseInline(tokens ?? [])}${mark(String(close))}</span>`;
    },
  },
];

const mark = (character: string): string => (character === '"' ? '&quot;' : character);
