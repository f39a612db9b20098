import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { callOf } from '../testing/doubles.ts';
import { scriptedEmbedding, scriptedOthers } from '../testing/embedding.ts';
import { jsonOf } from '../testing/reply-text.ts';
import { ask, llamacppParts } from './testing/world.ts';

const answer = async (body: unknown, own = {}) => {
  const reply = await ask(
    llamacppParts({ taskServices: scriptedOthers().taskServices, ...own }),
    callOf('/embedding', body),
  );
  return { status: reply.status, headers: reply.headers ?? {}, body: await jsonOf(reply) };
};

test('embedding: vectors in arrays, normalised as requested', async () => {
  expect((await answer({ content: 'abc', embd_normalize: -1 })).body).toEqual([
    { index: 0, embedding: [[3, 0, 97, 4]] },
  ]);
  expect((await answer({ input: ['a', 'b'], embd_normalize: 0 })).body).toEqual([
    { index: 0, embedding: [[expect.closeTo(32_760 / 97, 1), 0, 32_760, expect.closeTo((4 * 32_760) / 97, 1)]] },
    { index: 1, embedding: [[expect.closeTo(32_760 / 98, 1), 0, 32_760, expect.closeTo((4 * 32_760) / 98, 1)]] },
  ]);
});

test('embedding: pooling none gives a vector for each token', async () => {
  const { body } = await answer({ content: 'abc', pooling: 'none', embd_normalize: -1 });
  expect(body).toEqual([{ index: 0, embedding: Array.from({ length: 3 }, () => [3, 0, 97, 4]) }]);
});

test('embedding: content wins over input, and token numbers are accepted', async () => {
  expect((await answer({ content: 'a', input: 'bb', embd_normalize: -1 })).body).toMatchObject([
    { embedding: [[1, 0, 97, 4]] },
  ]);
  expect((await answer({ content: [7, 8], embd_normalize: -1 })).body).toMatchObject([{ embedding: [[2, 0, 7, 4]] }]);
});

test('embedding: names truncated inputs', async () => {
  const { headers } = await answer({ content: 'a long piece of text', truncate: true });
  expect(headers['x-parley-truncated']).toBe('input[0]');
});

test.each([{}, { content: null }, { content: '' }, { content: [] }, { content: 5 }, { content: 'a', pooling: 'rank' }])(
  'embedding: refuses %j',
  async (body) => {
    expect(await answer(body)).toMatchObject({ status: 400, body: { error: { code: 400 } } });
  },
);

test('embedding: an input that is too long has its two numbers in the error', async () => {
  const embed = () =>
    Promise.reject(new AppError('input-too-long', { field: 'input[0]', tokens: 600, maxTokens: 512 }));
  const { service } = scriptedEmbedding('e', { embed });
  expect((await answer({ content: 'a' }, { taskServices: { embedding: service } })).body).toEqual({
    error: {
      code: 400,
      message: 'input[0] is too large: it has 600 tokens, and this model reads at most 512.',
      type: 'exceed_context_size_error',
      n_prompt_tokens: 600,
      n_ctx: 512,
    },
  });
});

const rerank = async (body: unknown, own = {}) => {
  const reply = await ask(
    llamacppParts({ taskServices: scriptedOthers().taskServices, ...own }),
    callOf('/v1/rerank', body),
  );
  return { status: reply.status, headers: reply.headers ?? {}, body: (await jsonOf(reply)) as never };
};
const scored = (...scores: number[]) => ({
  taskServices: {
    embedding: scriptedEmbedding('ranker', {
      rank: async () => ({ scores, tokens: 9, truncated: [], loadMs: 0 }),
    }).service,
  },
});
const documents = ['a', 'b', 'c'];

test('rerank: the best first, and equal ones in the order they were sent', async () => {
  const { body } = await rerank({ query: 'q', documents }, scored(0.1, 0.9, 0.1));
  expect(body).toEqual({
    object: 'list',
    model: 'ranker',
    results: [
      { index: 1, relevance_score: 0.9 },
      { index: 0, relevance_score: 0.1 },
      { index: 2, relevance_score: 0.1 },
    ],
    usage: { prompt_tokens: 9, total_tokens: 9 },
  });
});

test.each([
  [1, [1]],
  [2, [1, 2]],
  [3, [1, 2, 0]],
  [99, [1, 2, 0]],
])('rerank: top_n %i gives %j', async (most, expected) => {
  const { body } = await rerank({ query: 'q', documents, top_n: most }, scored(-3, 2, 1));
  expect((body as { results: { index: number }[] }).results.map(({ index }) => index)).toEqual(expected);
});

test('rerank: return_documents, also for documents as objects', async () => {
  const asked = { query: 'q', documents: ['a', { text: 'bb', title: 'B' }], return_documents: true };
  const { body } = await rerank(asked);
  expect(body).toMatchObject({ results: [{ document: { text: 'bb' } }, { document: { text: 'a' } }] });
});

test('rerank: a bare array with texts', async () => {
  const { body } = await rerank({ query: 'q', texts: ['a', 'bb'], return_text: true });
  expect(body).toEqual([
    { index: 1, score: 0.2, text: 'bb' },
    { index: 0, score: 0.1, text: 'a' },
  ]);
});

test('rerank: names truncated documents', async () => {
  const long = 'a document of some length';
  expect((await rerank({ query: 'q', documents: ['a', long] })).headers['x-parley-truncated']).toBe('documents[1]');
  expect((await rerank({ query: 'q', texts: [long] })).headers['x-parley-truncated']).toBe('texts[0]');
});

describe('rerank: refuses', () => {
  test.each<[object, RegExp]>([
    [{}, /^query must be a string that is not empty/],
    [{ query: 'q' }, /^documents must be an array of 1 to 2048/],
    [{ query: 'q', documents: [] }, /^documents must be/],
    [{ query: 'q', documents: 'a' }, /^documents must be an array/],
    [{ query: 'q', documents: ['a', 5] }, /^documents\[1\] must be a string, or an object/],
    [{ query: 'q', documents: [{ text: 5 }] }, /^documents\[0\]/],
    [{ query: 'q', documents: Array.from({ length: 2049 }, () => 'a') }, /2048/],
    [{ query: ['q'], documents }, /^query must be a string/],
    [{ query: 'q', documents, top_n: -1 }, /^top_n must be a whole number above 0/],
    [{ query: 'q', documents, return_documents: 'yes' }, /^return_documents must be true or false/],
  ])('%j', async (body, message) => {
    expect(await rerank(body)).toMatchObject({
      status: 400,
      body: { error: { code: 400, type: 'invalid_request_error', message: expect.stringMatching(message) } },
    });
  });

  test('everything without a model', async () => {
    expect(await rerank({ query: 'q', documents }, { taskServices: {} })).toMatchObject({
      status: 503,
      body: { error: { type: 'unavailable_error' } },
    });
  });
});
