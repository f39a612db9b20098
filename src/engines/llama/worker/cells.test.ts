import fc from 'fast-check';
import { expect, test } from 'vitest';
import { sharedCells, slotsToEmpty } from './cells.ts';

const user = (cells: number, usedAt: number, busy = false) => ({ cells, usedAt, busy });

test('nobody is emptied while there is room', () => expect(slotsToEmpty([user(50, 1)], 50, 100)).toEqual([]));
test('those that rest longest go first, and no more of them than needed', () => {
  const [old, newer] = [user(40, 1), user(40, 2)];
  expect(slotsToEmpty([newer, old], 60, 100)).toEqual([old]);
});
test('nobody at work is emptied: then one waits', () => {
  expect(slotsToEmpty([user(80, 1, true)], 30, 100)).toBeUndefined();
});
test('what is found is always enough', () => {
  const users = fc.array(fc.record({ cells: fc.nat(50), usedAt: fc.nat(9), busy: fc.boolean() }), { maxLength: 8 });
  fc.assert(
    fc.property(users, fc.nat(200), (list, needed) => {
      const found = slotsToEmpty(list, needed, 200);
      const left = list.filter((one) => !found?.includes(one)).reduce((sum, { cells }) => sum + cells, 0);
      if (found) expect(left + needed).toBeLessThanOrEqual(200);
    }),
  );
});
test.each([
  [1, 1],
  [2, 2],
  [8, 2],
  [16, 4],
  [32, 8],
])('%i sequences share the cells of %i contexts', (sequences, contexts) => {
  expect(sharedCells(1000, sequences)).toBe(contexts * 1000);
});
