import { expect, test } from 'vitest';
import { CitationFinder, type NumberedSource } from './citations.ts';

const page = (url: string, text: string): NumberedSource => ({ source: { url, title: url, text }, fetched: false });
const cats = page('https://cats.example/', 'A cat sleeps for about fifteen hours a day, mostly in daylight.');
const dogs = page('https://dogs.example/walk', 'Dogs need walks.');

/** What is cited, and the cited part of the text; the text arrives in pieces of this length. */
function cited(text: string, pieceLength = 3, sources: readonly NumberedSource[] = [cats, dogs]) {
  const finder = new CitationFinder(sources);
  const found: string[] = [];
  let length = 0;
  const note = (citations: ReturnType<CitationFinder['push']>): void => {
    for (const { source, length: units, back, quote } of citations) {
      const end = length - back;
      const at = text.slice(end - units, end);
      found.push(`${at} > ${new URL(source.url).host}${quote ? ` (${quote.text})` : ''}`);
    }
  };
  for (let place = 0; place < text.length; place += pieceLength) {
    const piece = text.slice(place, place + pieceLength);
    length += piece.length;
    note(finder.push(piece));
  }
  note(finder.finish());
  return found;
}

test.each([1, 2, 7, 1000])(
  'CitationFinder: finds numbers, addresses and quotes in pieces of %i characters',
  (length) => {
    expect(cited('They sleep [1], and walk [1, 2].', length)).toEqual([
      '[1] > cats.example',
      '[1, 2] > cats.example',
      '[1, 2] > dogs.example',
    ]);
    expect(cited('See https://dogs.example/walk, or (https://cats.example).', length)).toEqual([
      'https://dogs.example/walk > dogs.example',
      'https://cats.example > cats.example',
    ]);
    expect(cited('It says “a cat”, and "sleeps for about fifteen hours a day".', length)).toEqual([
      '"sleeps for about fifteen hours a day" > cats.example (sleeps for about fifteen hours a day)',
    ]);
    expect(cited('An address at the end: https://dogs.example/walk', length)).toHaveLength(1);
  },
);

test('CitationFinder: a number that no page has, another address and a changed quote are no citations', () => {
  expect(cited('[0] [3] [99999] https://dogs.example/walks "sleeps for about sixteen hours a day"')).toEqual([]);
  expect(cited('They sleep [1].', 3, [])).toEqual([]);
});

test('CitationFinder: a link with a number is one citation', () => {
  expect(cited('Yes [1](https://cats.example/).')).toEqual(['[1] > cats.example']);
});

test('CitationFinder: brackets in code are no citations', () => {
  expect(cited('`a[1]` and\n```\nb[2]\n```\nbut [2]')).toEqual(['[2] > dogs.example']);
});
