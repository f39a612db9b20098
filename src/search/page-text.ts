import type { Sliced } from '../core/slices.ts';
import { htmlPieces } from './html.ts';

/** These stand in the middle of a word or a sentence; every other tag parts what is before it from what is behind. */
const inline: ReadonlySet<string> = new Set(
  'a abbr acronym b bdi bdo big cite code dfn em font i ins kbd label mark q s samp small span strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);

/** A page of a million characters is a thick book; what comes behind is not looked at. */
const mostCharacters = 1_000_000;
/** Nor is what comes behind more tags than any page has that people read. */
const mostPieces = 300_000;
const piecesAtOnce = 200;

/** What a reader would see of a page, with one space wherever there is room between words. */
export function* pageText(html: string): Sliced<string> {
  const parts: string[] = [];
  let chunk = '';
  let length = 0;
  let pieces = 0;
  const collapse = (): void => {
    const text = chunk.replace(/\s+/g, ' ');
    const joins = text.startsWith(' ') && (parts.length === 0 || parts.at(-1)?.endsWith(' '));
    const part = joins ? text.slice(1) : text;
    if (part !== '') parts.push(part);
    chunk = '';
  };
  for (const piece of htmlPieces(html)) {
    const text = piece.type === 'text' ? piece.text : inline.has(piece.name) ? '' : ' ';
    chunk += text.slice(0, mostCharacters - length);
    length += text.length;
    pieces += 1;
    if (length >= mostCharacters || pieces >= mostPieces) break;
    if (pieces % piecesAtOnce !== 0 && chunk.length < 16_384) continue;
    collapse();
    yield;
  }
  collapse();
  return parts.join('').trimEnd();
}

export function collapsed(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
