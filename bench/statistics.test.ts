import { expect, test } from 'vitest';
import { lowest, median } from './statistics.ts';

test('the median is the middle value, or the mean of the two in the middle', () => {
  expect(median([9, 1, 5])).toBe(5);
  expect(median([4, 1, 2, 100])).toBe(3);
  expect(() => median([])).toThrow(RangeError);
});

test('the lowest is the least disturbed', () => expect(lowest([3, 2, 8])).toBe(2));
