import { describe, expect, test } from 'vitest';
import { AppError, asAppError } from '../../core/errors.ts';
import { bindAll } from '../testing/bind.ts';
import { callOf } from '../testing/doubles.ts';
import { scriptedEmbedding, scriptedOthers } from '../testing/embedding.ts';
import { openaiDialect } from './errors.ts';
import { embeddingsEndpoints } from './routes.ts';

function world(taskServices: object = scriptedOthers().taskServices) {
  const [endpoint] = bindAll(embeddingsEndpoints, { taskServices, modelName: () => 'koboldcpp/mini' });
  return async (body: unknown, own = {}) => {
    const call = callOf('/v1/embeddings', body, own);
    const reply = await Promise.resolve(endpoint?.handle(call)).catch((error: unknown) =>
      openaiDialect.errorReply(asAppError(error)),
    );
    if (!reply || !('body' in reply)) throw new Error('no whole reply');
    return { status: reply.status, headers: reply.headers ?? {}, body: JSON.parse(String(reply.body)) };
  };
}

test('embeddings: a list with an object per input', async () => {
  const { status, headers, body } = await world()({ input: ['abc', 'b'] });
  expect([status, headers['content-type']]).toEqual([200, 'application/json']);
  expect(body).toEqual({
    object: 'list',
    model: 'tiny-embed',
    data: [
      { object: 'embedding', index: 0, embedding: expect.any(Array) },
      { object: 'embedding', index: 1, embedding: expect.any(Array) },
    ],
    usage: { prompt_tokens: 4, total_tokens: 4 },
  });
  for (const { embedding } of body.data) expect(Math.hypot(...embedding)).toBeCloseTo(1, 5);
});

test('embeddings: base64 holds the same numbers', async () => {
  const ask = world();
  const numbers = (await ask({ input: 'abc', encoding_format: 'float' })).body.data[0].embedding;
  const bytes = Buffer.from((await ask({ input: 'abc', encoding_format: 'base64' })).body.data[0].embedding, 'base64');
  expect(numbers.map((_: number, index: number) => bytes.readFloatLE(index * 4))).toEqual(numbers);
});

test('embeddings: null counts as absent', async () => {
  const body = { input: 'a', model: null, encoding_format: null, dimensions: null, truncate: null, genkey: null };
  expect((await world()(body)).status).toBe(200);
});

test('embeddings: headers name truncated inputs and ignored fields', async () => {
  const { headers } = await world()({ input: ['a', 'a text that is long'], truncate: true, user: 'me' });
  expect(headers['x-parley-truncated']).toBe('input[1]');
  expect(headers['x-parley-ignored']).toBe('user');
});

test('embeddings: the reply has the main name of the model', async () => {
  expect((await world()({ input: 'a', model: 'gpt-4' })).body.model).toBe('tiny-embed');
  expect((await world()({ input: 'a', model: 'mini' })).body.model).toBe('koboldcpp/mini');
});

describe('embeddings: errors', () => {
  test('have the field as param', async () => {
    expect((await world()({ input: 'a', dimensions: 5 })).body.error).toEqual({
      message: 'dimensions must be at most 4, which is what this model has.',
      type: 'invalid_request_error',
      param: 'dimensions',
      code: null,
    });
  });

  test('context_length_exceeded for an input that is too long', async () => {
    const embed = () =>
      Promise.reject(new AppError('input-too-long', { field: 'input[2]', tokens: 600, maxTokens: 512 }));
    const { status, body } = await world({ embedding: scriptedEmbedding('e', { embed }).service })({ input: 'a' });
    expect([status, body.error]).toEqual([
      400,
      {
        message: 'input[2] is too large: it has 600 tokens, and this model reads at most 512.',
        type: 'invalid_request_error',
        param: 'input[2]',
        code: 'context_length_exceeded',
      },
    ]);
  });

  test('no retry-after without a model', async () => {
    const { status, body, headers } = await world({})({ input: 'a' });
    expect([status, body.error.code, headers['x-should-retry']]).toEqual([503, 'model_not_loaded', 'false']);
  });

  test.each(['', 'no json', '[]'])('the body %j is rejected', async (text) => {
    expect((await world()(text)).status).toBe(400);
  });
});

test('embeddings: passes the signal of the call on', async () => {
  const { taskServices, ...rest } = scriptedOthers();
  const gone = new AbortController();
  const services = { taskServices, ...rest };
  await world(services.taskServices)({ input: 'a' }, { signal: gone.signal });
  gone.abort();
  const own = scriptedEmbedding('e', {
    embed: async (_, { signal }) => {
      signal.throwIfAborted();
      throw new Error('went on');
    },
  });
  const { body } = await world({ embedding: own.service })(
    { input: 'a' },
    { signal: AbortSignal.abort(new Error('left')) },
  );
  expect(body.error.message).toContain('left');
});
