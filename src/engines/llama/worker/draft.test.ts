import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DraftModel } from './draft.ts';
import type { DecodeResult } from './memory/context.ts';
import { disagreement } from './open-draft.ts';

const size = 20;
const end = 19;

/** A model that counts: after 4 comes 5. Its cache records the token at each position of each sequence. */
function counting(batchCapacity = 8, sequences = 1) {
  const caches: number[][] = Array.from({ length: sequences }, () => []);
  let batch: { token: number; position: number; sequence: number; hasLogits: boolean }[] = [];
  const batches: number[] = [];
  const results: DecodeResult[] = [];
  const cacheOf = (sequence: number) => caches[sequence] as number[];
  const context = {
    batchCapacity,
    clearBatch: () => {
      batch = [];
    },
    add: (token: number, position: number, sequence: number, hasLogits: boolean) =>
      batch.push({ token, position, sequence, hasLogits }) - 1,
    decodeNow: () => {
      batches.push(batch.length);
      for (const { token, position, sequence } of batch) {
        expect(position).toBe(cacheOf(sequence).length);
        cacheOf(sequence).push(token);
      }
      return results.shift() ?? 'ok';
    },
    logits: (row: number) => {
      expect(batch[row]?.hasLogits).toBe(true);
      const next = ((batch[row]?.token ?? 0) + 1) % size;
      return Float32Array.from({ length: size }, (_, token) => (token === next ? 1 : 0));
    },
    forget: (sequence: number, from: number) => {
      cacheOf(sequence).length = Math.min(cacheOf(sequence).length, from);
      return true;
    },
  };
  const isEnd = (token: number) => token === end;
  const draft = new DraftModel({ context, sequences, contextSize: 64, sharedTokens: size, isEnd });
  const propose = (tokens: number[], max: number, sequence = 0) => [
    ...draft.propose(sequence, Int32Array.from([...tokens, 99, 99]), tokens.length, max),
  ];
  return { propose, batches, caches, cache: cacheOf(0), results };
}

test('DraftModel: proposes the most likely tokens', () => {
  expect(counting().propose([1, 2, 3], 4)).toEqual([4, 5, 6, 7]);
});

test('DraftModel: computes only new tokens, and reuses accepted proposals', () => {
  const { propose, batches } = counting();
  propose([1, 2, 3], 3);
  expect(batches.splice(0)).toEqual([3, 1, 1]);
  expect(propose([1, 2, 3, 4, 5, 6, 7], 2)).toEqual([8, 9]);
  expect(batches.splice(0)).toEqual([2, 1]);
  expect(propose([1, 2, 3, 9], 1)).toEqual([10]);
  expect(batches).toEqual([1]);
});

test('DraftModel: reads a long text in batches, and proposes nothing before its end', () => {
  const { propose, batches } = counting(4);
  const text = [1, 2, 3, 4, 5, 6, 7, 8, 9];
  expect([propose(text, 1), propose(text, 1), propose(text, 1)]).toEqual([[], [], [10]]);
  expect(batches).toEqual([4, 4, 1]);
});

test('DraftModel: proposes nothing after an end token', () => {
  expect(counting().propose([17], 5)).toEqual([18]);
});

test('DraftModel: proposes nothing after an unknown token', () => {
  const { propose } = counting();
  expect(propose([1, 25], 3)).toEqual([]);
  expect(propose([1, 2], 1)).toEqual([3]);
});

test('DraftModel: after a failed step returns the proposals so far and starts again', () => {
  const { propose, results, cache } = counting();
  results.push('ok', 'failed');
  expect(propose([1, 2], 3)).toEqual([3]);
  expect(cache).toEqual([]);
  expect(propose([1, 2], 2)).toEqual([3, 4]);
});

