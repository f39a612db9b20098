import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chunk } from '../testing/media.ts';
import { fakeMemory } from '../testing/memory.ts';
import type { MemoryKind } from './context.ts';
import { Slot } from './slot.ts';
import { commonPrefix } from './snapshot.ts';

const size = 4;
const limits = { count: 8, bytes: 2 ** 20 };
const tokens = (...list: number[]) => Int32Array.from(list);
const counted = (length: number) => Int32Array.from({ length }, (_, index) => index + 1);

/** A slot with steady portions, and in which batch each of its cells was computed. */
function steadySlot(kind: MemoryKind = 'plain') {
  const memory = fakeMemory({ kind });
  const slot = new Slot(memory.context, 0, 400, limits, size);
  const batches: string[] = [];
  const step = (lost = false): number => {
    slot.fill(100);
    const rows = memory.batch();
    const [{ position: first } = { position: 0 }] = rows;
    if (lost) {
      memory.lose();
      slot.rollback();
      return 0;
    }
    for (const { position } of rows) batches[position] = `${first}+${rows.length}`;
    memory.decode();
    slot.settle();
    return rows.length;
  };
  const readAll = (): number[] => {
    const list: number[] = [];
    while (slot.remaining > 0) list.push(step());
    return list;
  };
  const ask = (prompt: Int32Array): number => {
    const keep = slot.reach(Math.min(commonPrefix(slot.cached, prompt), prompt.length - 1));
    slot.begin(prompt, keep);
    slot.planCheckpoints(() => false);
    return slot.computed;
  };
  const write = (token: number): void => {
    slot.append(token);
    readAll();
  };
  return { ...memory, slot, batches, step, readAll, ask, write };
}

test('steady slot: portions end at the borders for any batch size', () => {
  const { slot, batch, decode, ask, readAll } = steadySlot();
  ask(counted(10));
  slot.fill(2);
  expect(batch()).toHaveLength(size);
  decode();
  slot.settle();
  expect(readAll()).toEqual([4, 2]);
});

