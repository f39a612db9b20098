import { expect, test } from 'vitest';
import { turnsToSummarize } from './summary.ts';

test.each([
  ['keeps as much as fits', [10, 10, 10, 10, 10], 0, 25, 3],
  ['keeps the last two turns', [10, 500, 500], 0, 20, 1],
  ['has nothing to do for a short chat', [10, 10], 0, 100, 0],
  ['has nothing to do if all of it is summarized', [10, 10, 10, 10], 2, 20, 0],
  ['goes on from the last summary', [10, 10, 10, 10, 10], 2, 20, 3],
])('turnsToSummarize: %s', (_, sizes, summarized, room, expected) => {
  expect(turnsToSummarize(sizes, summarized, room)).toBe(expected);
});
