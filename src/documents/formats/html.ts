import { htmlPieces } from '../../search/html.ts';
import { type StructuredText, TextLines } from './text-lines.ts';

const hidden = new Set(['script', 'style', 'noscript', 'template', 'svg', 'iframe', 'select', 'button', 'form']);
const around = new Set(['nav', 'footer', 'aside']);
const blocks = new Set(
  'address article blockquote body dd details div dl dt fieldset figcaption figure header hr html main ol p pre section summary table tbody tfoot thead ul'.split(
    ' ',
  ),
);
/** The main part of a page counts as such from this length on. */
const enough = 500;
const maxTitle = 300;

export interface PageText extends StructuredText {
  readonly title: string;
}

/** The readable text of a page: its main part or article where it has one, without scripts, menus and forms. */
export function* htmlText(html: string): Generator<void, PageText> {
  const whole = new TextLines();
  const main = new TextLines();
  let title = '';
  let inTitle = false;
  let isPre = false;
  let mainDepth = 0;
  let skipped: { name: string; depth: number } | undefined;
  let count = 0;
  const both = (change: (lines: TextLines) => void): void => {
    change(whole);
    if (mainDepth > 0) change(main);
  };
  for (const piece of htmlPieces(html)) {
    count += 1;
    if (count % 1000 === 0) yield;
    if (skipped) {
      if (piece.type !== 'text' && piece.name === skipped.name) {
        if (piece.type === 'close') skipped.depth -= 1;
        else if (!isClosed(piece)) skipped.depth += 1;
        if (skipped.depth === 0) skipped = undefined;
      }
      continue;
    }
    if (piece.type === 'text') {
      if (inTitle) title += title.length > maxTitle ? '' : piece.text;
      else if (isPre)
        for (const [index, line] of piece.text.split('\n').entries()) both((lines) => preLine(lines, line, index));
      else both((lines) => lines.add(piece.text.replace(/\s+/g, ' ')));
      continue;
    }
    const { name } = piece;
    const opens = piece.type === 'open';
    if (name === 'title') {
      inTitle = opens && title === '';
      continue;
    }
    if (opens && !isClosed(piece) && (hidden.has(name) || (around.has(name) && mainDepth === 0))) {
      skipped = { name, depth: 1 };
      continue;
    }
    if (name === 'main' || name === 'article') mainDepth = Math.max(0, mainDepth + (opens ? 1 : -1));
    if (name === 'pre') {
      both((lines) => {
        lines.paragraph();
        lines.isCode = opens;
      });
      isPre = opens;
    }
    if (name === 'br') both((lines) => lines.end());
    else if (/^h[1-6]$/.test(name)) {
      both((lines) => lines.paragraph());
      if (opens) both((lines) => lines.mark(`${'#'.repeat(Number(name[1]))} `));
    } else if (name === 'li') {
      both((lines) => lines.end());
      if (opens) both((lines) => lines.mark('- '));
    } else if (name === 'tr') both((lines) => (opens ? lines.row() : lines.rowEnd()));
    else if ((name === 'td' || name === 'th') && opens) both((lines) => lines.cell());
    else if (blocks.has(name)) both((lines) => lines.paragraph());
  }
  const { result } = main.length >= enough ? main : whole;
  return { title: title.replace(/\s+/g, ' ').trim().slice(0, maxTitle), ...result };
}

/** A tag that closes itself: `<svg />`. */
export const isClosed = ({ inside }: { readonly inside: string }): boolean => inside.endsWith('/');

function preLine(lines: TextLines, line: string, index: number): void {
  if (index > 0) lines.end();
  lines.add(line);
}
