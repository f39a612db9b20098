import { expect, test } from 'vitest';
import { attempt } from './attempt.ts';

test('attempt: returns the result', () => {
  expect(attempt(() => 1, 2)).toBe(1);
});

test('attempt: returns the fallback if the work throws', () => {
  const fail = (): number => {
    throw new Error('no');
  };
  expect(attempt(fail, undefined)).toBeUndefined();
});
