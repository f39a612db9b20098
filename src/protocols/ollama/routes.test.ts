import { describe, expect, test } from 'vitest';
import { AppError, asAppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { ModelDownload, PresetStore } from '../../core/models-view.ts';
import type { TextState } from '../../core/text-service.ts';
import type { Call } from '../../http/call.ts';
import { type Route, router } from '../../http/router.ts';
import { bindAll } from '../testing/bind.ts';
import { callOf, finishEvent, scriptedChat, scriptedText, seeing, startEvent } from '../testing/doubles.ts';
import { jsonOf, textOf } from '../testing/reply-text.ts';
import { ollamaEndpoints } from './routes.ts';
import { type OllamaContext, ollamaContext } from './testing/context.ts';

const hello: GenerationEvent[] = [startEvent(), { type: 'text-delta', text: 'Hello' }, finishEvent()];
const stamp = '2023-11-14T22:13:20.000Z';
const figures =
  '"total_duration":0,"load_duration":0,"prompt_eval_count":7,"prompt_eval_duration":0,"eval_count":5,"eval_duration":0';

async function ask(parts: OllamaContext, method: string, path: string, body?: unknown, own: Partial<Call> = {}) {
  const endpoint = router(bindAll(ollamaEndpoints(parts, parts), parts)).find(method, path);
  if (!endpoint) throw new Error(`nobody answers ${method} ${path}`);
  try {
    return await endpoint.handle(callOf(path, body ?? '', own));
  } catch (error) {
    return endpoint.dialect.errorReply(asAppError(error));
  }
}

const noModel = (state: TextState = { type: 'none' }) =>
  scriptedText([], { state: () => state, tokenize: async () => [] }).text;

test.each([
  ['POST', '/api/generate', '/api/generate'],
  ['POST', '/proxy/api/generate', '/api/generate'],
  ['POST', '/api/v1/generate', '/api/v1/generate'],
  ['POST', '/api/latest/generate', '/api/latest/generate'],
  ['POST', '/api/extra/generate/stream', '/api/extra/generate/stream'],
  ['POST', '/api/extra/generate/check', '/api/extra/generate/check'],
  ['POST', '/api/extra/embeddings', '/api/extra/embeddings'],
  ['POST', '/api/embeddings', '/api/embeddings'],
  ['POST', '/api/embed', '/api/embed'],
  ['GET', '/api/extra/version', '/api/extra/version'],
  ['GET', '/api/v1/info/version', '/api/v1/info/version'],
  ['GET', '/api/version', '/api/version'],
  ['GET', '/v1/api/version', '/api/version'],
  ['GET', '/api/v1/api/tags', '/api/tags'],
  ['POST', '/api/blobs/sha256:00ff', '/api/blobs/'],
  ['DELETE', '/api/delete', '/api/delete'],
])('%s %s is answered by %s', (method, path, expected) => {
  const native: Route[] = [
    { method: 'POST', match: 'ending', path: '/api/v1/generate' },
    { method: 'POST', match: 'ending', path: '/api/latest/generate' },
    { method: 'POST', match: 'ending', path: '/api/extra/generate/stream' },
    { method: 'POST', match: 'ending', path: '/api/extra/generate/check' },
    { method: 'POST', match: 'ending', path: '/api/extra/embeddings' },
    { method: 'GET', match: 'ending', path: '/api/extra/version' },
    { method: 'GET', match: 'ending', path: '/api/v1/info/version' },
  ];
  expect(
    router<Route>([...ollamaEndpoints(ollamaContext().parts, ollamaContext().parts), ...native]).find(method, path)
      ?.path,
  ).toBe(expected);
});

test('/api/generate: streams by default, with context', async () => {
  const { parts, askedChat } = ollamaContext(hello);
  const body = { model: 'm', prompt: 'Hi', context: [66, 32], genkey: 'K', options: { num_gpu: 1 }, shift: true };
  const reply = await ask(parts, 'POST', '/api/generate', body);
  expect(reply).toMatchObject({
    status: 200,
    headers: { 'content-type': 'application/x-ndjson', 'x-parley-ignored': 'shift, options.num_gpu' },
  });
  expect(reply).toMatchObject({ keepAlive: { milliseconds: 5_000, filler: ' ', immediately: false } });
  const context = JSON.stringify([...'B <p>Hello'].map((character) => character.charCodeAt(0)));
  expect(await textOf(reply)).toBe(
    `{"model":"m","created_at":"${stamp}","response":"Hello","done":false}\n` +
      `{"model":"m","created_at":"${stamp}","response":"","done":true,"done_reason":"stop","context":${context},${figures}}\n`,
  );
  expect(askedChat[0]?.request.memory).toBe('B ');
  expect(askedChat[0]?.requestContext).toMatchObject({ genkey: 'K', part: 'K' });
});

test('/api/generate: one object without stream', async () => {
  const script: GenerationEvent[] = [startEvent({ droppedTokens: 3 }), ...hello.slice(1)];
  const { parts } = ollamaContext(script);
  const reply = await ask(parts, 'POST', '/api/generate', { model: 'm', prompt: 'Hi', stream: false });
  expect(reply.headers).toEqual({
    'content-type': 'application/json; charset=utf-8',
    'x-parley-dropped-tokens': '3',
  });
  expect(await jsonOf(reply)).toMatchObject({ model: 'm', response: 'Hello', done: true, context: expect.any(Array) });
});

test('/api/generate: names dropped tokens in a header', async () => {
  const { parts } = ollamaContext([startEvent({ droppedTokens: 3 }), ...hello.slice(1)]);
  const reply = await ask(parts, 'POST', '/api/generate', { model: 'm', prompt: 'Hi' });
  expect(reply.headers).toMatchObject({ 'x-parley-dropped-tokens': '3' });
  expect(await textOf(reply)).toContain('Hello');
});

test('/api/generate: a raw prompt is not a chat and has no context', async () => {
  const { parts, askedText, askedChat } = ollamaContext(hello);
  const reply = await ask(parts, 'POST', '/api/generate', { model: 'm', prompt: 'Hi', raw: true, stream: false });
  expect(await jsonOf(reply)).not.toHaveProperty('context');
  expect([askedText.length, askedChat.length]).toEqual([1, 0]);
});

test('/api/generate: context closes thinking that the prompt has opened', async () => {
  const script: GenerationEvent[] = [startEvent(), { type: 'reasoning-delta', text: 'hm' }, ...hello.slice(1)];
  const render = async () => ({ by: 'template' as const, prompt: 'P<think>\n', memory: '', stop: [], warnings: [] });
  const { parts } = ollamaContext(script, { chat: scriptedChat(script, { render }).chat });
  const reply = await ask(parts, 'POST', '/api/generate', { model: 'm', prompt: 'Hi', stream: false });
  const { context } = (await jsonOf(reply)) as { context: number[] };
  expect(String.fromCharCode(...context)).toBe('P<think>\nhm</think>Hello');
});

test('/api/chat: streams messages', async () => {
  const { parts } = ollamaContext(hello);
  const messages = [{ role: 'user', content: 'Hi' }];
  expect(await textOf(await ask(parts, 'POST', '/api/chat', { model: 'm', messages }))).toBe(
    `{"model":"m","created_at":"${stamp}","message":{"role":"assistant","content":"Hello"},"done":false}\n` +
      `{"model":"m","created_at":"${stamp}","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop",${figures}}\n`,
  );
});

test.each([
  ['/api/generate', {}, 'load', '"response":""', []],
  ['/api/generate', { prompt: '', keep_alive: '5m', stream: true }, 'load', '"response":""', [300_000]],
  ['/api/generate', { keep_alive: 0 }, 'unload', '"response":""', [0]],
  ['/api/chat', {}, 'load', '"message":{"role":"assistant","content":""}', []],
  [
    '/api/chat',
    { messages: [], keep_alive: -1 },
    'load',
    '"message":{"role":"assistant","content":""}',
    [Number.POSITIVE_INFINITY],
  ],
  ['/api/chat', { keep_alive: '0s' }, 'unload', '"message":{"role":"assistant","content":""}', [0]],
] as const)('%s: with %j and no prompt: %s', async (path, body, reason, said, times) => {
  const { parts, kept } = ollamaContext();
  const reply = await ask(parts, 'POST', path, { model: 'm', ...body });
  expect(reply.headers).toEqual({ 'content-type': 'application/json; charset=utf-8' });
  expect(await textOf(reply)).toBe(
    `{"model":"m","created_at":"${stamp}",${said},"done":true,"done_reason":"${reason}"}`,
  );
  expect(kept).toEqual(times);
});

test('load: fails if the model cannot be loaded, unload succeeds', async () => {
  const { parts } = ollamaContext([], { text: noModel() });
  expect(await ask(parts, 'POST', '/api/generate', { model: 'm' })).toMatchObject({
    status: 503,
    body: '{"error":"No text model is loaded. Start the server with --model FILE."}',
  });
  const failed = ollamaContext([], { text: noModel({ type: 'failed', name: 'mini', reason: 'no memory' }) });
  expect(await ask(failed.parts, 'POST', '/api/chat', { model: 'm' })).toMatchObject({ status: 503 });
  expect(await ask(parts, 'POST', '/api/generate', { model: 'm', keep_alive: 0 })).toMatchObject({ status: 200 });
});

test.each([true, false])('keep_alive: set at the end of the reply (streamed: %j)', async (stream) => {
  const { parts, kept } = ollamaContext(hello);
  const reply = await ask(parts, 'POST', '/api/generate', { model: 'm', prompt: 'Hi', keep_alive: 0, stream });
  if (stream) expect(kept).toEqual([]);
  await textOf(reply);
  expect(kept).toEqual([0]);
});

test('keep_alive: set also if the client disconnects or the request fails', async () => {
  const { parts, kept } = ollamaContext(hello);
  const body = { model: 'm', prompt: 'Hi', keep_alive: '1m' };
  const reply = await ask(parts, 'POST', '/api/generate', body);
  if (!('stream' in reply)) throw new Error('a stream was expected');
  const iterator = reply.stream[Symbol.asyncIterator]();
  await iterator.next();
  await iterator.return?.();
  expect(kept).toEqual([60_000]);
  const error = new AppError('engine-lost', { capability: 'text' });
  const failing = ollamaContext([{ type: 'error', error }]);
  expect(await ask(failing.parts, 'POST', '/api/generate', body)).toMatchObject({ status: 500 });
  expect(failing.kept).toEqual([60_000]);
});

test('_debug_render_only: returns the prompt', async () => {
  const { parts, askedChat } = ollamaContext(hello);
  const messages = [{ role: 'user', content: 'Hi' }];
  for (const [path, body] of [
    ['/api/chat', { messages }],
    ['/api/generate', { prompt: 'Hi' }],
  ] as const) {
    const reply = await ask(parts, 'POST', path, { model: 'm', ...body, _debug_render_only: true });
    expect(await jsonOf(reply)).toMatchObject({ _debug_info: { rendered_template: '<p>' } });
  }
  expect(askedChat).toEqual([]);
});

test.each([
  ['POST', '/api/generate', '', 400, 'missing request body'],
  ['POST', '/api/chat', '', 400, 'missing request body'],
  ['POST', '/api/show', '', 400, 'missing request body'],
  ['POST', '/api/generate', '[]', 400, 'body must be an object.'],
  ['POST', '/api/generate', '{"model":"m","prompt":5}', 400, 'prompt must be a string.'],
  [
    'POST',
    '/api/generate',
    '{"model":"m","prompt":"x","context":["a"]}',
    400,
    'context must be an array of token numbers.',
  ],
  ['POST', '/api/generate', '{"model":5}', 400, 'model must be a string.'],
  ['POST', '/api/generate', '{"model":"m","options":{"top_k":"x"}}', 400, 'options.top_k must be a number.'],
  ['POST', '/api/embed', '{"model":"m","input":5}', 400, 'invalid input type'],
  ['POST', '/api/embed', '{"model":"m","input":"x"}', 503, /^No embeddings model is loaded/],
  ['POST', '/api/embed', '{"input":"x"}', 503, /^No embeddings model is loaded/],
  ['POST', '/api/embeddings', '{"model":"m","prompt":"x"}', 503, /^No embeddings model is loaded/],
  ['POST', '/api/push', '{"model":"m"}', 400, /^Push is not possible: models are files here/],
  ['POST', '/api/create', '{"model":"m"}', 400, /^Create is not possible/],
  ['POST', '/api/push', '', 400, 'missing request body'],
  ['POST', '/api/push', '{}', 400, 'model is required'],
  ['POST', '/api/push', '{"model":"m","stream":false}', 400, /^Push is not possible/],
  ['POST', '/api/create', '', 400, 'missing request body'],
  ['POST', '/api/create', '{"from":"m"}', 400, 'model is required'],
  ['POST', '/api/create', '{"name":"m","modelfile":"FROM x"}', 400, /^modelfile is not possible: send from/],
  ['POST', '/api/create', '{"model":"m","from":"x"}', 400, /^Create is not possible: presets .*--admin/],
  ['POST', '/api/copy', '', 400, 'missing request body'],
  ['POST', '/api/copy', '{"destination":"x"}', 400, 'model is required'],
  ['DELETE', '/api/delete', '', 400, 'missing request body'],
  ['DELETE', '/api/delete', '{}', 400, 'model is required'],
  ['POST', '/api/signout', '', 401, 'unauthorized'],
  ['POST', '/api/copy', '{"source":"Mini"}', 400, /^Copy is not possible/],
  ['POST', '/api/copy', '{"source":"other"}', 404, "model 'other' not found"],
  ['DELETE', '/api/delete', '{"model":"koboldcpp/mini:latest"}', 400, /^Delete is not possible/],
  ['DELETE', '/api/delete', '{"name":"other:7b"}', 404, "model 'other:7b' not found"],
  ['POST', '/api/blobs/sha256:00', 'bytes', 400, /^Blob upload is not possible/],
  ['POST', '/api/me', '', 401, 'unauthorized'],
])('%s %s %s: status %d', async (method, path, body, status, error) => {
  const reply = await ask(ollamaContext(hello).parts, method, path, body);
  expect(reply.status).toBe(status);
  expect(reply.headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8' });
  const parsed = (await jsonOf(reply)) as { error: string };
  expect(Object.keys(parsed)).toEqual(['error']);
  if (typeof error === 'string') expect(parsed.error).toBe(error);
  else expect(parsed.error).toMatch(error);
});

test('errors: a busy server answers clients of both kinds', async () => {
  const busy = () => {
    throw new AppError('busy', { retryAfterSeconds: 2 });
  };
  const { parts } = ollamaContext([], { chat: scriptedChat([], { reply: busy }).chat });
  const reply = await ask(parts, 'POST', '/api/generate', { model: 'm', prompt: 'Hi' });
  expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
  const msg = 'Server is busy; please try again later.';
  expect(await jsonOf(reply)).toEqual({ error: msg, detail: { msg, type: 'service_unavailable' } });
});

test('errors: a prompt that is too long keeps its status and has a known sentence', async () => {
  const error = new AppError('context-overflow', { promptTokens: 5000, contextSize: 4096 });
  const { parts } = ollamaContext([{ type: 'error', error }]);
  const reply = await ask(parts, 'POST', '/api/generate', { model: 'm', prompt: 'Hi' });
  expect(reply.status).toBe(400);
  expect(await textOf(reply)).toContain(
    'the input length exceeds the context length: the prompt has 5000 tokens, and the context of 4096 must have room for a reply too',
  );
});

test.each([
  [{ model: 'Mini:latest' }, '{"status":"pulling manifest"}\n{"status":"success"}\n'],
  [
    { name: 'llama3' },
    '{"status":"pulling manifest"}\n{"status":"nothing to download: koboldcpp/mini answers to this name"}\n{"status":"success"}\n',
  ],
  [{ model: 'llama3', stream: false }, '{"status":"success"}'],
])('/api/pull: %j succeeds, because the name can be used', async (body, expected) => {
  expect(await textOf(await ask(ollamaContext().parts, 'POST', '/api/pull', body))).toBe(expected);
});

test('/api/pull: reports the progress of each layer as Ollama does', async () => {
  const digests = ['a', 'b'].map((digit) => `sha256:${digit.repeat(64)}`);
  const reports = [
    { done: 5, total: 30, layer: { digest: digests[0] ?? '', done: 5, total: 20 } },
    { done: 30, total: 30, layer: { digest: digests[1] ?? '', done: 10, total: 10 } },
  ];
  async function* download(): ModelDownload {
    yield* reports;
  }
  const parts = Object.assign(ollamaContext().parts, { download });
  const reply = await ask(parts, 'POST', '/api/pull', { model: 'qwen3:8b' });
  expect(
    (await textOf(reply))
      .trim()
      .split('\n')
      .map((one) => JSON.parse(one)),
  ).toEqual([
    { status: 'pulling manifest' },
    { status: 'pulling aaaaaaaaaaaa', digest: digests[0], total: 20, completed: 5 },
    { status: 'pulling aaaaaaaaaaaa', digest: digests[0], total: 20, completed: 20 },
    { status: 'pulling bbbbbbbbbbbb', digest: digests[1], total: 10, completed: 10 },
    { status: 'verifying sha256 digest' },
    { status: 'writing manifest' },
    { status: 'success' },
  ]);
});

test('/api/pull: downloads nothing for the loaded model', async () => {
  const download = () => expect.fail('downloads');
  const parts = Object.assign(ollamaContext().parts, { download });
  const reply = await ask(parts, 'POST', '/api/pull', { model: 'Mini:latest' });
  expect(await textOf(reply)).toBe('{"status":"pulling manifest"}\n{"status":"success"}\n');
});

test('/api/pull: fails without a model', async () => {
  const { parts } = ollamaContext([], { text: noModel() });
  expect(await textOf(await ask(parts, 'POST', '/api/pull', { model: 'x' }))).toBe(
    '{"status":"pulling manifest"}\n{"error":"pull model manifest: file does not exist"}\n',
  );
  expect(await ask(parts, 'POST', '/api/pull', { model: 'x', stream: false })).toMatchObject({ status: 404 });
});

test.each([
  [{ model: 'm', system: 5 }, 'system must be a string.'],
  [{ model: 'm', stream: 'maybe' }, 'stream must be true or false.'],
  [{ model: 'm', prompt: 'Hi', stream: 'maybe' }, 'stream must be true or false.'],
])('refuses %j before anything is loaded or generated', async (body, error) => {
  const { parts, askedText, askedChat } = ollamaContext(hello);
  const reply = await ask(parts, 'POST', '/api/generate', body);
  expect(reply.status).toBe(400);
  expect('body' in reply && JSON.parse(String(reply.body))).toEqual({ error });
  expect([...askedText, ...askedChat]).toEqual([]);
});

const sighted = (own: Partial<OllamaContext> = {}) => {
  const chat = scriptedChat(hello, {
    render: async () => ({ by: 'adapter', prompt: 'P\n(Attached Image 1)\nQ', memory: '', stop: [], warnings: [] }),
  });
  const text = scriptedText(hello, { state: () => seeing() });
  return { parts: ollamaContext(hello, { chat: chat.chat, text: text.text, ...own }).parts, chat, text };
};
const picture = { kind: 'image', base64: 'AAAA' };

test('/api/generate: images come before the prompt, and are not part of context', async () => {
  const { parts, chat } = sighted();
  const body = { model: 'm', prompt: 'What?', images: ['AAAA'], stream: false };
  const reply = (await jsonOf(await ask(parts, 'POST', '/api/generate', body))) as { context: number[] };
  expect(chat.asked[0]?.request.conversation).toMatchObject({
    media: [picture],
    messages: [
      {
        content: [
          { type: 'medium', index: 0 },
          { type: 'text', text: 'What?' },
        ],
      },
    ],
  });
  expect(String.fromCodePoint(...reply.context)).toBe('PQHello');
});

test('/api/generate: an image without a prompt does not only load the model', async () => {
  const { parts, chat } = sighted();
  await ask(parts, 'POST', '/api/generate', { model: 'm', images: ['AAAA'], stream: false });
  expect(chat.asked[0]?.request.conversation.media).toEqual([picture]);
});

test('/api/generate: a raw prompt with images', async () => {
  const { parts, text } = sighted();
  await ask(parts, 'POST', '/api/generate', { model: 'm', prompt: 'x', raw: true, images: ['AAAA'], stream: false });
  expect(text.asked[0]?.request).toMatchObject({ prompt: 'x', media: [picture] });
});

test('/api/chat: images', async () => {
  const { parts, chat } = sighted();
  const messages = [{ role: 'user', content: 'x', images: ['AAAA'] }];
  await ask(parts, 'POST', '/api/chat', { model: 'm', messages, stream: false });
  expect(chat.asked[0]?.request.conversation.media).toEqual([picture]);
});

test('suffix: uses the marks of the model', async () => {
  const known = ['<fim_prefix>', '<fim_suffix>', '<fim_middle>'];
  const tokenize = async (words: string) => (known.includes(words) ? [1] : [1, 2]);
  const { text, asked } = scriptedText(hello, { tokenize });
  const parts = { ...ollamaContext().parts, text };
  const reply = await ask(parts, 'POST', '/api/generate', { model: 'm', prompt: 'a(', suffix: ')', stream: false });
  expect(await jsonOf(reply)).toMatchObject({ response: 'Hello', done: true });
  expect(asked[0]?.request.prompt).toBe('<fim_prefix>a(<fim_suffix>)<fim_middle>');
});

test('suffix: refused in the words of this dialect if the model has no marks', async () => {
  const reply = await ask(ollamaContext().parts, 'POST', '/api/generate', { model: 'm', prompt: 'a(', suffix: ')' });
  expect([reply.status, await jsonOf(reply)]).toEqual([400, { error: 'm does not support insert' }]);
});

test('suffix: refused as missing model without a model', async () => {
  const parts = { ...ollamaContext().parts, text: noModel() };
  const reply = await ask(parts, 'POST', '/api/generate', { model: 'm', prompt: 'a(', suffix: ')' });
  expect(reply.status).not.toBe(400);
  expect(await textOf(reply)).not.toContain('insert');
});

test.each([
  ['/api/generate', { prompt: 'Hi' }],
  ['/api/chat', { messages: [{ role: 'user', content: 'Hi' }] }],
])('%s: without a model name the default model answers, under its own name', async (path, body) => {
  const { parts } = ollamaContext(hello);
  const reply = await ask(parts, 'POST', path, { ...body, stream: false });
  expect(reply.status).toBe(200);
  expect(await jsonOf(reply)).toMatchObject({ model: parts.modelName(), done: true });
});

describe('presets', () => {
  const presetsOf = (own: Partial<PresetStore> = {}) => ({
    presets: () => ({ create: async () => undefined, remove: async () => true, ...own }),
  });
  const change = async (services: object, method: string, path: string, body: object) => {
    const { parts } = ollamaContext(hello);
    return ask({ ...parts, ...services }, method, path, body);
  };

  test('/api/create: sends status lines that end in success, or the last alone', async () => {
    const streamed = await change(presetsOf(), 'POST', '/api/create', { model: 'terse', from: 'm' });
    expect(streamed.headers).toMatchObject({ 'content-type': 'application/x-ndjson' });
    expect((await textOf(streamed)).trim().split('\n').at(-1)).toBe('{"status":"success"}');
    const whole = await change(presetsOf(), 'POST', '/api/create', { model: 'terse', from: 'm', stream: false });
    expect(await jsonOf(whole)).toEqual({ status: 'success' });
  });

  test('/api/create: a preset that cannot be made is an error before the stream', async () => {
    const create = () => Promise.reject(new Error('There is no model m to make a preset of.'));
    const reply = await change(presetsOf({ create }), 'POST', '/api/create', { model: 'terse', from: 'm' });
    expect(reply.status).toBe(400);
    expect(await jsonOf(reply)).toEqual({ error: 'There is no model m to make a preset of.' });
    const nothing = await change(presetsOf(), 'POST', '/api/create', { model: 'terse' });
    expect(await jsonOf(nothing)).toEqual({ error: 'from must name the model that the preset is for' });
  });

  test('/api/delete: answers 200 without a body for a preset, and refuses others', async () => {
    const deleted = await change(presetsOf(), 'DELETE', '/api/delete', { model: 'terse' });
    expect(deleted).toMatchObject({ status: 200, body: '' });
    const other = await change(presetsOf({ remove: async () => false }), 'DELETE', '/api/delete', { model: 'x' });
    expect(other.status).toBe(404);
  });

  test('/api/show: shows what a preset changes of its base', async () => {
    const preset = {
      base: 'mini',
      system: 'Be brief.',
      parameters: { temperature: 0, stop: ['a', 'b'] },
      messages: [{ role: 'user', content: 'Hi' }],
    };
    const listed = { name: 'terse', id: 'koboldcpp/terse', present: false, state: 'unloaded', expiresAt: 0, preset };
    const models = { byName: true, swap: undefined, list: async () => [listed] as const };
    const body = await jsonOf(await change({ models }, 'POST', '/api/show', { model: 'terse' }));
    expect(body).toMatchObject({
      system: 'Be brief.',
      messages: preset.messages,
      parameters: expect.stringMatching(/^temperature +0\nstop +a\nstop +b$/),
      details: { parent_model: 'mini' },
      modelfile:
        'FROM mini\nPARAMETER temperature 0\nPARAMETER stop a\nPARAMETER stop b\nSYSTEM """Be brief."""\nMESSAGE user """Hi"""\n',
    });
  });
});
