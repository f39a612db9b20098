import { beforeAll, expect, test } from 'vitest';
import type { Loaded } from '../load/model.ts';
import { loadEmbedded } from '../testing/embedded.ts';
import { Slot } from './slot.ts';

/** On the real library, with 512 cells for two sequences of up to 512 tokens. */
let loaded: Loaded;
let text: Int32Array;
beforeAll(async () => {
  loaded = await loadEmbedded({ contextsize: 512, parallelrequests: 2, kvpool: 512 });
  const words = 'The old clock in the hall had stopped, and nobody could say when that had been. '.repeat(40);
  text = loaded.vocabulary.tokenize(words, { addSpecial: true }).slice(0, 500);
});

const slotOf = (sequence: number) => {
  const slot = new Slot(loaded.context, sequence, 512);
  loaded.context.forget(sequence, 0);
  return slot;
};

function decode(slot: Slot) {
  loaded.context.clearBatch();
  slot.fill(512);
  return loaded.context.decodeNow();
}

/** The logits after the next token. */
function next(slot: Slot, token: number): Float32Array {
  slot.append(token);
  expect(decode(slot)).toBe('ok');
  slot.settle();
  return loaded.context.logits(slot.logitsRow as number).slice();
}

function read(slot: Slot, count: number): void {
  slot.take(1);
  slot.begin(text.slice(0, count), 0);
  expect(decode(slot)).toBe('ok');
  slot.settle();
}

/** Other cells give other sums, which differ little. */
const difference = (some: Float32Array, others: Float32Array): number =>
  Math.max(...some.map((value, index) => Math.abs(value - (others[index] as number))));

test('pool: a sequence that was parked goes on with the same logits and computes nothing again', () => {
  const [parked, other] = [slotOf(0), slotOf(1)];
  read(parked, 300);
  const expected = next(parked, 7);
  read(parked, 300);
  parked.park();
  expect(parked.cells).toBe(0);
  read(other, 450);
  other.clear();
  parked.resume();
  expect([parked.computed, parked.cells]).toEqual([300, 300]);
  expect(difference(next(parked, 7), expected)).toBeLessThan(0.01);
});

test('pool: a copied prefix takes no cells', () => {
  const [slot, other] = [slotOf(0), slotOf(1)];
  read(slot, 400);
  other.take(1);
  other.copyFrom(slot, 400);
  expect(other.cells).toBe(0);
  for (let token = 10; token < 40; token += 1) expect(next(other, token)).toHaveLength(loaded.vocabulary.size);
  expect(other.cells).toBe(30);
});

test('pool: a batch without room changes nothing, and fits after another sequence has gone', () => {
  const [slot, other] = [slotOf(0), slotOf(1)];
  read(slot, 300);
  const expected = next(slot, 7);
  read(slot, 300);
  other.take(1);
  other.begin(text.slice(0, 400), 0);
  expect(decode(other)).toBe('no-room');
  other.rollback();
  expect(difference(next(slot, 7), expected)).toBeLessThan(0.01);
  slot.finish();
  slot.clear();
  expect(decode(other)).toBe('ok');
});
