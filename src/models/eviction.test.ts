import { array, assert, boolean, constantFrom, integer, property, record, uniqueArray } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { evict as evictFor, type MemoryBudget, type Newcomer, type Resident } from './eviction.ts';

const evict = (all: readonly Resident[], newcomer: number | Newcomer, space: MemoryBudget) =>
  evictFor(all, typeof newcomer === 'number' ? { bytes: newcomer } : newcomer, space);

const resident = (id: string, bytes: number, lastUsed: number, more: Partial<Resident> = {}): Resident => ({
  id,
  bytes,
  lastUsed,
  pinned: false,
  auxiliary: false,
  busy: false,
  ...more,
});
const room = (bytes: number, count = 10): MemoryBudget => ({ bytes, count });

describe('who has to go', () => {
  test('nobody, where there is room', () => {
    expect(evict([resident('a', 4, 1)], 5, room(10))).toEqual([]);
    expect(evict([], 10, room(10))).toEqual([]);
  });

  test('nobody for what takes nothing, however little there is', () => {
    expect(evict([resident('a', 12, 1)], { bytes: 0, auxiliary: true }, room(10, 0))).toEqual([]);
  });

  test('the one that was not needed for longest', () => {
    expect(evict([resident('new', 4, 9), resident('old', 4, 1)], 5, room(10))).toEqual(['old']);
  });

  test('one without work before one with, however long ago', () => {
    expect(evict([resident('old', 4, 1, { busy: true }), resident('new', 4, 9)], 5, room(10))).toEqual(['new']);
  });

  test('one with work where that is the only way', () => {
    expect(evict([resident('busy', 8, 1, { busy: true })], 5, room(10))).toEqual(['busy']);
  });

  test('never a pinned one', () => {
    expect(evict([resident('pinned', 4, 1, { pinned: true }), resident('other', 4, 9)], 5, room(10))).toEqual([
      'other',
    ]);
    expect(evict([resident('pinned', 6, 1, { pinned: true })], 5, room(10))).toBe('cannot');
  });

  test('a small one is spared where a large one has to go anyway', () => {
    expect(evict([resident('small', 1, 1), resident('large', 9, 2)], 9, room(10))).toEqual(['large']);
  });

  test('as many as the number allows', () => {
    expect(evict([resident('a', 1, 1), resident('b', 1, 2)], 1, room(100, 2))).toEqual(['a']);
    expect(evict([resident('a', 1, 1), resident('b', 1, 2)], 1, room(100, 1))).toEqual(['a', 'b']);
    expect(evict([resident('a', 1, 1)], 1, room(100, 0))).toBe('cannot');
  });

  test("one that counts for nobody comes in beside as many as there may be, and takes nobody's number", () => {
    const full = [resident('a', 1, 1), resident('b', 1, 2)];
    expect(evict(full, { bytes: 1, auxiliary: true }, room(100, 2))).toEqual([]);
    expect(evict([resident('a', 1, 1), resident('small', 1, 2, { auxiliary: true })], 1, room(100, 2))).toEqual([]);
  });

  test('one that counts for nobody still needs its memory', () => {
    expect(evict([resident('a', 8, 1)], { bytes: 5, auxiliary: true }, room(10, 1))).toEqual(['a']);
    expect(evict([resident('small', 8, 1, { auxiliary: true })], 5, room(10))).toEqual(['small']);
  });

  test('what is larger than all the room cannot be had', () => {
    expect(evict([resident('a', 1, 1)], 11, room(10))).toBe('cannot');
  });
});

describe('laws', () => {
  const residents = uniqueArray(
    record({
      id: constantFrom(...'abcdefghij'),
      bytes: integer({ min: 0, max: 20 }),
      lastUsed: integer({ min: 0, max: 50 }),
      pinned: boolean(),
      auxiliary: boolean(),
      busy: boolean(),
    }),
    { selector: ({ id }) => id },
  );
  const need = integer({ min: 0, max: 40 });
  const rooms = record({ bytes: integer({ min: 0, max: 60 }), count: integer({ min: 0, max: 6 }) });
  const left = (all: readonly Resident[], gone: readonly string[]) => all.filter(({ id }) => !gone.includes(id));
  const fits = (all: readonly Resident[], bytes: number, { bytes: most, count }: MemoryBudget) =>
    all.filter(({ auxiliary }) => !auxiliary).length < count &&
    all.reduce((sum, one) => sum + one.bytes, bytes) <= most;

  test('afterwards it fits, no pinned one has gone, and each who went was needed for it', () => {
    assert(
      property(residents, need, rooms, (all, bytes, space) => {
        const gone = evict(all, bytes, space);
        if (gone === 'cannot') return;
        expect(fits(left(all, gone), bytes, space)).toBe(true);
        expect(all.filter(({ id }) => gone.includes(id)).some(({ pinned }) => pinned)).toBe(false);
        for (const id of gone) {
          expect(
            fits(
              left(
                all,
                gone.filter((other) => other !== id),
              ),
              bytes,
              space,
            ),
          ).toBe(false);
        }
      }),
    );
  });

  test('it cannot be had only where the pinned ones leave no room', () => {
    assert(
      property(residents, need, rooms, (all, bytes, space) => {
        const pinned = all.filter((one) => one.pinned);
        expect(evict(all, bytes, space) === 'cannot').toBe(!fits(pinned, bytes, space));
      }),
    );
  });

  test('the order in which they are listed does not matter', () => {
    assert(
      property(residents, need, rooms, array(integer()), (all, bytes, space, shuffle) => {
        const distinct = all.map((one, index) => ({ ...one, lastUsed: one.lastUsed * 100 + index }));
        const mixed = distinct
          .map((one, index) => ({ one, key: shuffle[index] ?? 0 }))
          .sort((a, b) => a.key - b.key)
          .map(({ one }) => one);
        const sorted = (gone: readonly string[] | 'cannot') => (gone === 'cannot' ? gone : [...gone].sort());
        expect(sorted(evict(mixed, bytes, space))).toEqual(sorted(evict(distinct, bytes, space)));
      }),
    );
  });
});