test('steady slot: offers only whole portions of the prompt for reuse, during and after the request', () => {
  const { slot, ask, readAll, write, cache } = steadySlot();
  ask(counted(10));
  readAll();
  for (const token of [90, 91, 92]) write(token);
  expect([...slot.cached]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  slot.finish(1);
  expect([slot.computed, slot.length, cache]).toEqual([8, 8, [1, 2, 3, 4, 5, 6, 7, 8]]);
});

test('steady slot: the same prompt starts at its last border, or one portion before a border at its end', () => {
  for (const [length, kept] of [
    [10, 8],
    [9, 8],
    [8, 4],
    [4, 0],
    [3, 0],
  ] as const) {
    const { slot, ask, readAll } = steadySlot();
    ask(counted(length));
    readAll();
    slot.finish(1);
    expect(ask(counted(length))).toBe(kept);
  }
});

test('steady slot: computes the reply again as a part of the next prompt', () => {
  const { slot, ask, readAll, write } = steadySlot();
  ask(counted(6));
  readAll();
  for (const token of [7, 8, 9, 10]) write(token);
  slot.finish(1);
  expect(ask(counted(11))).toBe(4);
  expect(readAll()).toEqual([4, 3]);
});

test('steady slot: a portion with a token that was computed alone is not reused', () => {
  const { slot, ask, readAll, write } = steadySlot();
  ask(counted(8));
  readAll();
  write(90);
  slot.rewind(8);
  expect(readAll()).toEqual([1]);
  expect(slot.cached).toHaveLength(4);
});

test('steady slot: no snapshot during a request, then one of whole portions that can be restored', () => {
  const { context, slot, ask, readAll } = steadySlot();
  Object.assign(context, { state: () => Uint8Array.of(1), stateBytes: () => 1, restore: () => true });
  ask(counted(10));
  readAll();
  expect([slot.snapshot(), slot.snapshotFigures]).toEqual([undefined, { tokens: 0, bytes: 0 }]);
  slot.finish(1);
  const snapshot = slot.snapshot();
  expect(snapshot?.tokens).toEqual(counted(8));
  const other = new Slot(context, 1, 400, limits, size);
  expect(snapshot && other.restore(snapshot)).toBe(true);
  expect([other.cached.length, other.reach(7), other.reach(8)]).toEqual([8, 4, 8]);
});

test('steady slot: no snapshot if the saved state lacks cells, because sums would be in another order', () => {
  const { slot, context, ask, readAll } = steadySlot();
  Object.assign(context, { savesAll: false, state: () => Uint8Array.of(1), stateBytes: () => 1 });
  ask(counted(10));
  readAll();
  slot.finish(1);
  expect([slot.snapshot(), slot.snapshotFigures.tokens, slot.cached.length]).toEqual([undefined, 0, 8]);
});

test('steady slot: another slot copies whole portions only', () => {
  const { context, slot, ask, readAll } = steadySlot();
  Object.assign(context, { copy: () => {} });
  ask(counted(10));
  readAll();
  const other = new Slot(context, 1, 400, limits, size);
  other.copyFrom(slot, 7);
  other.begin(counted(7), 7);
  expect([other.computed, other.cached.length]).toEqual([4, 4]);
});

test('steady slot: no border inside a picture', () => {
  const { slot, ask, decode } = steadySlot();
  expect(ask(tokens(1))).toBe(0);
  const picture = { start: 5, chunk: chunk(-1, 6) };
  const prompt = tokens(1, 2, 3, 4, 5, ...picture.chunk.ids, 6, 7, 8, 9);
  slot.begin(prompt, 0, [picture]);
  const counts: number[] = [];
  for (let turn = 0; turn < 2; turn += 1) {
    slot.fill(100);
    decode();
    slot.settle();
    counts.push(slot.computed);
  }
  // Up to the border, then up to the picture.
  expect(counts).toEqual([4, 5]);
});

describe.each(['plain', 'state'] as const)('steady slot: %s memory', (kind) => {
  const request = fc.record({
    /** How much it shares with the prompt before it, how much is new, and how long the reply is. */
    shared: fc.nat(40),
    fresh: fc.integer({ min: 1, max: 30 }),
    reply: fc.nat(6),
    /** A batch that is given up, and a reply that goes back. */
    lost: fc.boolean(),
    back: fc.nat(5),
  });

  test('every cell is from the batch of a fresh start', () => {
    fc.assert(
      fc.property(fc.array(request, { minLength: 1, maxLength: 6 }), (requests) => {
        const { slot, batches, step, readAll, ask, write } = steadySlot(kind);
        let before = new Int32Array(0);
        for (const [turn, { shared, fresh, reply, lost, back }] of requests.entries()) {
          const common = before.subarray(0, shared);
          const prompt = Int32Array.from([
            ...common,
            ...Array.from({ length: fresh }, (_, at) => 1000 * (turn + 1) + at),
          ]);
          ask(prompt);
          expect(slot.computed % size).toBe(0);
          if (lost) step(true);
          readAll();
          expectFresh(batches, prompt.length, prompt.length);
          for (let token = 0; token < reply; token += 1) write(5000 + token);
          expectFresh(batches, prompt.length, slot.length);
          const removed = Math.min(back, reply - 1);
          if (removed > 0) {
            slot.rewind(slot.length - removed);
            readAll();
            expectFresh(batches, prompt.length, slot.length);
          }
          before = slot.tokens.slice(0, slot.length);
          slot.finish(turn);
          expect(slot.cached.length % size).toBe(0);
          expect(slot.cached.length).toBeLessThanOrEqual(prompt.length);
          expect([...slot.cached]).toEqual([...before.subarray(0, slot.cached.length)]);
        }
      }),
    );
  });
});

/** Each cell of the prompt from its portion, each behind it by itself. */
function expectFresh(batches: readonly string[], promptLength: number, length: number): void {
  const expected = Array.from({ length }, (_, index) => {
    if (index >= promptLength) return `${index}+1`;
    const first = index - (index % size);
    return `${first}+${Math.min(size, promptLength - first)}`;
  });
  expect(batches.slice(0, length)).toEqual(expected);
}
