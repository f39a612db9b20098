import { expect, test } from 'vitest';
import type { AppError } from '../../core/errors.ts';
import type { TextModel, TextState } from '../../core/text-service.ts';
import type { Reply } from '../../http/call.ts';
import { router } from '../../http/router.ts';
import { callOf, dialectParts, scriptedText } from '../testing/doubles.ts';
import { modelsEndpoints } from './models.ts';

const model: TextModel = {
  name: 'mini',
  path: '/models/mini.gguf',
  contextSize: 4096,
  trainedContext: 8192,
  vocabularySize: 32_000,
  vocabularyType: 2,
  embeddingLength: 512,
  parameters: 17,
  sizeBytes: 99,
  description: 'tiny',
  chatTemplate: undefined,
  specialTokens: { bos: '<s>', eos: '</s>' },
  inputs: { image: false, audio: false },
};

async function get(path: string, state: TextState, name = 'koboldcpp/mini'): Promise<Reply> {
  const { text } = scriptedText([], { state: () => state });
  const parts = dialectParts({ text, modelName: () => name, now: () => 1_700_000_000_900 });
  const endpoint = router(modelsEndpoints(parts)).find('GET', path);
  if (!endpoint) throw new Error(`no ${path}`);
  try {
    return await endpoint.handle(callOf(path, '', { method: 'GET' }));
  } catch (error) {
    return endpoint.family.errorReply(error as AppError);
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

test('a model that is still loading is listed without figures', async () => {
  const body = bodyOf(await get('/v1/models', { type: 'loading', name: 'mini', progress: 0 }));
  expect(body).toMatchObject({
    data: [{ id: 'koboldcpp/mini', status: { value: 'loading' }, meta: null }],
    models: [],
  });
});

test('without a text model the list has one entry that says so', async () => {
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

test.each(['/v1/models/gpt-4o', '/v1/models/%E0%A4%A'])('%s is not here', async (path) => {
  const reply = await get(path, { type: 'ready', model });
  expect(reply.status).toBe(404);
  expect(bodyOf(reply)).toMatchObject({
    error: { type: 'invalid_request_error', param: 'model', code: 'model_not_found' },
  });
});

test('a model that takes more than text says so', async () => {
  const inputs = { image: true, audio: false };
  const reply = await get('/v1/models', { type: 'ready', model: { ...model, inputs } });
  expect(bodyOf(reply)).toMatchObject({ models: [{ capabilities: ['completion', 'multimodal'] }] });
});
