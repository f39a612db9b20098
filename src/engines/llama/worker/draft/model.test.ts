import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DecodeResult } from '../context.ts';
import { DraftModel } from './model.ts';

const size = 20;
const end = 19;

/** A model that always counts on: after 4 comes 5. Its cache remembers which token stands where. */
function counting(batchCapacity = 8) {
  const cache: number[] = [];
  let batch: { token: number; position: number; wanted: boolean }[] = [];
  const batches: number[] = [];
  const results: DecodeResult[] = [];
  const context = {
    batchCapacity,
    clearBatch: () => {
      batch = [];
    },
    add: (token: number, position: number, _sequence: number, wanted: boolean) =>
      batch.push({ token, position, wanted }) - 1,
    decodeNow: () => {
      batches.push(batch.length);
      for (const { token, position } of batch) {
        expect(position).toBe(cache.length);
        cache.push(token);
      }
      return results.shift() ?? 'ok';
    },
    logits: (place: number) => {
      expect(batch[place]?.wanted).toBe(true);
      const next = ((batch[place]?.token ?? 0) + 1) % size;
      return Float32Array.from({ length: size }, (_, token) => (token === next ? 1 : 0));
    },
    forget: (_sequence: number, from: number) => {
      cache.length = Math.min(cache.length, from);
      return true;
    },
  };
  const draft = new DraftModel({ context, contextSize: 64, sharedTokens: size, isEnd: (token) => token === end });
  const propose = (tokens: number[], most: number) => [
    ...draft.propose(Int32Array.from([...tokens, 99, 99]), tokens.length, most),
  ];
  return { propose, batches, cache, results };
}

test('it goes on with what it finds most likely', () => {
  expect(counting().propose([1, 2, 3], 4)).toEqual([4, 5, 6, 7]);
});

test('it computes only what is new in the text, and its own guesses where they were right', () => {
  const { propose, batches } = counting();
  propose([1, 2, 3], 3);
  expect(batches.splice(0)).toEqual([3, 1, 1]);
  expect(propose([1, 2, 3, 4, 5, 6, 7], 2)).toEqual([8, 9]);
  expect(batches.splice(0)).toEqual([2, 1]);
  expect(propose([1, 2, 3, 9], 1)).toEqual([10]);
  expect(batches).toEqual([1]);
});

test('a long text is read in portions, and nothing is guessed until all of it is read', () => {
  const { propose, batches } = counting(4);
  const text = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  expect([propose(text, 1), propose(text, 1), propose(text, 1)]).toEqual([[], [], [10]]);
  expect(batches).toEqual([4, 4, 1]);
});

test('behind the end of a text nothing is guessed', () => {
  expect(counting().propose([17], 5)).toEqual([18]);
});

test('a token that it does not know stops it, until the text goes on without', () => {
  const { propose } = counting();
  expect(propose([1, 25], 3)).toEqual([]);
  expect(propose([1, 2], 1)).toEqual([3]);
});

test('a failed step leaves the guesses so far, and a fresh start', () => {
  const { propose, results, cache } = counting();
  results.push('ok', 'failed');
  expect(propose([1, 2], 3)).toEqual([3]);
  expect(cache).toEqual([]);
  expect(propose([1, 2], 2)).toEqual([3, 4]);
});

test('nothing is guessed beyond its context', () => {
  const { propose } = counting(64);
  expect(
    propose(
      Array.from({ length: 62 }, () => 5),
      9,
    ),
  ).toEqual([6, 7]);
  expect(
    propose(
      Array.from({ length: 64 }, () => 5),
      9,
    ),
  ).toEqual([]);
});

test('whatever texts come one after the other, its cache is a beginning of the last one and its guesses', () => {
  const text = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 6 }), (texts) => {
      const { propose, cache } = counting(16);
      for (const tokens of texts) {
        const last = tokens.at(-1) as number;
        expect(propose(tokens, 2)).toEqual([last + 1, last + 2]);
        expect(cache).toEqual([...tokens, last + 1]);
      }
    }),
  );
});
