import { expect, test } from 'vitest';
import { heapShare } from './heap-share.ts';

test('heapShare: is the requested size, and an eighth of a small heap', () => {
  expect(heapShare(100, 4096)).toBe(100);
  expect(heapShare(100, 400)).toBe(50);
});