test('DraftModel: proposes nothing beyond its context', () => {
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

test('DraftModel: its cache is always a prefix of the last text and its proposals', () => {
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

test('DraftModel: alternating texts are each read once', () => {
  const { propose, batches, caches } = counting(8, 2);
  const texts = [
    [1, 2, 3, 4, 5, 6],
    [9, 8, 7, 6, 5],
  ];
  for (const [sequence, text] of texts.entries()) propose(text, 2, sequence);
  expect(batches.splice(0)).toEqual([6, 1, 5, 1]);
  // Each continues with both drafted tokens and one more, ten times in turn: the new tokens, and the draft.
  const grown = texts.map((text) => [...text]);
  for (let turn = 0; turn < 10; turn += 1) {
    for (const [sequence, text] of grown.entries()) {
      const guesses = propose(text, 2, sequence);
      expect(guesses).toHaveLength(2);
      text.push(guesses[0] as number, 0);
    }
  }
  expect(Math.max(...batches)).toBeLessThanOrEqual(2);
  expect(batches).toHaveLength(2 * 2 * 10);
  for (const [sequence, text] of grown.entries()) {
    const kept = text.slice(0, -2);
    expect(caches[sequence]?.slice(0, kept.length)).toEqual(kept);
  }
});

test('DraftModel: separate sequences avoid computing two long texts again at every token', () => {
  const texts = [
    [1, ...Array.from({ length: 30 }, () => 3)],
    [2, ...Array.from({ length: 30 }, () => 4)],
  ];
  const rowsFor = (sequences: number) => {
    const { propose, batches } = counting(32, sequences);
    for (let turn = 0; turn < 5; turn += 1) {
      for (const [index, text] of texts.entries())
        propose([...text, ...new Array<number>(turn).fill(5)], 1, index % sequences);
    }
    return batches.reduce((sum, rows) => sum + rows, 0);
  };
  expect(rowsFor(1)).toBeGreaterThan(2 * 31 * 4);
  expect(rowsFor(2)).toBe(2 * (31 + 4));
});

test('DraftModel: a failure for one text does not affect another', () => {
  const { propose, results, caches } = counting(8, 2);
  propose([1, 2, 3], 1, 0);
  results.push('failed');
  expect(propose([5, 6], 1, 1)).toEqual([]);
  expect(caches).toEqual([[1, 2, 3], []]);
});

test('DraftModel: proposes nothing for an unknown sequence', () => {
  expect(counting(8, 2).propose([1, 2, 3], 4, 2)).toEqual([]);
});

test('DraftModel: each cache is a prefix of its own text and proposals', () => {
  const text = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 12 });
  const step = fc.record({ sequence: fc.nat(2), text });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 9 }), (steps) => {
      const { propose, caches } = counting(16, 3);
      const expected: number[][] = [[], [], []];
      for (const { sequence, text: tokens } of steps) {
        const last = tokens.at(-1) as number;
        expect(propose(tokens, 2, sequence)).toEqual([last + 1, last + 2]);
        expected[sequence] = [...tokens, last + 1];
        expect(caches).toEqual(expected);
      }
    }),
  );
});

const vocabulary = (size: number, text = (token: number) => `t${token}`) => ({
  size,
  bytes: (token: number) => Buffer.from(text(token)),
});

test('disagreement: undefined for equal vocabularies', () => {
  expect(disagreement(vocabulary(5000), vocabulary(5000))).toBeUndefined();
});

test('disagreement: ignores padding after the last token', () => {
  const padded = vocabulary(5100, (token) => (token < 5000 ? `t${token}` : 'padding'));
  expect(disagreement(vocabulary(5000), padded)).toBeUndefined();
  expect(disagreement(padded, vocabulary(5000))).toBeUndefined();
});

test('disagreement: different sizes', () => {
  expect(disagreement(vocabulary(5000), vocabulary(6000))).toBe('it has 6000 tokens and the model has 5000');
});

test('disagreement: different texts at any size', () => {
  const other = vocabulary(300, (token) => (token < 200 ? `t${token}` : `u${token}`));
  expect(disagreement(vocabulary(300), other)).toBe('token 200 is "u200" there and "t200" here');
});
