import { describe, expect, test } from 'vitest';
import type { EmbeddingService } from '../../core/embedding.ts';
import type { AppError } from '../../core/errors.ts';
import { modelId } from '../../core/model-names.ts';
import type { ListedModel, ModelsView } from '../../core/models-view.ts';
import type { TextModel, TextState } from '../../core/text-service.ts';
import type { Reply } from '../../http/call.ts';
import { router } from '../../http/router.ts';
import { bindAll } from '../testing/bind.ts';
import { callOf, dialectParts, readyState, scriptedText } from '../testing/doubles.ts';
import { scriptedEmbedding } from '../testing/embedding.ts';
import { modelsEndpoints } from './models.ts';

const { model } = readyState({ parameters: 17, sizeBytes: 99, description: 'tiny' });

async function get(
  path: string,
  state: TextState,
  name = 'koboldcpp/mini',
  models?: ModelsView,
  embedding?: EmbeddingService,
): Promise<Reply> {
  const { text } = scriptedText([], { state: () => state });
  const parts = dialectParts({
    text,
    modelName: () => name,
    now: () => 1_700_000_000_900,
    models,
    ...(embedding ? { taskServices: { embedding } } : {}),
  });
  const endpoint = router(bindAll(modelsEndpoints, parts)).find('GET', path);
  if (!endpoint) throw new Error(`no ${path}`);
  try {
    return await endpoint.handle(callOf(path, '', { method: 'GET' }));
  } catch (error) {
    return endpoint.dialect.errorReply(error as AppError);
  }
}

const bodyOf = (reply: Reply): unknown => ('body' in reply ? JSON.parse(String(reply.body)) : undefined);

const entry = {
  id: 'koboldcpp/mini',
  object: 'model',
  created: 1_700_000_000,
  owned_by: 'koboldcpp',
  type: 'model',
  display_name: 'mini',
  created_at: '2023-11-14T22:13:20Z',
  permission: [],
  root: 'koboldcpp',
  status: { value: 'loaded' },
  aliases: [],
  tags: [],
  context_length: 4096,
  max_model_len: 4096,
  meta: {
    vocab_type: 2,
    n_vocab: 32_000,
    n_ctx: 4096,
    n_ctx_train: 8192,
    n_embd: 512,
    n_params: 17,
    size: 99,
  },
};

test.each(['/v1/models', '/models', '/behind/a/prefix/v1/models'])('%s lists the text model', async (path) => {
  expect(bodyOf(await get(path, { type: 'ready', model }))).toEqual({
    object: 'list',
    data: [entry],
    has_more: false,
    first_id: 'koboldcpp/mini',
    last_id: 'koboldcpp/mini',
    models: [expect.objectContaining({ name: 'koboldcpp/mini', size: 99, capabilities: ['completion'] })],
  });
});

test('models: a loading model has no measures', async () => {
  const body = bodyOf(await get('/v1/models', { type: 'loading', name: 'mini', progress: 0 }));
  expect(body).toMatchObject({
    data: [{ id: 'koboldcpp/mini', status: { value: 'loading' }, meta: null }],
    models: [],
  });
});

test('models: one entry without a text model', async () => {
  const body = bodyOf(await get('/v1/models', { type: 'none' }, 'inactive'));
  expect(body).toMatchObject({ data: [{ id: 'inactive', status: { value: 'unloaded' } }] });
});

test.each(['/v1/models/koboldcpp/mini', '/v1/models/koboldcpp%2Fmini', '/v1/models/mini', '/models/koboldcpp%2Fmini'])(
  '%s is that one model',
  async (path) => {
    const reply = await get(path, { type: 'ready', model });
    expect(reply.status).toBe(200);
    expect(bodyOf(reply)).toEqual(entry);
  },
);

test.each(['/v1/models/gpt-4o', '/v1/models/%E0%A4%A'])('models: %s is 404', async (path) => {
  const reply = await get(path, { type: 'ready', model });
  expect(reply.status).toBe(404);
  expect(bodyOf(reply)).toMatchObject({
    error: { type: 'invalid_request_error', param: 'model', code: 'model_not_found' },
  });
});

test('models: a model with media input is multimodal', async () => {
  const inputs = { image: true, audio: false };
  const reply = await get('/v1/models', { type: 'ready', model: { ...model, inputs } });
  expect(bodyOf(reply)).toMatchObject({ models: [{ capabilities: ['completion', 'multimodal'] }] });
});

