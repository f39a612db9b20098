import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backoffMs } from './backoff.ts';

test('pauses double from a quarter of a second on', () => {
  expect([1, 2, 3, 4].map(backoffMs)).toEqual([250, 500, 1000, 2000]);
});

test('no pause is shorter than the one before it, and none is so long that a server could not be back in time', () => {
  fc.assert(
    fc.property(fc.nat(2000), (failures) => {
      expect(backoffMs(failures + 1)).toBeGreaterThanOrEqual(backoffMs(failures));
      expect(backoffMs(failures)).toBeLessThanOrEqual(8000);
    }),
  );
});
