import type { TokenizerAndRendererExtension } from 'marked';
import { escaped } from './maths.ts';

/** `[2]`, `[1, 3]`: not the text of a link, and not its definition. */
const mark = /\[(\d{1,3}(?: ?, ?\d{1,3}){0,9})\](?!\(|:|\[(?!\d))/;
const atStart = new RegExp(`^${mark.source}`);

const numbersIn = (list: string): number[] => list.split(',').map(Number);

/** Marks of sources. They become placeholders, which the page fills where there is such a source. */
export const citation: TokenizerAndRendererExtension = {
  name: 'citation',
  level: 'inline',
  start: (source) => /\[\d/.exec(source)?.index,
  tokenizer(source) {
    const [raw, list = ''] = atStart.exec(source) ?? [];
    if (raw === undefined || Object.hasOwn(this.lexer.tokens.links ?? {}, list)) return undefined;
    return { type: 'citation', raw, list };
  },
  renderer: ({ raw, list }) => `<sup class="citation" data-cite="${escaped(String(list))}">${escaped(raw)}</sup>`,
};

/** Of a placeholder: the numbers of sources that exist, from 1. */
export function validNumbers(list: string, total: number): number[] {
  return [...new Set(numbersIn(list))].filter((number) => number >= 1 && number <= total);
}

/** The numbers of sources that a text cites outside of code. */
export function citedNumbers(text: string, total: number): ReadonlySet<number> {
  const prose = text.replace(/^ {0,3}(`{3,}|~{3,})[\s\S]*?(?:^ {0,3}\1|$(?![\s\S]))|`[^`\n]*`/gm, '');
  const all = [...prose.matchAll(new RegExp(mark, 'g'))].flatMap(([, list = '']) => validNumbers(list, total));
  return new Set(all);
}
