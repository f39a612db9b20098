import { describe, expect, test } from 'vitest';
import { AppError, asAppError } from '../../core/errors.ts';
import { bindAll } from '../testing/bind.ts';
import { callOf } from '../testing/doubles.ts';
import { scriptedEmbedding, scriptedOthers } from '../testing/embedding.ts';
import { embeddingEndpoints } from './embeddings.ts';
import { ollamaDialect } from './errors.ts';

function world(own: { taskServices?: object; now?: () => number } = {}) {
  const services = scriptedOthers();
  const parts = { taskServices: services.taskServices, modelName: () => 'mini', now: () => 0, ...own };
  const endpoints = bindAll(embeddingEndpoints, parts);
  return {
    services,
    ask: async (path: string, body: unknown) => {
      const endpoint = endpoints.find((one) => one.path === path);
      const reply = await Promise.resolve(endpoint?.handle(callOf(path, body))).catch((error: unknown) =>
        ollamaDialect.errorReply(asAppError(error)),
      );
      if (!reply || !('body' in reply)) throw new Error('no whole reply');
      return { status: reply.status, headers: reply.headers ?? {}, body: JSON.parse(String(reply.body)) };
    },
  };
}

describe('POST /api/embed', () => {
  test('has all fields, with times in nanoseconds', async () => {
    let now = 0;
    const { ask } = world({ now: () => (now += 20) });
    const { status, headers, body } = await ask('/api/embed', { model: 'any', input: ['abc', 'b'] });
    expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    expect(body).toEqual({
      model: 'any',
      embeddings: [expect.any(Array), expect.any(Array)],
      total_duration: 20_000_000,
      load_duration: 7_000_000,
      prompt_eval_count: 4,
    });
    for (const vector of body.embeddings) expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
  });

  test('total_duration is at least load_duration', async () => {
    const { body } = await world().ask('/api/embed', { model: 'any', input: 'a' });
    expect(body.total_duration).toBe(7_000_000);
  });

  test.each([undefined, null, '', []])('input %j gives no vectors', async (input) => {
    const { ask, services } = world();
    const { status, body } = await ask('/api/embed', { model: 'any', input });
    expect([status, body]).toEqual([
      200,
      { model: 'any', embeddings: [], total_duration: 0, load_duration: 0, prompt_eval_count: 0 },
    ]);
    expect(services.asked).toEqual([]);
  });

  test('dimensions 0 means all', async () => {
    const { body } = await world().ask('/api/embed', { model: 'any', input: 'a', dimensions: 0 });
    expect(body.embeddings[0]).toHaveLength(4);
  });

  test('truncates unless truncate is false', async () => {
    const { ask, services } = world();
    const { headers } = await ask('/api/embed', {
      model: 'any',
      input: 'a long piece of text',
      options: { num_ctx: 9 },
    });
    expect(headers).toMatchObject({ 'x-parley-truncated': 'input[0]', 'x-parley-ignored': 'options' });
    await ask('/api/embed', { model: 'any', input: 'a', truncate: false });
    expect(services.asked).toMatchObject([{ request: { truncate: true } }, { request: { truncate: false } }]);
  });

  test('an error has the words that apps look for', async () => {
    const embed = () => Promise.reject(new AppError('input-too-long', { field: 'input[0]', tokens: 9, maxTokens: 8 }));
    const { ask } = world({ taskServices: { embedding: scriptedEmbedding('e', { embed }).service } });
    const { status, body } = await ask('/api/embed', { model: 'any', input: 'a', truncate: false });
    expect([status, body]).toEqual([
      400,
      { error: expect.stringMatching(/^the input length exceeds the context length: input\[0\] is too large/) },
    ]);
  });

  test('keep_alive is set before the model is used', async () => {
    const { ask, services } = world();
    await ask('/api/embed', { model: 'any', input: 'a', keep_alive: 0 });
    await ask('/api/embed', { model: 'any', input: 'a', keep_alive: -1 });
    expect(services.asked).toMatchObject([{ keep: 0 }, {}, { keep: Number.POSITIVE_INFINITY }, {}]);
  });

  test('without a model, uses the embeddings model and names it', async () => {
    expect(await world().ask('/api/embed', { input: 'a' })).toMatchObject({
      status: 200,
      body: { model: 'tiny-embed' },
    });
    const old = await world().ask('/api/embeddings', { prompt: 'abc' });
    expect(old).toMatchObject({ status: 200, body: { embedding: [3, 0, 97, 4] } });
  });

  test.each<[object, number, string | RegExp]>([
    [{ model: 'm', input: 5 }, 400, 'invalid input type'],
    [{ model: 'm', input: ['a', 5] }, 400, 'invalid input type'],
    [{ model: 'm', input: [[1, 2]] }, 400, 'invalid input type'],
    [{ model: 5, input: 'a' }, 400, 'model must be a string.'],
    [{ model: 'm', input: 'a', dimensions: 9 }, 400, /^dimensions must be at most 4/],
    [{ model: 'm', input: 'a', dimensions: -1 }, 400, /^dimensions must be/],
    [{ model: 'm', input: 'a', truncate: 'maybe' }, 400, 'truncate must be true or false.'],
    [{ model: 'm', input: Array.from({ length: 2049 }, () => 'a') }, 400, /at most 2048/],
  ])('refuses %j', async (body, status, error) => {
    expect(await world().ask('/api/embed', body)).toMatchObject({
      status,
      body: { error: typeof error === 'string' ? error : expect.stringMatching(error) },
    });
  });
});

describe('POST /api/embeddings', () => {
  test('returns one vector without normalising it', async () => {
    const { body } = await world().ask('/api/embeddings', { model: 'any', prompt: 'abc' });
    expect(body).toEqual({ embedding: [3, 0, 97, 4] });
  });

  test('an empty prompt gives an empty vector', async () => {
    expect((await world().ask('/api/embeddings', { model: 'any', prompt: '' })).body).toEqual({ embedding: [] });
    expect((await world().ask('/api/embeddings', { model: 'any' })).body).toEqual({ embedding: [] });
  });

  test('truncates, with a header', async () => {
    const { headers } = await world().ask('/api/embeddings', { model: 'any', prompt: 'a long piece of text' });
    expect(headers['x-parley-truncated']).toBe('input[0]');
  });

  test.each([[{ model: 'm', prompt: ['a'] }, 'prompt must be a string.']])('refuses %j', async (body, error) => {
    expect(await world().ask('/api/embeddings', body)).toMatchObject({ status: 400, body: { error } });
  });
});
