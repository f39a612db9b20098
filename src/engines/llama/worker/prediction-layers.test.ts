import { expect, test } from 'vitest';
import type { DecodeResult } from './memory/context.ts';
import { PredictionLayers } from './prediction-layers.ts';
import { predictions } from './scheduling.ts';

const size = 20;

interface Row {
  readonly token: number;
  readonly state: number;
}

/**
 * A layer that counts: after 4 comes 5. Its cache has the token and the input state of each position. The state of the main model
 * after a token is 100 times that token, the own state of the layer a negative number.
 */
function counting({ sequences = 1, results = [] as DecodeResult[] } = {}) {
  const caches: Row[][] = Array.from({ length: sequences }, () => []);
  let batch: { token: number; position: number; sequence: number; state: number }[] = [];
  const batches: number[] = [];
  const cacheOf = (sequence: number) => caches[sequence] as Row[];
  const decodeNow = () => {
    batches.push(batch.length);
    const result = results.shift() ?? 'ok';
    for (const { token, position, sequence, state } of batch) {
      const cache = cacheOf(sequence);
      // The library takes any first position, and then only the next one.
      if (cache.filter(() => true).length > 0) expect(position).toBe(cache.length);
      cache[position] = { token, state };
    }
    return result;
  };
  const context = {
    batchCapacity: 64,
    clearBatch: () => {
      batch = [];
    },
    add: (token: number, position: number, sequence: number) =>
      batch.push({ token, position, sequence, state: Number.NaN }) - 1,
    setInput: (row: number, vector: Float32Array) => {
      (batch[row] as { state: number }).state = vector[0] as number;
    },
    decodeNow,
    decode: async () => decodeNow(),
    hiddenState: (row: number) => Float32Array.of(-(batch[row]?.token ?? 0)),
    logits: (row: number) => {
      const next = ((batch[row]?.token ?? 0) + 1) % size;
      return Float32Array.from({ length: size }, (_, token) => (token === next ? 1 : 0));
    },
    forget: (sequence: number, from: number) => {
      cacheOf(sequence).length = Math.min(cacheOf(sequence).length, from);
      return true;
    },
    copy: (from: number, to: number) => {
      caches[to] = [...cacheOf(from)];
    },
  };
  const layers = new PredictionLayers({
    context,
    sequences,
    contextSize: 2048,
    sharedTokens: size,
    width: 1,
    isEnd: (token) => token === size - 1,
  });
  return {
    batches,
    cache: (sequence = 0) => cacheOf(sequence).map((row) => row && [row.token, row.state]),
    /** The main model has computed these tokens from an index on. */
    follow: (tokens: readonly number[], from: number, sequence = 0) =>
      layers.follow(sequence, Int32Array.from(tokens), from, tokens.length, (index) =>
        Float32Array.of(100 * (tokens[index] as number)),
      ),
    propose: (tokens: readonly number[], max: number, sequence = 0) => [
      ...layers.propose(sequence, Int32Array.from([...tokens, 0, 0]), tokens.length, max),
    ],
  };
}

/** Each row has the state of the token before. */
const right = (tokens: readonly number[]) => tokens.map((token, index) => [token, 100 * (tokens[index - 1] ?? 0)]);

test('PredictionLayers: drafts after the states of the prompt, and keeps no row of a drafted token', async () => {
  const { follow, propose, cache, batches } = counting();
  await follow([1, 2, 3], 0);
  expect(batches).toEqual([]);
  expect(propose([1, 2, 3, 4], 3)).toEqual([5, 6, 7]);
  expect(batches).toEqual([4, 1, 1]);
  expect(cache()).toEqual(right([1, 2, 3, 4]));
});

test.each([0, 1, 2, 3])(
  'PredictionLayers: has the right states after %i of 3 drafted tokens were accepted',
  async (accepted) => {
    const { follow, propose, cache } = counting();
    await follow([1, 2, 3], 0);
    expect(propose([1, 2, 3, 4], 3)).toEqual([5, 6, 7]);
    await follow([1, 2, 3, 4, 5, 6, 7], 3);
    const text = [1, 2, 3, 4, ...[5, 6, 7].slice(0, accepted), 12];
    expect(propose(text, 2)).toEqual([13, 14]);
    expect(cache()).toEqual(right(text));
  },
);

test('PredictionLayers: drafts nothing before the main model has computed the text', async () => {
  const { follow, propose } = counting();
  expect(propose([1, 2], 2)).toEqual([]);
  await follow([1, 2, 3], 0);
  expect(propose([1, 2, 3, 4, 5], 2)).toEqual([]);
  expect(propose([1, 9, 3, 4], 2)).toEqual([]);
});

test('PredictionLayers: waits with a few tokens, and computes the many of a prompt in batches', async () => {
  const { follow, propose, cache, batches } = counting();
  const prompt = Array.from({ length: predictions.maxPending }, (_, index) => index % 10);
  await follow(prompt, 0);
  expect(batches).toEqual([64, 64, 64, 64]);
  await follow([...prompt, 3], prompt.length);
  await follow([...prompt, 3, 4], prompt.length + 1);
  expect(batches).toHaveLength(4);
  const text = [...prompt, 3, 4, 5];
  expect(propose(text, 1)).toEqual([6]);
  expect(cache()).toEqual(right(text));
});

test('PredictionLayers: continues an edited prompt where it differs', async () => {
  const { follow, propose, cache } = counting();
  await follow([1, 2, 3, 4], 0);
  expect(propose([1, 2, 3, 4, 5], 1)).toEqual([6]);
  await follow([1, 2, 8, 9], 2);
  expect(propose([1, 2, 8, 9, 10], 1)).toEqual([11]);
  // The state before the edit is not kept.
  expect(cache()).toEqual([...right([1, 2]), [8, 0], ...right([1, 2, 8, 9, 10]).slice(3)]);
});

test('PredictionLayers: begins in the middle of a text that it has not followed', async () => {
  const { follow, propose, cache } = counting();
  await follow([1, 2, 3, 4, 5, 6], 4);
  expect(propose([1, 2, 3, 4, 5, 6, 7], 2)).toEqual([8, 9]);
  expect(cache().slice(4)).toEqual([
    [5, 0],
    [6, 500],
    [7, 600],
  ]);
});

test('PredictionLayers: takes over what another sequence has of the text', async () => {
  const { follow, propose, cache } = counting({ sequences: 2 });
  await follow([1, 2, 3, 4], 0);
  propose([1, 2, 3, 4, 5], 1);
  await follow([1, 2, 3, 7], 3, 1);
  expect(propose([1, 2, 3, 7, 8], 1, 1)).toEqual([9]);
  expect(cache(1)).toEqual([...right([1, 2, 3]), [7, 0], [8, 700]]);
  expect(cache(0)).toEqual(right([1, 2, 3, 4, 5]));
});

test('PredictionLayers: after a failed batch, begins again with what follows', async () => {
  const { follow, propose } = counting({ results: ['failed'] });
  await follow([1, 2, 3], 0);
  expect(propose([1, 2, 3, 4], 2)).toEqual([]);
  await follow([1, 2, 3, 4], 3);
  expect(propose([1, 2, 3, 4, 5], 2)).toEqual([6, 7]);
});
