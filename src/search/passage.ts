import type { Sliced } from '../core/slices.ts';
import { PhraseFinder, phraseTree } from '../patterns/phrase-finder.ts';
import { collapsed } from './page-text.ts';

const before = 200;
const behind = 800;
/** Less than this may stand anywhere. */
const leastCharacters = 20;
const mostCharacters = 1000;
const charactersAtOnce = 32_768;

/**
 * What stands around a snippet in the text of its page; empty where it is not there. Search pages join several places of a
 * page by dots: where the whole is not found, the longest of them counts.
 */
export function* passageAround(text: string, snippet: string): Sliced<string> {
  const whole = collapsed(snippet).slice(0, mostCharacters);
  const pieces = whole
    .split(/…|\.{3,}/)
    .map((piece) => piece.trim())
    .filter((piece) => piece.length >= leastCharacters)
    .sort((a, b) => b.length - a.length);
  for (const wanted of new Set([whole, ...pieces.slice(0, 3)])) {
    const place = yield* placeOf(wanted, text);
    if (place !== undefined) return text.slice(Math.max(0, place - before), place + wanted.length + behind);
  }
  return '';
}

/** In linear time: pages are written by strangers, and the search of the language can be made to take very long. */
function* placeOf(wanted: string, text: string): Sliced<number | undefined> {
  if (wanted === '') return undefined;
  const finder = new PhraseFinder(phraseTree([wanted]));
  let ahead = 0;
  for (let place = 0; place < text.length; place += charactersAtOnce) {
    const { text: before, match } = finder.push(text.slice(place, place + charactersAtOnce));
    ahead += before.length;
    if (match) return ahead;
    yield;
  }
  return undefined;
}