describe('models: several models by name', () => {
  const listed = (name: string, state: ListedModel['state'], known?: TextModel): ListedModel => ({
    name,
    id: modelId(name),
    present: name === 'mini',
    state,
    known,
    expiresAt: Number.POSITIVE_INFINITY,
  });
  const several: readonly ListedModel[] = [
    listed('mini', 'ready', model),
    listed('big', 'loading'),
    listed('My config', 'unloaded', { ...model, name: 'My config', contextSize: 512 }),
    listed('broken', 'failed'),
    listed('going', 'leaving'),
  ];
  const view = (list: readonly ListedModel[], byName = true): ModelsView => ({
    list: async () => list,
    swap: undefined,
    byName,
  });
  const ready: TextState = { type: 'ready', model };
  const ids = (body: unknown) => (body as { data: { id: string }[] }).data.map(({ id }) => id);

  test('lists all with their status, the current one first', async () => {
    const body = bodyOf(await get('/v1/models', ready, 'koboldcpp/mini', view(several)));
    expect(body).toMatchObject({
      data: [
        entry,
        { id: 'koboldcpp/big', status: { value: 'loading' }, meta: null },
        { id: 'koboldcpp/Myconfig', status: { value: 'unloaded' }, context_length: 512 },
        { id: 'koboldcpp/broken', status: { value: 'failed' }, meta: null },
        { id: 'koboldcpp/going', status: { value: 'unloaded' } },
      ],
      first_id: 'koboldcpp/mini',
      last_id: 'koboldcpp/going',
      models: [{ name: 'koboldcpp/mini' }, { name: 'koboldcpp/Myconfig' }],
    });
  });

  test('finds each by its id', async () => {
    const list = view(several);
    for (const id of ids(bodyOf(await get('/v1/models', ready, 'koboldcpp/mini', list)))) {
      const paths = [`/v1/models/${id}`, `/models/${encodeURIComponent(id)}`, `/v1/models/${id.split('/')[1]}`];
      for (const path of paths) expect(bodyOf(await get(path, ready, 'koboldcpp/mini', list))).toMatchObject({ id });
    }
    expect(await get('/v1/models/nobody', ready, 'koboldcpp/mini', list)).toMatchObject({ status: 404 });
  });

  test('an evicted model is unloaded, although its service looks ready', async () => {
    const list = view([listed('mini', 'unloaded', model)]);
    expect(bodyOf(await get('/v1/models', ready, 'koboldcpp/mini', list))).toMatchObject({
      data: [{ id: 'koboldcpp/mini', status: { value: 'unloaded' }, context_length: 4096 }],
    });
  });

  test('a server without a loaded model lists those that it can load', async () => {
    const body = bodyOf(await get('/v1/models', { type: 'none' }, 'inactive', view([listed('big', 'unloaded')])));
    expect(ids(body)).toEqual(['koboldcpp/big']);
  });

  test('an empty list has one entry', async () => {
    const body = bodyOf(await get('/v1/models', { type: 'none' }, 'inactive', view([])));
    expect(ids(body)).toEqual(['inactive']);
  });

  test('a server with one swappable model lists that one', async () => {
    const body = bodyOf(await get('/v1/models', ready, 'koboldcpp/mini', view(several, false)));
    expect(ids(body)).toEqual(['koboldcpp/mini']);
  });
});

describe('models: embedding model', () => {
  const list = async (service: EmbeddingService, state: TextState = { type: 'ready', model }) =>
    bodyOf(await get('/v1/models', state, 'koboldcpp/mini', undefined, service)) as {
      data: { id: string; status: object; meta: object | null; capabilities?: string[] }[];
      models: { name: string; capabilities: string[] }[];
      first_id: string;
      last_id: string;
    };

  test('comes after the text model, with its capability', async () => {
    const { data, models, first_id: first, last_id: last } = await list(scriptedEmbedding().service);
    expect(data[0]).toEqual(entry);
    expect(data[1]).toMatchObject({
      id: 'tiny-embed',
      object: 'model',
      type: 'model',
      status: { value: 'loaded' },
      capabilities: ['embedding'],
      meta: { n_ctx: 8, n_embd: 4, n_params: 22_000_000, size: 45 },
    });
    expect(models.map(({ capabilities }) => capabilities)).toEqual([['completion'], ['embedding']]);
    expect([first, last]).toEqual(['koboldcpp/mini', 'tiny-embed']);
  });

  test('built-in: is not in data, but in the list of llama.cpp, and is found by its id', async () => {
    const { service } = scriptedEmbedding('tiny-embed', { builtIn: true });
    const { data, models, last_id: last } = await list(service);
    expect([data.length, models.length, last]).toEqual([1, 2, 'koboldcpp/mini']);
    const one = await get('/v1/models/tiny-embed', { type: 'none' }, 'inactive', undefined, service);
    expect(bodyOf(one)).toMatchObject({ id: 'tiny-embed', capabilities: ['embedding'] });
  });

  test('is listed before it is loaded', async () => {
    const { service } = scriptedEmbedding('new', { loaded: () => false, facts: () => undefined });
    expect((await list(service)).data[1]).toMatchObject({ id: 'new', status: { value: 'unloaded' }, meta: null });
  });

  test('is listed once if it is also the text model', async () => {
    expect((await list(scriptedEmbedding('mini').service)).data).toHaveLength(1);
  });

  test('comes after the placeholder without a text model', async () => {
    const { data } = await list(scriptedEmbedding().service, { type: 'none' });
    expect(data).toHaveLength(2);
    expect(data[1]?.id).toBe('tiny-embed');
  });

  test('is found by its id', async () => {
    const reply = await get(
      '/v1/models/tiny-embed',
      { type: 'none' },
      'inactive',
      undefined,
      scriptedEmbedding().service,
    );
    expect(bodyOf(reply)).toMatchObject({ id: 'tiny-embed', capabilities: ['embedding'] });
  });
});
