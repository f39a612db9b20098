import { expect, test } from 'vitest';
import { labelsOf, ranked, shuffled, tallied } from './comparison.ts';

test.each([
  [
    ['A', ''],
    ['B', ''],
    ['A', 'B'],
  ],
  [
    ['A', 'precise'],
    ['A', 'creative'],
    ['precise', 'creative'],
  ],
  [
    ['A', 'precise'],
    ['B', 'creative'],
    ['A · precise', 'B · creative'],
  ],
  [
    ['A', 'precise'],
    ['B', 'precise'],
    ['A', 'B'],
  ],
  [
    ['A', 'x'],
    ['A', 'x'],
    ['A · x', 'A · x'],
  ],
])('labelsOf: %j and %j', ([a = '', b = ''], [c = '', d = ''], labels) => {
  expect(
    labelsOf([
      { model: a, preset: b },
      { model: c, preset: d },
    ]),
  ).toEqual(labels);
});

test('shuffled: keeps all items', () => {
  expect(shuffled([1, 2, 3], () => 0)).toEqual([1, 2, 3]);
  expect(shuffled([1, 2, 3], () => 0.99)).toEqual([3, 2, 1]);
});

test('tallied: counts each candidate, and ranked sorts them by their share', () => {
  const tally = tallied(tallied(tallied({}, ['A', 'B'], 'A'), ['A', 'B'], 'B'), ['A', 'C'], 'C');
  expect(tally).toEqual({ A: { wins: 1, total: 3 }, B: { wins: 1, total: 2 }, C: { wins: 1, total: 1 } });
  expect(ranked(tally).map(({ label }) => label)).toEqual(['C', 'B', 'A']);
});
