import { expect, test } from 'vitest';
import { gaps, lowest, median, percentile, slope } from './statistics.ts';

test('the median is the middle value, or the mean of the two in the middle', () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([4, 1, 2, 100])).toBe(3);
  expect(() => median([])).toThrow(RangeError);
});

test('lowest: is the minimum', () => expect(lowest([3, 2, 8])).toBe(2));

test('a percentile is one of the measured values', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index);
  expect(percentile(values, 0.95)).toBe(95);
  expect(percentile(values, 1)).toBe(100);
  expect(percentile([7], 0.5)).toBe(7);
  expect(() => percentile([], 0.5)).toThrow(RangeError);
});

test('gaps are the times between neighbours', () => {
  expect(gaps([1, 3, 10])).toEqual([2, 7]);
  expect(gaps([1])).toEqual([]);
});

test('slope: that of the line through the points, also where they scatter', () => {
  expect(slope([0, 1, 2, 3].map((x) => [x, 5 + 2 * x]))).toBeCloseTo(2);
  expect(slope([0, 1, 2, 3].map((x) => [x, x % 2]))).toBeCloseTo(0.2);
  expect(slope([[4, 7]])).toBe(0);
  expect(slope([])).toBe(0);
});
