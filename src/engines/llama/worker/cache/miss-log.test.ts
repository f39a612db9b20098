import { expect, test } from 'vitest';
import { CacheMissLog } from './snapshot-cache.ts';

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);
const text = (...parts: number[][]) => ({ cached: Int32Array.from(parts.flat()), promptLength: parts.flat().length });
const tokens = (...parts: number[][]) => Int32Array.from(parts.flat());
const missLog = () =>
  new CacheMissLog(
    (list) => [...list].join(' '),
    () => false,
    () => 123,
  );

test('CacheMissLog: index of the difference, both texts and reusable tokens', () => {
  const seen = missLog();
  const miss = seen.look(
    text(range(0, 20), [7], range(30, 130)),
    tokens(range(0, 20), [8], range(30, 160)),
    (common) => common - 4,
  );
  expect(miss).toEqual({
    time: 123,
    partedAt: 20,
    promptTokens: 151,
    reusedTokens: 16,
    before: range(8, 20).join(' '),
    kept: [7, ...range(30, 41)].join(' '),
    wanted: [8, ...range(30, 41)].join(' '),
  });
  expect(seen.misses).toEqual([miss]);
});

test.each([
  ['a chat that goes on', range(0, 20), range(0, 40)],
  ['the same prompt again', range(0, 20), range(0, 20)],
  ['an empty cache', [], range(0, 20)],
  ['another chat that begins alike', range(0, 200), [...range(0, 20), ...range(500, 600)]],
])('CacheMissLog: %s is no miss', (_, kept, prompt) => {
  const seen = missLog();
  expect(seen.look(text(kept), tokens(prompt), (common) => common)).toBeUndefined();
  expect(seen.misses).toEqual([]);
});

test('CacheMissLog: ignores media ids and keeps the last misses', () => {
  const seen = missLog();
  for (let round = 0; round < 30; round += 1)
    seen.look(text([1, 2, 3, 4]), tokens([1, -9, round + 10, 5]), (common) => common);
  expect(seen.misses).toHaveLength(20);
  expect(seen.misses.at(-1)?.wanted).toBe('39 5');
});
