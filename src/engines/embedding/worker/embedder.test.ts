import { describe, expect, test } from 'vitest';
import type { Pooling } from '../../../core/embedding.ts';
import { begin, end, letters } from '../testing/letters.ts';
import { Embedder } from './embedder.ts';
import { poolingOf } from './model.ts';

const never = new AbortController().signal;
const marks = { before: [begin], between: [end], after: [end] };

/** Counts how often a text has the letters a, b and c; a pair is worth as much as it has tokens. */
function embedder(pooling: Pooling, own: { maxTokens?: number; dimensions?: number; rankTemplate?: string } = {}) {
  const seen: { pooling: Pooling; texts: number }[] = [];
  const counts = (text: Int32Array) =>
    Float32Array.from([...'abc'], (letter) => text.filter((token) => token === letter.codePointAt(0)).length);
  const made = new Embedder({
    facts: { pooling, maxTokens: own.maxTokens ?? 16, dimensions: own.dimensions ?? 3 },
    vocabulary: letters,
    marks,
    rankTemplate: own.rankTemplate,
    computer: {
      limit: { tokens: 64, sequences: 8 },
      stop: () => undefined,
      compute: async (by, texts) => {
        seen.push({ pooling: by, texts: texts.length });
        if (by === 'rank') return texts.map(({ length }) => [Float32Array.of(length)]);
        return texts.map((text) => (by === 'none' ? Array.from(text, () => counts(text)) : [counts(text)]));
      },
    },
  });
  return { made, seen };
}

describe('Embedder.embed', () => {
  test('returns vectors and token counts per input', async () => {
    const { made, seen } = embedder('mean');
    const found = await made.embed({ inputs: ['aab', [97, 99]], truncate: false }, never);
    expect(found).toEqual({
      vectors: [[Float32Array.of(2, 1, 0)], [Float32Array.of(1, 0, 1)]],
      tokens: [5, 2],
      truncated: [],
      pooling: 'mean',
    });
    expect(seen).toEqual([{ pooling: 'mean', texts: 2 }]);
  });

  test('uses the requested pooling or that of the model', async () => {
    const { made } = embedder('cls');
    expect((await made.embed({ inputs: ['ab'], truncate: false }, never)).pooling).toBe('cls');
    const each = await made.embed({ inputs: ['ab'], truncate: false, pooling: 'none' }, never);
    expect([each.pooling, each.vectors[0]?.length]).toEqual(['none', 4]);
  });

  test('reports truncated inputs', async () => {
    const { made } = embedder('mean', { maxTokens: 4 });
    const found = await made.embed({ inputs: ['a', 'abcabc', 'b', 'cccc'], truncate: true }, never);
    expect([found.truncated, found.tokens]).toEqual([
      [1, 3],
      [3, 4, 3, 4],
    ]);
    await expect(made.embed({ inputs: ['a', 'abcabc'], truncate: false }, never)).rejects.toThrow(
      'input[1] is too large',
    );
  });

  test('rejects a ranking model unless another pooling is requested', async () => {
    const { made } = embedder('rank');
    await expect(made.embed({ inputs: ['a'], truncate: false }, never)).rejects.toThrow('use /v1/rerank');
    expect((await made.embed({ inputs: ['a'], truncate: false, pooling: 'mean' }, never)).vectors).toHaveLength(1);
  });

  test('rejects results that are too large', async () => {
    const { made, seen } = embedder('mean', { dimensions: 2 ** 23 });
    await expect(made.embed({ inputs: ['a', 'b', 'c'], truncate: false }, never)).rejects.toThrow(
      'it makes 3 vectors, and at most 2 are possible',
    );
    await expect(made.embed({ inputs: ['a'], truncate: false, pooling: 'none' }, never)).rejects.toThrow('it makes 3');
    expect(seen).toEqual([]);
  });

  test('stops on abort while tokenizing', async () => {
    const { made, seen } = embedder('mean');
    const gone = new AbortController();
    const work = made.embed({ inputs: Array.from({ length: 500 }, () => 'a'), truncate: false }, gone.signal);
    gone.abort(new Error('left'));
    await expect(work).rejects.toThrow('left');
    expect(seen).toEqual([]);
  });
});

describe('Embedder.rank', () => {
  test('a ranking model scores each pair', async () => {
    const { made, seen } = embedder('rank');
    const found = await made.rank({ query: 'ab', documents: ['c', 'ccc'], truncate: true }, never);
    expect(found).toEqual({ scores: [6, 8], tokens: 14, truncated: [] });
    expect(seen).toEqual([{ pooling: 'rank', texts: 2 }]);
  });

  test('fills the template of the model', async () => {
    const { made } = embedder('rank', { rankTemplate: '{query}?{document}' });
    const { scores } = await made.rank({ query: 'ab', documents: ['c'], truncate: true }, never);
    expect(scores).toEqual([4]);
  });

  test('other models score by cosine similarity', async () => {
    const { made } = embedder('mean');
    const found = await made.rank({ query: 'ab', documents: ['ab', 'aabb', 'c', 'a'], truncate: true }, never);
    expect(found.scores.map((score) => Number(score.toFixed(2)))).toEqual([1, 1, 0, 0.71]);
    expect(found.tokens).toBe(4 + 4 + 6 + 3 + 3);
  });

  test('pooling none becomes mean', async () => {
    const { made, seen } = embedder('none');
    await made.rank({ query: 'a', documents: ['b'], truncate: true }, never);
    expect(seen).toEqual([{ pooling: 'mean', texts: 2 }]);
  });

  test('truncates documents but not the query', async () => {
    const { made } = embedder('mean', { maxTokens: 6 });
    expect(await made.rank({ query: 'a', documents: ['b', 'cccccccc'], truncate: true }, never)).toMatchObject({
      truncated: [1],
    });
    const long = made.rank({ query: 'aaaaaaaa', documents: ['b'], truncate: true }, never);
    await expect(long).rejects.toThrow('query is too large');
    const refused = made.rank({ query: 'a', documents: ['b', 'cccccccc'], truncate: false }, never);
    await expect(refused).rejects.toThrow('documents[1] is too large');
  });
});

test('Embedder.warmUp: computes one text', async () => {
  const { made, seen } = embedder('last');
  await made.warmUp();
  expect(seen).toEqual([{ pooling: 'last', texts: 1 }]);
});

describe('poolingOf', () => {
  test.each([
    ['0', true, 'none'],
    ['1', false, 'mean'],
    ['2', false, 'cls'],
    ['3', true, 'last'],
    ['4', false, 'rank'],
    ['', true, 'last'],
    ['', false, 'mean'],
    ['9', true, 'last'],
  ] as const)('that says %j, seeing only back: %j', (said, causal, expected) =>
    expect(poolingOf(said, causal)).toBe(expected),
  );
});
