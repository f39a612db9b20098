import { describe, expect, test } from 'vitest';
import { cheapestPath, joinWords, medians, timeWords, tokenTimes } from './align.ts';

const bytes = (...texts: string[]): Uint8Array[] => texts.map((text) => Buffer.from(text));

test('medians: removes single peaks, and mirrors the ends', () => {
  expect([...medians(Float64Array.of(0, 0, 0, 9, 0, 0, 0, 0))]).toEqual(new Array(8).fill(0));
  expect([...medians(Float64Array.of(1, 2, 3, 4, 5, 6, 7, 8))].slice(3, 5)).toEqual([4, 5]);
  expect([...medians(Float64Array.of(3, 1))]).toEqual([3, 1]);
});

test('cheapestPath: enters each row where it is cheap', () => {
  const cheap = [[0, 1], [2, 3, 4], [5]];
  const cost = Float64Array.from({ length: 18 }, (_, place) =>
    cheap[Math.floor(place / 6)]?.includes(place % 6) ? -1 : 1,
  );
  expect(cheapestPath(cost, 3, 6)).toEqual([0, 2, 5]);
});

test('tokenTimes: follows the attention of the heads', () => {
  const columns = 60;
  const places = [0, 5, 20, 40];
  /** Each row attends to its place, and all of them to the last column. */
  const head = () => {
    const weights = new Float32Array(4 * columns).fill(0.001);
    for (const [row, place] of places.entries()) {
      const end = places[row + 1] ?? columns - 1;
      weights.fill(0.5, row * columns + place, row * columns + end);
      weights[row * columns + columns - 1] = 0.9;
    }
    return { weights, rows: 4, columns };
  };
  const times = tokenTimes([head(), head()], 1);
  expect(times).toHaveLength(3);
  for (const [index, time] of times.entries()) {
    expect(Math.abs(time - (index === 0 ? 0 : (places[index + 1] ?? 0)) * 0.02)).toBeLessThanOrEqual(0.08);
  }
  expect(tokenTimes([], 0)).toEqual([]);
  expect(tokenTimes([head()], 4)).toEqual([]);
});

describe('joinWords', () => {
  test('a word begins with a space; signs belong to the word before', () => {
    expect(joinWords(bytes(' lov', 'ely', ' day', '.', ' "', 'No'), 'en')).toEqual([
      { word: ' lovely', tokens: 2 },
      { word: ' day.', tokens: 2 },
      { word: ' "No', tokens: 2 },
    ]);
  });

  test('languages without spaces: each token is a word', () => {
    expect(joinWords(bytes('今', '日', 'は', '。'), 'ja').map(({ word }) => word)).toEqual(['今', '日', 'は。']);
  });

  test('characters of two tokens are joined', () => {
    const [first, second, third] = Buffer.from('今');
    const parts = [Uint8Array.of(first ?? 0, second ?? 0), Uint8Array.of(third ?? 0), Buffer.from('日')];
    expect(joinWords(parts, 'zh')).toEqual([
      { word: '今', tokens: 2 },
      { word: '日', tokens: 1 },
    ]);
  });

  test('an incomplete character at the end is kept', () => {
    expect(joinWords([Uint8Array.of(0xe4)], 'zh')).toEqual([{ word: '\ufffd', tokens: 1 }]);
  });
});

describe('timeWords', () => {
  const words = [
    { word: ' Good', tokens: 1 },
    { word: ' morning.', tokens: 2 },
    { word: ' Bye', tokens: 1 },
  ];

  test('a word lasts to the next one', () => {
    expect(timeWords(words, [0, 0.3, 0.5, 0.7, 1])).toEqual([
      { word: ' Good', start: 0, end: 0.3 },
      { word: ' morning.', start: 0.3, end: 0.7 },
      { word: ' Bye', start: 0.7, end: 1 },
    ]);
  });

  test('cuts off the pause before the first word and after others', () => {
    const [first, second] = timeWords(words, [0, 3, 3.2, 9, 9.4]);
    expect(first?.start).toBeGreaterThan(1);
    expect(first?.end).toBe(3);
    expect(second?.start).toBe(3);
    expect(second?.end).toBeLessThan(5);
  });

  test('missing times are those of the last token', () => {
    expect(timeWords(words, [1]).map(({ start, end }) => [start, end])).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
    ]);
  });
});
