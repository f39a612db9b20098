import { assert, integer, property } from 'fast-check';
import { expect, test } from 'vitest';
import { memoryNeed } from './memory-fit.ts';

const shape = { sizeBytes: 4e9, cacheBytesPerToken: 131_072 };

test('memoryNeed: weights, cache and compute buffers', () => {
  const need = memoryNeed(shape, 8192, 1);
  expect(need).toBeGreaterThan(4e9 + 8192 * 131_072);
  expect(need).toBeLessThan(6e9);
});

test('memoryNeed: one cache per sequence, at least one', () => {
  const one = memoryNeed(shape, 4096, 1);
  expect(memoryNeed(shape, 4096, 4) - one).toBe(3 * 4096 * 131_072);
  expect(memoryNeed(shape, 4096, 0)).toBe(one);
});

test('memoryNeed: never decreases with a larger model, context or batch', () => {
  const some = integer({ min: 0, max: 1 << 20 });
  assert(
    property(some, some, some, some, (size, more, context, sequences) => {
      const need = memoryNeed({ sizeBytes: size, cacheBytesPerToken: 8 }, context, sequences % 32);
      expect(
        memoryNeed({ sizeBytes: size + more, cacheBytesPerToken: 8 }, context, sequences % 32),
      ).toBeGreaterThanOrEqual(need);
    }),
  );
});
