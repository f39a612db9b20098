import { expect, test } from 'vitest';
import { fixedCounts, rowsOf } from './busy.ts';

test('fixedCounts: every number of a small machine, the top and the halves of a larger one', () => {
  expect(fixedCounts(1)).toEqual([1]);
  expect(fixedCounts(2)).toEqual([2, 1]);
  expect(fixedCounts(4)).toEqual([4, 3, 2, 1]);
  expect(fixedCounts(16)).toEqual([16, 15, 14, 8, 4, 2, 1]);
});

test('rowsOf: the share is that of the best fixed number, within each round', () => {
  const waves = (...speeds: number[]) =>
    speeds.map((tokensPerSecond) => ({ tokensPerSecond, promptMs: 1000 / tokensPerSecond }));
  const rows = rowsOf(
    1,
    new Map([
      ['adaptive', waves(90, 45, 80)],
      ['2 fixed', waves(10, 10, 10)],
      ['1 fixed', waves(100, 50, 100)],
      ['peer', waves(9, 9, 10)],
    ]),
  );
  expect(rows.map(({ what, value }) => [what, value])).toEqual([
    ['1 busy', 80],
    ['1 busy, 2 fixed', 10],
    ['1 busy, 1 fixed', 100],
    ['1 busy, share of 1 fixed', 0.9],
    ['1 busy, prompts', 12.5],
    ['1 busy, prompts, share of 1 fixed', 0.9],
  ]);
  expect(rows[0]).toMatchObject({ peer: { value: 9, ratio: 8 }, ratioGoal: { atLeast: 4 } });
  expect(rows[3]?.goal).toEqual({ atLeast: 0.85 });
});
