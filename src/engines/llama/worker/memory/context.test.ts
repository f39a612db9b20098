import { expect, test } from 'vitest';
import { canContinueAt } from './context.ts';

test.each([
  ['a window that still begins at the first token', 3, { first: 0, last: 90, window: 32 }, true],
  ['a window that holds just what is seen', 81, { first: 50, last: 90, window: 32 }, true],
  ['a window that lacks one token', 80, { first: 50, last: 90, window: 32 }, false],
  ['a window behind which nothing is dropped', 91, { first: 70, last: 90, window: 32 }, true],
  ['a state at its end', 91, { first: 90, last: 90, window: 2 }, true],
  ['a state one token before', 90, { first: 90, last: 90, window: 2 }, false],
  ['a state that has gone too far', 88, { first: 91, last: 91, window: 2 }, false],
])('canContinueAt: %s', (_, position, held, possible) => {
  expect(canContinueAt(position, held)).toBe(possible);
});
