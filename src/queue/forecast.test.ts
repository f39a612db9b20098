import fc from 'fast-check';
import { expect, test } from 'vitest';
import { secondsLeft, secondsUntilFirstEnds, secondsUntilLast } from './policy.ts';

const shared = (seconds: number) => ({ alone: false, seconds });
const lone = (seconds: number) => ({ alone: true, seconds });

test.each([
  ['no request runs', [shared(5)], [], 1, 0],
  ['a place is free', [shared(5)], [shared(3)], 2, 0],
  ['it is next', [shared(5)], [shared(3)], 1, 3],
  ['one goes before it', [shared(5), shared(5)], [shared(3)], 1, 8],
  ['the quicker of two ends', [shared(5)], [shared(9), shared(3)], 2, 3],
  ['two go before it to two places', [shared(5), shared(5), shared(5)], [shared(9), shared(3)], 2, 9],
  ['it must be alone', [lone(1)], [shared(9), shared(3)], 2, 9],
  ['one that must be alone goes before it', [lone(2), shared(5)], [shared(9)], 2, 11],
])('secondsUntilLast: %s', (_, order, running, capacity, expected) => {
  expect(secondsUntilLast(order, running, capacity)).toBe(expected);
});

test('secondsUntilLast: at most the sequential time, and monotonic in the position', () => {
  const work = fc.record({ alone: fc.boolean(), seconds: fc.integer({ min: 1, max: 60 }) });
  fc.assert(
    fc.property(fc.array(work, { minLength: 1, maxLength: 12 }), fc.integer({ min: 1, max: 4 }), (order, capacity) => {
      const waits = order.map((_, index) => secondsUntilLast(order.slice(0, index + 1), [], capacity));
      const sum = order.slice(0, -1).reduce((all, { seconds }) => all + seconds, 0);
      expect(waits.at(-1)).toBeLessThanOrEqual(sum);
      expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    }),
  );
});

test.each([
  [0, 8],
  [3, 5],
  [7, 4],
  [100, 4],
])('secondsLeft: after %i s of a mean of 8 s it is %i s', (elapsed, left) => {
  expect(secondsLeft(8, elapsed)).toBe(left);
});

test.each([
  ['no request runs', [], 0],
  ['one works', [shared(3)], 3],
  ['the quicker of several', [shared(9), lone(2), shared(4)], 2],
])('secondsUntilFirstEnds: %s: %j', (_, running, expected) => {
  expect(secondsUntilFirstEnds(running)).toBe(expected);
});
