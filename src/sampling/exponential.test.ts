import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sumOfExponentials } from './exponential.ts';

const slow = (row: Float32Array, highest: number) => row.reduce((sum, one) => sum + Math.exp(one - highest), 0);

test('the sum is that of the exponentials, to ten digits', () => {
  const numbers = fc.array(fc.float({ min: -60, max: 60, noNaN: true }), { minLength: 1, maxLength: 200 });
  fc.assert(
    fc.property(numbers, (list) => {
      const row = Float32Array.from(list);
      const highest = Math.max(...row);
      const expected = slow(row, highest);
      expect(Math.abs(sumOfExponentials(row, highest) - expected) / expected).toBeLessThan(1e-10);
    }),
    { numRuns: 500 },
  );
});

test.each([
  ['the largest alone', [5], 1],
  ['equal ones', [3, 3, 3, 3], 4],
  ['one that cannot come', [0, Number.NEGATIVE_INFINITY], 1],
  ['one far below', [0, -5000], 1],
  ['one that is no number', [0, Number.NaN], 1],
  ['nothing', [], 0],
])('of %s', (_, list, expected) => {
  const row = Float32Array.from(list);
  expect(sumOfExponentials(row, Math.max(...list.filter((one) => !Number.isNaN(one)), -1e9))).toBeCloseTo(expected, 12);
});

test('half a vocabulary far below still counts', () => {
  const row = new Float32Array(100_000).fill(-20);
  row[0] = 0;
  expect(sumOfExponentials(row, 0)).toBeCloseTo(slow(row, 0), 12);
});
