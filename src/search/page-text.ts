import type { Sliced } from '../core/slices.ts';
import { PhraseFinder, phraseTree } from '../patterns/phrase-finder.ts';
import { htmlPieces } from './html.ts';

/** Inline elements; every other tag separates words. */
const inline: ReadonlySet<string> = new Set(
  'a abbr acronym b bdi bdo big cite code dfn em font i ins kbd label mark q s samp small span strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);

/** Text and tags beyond these limits are ignored. */
const maxCharacters = 1_000_000;
const maxPieces = 300_000;
const piecesAtOnce = 200;

/** The visible text of a page, with white space collapsed. */
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
    chunk += text.slice(0, maxCharacters - length);
    length += text.length;
    pieces += 1;
    if (length >= maxCharacters || pieces >= maxPieces) break;
    if (pieces % piecesAtOnce !== 0 && chunk.length < 16_384) continue;
    collapse();
    yield;
  }
  collapse();
  return parts.join('').trimEnd();
}

const maxTitleLength = 300;

/** The text of the first `title` element. */
export function pageTitle(html: string): string {
  let title: string | undefined;
  let pieces = 0;
  for (const piece of htmlPieces(html)) {
    if (++pieces > piecesAtOnce * 10) break;
    if (piece.type === 'open' && piece.name === 'title') title ??= '';
    else if (title !== undefined && piece.type === 'text') title += piece.text.slice(0, maxTitleLength);
    else if (title !== undefined) break;
  }
  return collapsed(title ?? '').slice(0, maxTitleLength);
}

export function collapsed(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

const before = 200;
const behind = 800;
/** Shorter parts of a snippet may match anywhere in a page. */
const minSnippetLength = 20;
const maxSnippetLength = 1000;
const charactersAtOnce = 32_768;

/** The text around a snippet, or else around one of its longest excerpts (between ellipses); empty if none is found. */
export function* passageAround(text: string, snippet: string): Sliced<string> {
  const whole = collapsed(snippet).slice(0, maxSnippetLength);
  const pieces = whole
    .split(/…|\.{3,}/)
    .map((piece) => piece.trim())
    .filter((piece) => piece.length >= minSnippetLength)
    .sort((a, b) => b.length - a.length);
  for (const phrase of new Set([whole, ...pieces.slice(0, 3)])) {
    const position = yield* positionOf(phrase, text);
    if (position !== undefined) return text.slice(Math.max(0, position - before), position + phrase.length + behind);
  }
  return '';
}

/** Linear time: pages are untrusted, and `indexOf` is quadratic for some inputs. */
function* positionOf(phrase: string, text: string): Sliced<number | undefined> {
  if (phrase === '') return undefined;
  const finder = new PhraseFinder(phraseTree([phrase]));
  let ahead = 0;
  for (let position = 0; position < text.length; position += charactersAtOnce) {
    const { text: before, match } = finder.push(text.slice(position, position + charactersAtOnce));
    ahead += before.length;
    if (match) return ahead;
    yield;
  }
  return undefined;
}
