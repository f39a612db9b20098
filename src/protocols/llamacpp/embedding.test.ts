import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { callOf } from '../testing/doubles.ts';
import { scriptedEmbedding, scriptedOthers } from '../testing/embedding.ts';
import { ask, bodyOf, llamacppParts } from './testing/world.ts';

const answer = async (body: unknown, own = {}) => {
  const reply = await ask(llamacppParts({ others: scriptedOthers().others, ...own }), callOf('/embedding', body));
  return { status: reply.status, headers: reply.headers ?? {}, body: await bodyOf(reply) };
};

test('vectors come in arrays of their own, normalised as asked', async () => {
  expect((await answer({ content: 'abc', embd_normalize: -1 })).body).toEqual([
    { index: 0, embedding: [[3, 0, 97, 4]] },
  ]);
  expect((await answer({ input: ['a', 'b'], embd_normalize: 0 })).body).toEqual([
    { index: 0, embedding: [[expect.closeTo(32_760 / 97, 1), 0, 32_760, expect.closeTo((4 * 32_760) / 97, 1)]] },
    { index: 1, embedding: [[expect.closeTo(32_760 / 98, 1), 0, 32_760, expect.closeTo((4 * 32_760) / 98, 1)]] },
  ]);
});

test('a vector for each token stands beside the others', async () => {
  const { body } = await answer({ content: 'abc', pooling: 'none', embd_normalize: -1 });
  expect(body).toEqual([{ index: 0, embedding: Array.from({ length: 3 }, () => [3, 0, 97, 4]) }]);
});

test('content wins over input, and token numbers are taken as well', async () => {
  expect((await answer({ content: 'a', input: 'bb', embd_normalize: -1 })).body).toMatchObject([
    { embedding: [[1, 0, 97, 4]] },
  ]);
  expect((await answer({ content: [7, 8], embd_normalize: -1 })).body).toMatchObject([{ embedding: [[2, 0, 7, 4]] }]);
});

test('what was cut is named', async () => {
  const { headers } = await answer({ content: 'a long piece of text', truncate: true });
  expect(headers['x-parley-truncated']).toBe('input[0]');
});

test.each([{}, { content: null }, { content: '' }, { content: [] }, { content: 5 }, { content: 'a', pooling: 'rank' }])(
  '%j is refused',
  async (body) => {
    expect(await answer(body)).toMatchObject({ status: 400, body: { error: { code: 400 } } });
  },
);

test('what is too long comes with the numbers that clients shorten by', async () => {
  const embed = () =>
    Promise.reject(new AppError('input-too-long', { field: 'input[0]', tokens: 600, mostTokens: 512 }));
  const { service } = scriptedEmbedding('e', { embed });
  expect((await answer({ content: 'a' }, { others: { embedding: service } })).body).toEqual({
    error: {
      code: 400,
      message: 'input[0] is too large: it has 600 tokens, and this model reads at most 512.',
      type: 'exceed_context_size_error',
      n_prompt_tokens: 600,
      n_ctx: 512,
    },
  });
});
