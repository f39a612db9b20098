import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { TextModel, TextService, TextState } from '../../core/text-service.ts';
import type { Call, Reply } from '../../http/call.ts';
import { llamacppFamily } from './errors.ts';
import { llamacppEndpoints } from './routes.ts';

const model: TextModel = {
  name: 'mini',
  path: '/models/mini.gguf',
  contextSize: 4096,
  trainedContext: 8192,
  vocabularySize: 32000,
  parameters: 1,
  sizeBytes: 1,
  description: '',
  chatTemplate: '{{ messages }}',
};

/** A test double: a service that only says in which state it is. */
async function get(path: string, state: TextState): Promise<Reply> {
  const service = { state: () => state, contextSize: () => 4096 } as Partial<TextService> as TextService;
  const endpoints = llamacppEndpoints({
    service,
    modelName: () => 'koboldcpp/mini',
    modalities: () => ({ vision: false, audio: false }),
  });
  const endpoint = endpoints.find((each) => each.path === path);
  if (!endpoint) throw new Error(`no ${path}`);
  expect(endpoint).toMatchObject({ method: 'GET', match: 'exact', access: 'open' });
  return endpoint.handle({} as Call);
}

const bodyOf = (reply: Reply): unknown => ('body' in reply ? JSON.parse(String(reply.body)) : undefined);

test.each<[TextState, number, object]>([
  [{ type: 'ready', model }, 200, { status: 'ok' }],
  [{ type: 'none' }, 200, { status: 'ok' }],
  [
    { type: 'loading', name: 'mini', progress: 0.5 },
    503,
    { error: { code: 503, message: 'Loading model', type: 'unavailable_error' } },
  ],
  [
    { type: 'failed', name: 'mini', reason: 'the file is cut off' },
    500,
    { error: { code: 500, message: 'mini could not be loaded: the file is cut off', type: 'server_error' } },
  ],
])('health of a server whose text model is %o is %i', async (state, status, body) => {
  const reply = await get('/health', state);
  expect(reply.status).toBe(status);
  expect(bodyOf(reply)).toEqual(body);
});

test('props tells the template and the context in both places where clients look', async () => {
  expect(bodyOf(await get('/props', { type: 'ready', model }))).toEqual({
    chat_template: '{{ messages }}',
    id: 0,
    id_task: -1,
    total_slots: 1,
    modalities: { vision: false, audio: false },
    model_path: 'koboldcpp/mini',
    n_ctx: 4096,
    default_generation_settings: { n_ctx: 4096, params: expect.objectContaining({ top_k: 100, temperature: 0.7 }) },
  });
});

test('props without a model has no template but keeps the context that was asked for', async () => {
  expect(bodyOf(await get('/props', { type: 'none' }))).toMatchObject({ chat_template: null, n_ctx: 4096 });
});

test('slots are refused in the words that clients know', async () => {
  const reply = await get('/slots', { type: 'none' });
  expect(reply.status).toBe(501);
  expect(bodyOf(reply)).toEqual({
    error: { code: 501, message: 'This server does not support slots endpoint.', type: 'not_supported_error' },
  });
});

test('a busy server answers both kinds of client in one body', () => {
  const reply = llamacppFamily.errorReply(new AppError('busy', { retryAfterSeconds: 2 }));
  expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
  expect(bodyOf(reply)).toEqual({
    error: { code: 503, message: 'Server is busy; please try again later.', type: 'unavailable_error' },
    detail: { msg: 'Server is busy; please try again later.', type: 'service_unavailable' },
  });
});
