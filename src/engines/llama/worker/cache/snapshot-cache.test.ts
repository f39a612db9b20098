import { describe, expect, test } from 'vitest';
import type { Slot } from '../memory/slot.ts';
import type { Snapshot, SnapshotStore } from '../memory/snapshot.ts';
import { MemoryStore } from './memory-store.ts';
import { overwrittenTokens, SnapshotCache } from './snapshot-cache.ts';

const range = (from: number, to: number) => Int32Array.from({ length: to - from }, (_, index) => from + index);
const snapshotOf = (tokens: Int32Array): Snapshot => ({ tokens, state: Uint8Array.from(tokens), checkpoints: [] });

/** A slot whose state is its tokens. */
function fakeSlot(tokens: Int32Array, usedAt = 1) {
  const slot = {
    cached: tokens,
    promptLength: tokens.length,
    busy: false,
    usedAt,
    restored: 0,
    get computed() {
      return slot.cached.length;
    },
    shifted: false,
    reach: (index: number) => index,
    get snapshotFigures() {
      return { tokens: slot.cached.length, bytes: slot.cached.length };
    },
    snapshot: () => snapshotOf(slot.cached),
    restore: (snapshot: Snapshot) => {
      slot.cached = snapshot.tokens;
      slot.restored += 1;
      return true;
    },
  };
  return slot;
}

const memoryStore = (limits = { count: 9, bytes: 1e9 }) => new MemoryStore({ limits: () => limits, now: () => 0 });

/** A disk that writes only when the test lets it. */
function slowDisk() {
  const store = memoryStore();
  const writes: (() => void)[] = [];
  const disk: SnapshotStore = {
    entries: () => store.entries(),
    read: (id) => store.read(id),
    remove: (id) => store.remove(id),
    write: async (snapshot) => {
      await new Promise<void>((resolve) => {
        writes.push(resolve);
      });
      await store.write(snapshot);
    },
  };
  return { disk, writes, lengths: () => store.entries().map(({ tokens }) => tokens.length) };
}

function world(slots: ReturnType<typeof fakeSlot>[], stores: { memory?: MemoryStore; disk?: SnapshotStore }) {
  let [inside, entered] = [0, 0];
  const exclusively = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    inside += 1;
    entered += 1;
    const result = await work();
    inside -= 1;
    return result;
  };
  let time = 100;
  const keeper = new SnapshotCache({
    slots: slots as unknown as Slot[],
    memory: stores.memory,
    disk: stores.disk,
    canRewind: true,
    isControl: () => false,
    exclusively,
    now: () => ++time,
  });
  return { keeper, inside: () => inside, entered: () => entered };
}

/** What a request does with the only slot: restores, saves what it overwrites, and computes its prompt. */
async function serve(keeper: SnapshotCache, slot: ReturnType<typeof fakeSlot>, prompt: Int32Array): Promise<void> {
  await keeper.restoreFor(prompt);
  keeper.beforeOverwrite(slot as unknown as Slot, prompt);
  slot.cached = prompt;
}

