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

describe('evict', () => {
  test('nothing if the model fits', () => {
    expect(evict([resident('a', 4, 1)], 5, room(10))).toEqual([]);
    expect(evict([], 10, room(10))).toEqual([]);
  });

  test('nothing for a model of 0 bytes, even above the budget', () => {
    expect(evict([resident('a', 12, 1)], { bytes: 0, auxiliary: true }, room(10, 0))).toEqual([]);
  });

  test('the least recently used model', () => {
    expect(evict([resident('new', 4, 9), resident('old', 4, 1)], 5, room(10))).toEqual(['old']);
  });

  test('all members of other groups and nothing else, whatever fits', () => {
    const models = [
      resident('alone', 1, 1),
      resident('mate', 1, 2, { group: 'x' }),
      resident('other', 1, 3, { group: 'y', busy: true }),
      resident('third', 1, 4, { group: 'z' }),
    ];
    expect(evict(models, { bytes: 1, group: 'x' }, room(100))).toEqual(['third', 'other']);
    expect(evict(models, { bytes: 1 }, room(100))).toEqual([]);
    expect(evict([resident('p', 1, 1, { group: 'y', pinned: true })], { bytes: 1, group: 'x' }, room(100))).toBe(
      'cannot',
    );
  });

  test('an idle model before a busy one, regardless of age', () => {
    expect(evict([resident('old', 4, 1, { busy: true }), resident('new', 4, 9)], 5, room(10))).toEqual(['new']);
  });

  test('a busy model if nothing else is enough', () => {
    expect(evict([resident('busy', 8, 1, { busy: true })], 5, room(10))).toEqual(['busy']);
  });

  test('never a pinned model', () => {
    expect(evict([resident('pinned', 4, 1, { pinned: true }), resident('other', 4, 9)], 5, room(10))).toEqual([
      'other',
    ]);
    expect(evict([resident('pinned', 6, 1, { pinned: true })], 5, room(10))).toBe('cannot');
  });

  test('keeps a small model if a large one must be evicted anyway', () => {
    expect(evict([resident('small', 1, 1), resident('large', 9, 2)], 9, room(10))).toEqual(['large']);
  });

  test('applies the maximum count', () => {
    expect(evict([resident('a', 1, 1), resident('b', 1, 2)], 1, room(100, 2))).toEqual(['a']);
    expect(evict([resident('a', 1, 1), resident('b', 1, 2)], 1, room(100, 1))).toEqual(['a', 'b']);
    expect(evict([resident('a', 1, 1)], 1, room(100, 0))).toBe('cannot');
  });

  test('auxiliary models do not count', () => {
    const full = [resident('a', 1, 1), resident('b', 1, 2)];
    expect(evict(full, { bytes: 1, auxiliary: true }, room(100, 2))).toEqual([]);
    expect(evict([resident('a', 1, 1), resident('small', 1, 2, { auxiliary: true })], 1, room(100, 2))).toEqual([]);
  });

  test('auxiliary models need memory', () => {
    expect(evict([resident('a', 8, 1)], { bytes: 5, auxiliary: true }, room(10, 1))).toEqual(['a']);
    expect(evict([resident('small', 8, 1, { auxiliary: true })], 5, room(10))).toEqual(['small']);
  });

  test('"cannot" for a model larger than the budget', () => {
    expect(evict([resident('a', 1, 1)], 11, room(10))).toBe('cannot');
  });
});

describe('evict: properties', () => {
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

  test('the model fits afterwards, pinned ones stay, and every eviction was needed', () => {
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

  test('"cannot" only if the pinned models leave too little', () => {
    assert(
      property(residents, need, rooms, (all, bytes, space) => {
        const pinned = all.filter((one) => one.pinned);
        expect(evict(all, bytes, space) === 'cannot').toBe(!fits(pinned, bytes, space));
      }),
    );
  });

  test('does not depend on the order of the list', () => {
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

describe('evict: GPUs', () => {
  const budget = (...bytes: readonly number[]): MemoryBudget => ({
    ...room(1000),
    gpus: bytes.map((free, index) => ({ name: `CUDA${index}`, bytes: free })),
  });
  const onGpu = (id: string, lastUsed: number, held: Readonly<Record<string, number>>, more: Partial<Resident> = {}) =>
    resident(id, 1, lastUsed, { gpus: new Map(Object.entries(held)), ...more });
  const need = (bytes: number, ...devices: readonly string[]): Newcomer => ({ bytes: 1, gpus: { bytes, devices } });

  test('nothing if the model fits on the GPU, or uses none', () => {
    expect(evict([onGpu('a', 1, { CUDA0: 4 })], need(6), budget(10))).toEqual([]);
    expect(evict([onGpu('a', 1, { CUDA0: 9 })], { bytes: 1 }, budget(10))).toEqual([]);
  });

  test('the least recently used model on the GPU; models in main memory stay', () => {
    const all = [resident('memory', 1, 1), onGpu('old', 2, { CUDA0: 4 }), onGpu('new', 3, { CUDA0: 4 })];
    expect(evict(all, need(6), budget(10))).toEqual(['old']);
  });

  test('an embedding model on the same GPU makes room too', () => {
    const all = [onGpu('embeddings', 1, { CUDA0: 2 }), onGpu('text', 2, { CUDA0: 6 }, { busy: true })];
    expect(evict(all, need(4), budget(10))).toEqual(['embeddings']);
  });

  test('two GPUs: only models on the GPUs that the model may use', () => {
    const all = [onGpu('first', 1, { CUDA0: 8 }), onGpu('second', 2, { CUDA1: 8 })];
    expect(evict(all, need(6, '1'), budget(10, 10))).toEqual(['second']);
    expect(evict(all, need(6, 'cuda0'), budget(10, 10))).toEqual(['first']);
    expect(evict(all, need(4), budget(10, 10))).toEqual([]);
    expect(evict(all, need(12), budget(10, 10))).toEqual(['first']);
  });

  test('a model that is larger than the GPU gets all of it, and is not refused', () => {
    const all = [onGpu('a', 1, { CUDA0: 4 }), onGpu('b', 2, { CUDA0: 4 })];
    expect(evict(all, need(100), budget(10))).toEqual(['a', 'b']);
    expect(evict([], need(100), budget(10))).toEqual([]);
  });

  test('what pinned models and other programs hold is not expected to become free', () => {
    const all = [onGpu('pinned', 1, { CUDA0: 6 }, { pinned: true }), onGpu('b', 2, { CUDA0: 2 })];
    expect(evict(all, need(100), budget(10))).toEqual(['b']);
    expect(evict([all[0] as Resident], need(100), budget(10))).toEqual([]);
    expect(evict([], need(8), budget(0))).toEqual([]);
  });

  test('a model that is being loaded counts with what it will take', () => {
    const coming = resident('coming', 1, 1, { gpus: { bytes: 7, devices: [] }, pinned: true });
    expect(evict([coming, onGpu('old', 2, { CUDA0: 3 })], need(3), budget(10))).toEqual(['old']);
  });

  test('a GPU that is not known is not limited', () => {
    expect(evict([onGpu('a', 1, { CUDA0: 9 })], need(100), room(1000))).toEqual([]);
  });
});
