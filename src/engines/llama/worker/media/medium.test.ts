import { expect, test } from 'vitest';
import { chunk, readImage } from '../testing/media.ts';
import { findSpans, mediumIds, mediumTokens } from './medium.ts';

const tiles = readImage(Int32Array.of(7), chunk(-10, 3), Int32Array.of(8), chunk(-20, 2));

test('a medium becomes its marks and, in the places of its chunks, their ids', () => {
  expect([...mediumTokens(tiles)]).toEqual([7, -10, -11, -12, 8, -20, -21]);
});

test('the chunks are found again among the tokens, however often they stand there', () => {
  const tokens = Int32Array.of(1, -20, -21, 2, ...mediumTokens(tiles), 3);
  expect(findSpans(tokens, [tiles]).map(({ start, chunk: { ids } }) => [start, ids[0]])).toEqual([
    [1, -20],
    [5, -10],
    [9, -20],
  ]);
  expect(findSpans(Int32Array.of(1, 2), [tiles])).toEqual([]);
});

test('a span that is not whole is none', () => {
  expect(findSpans(Int32Array.of(-10, -11, 5), [tiles])).toEqual([]);
});

test('the ids of equal content are equal, those of other content are not, and all are below −1', () => {
  const ids = mediumIds('a picture', 2000);
  expect(mediumIds('a picture', 2000)).toEqual(ids);
  expect(ids.every((id) => id < -1)).toBe(true);
  const other = mediumIds('another', 2000);
  expect(ids.filter((id, index) => id === other[index])).toHaveLength(0);
});
