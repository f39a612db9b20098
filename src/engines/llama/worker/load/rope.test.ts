import { expect, test } from 'vitest';
import { stretchedRopeBase } from './rope.ts';

test('a context within the training needs no other base', () => {
  expect(stretchedRopeBase(10_000, 4096, 2048)).toBe(10_000);
  expect(stretchedRopeBase(10_000, 4096, 4096)).toBe(10_000);
});

test('a context of twice the training gets a base that is larger, but far less than squared', () => {
  const base = stretchedRopeBase(10_000, 4096, 8192);
  expect(base).toBeCloseTo(10_000 ** (Math.log(8192 / (2 * Math.PI)) / Math.log(4096 / (2 * Math.PI))), 6);
  expect(base).toBeGreaterThan(20_000);
  expect(base).toBeLessThan(40_000);
});
