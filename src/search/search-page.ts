import type { Hit } from './hit.ts';
import { attributeOf, type HtmlPiece, htmlPieces } from './html.ts';
import { collapsed } from './page-text.ts';

const headings: ReadonlySet<string> = new Set(['h2', 'h3', 'h4']);
const titleClass = /(?:^|\s)result(?:__a|-link|-title|__title-a)(?:\s|$)/i;
const descriptionClass = /(?:^|[\s_-])(?:snippet|content|description|desc|abstract)(?:$|[\s_-])/i;
const mostDescription = 500;
/** More tags than any search page has. */
const mostPieces = 200_000;
const piecesAtOnce = 100;
const longTag = 1000;

/**
 * The results on a page made for people. Search pages have this in common: a link in a heading (or of a class that says so)
 * is the title of a result, and what follows is its description, where one element says that it is that, or all of it.
 */
export function* hitsOnPage(html: string): Generator<Hit | undefined, void> {
  let pieces = 0;
  let reading: Reading | undefined;
  let heading = 0;
  for (const piece of htmlPieces(html)) {
    if (piece.type !== 'text' && headings.has(piece.name)) heading += piece.type === 'open' ? 1 : -1;
    if (heading < 0) heading = 0;
    const url = titleLink(piece, heading > 0);
    if (url !== undefined) {
      if (reading) yield reading.hit();
      reading = new Reading(url);
    } else reading?.read(piece);
    pieces += 1;
    if (pieces >= mostPieces) break;
    // Others are let in here.
    const isLong = piece.type === 'open' && piece.inside.length > longTag;
    if (pieces % piecesAtOnce === 0 || piece.type === 'text' || isLong) yield undefined;
  }
  if (reading) yield reading.hit();
}

function titleLink(piece: HtmlPiece, inHeading: boolean): string | undefined {
  if (piece.type !== 'open' || piece.name !== 'a') return undefined;
  if (!inHeading && !titleClass.test(attributeOf(piece.inside, 'class') ?? '')) return undefined;
  return attributeOf(piece.inside, 'href');
}

/** One result, while the page goes on behind its title. */
class Reading {
  #title = '';
  #description = '';
  #inTitle = true;
  /** How deep we are in the element that is the description; undefined before it, 0 behind it. */
  #depth: number | undefined;
  #element = '';

  constructor(readonly url: string) {}

  read(piece: HtmlPiece): void {
    if (piece.type === 'text') this.#add(piece.text);
    else if (this.#inTitle) {
      if (piece.type === 'close' && piece.name === 'a') this.#inTitle = false;
    } else if (this.#depth === undefined) this.#begin(piece);
    else if (this.#depth > 0 && piece.name === this.#element) this.#depth += piece.type === 'open' ? 1 : -1;
    else if (piece.name === 'br' || piece.name === 'p') this.#add(' ');
  }

  hit(): Hit {
    const description = collapsed(this.#description).slice(0, mostDescription);
    return { title: collapsed(this.#title), url: this.url, description };
  }

  #add(text: string): void {
    if (this.#inTitle) {
      if (this.#title.length < mostDescription) this.#title += text;
    } else if (this.#depth !== 0 && this.#description.length < 4 * mostDescription) this.#description += text;
  }

  #begin(piece: HtmlPiece): void {
    if (piece.type === 'open' && descriptionClass.test(attributeOf(piece.inside, 'class') ?? '')) {
      this.#description = '';
      this.#element = piece.name;
      this.#depth = 1;
    } else this.#add(' ');
  }
}
