import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BoundedMap } from './bounded-map.ts';

test('BoundedMap: stays within its limits and always has the newest entry', () => {
  const puts = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.integer({ min: 1, max: 120 })), {
    minLength: 1,
  });
  fc.assert(
    fc.property(puts, (all) => {
      const map = new BoundedMap<number>({ entries: 3, bytes: 100 });
      for (const [key, bytes] of all) {
        map.set(key, bytes, bytes);
        const sum = map.entries().reduce((total, [, value]) => total + value, 0);
        expect(map.bytes).toBe(sum);
        expect(map.size).toBeLessThanOrEqual(3);
        expect(map.size === 1 || sum <= 100).toBe(true);
        expect(map.get(key)).toBe(bytes);
      }
    }),
  );
});

test('BoundedMap: drops the oldest entries first and reports them', () => {
  const removed: number[] = [];
  const map = new BoundedMap<number>({ entries: 2, bytes: 100 }, (value) => removed.push(value));
  map.set('a', 1, 1);
  map.set('b', 2, 1);
  map.set('a', 3, 1);
  map.set('c', 4, 1);
  expect(removed).toEqual([1, 2]);
  expect(map.entries()).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
  expect([map.delete('c'), map.delete('c'), map.has('c'), map.has('a')]).toEqual([true, false, false, true]);
});
