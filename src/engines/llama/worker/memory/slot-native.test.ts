import { beforeAll, expect, test } from 'vitest';
import type { Loaded } from '../load/model.ts';
import { loadEmbedded } from '../testing/embedded.ts';
import { Slot } from './slot.ts';

/**
 * On the real library: whether a text was read in one go or taken up again makes no difference, bit for bit, as long as the
 * same tokens are computed together. Any difference between two texts then comes from the rounding of other portions.
 */
let loaded: Loaded;
let prompt: Int32Array;
beforeAll(async () => {
  loaded = await loadEmbedded({ contextsize: 1024, parallelrequests: 2 });
  const text = 'The old clock in the hall had stopped, and nobody could say when that had been. '.repeat(12);
  prompt = loaded.vocabulary.tokenize(text, { addSpecial: true }).slice(0, 150);
});

const slotOf = (sequence = 0, portion?: number) => new Slot(loaded.context, sequence, 1024, undefined, portion);

/** The logits after the last token, read in batches of up to `limit`. */
function read(slot: Slot, limit = 512): Float32Array {
  while (slot.remaining > 0) {
    loaded.context.clearBatch();
    slot.fill(limit);
    expect(loaded.context.decodeNow()).toBe('ok');
    slot.settle();
  }
  return loaded.context.logits(slot.logitsRow as number).slice();
}

function from(slot: Slot, tokens: Int32Array, computed: number, limit?: number): Float32Array {
  slot.begin(tokens, computed);
  return read(slot, limit);
}

/** Reads up to a position, then the rest in a second batch. */
function inTwo(slot: Slot, index: number): Float32Array {
  from(slot, prompt.subarray(0, index), 0);
  return from(slot, prompt, index);
}

test.each([149, 128, 100])('Slot: resuming at token %i gives the same logits as the same two batches', (index) => {
  const slot = slotOf();
  const direct = inTwo(slot, index);
  // Another text followed that position before.
  from(slot, Int32Array.from([...prompt.subarray(0, index), 5, 6, 7, 8, 9, 10, 11]), index);
  expect(from(slot, prompt, index)).toEqual(direct);
});

test('Slot: a restored snapshot gives the same logits, in the same sequence or another', () => {
  const direct = inTwo(slotOf(), 128);
  const slot = slotOf();
  from(slot, prompt.subarray(0, 128), 0);
  slot.finish();
  const snapshot = slot.snapshot();
  if (!snapshot) throw new Error('there is no snapshot');
  from(slot, prompt.subarray(20, 90), 0);
  for (const index of [slot, slotOf(1)]) {
    expect(index.restore(snapshot)).toBe(true);
    expect(from(index, prompt, 128)).toEqual(direct);
  }
});

test('Slot: a copy from another sequence gives the same logits', () => {
  const direct = inTwo(slotOf(), 128);
  const slot = slotOf();
  from(slot, prompt.subarray(0, 128), 0);
  const other = slotOf(1);
  other.copyFrom(slot, 128);
  expect(from(other, prompt, 128)).toEqual(direct);
});

test('Slot: deterministic portions give the same text with any batch size and cache', () => {
  const direct = from(slotOf(0, 64), prompt, 0);
  const slot = slotOf(1, 64);
  expect(from(slot, prompt, 0, 7)).toEqual(direct);
  for (const token of [5, 6, 7]) {
    slot.append(token);
    read(slot);
  }
  slot.finish();
  expect(slot.computed).toBe(128);
  expect(from(slot, prompt, slot.reach(prompt.length - 1))).toEqual(direct);
});
