import type { TokenizerAndRendererExtension } from 'marked';
import { escaped } from './maths.ts';

const definition =
  /^ {0,3}\[\^([^\]\s]+)\]:[ \t]*([^\n]*(?:\n(?! {0,3}\[\^[^\]\s]+\]:)(?:[ \t]+[^\n]*|[^\n\S]*[^\s][^\n]*))*)(?:\n+|$)/;
const reference = /^\[\^([^\]\s]+)\](?!:)/;

/** Labels of the footnotes that a text defines. */
export function footnoteLabels(text: string): string[] {
  if (!text.includes('[^')) return [];
  return [...text.matchAll(/^ {0,3}\[\^([^\]\s]+)\]:/gm)].map(([, label = '']) => label);
}

/** Footnotes: `[^1]` in the text and `[^1]: …` on its own line. References become placeholders that the page fills. */
export const footnotes: TokenizerAndRendererExtension[] = [
  {
    name: 'footnote',
    level: 'block',
    start: (source) => /(?:^|\n)(?= {0,3}\[\^[^\]\s]+\]:)/.exec(source)?.index,
    tokenizer(source) {
      const [raw, label = '', text = ''] = definition.exec(source) ?? [];
      if (raw === undefined) return undefined;
      return { type: 'footnote', raw, label, tokens: this.lexer.inlineTokens(text.replace(/\n[ \t]+/g, '\n')) };
    },
    renderer(token) {
      const label = escaped(String(token.label));
      return `<p class="footnote" data-note="${label}">${this.parser.parseInline(token.tokens ?? [])}</p>\n`;
    },
  },
  {
    name: 'footnoteReference',
    level: 'inline',
    start: (source) => {
      const at = source.indexOf('[^');
      return at === -1 ? undefined : at;
    },
    tokenizer: (source) => {
      const [raw, label = ''] = reference.exec(source) ?? [];
      return raw === undefined ? undefined : { type: 'footnoteReference', raw, label };
    },
    renderer: ({ label }) =>
      `<sup class="footnote-reference" data-note="${escaped(String(label))}">${escaped(`[^${label}]`)}</sup>`,
  },
];
