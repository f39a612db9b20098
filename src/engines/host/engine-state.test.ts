import { expect, test } from 'vitest';
import { backoffMs } from './engine-state.ts';

test.each([
  [1, 0],
  [2, 500],
  [3, 1000],
  [6, 8000],
  [20, 30_000],
])('backoffMs: after failure %i in a row it is %i ms', (failures, expected) => {
  expect(backoffMs(failures)).toBe(expected);
});
