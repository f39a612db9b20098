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

/** What a reader would see of a page, with one space wherever there is room between words. */
export function* pageText(html: string): Sliced<string> {
  const parts: string[] = [];
  let length = 0;
  let pieces = 0;
  for (const piece of htmlPieces(html)) {
    if (++pieces % 500 === 0) yield;
    const text = piece.type === 'text' ? piece.text : inline.has(piece.name) ? '' : ' ';
    parts.push(text);
    length += text.length;
    if (length > mostCharacters) break;
  }
  return collapsed(parts.join('').slice(0, mostCharacters));
}

export function collapsed(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}
