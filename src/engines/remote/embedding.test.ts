import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RemoteEmbedding, shared } from './embedding.ts';
import { poolOf } from './testing/backend-pool.ts';
import { type Handler, json, upstream, wellParley, wellVllm } from './testing/upstream.ts';

const never = new AbortController().signal;

/** A vector that tells what it was made of. */
const vectors: Handler = (received, response) => {
  const data = (received.body.input as (string | number[])[]).map((input, index) => ({
    index,
    embedding: [input.length, 1],
  }));
  // The order of the list means nothing.
  return json({ data: data.toReversed(), usage: { prompt_tokens: data.length * 3 } })(received, response);
};

async function engineOn(handlers: Readonly<Record<string, Handler>>, count = 1) {
  const engines = await Promise.all(Array.from({ length: count }, () => upstream(handlers)));
  const { pool } = poolOf(engines.map((one) => one.address()));
  const engine = new RemoteEmbedding(pool, { model: undefined });
  engine.start();
  await engine.settled();
  return { engine, engines, pool };
}

describe('RemoteEmbedding.embed', () => {
  test('returns vectors in order with token counts', async () => {
    const { engine, engines } = await engineOn({ ...wellVllm, '/v1/embeddings': vectors });
    expect(engine.facts()).toBeUndefined();
    const made = await engine.embed({ inputs: ['a', 'bbb'], truncate: true }, never);
    expect(made.vectors.map((list) => [...(list[0] ?? [])])).toEqual([
      [1, 1],
      [3, 1],
    ]);
    expect(made.tokens.reduce((sum, count) => sum + count, 0)).toBe(6);
    expect(engines[0]?.asked('/v1/embeddings')[0]?.body).toMatchObject({
      model: 'org/model-8b',
      input: ['a', 'bbb'],
      truncate_prompt_tokens: -1,
    });
    expect(engine.facts()).toMatchObject({ dimensions: 2, maxTokens: 4096 });
  });

  test('sends texts and tokens separately, and large lists in batches', async () => {
    const { engine, engines } = await engineOn({ ...wellParley, '/v1/embeddings': vectors });
    const inputs = [...Array.from({ length: 300 }, (_, place) => 'x'.repeat(place)), [1, 2, 3, 4]];
    const made = await engine.embed({ inputs, truncate: false }, never);
    expect(made.vectors.map((list) => list[0]?.[0])).toEqual(inputs.map(({ length }) => length));
    const asked = engines[0]?.asked('/v1/embeddings') ?? [];
    expect(asked.map(({ body }) => body.input.length)).toEqual([256, 44, 1]);
    expect(asked[0]?.body.truncate).toBe(false);
  });

  test('reads base64', async () => {
    const bytes = Buffer.from(new Float32Array([0.5, -2]).buffer).toString('base64');
    const { engine } = await engineOn({ ...wellVllm, '/v1/embeddings': json({ data: [{ embedding: bytes }] }) });
    const { vectors: made } = await engine.embed({ inputs: ['a'], truncate: true }, never);
    expect([...(made[0]?.[0] ?? [])]).toEqual([0.5, -2]);
  });

  test('retries on another backend', async () => {
    const { engine, engines } = await engineOn({ ...wellVllm, '/v1/embeddings': vectors }, 2);
    for (const one of engines) one.become({ '/v1/embeddings': json({ error: 'busy' }, 503) });
    await expect(engine.embed({ inputs: ['a'], truncate: true }, never)).rejects.toMatchObject({ code: 'remote-down' });
    expect(engines.map((one) => one.asked('/v1/embeddings').length)).toEqual([1, 1]);
  });

  test('rejects vectors that do not fit', async () => {
    for (const data of [
      [],
      [{ embedding: [] }],
      [{ embedding: [1] }, { embedding: [1, 2] }],
      'x',
      [{ index: 7, embedding: [1] }],
    ]) {
      const { engine } = await engineOn({ ...wellVllm, '/v1/embeddings': json({ data }) });
      await expect(engine.embed({ inputs: ['a', 'b'], truncate: true }, never)).rejects.toMatchObject({
        code: 'engine-failed',
      });
    }
  });

  test('rejects other poolings, and passes on the error of the backend', async () => {
    const refused = json({ error: { message: 'input is too long' } }, 400);
    const { engine } = await engineOn({ ...wellVllm, '/v1/embeddings': refused });
    await expect(engine.embed({ inputs: ['a'], truncate: true, pooling: 'cls' }, never)).rejects.toMatchObject({
      code: 'unsupported',
    });
    await expect(engine.embed({ inputs: ['a'], truncate: true }, never)).rejects.toThrow('input is too long');
  });

  test('stops on abort', async () => {
    const stop = new AbortController();
    const { engine } = await engineOn({ ...wellVllm, '/v1/embeddings': () => stop.abort(new Error('gone')) });
    await expect(engine.embed({ inputs: ['a'], truncate: true }, stop.signal)).rejects.toThrow('gone');
  });
});

describe('RemoteEmbedding.rank', () => {
  const request = { query: 'q', documents: ['one', 'three'], truncate: true };

  test('uses /v1/rerank', async () => {
    const results = [
      { index: 1, relevance_score: 0.9 },
      { index: 0, relevance_score: 0.1 },
    ];
    const { engine } = await engineOn({ ...wellVllm, '/v1/rerank': json({ results, usage: { total_tokens: 8 } }) });
    expect(await engine.rank(request, never)).toEqual({ scores: [0.1, 0.9], tokens: 8, truncated: [] });
  });

  test('falls back to cosine similarity', async () => {
    const { engine } = await engineOn({ ...wellVllm, '/v1/embeddings': vectors });
    const { scores } = await engine.rank(request, never);
    expect(scores).toHaveLength(2);
    expect(scores[0]).toBeGreaterThan(scores[1] as number);
  });

  test('passes on a rejection', async () => {
    const { engine } = await engineOn({ ...wellVllm, '/v1/rerank': json({ error: 'too many' }, 400) });
    await expect(engine.rank(request, never)).rejects.toThrow('too many');
  });
});

test('shared: the parts add up and follow the lengths', () => {
  fc.assert(
    fc.property(fc.nat({ max: 1000 }), fc.array(fc.nat({ max: 100 })), (total, lengths) => {
      const parts = shared(total, lengths);
      const whole = lengths.reduce((sum, length) => sum + length, 0);
      expect(parts.reduce((sum, part) => sum + part, 0)).toBe(whole === 0 ? 0 : total);
      for (const part of parts) expect(part).toBeGreaterThanOrEqual(0);
    }),
  );
});
