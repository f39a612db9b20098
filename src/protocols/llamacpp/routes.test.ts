import { expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { LoraScales } from '../../core/lora.ts';
import type { TextState } from '../../core/text-service.ts';
import { callOf, finishEvent, readyState, scriptedChat, scriptedText, startEvent } from '../testing/doubles.ts';
import { jsonOf, textOf } from '../testing/reply-text.ts';
import { llamacppDialect } from './errors.ts';
import { SlotWatch } from './status.ts';
import { ask, find, llamacppParts, plainControls } from './testing/world.ts';

const { model } = readyState({
  description: 'llama 1B Q4_K - Medium',
  chatTemplate: "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] }}{% endfor %}",
});

const inState = (state: TextState) => llamacppParts({ text: scriptedText([], { state: () => state }).text });
const get = (path: string, own = {}) => callOf(path, '', { method: 'GET', ...own });
const request = { ...plainControls, prompt: 'a secret', memory: '' };

test.each<[TextState, number, object]>([
  [{ type: 'ready', model }, 200, { status: 'ok' }],
  [{ type: 'none' }, 200, { status: 'ok' }],
  [{ type: 'loading', name: 'mini', progress: 0, asleep: true }, 200, { status: 'ok' }],
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
])('health: a text model %o gives %i', async (state, status, body) => {
  for (const path of ['/health', '/v1/health']) {
    const reply = await ask(inState(state), get(path));
    expect(reply.status).toBe(status);
    expect(await jsonOf(reply)).toEqual(body);
  }
});

test.each([
  ['GET', '/health', 'open'],
  ['GET', '/v1/health', 'open'],
  ['GET', '/props', 'open'],
  ['GET', '/slots', 'guarded'],
  ['GET', '/metrics', 'guarded'],
  ['POST', '/completion', 'guarded'],
  ['POST', '/tokenize', 'guarded'],
])('%s %s: access %s', (method, path, access) => {
  expect(find(llamacppParts(), method, path)).toMatchObject({ access });
});

test('props: modalities of the loaded model', async () => {
  const inputs = { image: true, audio: false };
  const body = await jsonOf(await ask(inState({ type: 'ready', model: { ...model, inputs } }), get('/props')));
  expect(body).toMatchObject({ modalities: { vision: true, audio: false, video: false } });
});

test('props: has every field that clients read', async () => {
  expect(await jsonOf(await ask(inState({ type: 'ready', model }), get('/props')))).toEqual({
    default_generation_settings: {
      params: expect.objectContaining({
        temperature: 0.7,
        top_k: 100,
        frequency_penalty: 0,
        n_predict: 2048,
        samplers: ['dry', 'penalties', 'top_k', 'typ_p', 'top_p', 'min_p', 'temperature', 'top_n_sigma', 'xtc'],
      }),
      n_ctx: 4096,
    },
    total_slots: 1,
    model_alias: 'mini',
    model_path: 'mini.gguf',
    model_ftype: 'Q4_K - Medium',
    modalities: { vision: false, audio: false, video: false },
    media_marker: '<__media__>',
    endpoint_slots: true,
    endpoint_props: false,
    endpoint_metrics: true,
    ui: false,
    ui_settings: {},
    chat_template: model.chatTemplate,
    chat_template_caps: {
      supports_string_content: true,
      supports_tools: false,
      supports_tool_calls: false,
      supports_parallel_tool_calls: false,
      supports_system_role: true,
      supports_preserve_reasoning: false,
      supports_typed_content: false,
    },
    bos_token: '<s>',
    eos_token: '</s>',
    build_info: 'Parley 1.2.3',
    cors_proxy_enabled: false,
    is_sleeping: false,
    id: 0,
    id_task: -1,
    n_ctx: 4096,
  });
});

test('props: the default settings of a request', async () => {
  const parts = llamacppParts({ applyDefaults: (body) => ({ temperature: 0.3, ...body }) });
  expect(await jsonOf(await ask(parts, get('/props')))).toMatchObject({
    default_generation_settings: { params: { temperature: 0.3 } },
  });
});

test.each<TextState>([
  { type: 'none' },
  { type: 'loading', name: 'mini', progress: 0.5 },
  { type: 'failed', name: 'mini', reason: 'the file is cut off' },
])('props: a text model %o gives no facts of a model', async (state) => {
  expect(await jsonOf(await ask(inState(state), get('/props')))).toMatchObject({
    chat_template: null,
    model_path: '',
    model_ftype: '',
    bos_token: '',
    eos_token: '',
    modalities: { vision: false, audio: false, video: false },
    chat_template_caps: { supports_string_content: false, supports_tools: false },
    n_ctx: 4096,
  });
});

test('props: the chat template, also before the model is loaded', async () => {
  const chatTemplate = '{% for tool in tools %}{% endfor %}';
  for (const state of [{ type: 'ready', model } as const, { type: 'loading', name: 'mini', progress: 0 } as const]) {
    const parts = { ...inState(state), chat: scriptedChat([], { templateText: chatTemplate }).chat };
    expect(await jsonOf(await ask(parts, get('/props')))).toMatchObject({
      chat_template: chatTemplate,
      chat_template_caps: { supports_tools: true },
    });
  }
});

test('props: does not have the folder of the model', async () => {
  const body = await textOf(await ask(inState({ type: 'ready', model }), get('/props')));
  expect(body).not.toContain('/models');
});

test('slots: a slot without a task has few fields', async () => {
  expect(await jsonOf(await ask(llamacppParts(), get('/slots')))).toEqual([
    { id: 0, n_ctx: 4096, speculative: false, is_processing: false },
  ]);
});

test('slots: figures of the running task, no texts', async () => {
  const slots = new SlotWatch();
  const job = {};
  slots.begun({ ...request, stop: ['a secret'] }, job);
  slots.event(startEvent({ promptTokens: 7, cachedTokens: 3, maxTokens: 10 }), job);
  slots.promptProgress({ done: 2, total: 4 });
  const parts = llamacppParts({ slotsOf: () => slots });
  expect(await jsonOf(await ask(parts, get('/slots')))).toMatchObject([
    { is_processing: true, id_task: 0, n_prompt_tokens: 7, n_prompt_tokens_processed: 2, n_prompt_tokens_cache: 3 },
  ]);
  slots.event({ type: 'text-delta', text: 'a secret\n' }, job);
  const reply = await ask(parts, get('/slots'));
  expect(await jsonOf(reply)).toMatchObject([
    {
      n_prompt_tokens_processed: 4,
      next_token: [{ has_next_token: true, has_new_line: true, n_remain: 9, n_decoded: 1 }],
    },
  ]);
  expect(await textOf(reply)).not.toContain('secret');
  slots.event(finishEvent(), job);
  expect(await jsonOf(await ask(parts, get('/slots')))).toMatchObject([
    { is_processing: false, next_token: [{ has_next_token: false, n_remain: 0, n_decoded: 5 }] },
  ]);
});

test('slots: a request aborted in the queue does not end another task', () => {
  const slots = new SlotWatch();
  slots.begun(request, {});
  slots.event(finishEvent(), {});
  expect(slots.allBusy).toBe(true);
});

test('slots: requests in parallel have a slot each, and free ones are reused', () => {
  const slots = new SlotWatch(2);
  const [first, second] = [{}, {}];
  slots.begun(request, first);
  expect(slots.allBusy).toBe(false);
  slots.begun(request, second);
  expect(slots.allBusy).toBe(true);
  slots.event(finishEvent(), first);
  slots.begun(request, {});
  expect(slots.report(10)).toMatchObject([{ id_task: 2 }, { id_task: 1 }]);
});

test('slots: fail_on_no_slot fails if all are busy', async () => {
  const slots = new SlotWatch();
  const query = new URLSearchParams('fail_on_no_slot=1');
  expect((await ask(llamacppParts({ slotsOf: () => slots }), get('/slots', { query }))).status).toBe(200);
  slots.begun(request, {});
  expect((await ask(llamacppParts({ slotsOf: () => slots }), get('/slots', { query }))).status).toBe(503);
});

test('metrics: text, with the start time of the process in a header', async () => {
  expect(await ask(llamacppParts(), get('/metrics'))).toEqual({
    status: 200,
    headers: { 'content-type': 'text/plain', 'process-start-time-unix': '1700000000' },
    body: 'figures',
  });
});

test('lora-adapters: listed without their folder', async () => {
  const adapters = new LoraScales([{ path: '/home/somebody/style.gguf', scale: 0.5 }]);
  const parts = llamacppParts();
  Object.assign(parts, { text: { ...parts.text, adapters } });
  expect(await jsonOf(await ask(parts, get('/lora-adapters')))).toEqual([
    { id: 0, path: 'style.gguf', scale: 0.5, task_name: '', prompt_prefix: '' },
  ]);
});

test('lora-adapters: sets the scales of requests that choose none, and refuses adapters that are not loaded', async () => {
  const adapters = new LoraScales([
    { path: 'style.gguf', scale: 1 },
    { path: 'voice.gguf', scale: 0 },
  ]);
  const parts = llamacppParts();
  Object.assign(parts, { text: { ...parts.text, adapters } });
  const set = (scales: unknown) => ask(parts, callOf('/lora-adapters', JSON.stringify(scales), { method: 'POST' }));
  expect(await jsonOf(await set([{ id: 1, scale: 0.5 }]))).toEqual({ success: true });
  expect(adapters.changed()).toEqual([
    { adapter: 0, scale: 0 },
    { adapter: 1, scale: 0.5 },
  ]);
  for (const wrong of [[{ id: 2, scale: 1 }], [{ id: 0 }], { id: 0 }]) expect((await set(wrong)).status).toBe(400);
  expect(adapters.list().map(({ scale }) => scale)).toEqual([0, 0.5]);
});

test.each([
  ['POST', '/props', 501],
  ['POST', '/slots/0', 501],
  ['GET', '/tools', 403],
  ['GET', '/cors-proxy', 403],
  ['POST', '/chat/completions/control', 200],
])('%s %s: refused with %i', async (method, path, status) => {
  const reply = await ask(llamacppParts(), callOf(path, {}, { method }));
  expect(reply.status).toBe(status);
  if (status === 501) expect(await jsonOf(reply)).toMatchObject({ error: { code: 501, type: 'not_supported_error' } });
});

test('errors: a busy server answers clients of both dialects in one body', async () => {
  const reply = llamacppDialect.errorReply(new AppError('busy', { retryAfterSeconds: 2 }));
  expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
  expect(await jsonOf(reply)).toEqual({
    error: { code: 503, message: 'Server is busy; please try again later.', type: 'unavailable_error' },
    detail: { msg: 'Server is busy; please try again later.', type: 'service_unavailable' },
  });
});

test('errors: a prompt that does not fit has its two numbers', async () => {
  const reply = llamacppDialect.errorReply(new AppError('context-overflow', { promptTokens: 9, contextSize: 8 }));
  expect(await jsonOf(reply)).toEqual({
    error: {
      code: 400,
      message: 'The prompt has 9 tokens, and the context of 8 must have room for a reply too.',
      type: 'exceed_context_size_error',
      n_prompt_tokens: 9,
      n_ctx: 8,
    },
  });
});