/** Lets all pending microtasks and immediates run. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('SnapshotCache: in memory', () => {
  test('restores an evicted chat when its prompt comes again', async () => {
    const slot = fakeSlot(range(0, 300));
    const { keeper } = world([slot], { memory: memoryStore() });
    await serve(keeper, slot, range(1000, 1300));
    await keeper.restoreFor(range(0, 320));
    expect([slot.restored, slot.cached]).toEqual([1, range(0, 300)]);
  });

  test('a prompt for which nothing is restored does not wait for a batch', async () => {
    const slot = fakeSlot(range(0, 300));
    const { keeper, entered } = world([slot], { memory: memoryStore() });
    await serve(keeper, slot, range(1000, 1300));
    expect(entered()).toBe(0);
    await keeper.restoreFor(range(0, 320));
    expect(entered()).toBe(1);
  });

  test('two chats that go on at the same time get two slots', async () => {
    const slots = [fakeSlot(range(0, 300)), fakeSlot(range(1000, 1300), 2)];
    const { keeper } = world(slots, { memory: memoryStore() });
    for (const slot of slots) keeper.beforeOverwrite(slot as unknown as Slot, undefined);
    for (const [index, slot] of slots.entries()) slot.cached = range(5000 + 1000 * index, 5300 + 1000 * index);
    await Promise.all([range(0, 320), range(1000, 1320)].map((prompt) => keeper.restoreFor(prompt)));
    expect(slots.map(({ cached }) => cached[0])).toEqual([0, 1000]);
  });

  test('neither saves nor replaces a chat that continues', async () => {
    const memory = memoryStore();
    const slot = fakeSlot(range(0, 300));
    await world([slot], { memory }).keeper.restoreFor(range(0, 320));
    expect([memory.entries().length, slot.restored]).toEqual([0, 0]);
  });
});

describe('SnapshotCache.beforeOverwrite', () => {
  const kept = (memory: MemoryStore) => memory.entries().map(({ tokens }) => [tokens[0], tokens.length]);

  test('saves what another request put into the slot after restoreFor had chosen it', async () => {
    const memory = memoryStore();
    const slot = fakeSlot(range(0, 300));
    const { keeper } = world([slot], { memory });
    await keeper.restoreFor(range(1000, 1300));
    await serve(keeper, slot, range(2000, 2300));
    keeper.beforeOverwrite(slot as unknown as Slot, range(1000, 1300));
    keeper.beforeOverwrite(slot as unknown as Slot, range(1000, 1300));
    expect(kept(memory)).toEqual([
      [0, 300],
      [2000, 300],
    ]);
  });

  test('a longer version of a chat replaces the shorter one', () => {
    const memory = memoryStore({ count: 9, bytes: 2500 });
    const slot = fakeSlot(range(0, 300));
    const { keeper } = world([slot], { memory });
    keeper.beforeOverwrite(slot as unknown as Slot, undefined);
    slot.cached = range(0, 400);
    keeper.beforeOverwrite(slot as unknown as Slot, undefined);
    expect(kept(memory)).toEqual([[0, 400]]);
  });

  test('a short text does not drive out a long one', () => {
    const memory = memoryStore({ count: 9, bytes: 2000 });
    const slot = fakeSlot(range(0, 300));
    const { keeper } = world([slot], { memory });
    keeper.beforeOverwrite(slot as unknown as Slot, undefined);
    slot.cached = range(7000, 7250);
    keeper.beforeOverwrite(slot as unknown as Slot, undefined);
    expect(kept(memory)).toEqual([[0, 300]]);
  });

  test('saves nothing that is computed faster than copied', () => {
    const memory = memoryStore();
    const slot = fakeSlot(range(0, 300));
    const { keeper } = world([slot], { memory });
    keeper.computed(1e9, 1);
    keeper.beforeOverwrite(slot as unknown as Slot, undefined);
    expect(kept(memory)).toEqual([]);
  });
});

test('SnapshotCache.release: gives back what is worth least', () => {
  const memory = memoryStore();
  const slot = fakeSlot(range(0, 300));
  const { keeper } = world([slot], { memory });
  for (const start of [0, 1000]) {
    slot.cached = range(start, start + 300 + start);
    keeper.beforeOverwrite(slot as unknown as Slot, undefined);
  }
  slot.cached = range(0, 0);
  keeper.release(1);
  expect(memory.entries().map(({ tokens }) => tokens.length)).toEqual([1300]);
  keeper.release(1e9);
  expect(memory.entries()).toEqual([]);
});

test.each([
  ['all of it, if nothing is reused', undefined, 300],
  ['nothing, if the chat goes on', range(0, 320), 0],
  ['nothing but a reply that is asked for again', range(0, 200), 0],
  ['the rest, if only its beginning is asked for', range(0, 100), 201],
  ['what follows the first difference', Int32Array.from([...range(0, 250), 9, 9]), 50],
])('overwrittenTokens: %s', (_, prompt, lost) => {
  const slot = { cached: range(0, 300), promptLength: 200, shifted: false, reach: (index: number) => index };
  expect(overwrittenTokens(slot, prompt, () => false)).toBe(lost);
});

test('overwrittenTokens: a story that lost its beginning before may lose more of it', () => {
  const slot = { cached: range(0, 300), promptLength: 300, shifted: true, reach: (index: number) => index };
  const cut = Int32Array.from([...range(0, 5), ...range(100, 300)]);
  expect(overwrittenTokens(slot, cut, () => false)).toBe(0);
  expect(overwrittenTokens({ ...slot, shifted: false }, cut, () => false)).toBe(295);
});

describe('SnapshotCache: a prompt that does not continue the chat in the only slot', () => {
  const join = (...parts: Int32Array[]) => Int32Array.from(parts.flatMap((part) => [...part]));
  test.each<[string, Int32Array]>([
    ['quotes it', join(range(0, 5), range(7000, 7100), range(100, 250), range(7100, 7110))],
    ['seems to be an edit of it', join(range(0, 5), range(7000, 7100), range(6, 300), range(7100, 7110))],
    ['seems to be a shorter version of it', join(range(0, 5), range(120, 300), range(7100, 7110))],
  ])('a prompt that %s: saves the chat and restores it later', async (_, prompt) => {
    const slot = fakeSlot(range(0, 300));
    const { keeper } = world([slot], { memory: memoryStore() });
    await serve(keeper, slot, prompt);
    await keeper.restoreFor(range(0, 320));
    expect(slot.cached).toEqual(range(0, 300));
  });
});

describe('SnapshotCache: on disk', () => {
  test('no request waits for the write of an evicted chat', async () => {
    const { disk, writes, lengths } = slowDisk();
    const { keeper, inside } = world([fakeSlot(range(0, 300))], { disk });
    await keeper.restoreFor(range(1000, 1300));
    expect([writes.length, lengths(), inside()]).toEqual([1, [], 0]);
    writes[0]?.();
    await keeper.close();
    expect(lengths()).toContain(300);
  });

  test('restores a snapshot that is still being written', async () => {
    const { disk } = slowDisk();
    const slot = fakeSlot(range(0, 300));
    const { keeper } = world([slot], { disk });
    await keeper.restoreFor(range(1000, 1300));
    slot.cached = range(1000, 1300);
    await keeper.restoreFor(range(0, 320));
    expect([slot.restored, slot.cached]).toEqual([1, range(0, 300)]);
  });

  test('does not queue snapshots for a slow disk', async () => {
    const { disk, writes } = slowDisk();
    const slot = fakeSlot(range(0, 300));
    const { keeper } = world([slot], { disk });
    let kept = 0;
    const many = (async () => {
      for (const start of [0, 1000, 2000, 3000]) {
        slot.cached = range(start, start + 300);
        await keeper.ended(slot as unknown as Slot);
        kept += 1;
      }
    })();
    await settled();
    expect(kept).toBe(2);
    while (kept < 4) {
      writes.shift()?.();
      await settled();
    }
    await many;
  });

  test('writes a growing chat at its end, not at each turn', async () => {
    const { disk, writes, lengths } = slowDisk();
    const slot = fakeSlot(range(0, 300));
    const { keeper } = world([slot], { disk });
    const writeNext = async () => {
      await settled();
      writes.shift()?.();
      await settled();
    };
    await keeper.ended(slot as unknown as Slot);
    await writeNext();
    slot.cached = range(0, 330);
    await keeper.ended(slot as unknown as Slot);
    expect([writes.length, lengths()]).toEqual([0, [300]]);
    const closed = keeper.close();
    await writeNext();
    await closed;
    expect(lengths()).toEqual([330]);
  });

  test('a failing disk loses only the snapshot', async () => {
    const disk = { ...slowDisk().disk, write: () => Promise.reject(new Error('full')) };
    const { keeper } = world([fakeSlot(range(0, 300))], { disk });
    await keeper.restoreFor(range(1000, 1300));
    await expect(keeper.close()).resolves.toBeUndefined();
  });
});

describe('SnapshotCache.save', () => {
  test.each([
    ['copies what a slot has computed', memoryStore(), 500, true, [500]],
    ['what is short needs no copy', memoryStore(), 20, true, []],
    ['false without room for it', memoryStore({ count: 9, bytes: 100 }), 500, false, []],
    ['false without kept states', undefined, 500, false, []],
  ] as const)('%s', (_, memory, tokens, saved, lengths) => {
    const slot = fakeSlot(range(0, tokens));
    const { keeper } = world([slot], memory ? { memory } : {});
    keeper.computed(1000, 60_000);
    expect(keeper.save(slot as unknown as Slot)).toBe(saved);
    expect((memory?.entries() ?? []).map((entry) => entry.tokens.length)).toEqual(lengths);
  });
  test('what a longer snapshot begins with is not copied again', () => {
    const memory = memoryStore();
    memory.add(snapshotOf(range(0, 900)));
    const slot = fakeSlot(range(0, 500));
    expect(world([slot], { memory }).keeper.save(slot as unknown as Slot)).toBe(true);
    expect(memory.entries()).toHaveLength(1);
  });
});
