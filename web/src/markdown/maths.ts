import type { TokenizerAndRendererExtension } from 'marked';

const block = /^(?:\$\$([^$]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n|$)/;
const display = /^(?:\$\$([^$\n]+?)\$\$|\\\[([^\n]+?)\\\])/;
/** A dollar opens a formula only before a non-space, and closes one only after a non-space and not before a digit. */
const inline = /^(?:\$(?![\s$])((?:\\.|[^\\$\n])*?[^\s\\$])\$(?!\d)|\\\(([\s\S]+?)\\\))/;

/** Formulas in `$…$`, `$$…$$`, `\\(…\\)` and `\\[…\\]`. They become placeholders that the page fills. */
export const maths: TokenizerAndRendererExtension[] = [
  {
    name: 'mathsBlock',
    level: 'block',
    start: (source) => indexIn(source, /\n(?=(?:\$\$[^$]+?\$\$|\\\[[\s\S]+?\\\])[ \t]*(?:\n|$))/),
    tokenizer: (source) => token('mathsBlock', block.exec(source), true),
    renderer: ({ tex }) => `<p>${placeholder(String(tex), true)}</p>`,
  },
  {
    name: 'mathsInline',
    level: 'inline',
    start: (source) => indexIn(source, /\$|\\[([]/),
    tokenizer: (source) =>
      token('mathsInline', display.exec(source), true) ?? token('mathsInline', inline.exec(source), false),
    renderer: ({ tex, display: whole }) => placeholder(String(tex), Boolean(whole)),
  },
];

function indexIn(source: string, mark: RegExp): number | undefined {
  const match = mark.exec(source);
  return match ? match.index : undefined;
}

function token(type: string, match: RegExpExecArray | null, whole: boolean) {
  if (!match) return undefined;
  return { type, raw: match[0], tex: (match[1] ?? match[2] ?? '').trim(), display: whole };
}

function placeholder(tex: string, whole: boolean): string {
  return `<span class="maths" data-tex="${escaped(tex)}"${whole ? ' data-display="true"' : ''}>${escaped(tex)}</span>`;
}

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
