import { expect, test } from 'vitest';
import { randomHex } from './ids.ts';

test('randomHex: ids of the requested length, none of them twice, also beyond one pool of bytes', () => {
  const ids = Array.from({ length: 1000 }, () => randomHex(12));
  expect(new Set(ids).size).toBe(1000);
  expect(ids.every((id) => /^[0-9a-f]{24}$/.test(id))).toBe(true);
});
