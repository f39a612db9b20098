import { expect, test } from 'vitest';
import type { ChatRequest } from '../../chat/request.ts';
import { defaultSettings } from '../../config/flags.ts';
import { AppError, asAppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { RequestContext } from '../../core/request-context.ts';
import { type AbortOutcome, emptyCacheReport, type Performance, type TextService } from '../../core/text-service.ts';
import { schemaToGrammar as convert } from '../../grammar/convert.ts';
import type { Call, Reply } from '../../http/call.ts';
import { ResumableStreams } from '../../http/resumable-streams.ts';
import { router } from '../../http/router.ts';
import { bindAll } from '../testing/bind.ts';
import { controlLimits, dialectParts, idlePerformance, readyState, scriptedChat } from '../testing/doubles.ts';
import { jsonOf, textOf } from '../testing/reply-text.ts';
import { type NativeContext as HandlerContext, type NativeServices, nativeEndpoints } from './routes.ts';

const ready = readyState();
const lastFigures: Performance = {
  ...idlePerformance,
  processMsPerToken: 2,
  evalMsPerToken: 10,
  promptTokens: 50,
  processedTokens: 50,
  completionTokens: 20,
  seed: 99,
  generations: 3,
  stop: 'stop-text',
  waiting: 1,
  estimateSeconds: 8,
  idle: false,
  uptimeSeconds: 12.5,
  idleSeconds: 1.5,
};
const finish: GenerationEvent = {
  type: 'finish',
  reason: 'stop',
  cause: 'end-token',
  usage: { promptTokens: 2, cachedTokens: 0, completionTokens: 1 },
  timings: { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 2 },
};

interface Seen {
  readonly request: GenerationRequest;
  readonly requestContext: RequestContext;
}

/** A test double: it plays the given events for every request, and notes what it was asked. */
function fakeService(own: Partial<TextService> & { readonly events?: readonly GenerationEvent[] }) {
  const seen: Seen[] = [];
  const events = own.events ?? [{ type: 'text-delta', text: 'Hello' }, finish];
  const service: TextService = {
    generate(request, requestContext) {
      seen.push({ request, requestContext });
      return (async function* () {
        yield* events;
      })();
    },
    reserve: () => {
      throw new Error('the native API reserves nothing');
    },
    room: () => 0,
    tokenize: async (text, { addSpecial }) => [
      ...(addSpecial ? [1] : []),
      ...Array.from(text, (each) => each.charCodeAt(0)),
    ],
    detokenize: async (tokens) => String.fromCharCode(...tokens),
    pieces: async () => [],
    check: (genkey) => `text of ${genkey || 'the only one'}`,
    finished: () => undefined,
    queuePosition: () => undefined,
    exclusively: (_, work) => work(),
    abort: () => 'refused',
    lastLogprobs: () => undefined,
    state: () => ready,
    contextSize: () => 4096,
    performance: () => lastFigures,
    cacheReport: async () => emptyCacheReport,
    states: () => undefined,
    ...own,
  };
  return { service, seen };
}

type NativeContext = HandlerContext & NativeServices;

function parts(service: TextService, own: Partial<NativeContext> = {}): NativeContext {
  return {
    ...dialectParts({ text: service, modelName: () => 'koboldcpp/mini' }),
    replacePlaceholders: (texts) => texts,
    readChat: async ({ messages }) => ({ messages }) as unknown as ChatRequest,
    streams: new ResumableStreams({ startTimer: () => ({ restart: () => undefined, cancel: () => undefined }) }),
    engineVersions: () => ({}),
    product: { name: 'Parley', version: '0.1.0' },
    newSeed: () => 1,
    serverFeatures: () => ({ protected: false }),
    engineFeatures: () => ({}),
    counters: () => ({ total_img_gens: 0, total_tts_gens: 0, total_transcribe_gens: 0 }),
    seesPrompts: () => true,
    settings: defaultSettings,
    warn: () => undefined,
    ...own,
  };
}

async function ask(
  all: NativeContext,
  method: string,
  path: string,
  body?: unknown,
  own: Partial<Call> = {},
): Promise<Reply> {
  const endpoint = router(bindAll(nativeEndpoints(all), all)).find(method, path);
  if (!endpoint) throw new Error(`nobody answers ${method} ${path}`);
  const call: Call = {
    id: 'req_1',
    method,
    path,
    query: new URLSearchParams(),
    headers: {},
    body: Buffer.from(typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body)),
    signal: new AbortController().signal,
    remoteAddress: '127.0.0.1',
    authorized: true,
    ...own,
  };
  try {
    return await endpoint.handle(call);
  } catch (error) {
    return endpoint.dialect.errorReply(asAppError(error));
  }
}

test.each(['/api/v1/generate', '/api/latest/generate', '/behind/a/proxy/api/v1/generate'])(
  '%s: answers with the whole text',
  async (path) => {
    const { service, seen } = fakeService({});
    const reply = await ask(
      parts(service),
      'POST',
      path,
      { prompt: 'Hi', genkey: 'KCPP1' },
      { remoteAddress: '10.0.0.9' },
    );
    expect(reply).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
    expect(await textOf(reply)).toBe(
      '{"results":[{"text":"Hello","tool_calls":[],"finish_reason":"stop","logprobs":null,"prompt_tokens":2,"completion_tokens":1}]}',
    );
    expect(seen[0]?.requestContext).toMatchObject({ genkey: 'KCPP1', part: 'KCPP1' });
    expect(seen[0]?.request.prompt).toBe('Hi');
  },
);

test('generate/stream: server-sent events without an end marker', async () => {
  const { service } = fakeService({});
  const reply = await ask(parts(service), 'POST', '/api/extra/generate/stream', { prompt: 'Hi' });
  expect(reply).toMatchObject({
    status: 200,
    headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
  });
  expect(await textOf(reply)).toBe(
    'event: message\ndata: {"token": "Hello", "finish_reason": null}\n\n' +
      'event: message\ndata: {"token": "", "finish_reason": "stop"}\n\n',
  );
});

test.each(['/api/v1/generate', '/api/extra/generate/stream'])('%s: names dropped tokens in a header', async (path) => {
  const start: GenerationEvent = { type: 'start', promptTokens: 9, cachedTokens: 0, maxTokens: 5, seed: 1 };
  const cut = fakeService({ events: [{ ...start, droppedTokens: 7 }, finish] });
  const reply = await ask(parts(cut.service), 'POST', path, { prompt: 'Hi' });
  expect(reply.headers).toMatchObject({ 'x-parley-dropped-tokens': '7' });
  const fitting = await ask(parts(fakeService({ events: [start, finish] }).service), 'POST', path, { prompt: 'Hi' });
  expect(fitting.headers).not.toHaveProperty('x-parley-dropped-tokens');
});

test.each(
  ['/api/v1/generate', '/api/extra/generate/stream'].flatMap((path) => [
    [path, { negative_prompt: 'not this' }, 'negative_prompt'] as const,
    [path, { negative_prompt: 'not this', guidance_scale: 1 }, 'negative_prompt'] as const,
    [path, { guidance_scale: 2, negative_prompt: '' }, 'guidance_scale'] as const,
    [path, { guidance_scale: 1, negative_prompt: '' }, undefined] as const,
  ]),
)('%s: with %j names the field without effect: %s', async (path, fields, ignored) => {
  const reply = await ask(parts(fakeService({}).service), 'POST', path, { prompt: 'Hi', ...fields });
  expect([reply.status, reply.headers?.['x-parley-ignored']]).toEqual([200, ignored]);
});

test('/request: answers in its old form', async () => {
  const { service, seen } = fakeService({});
  const defaults = parts(service, { applyDefaults: (body) => ({ top_k: 7, ...body }) });
  const reply = await ask(defaults, 'POST', '/old/request', { text: 'Hi', max: 5 });
  expect(await textOf(reply)).toBe('{"data":{"seqs":["Hello"]}}');
  expect(seen[0]?.request).toMatchObject({ prompt: 'Hi', maxTokens: 5, sampling: { topK: 7 } });
});

test('generate: applies the defaults of the server before decoding', async () => {
  const { service, seen } = fakeService({});
  const defaults = parts(service, { applyDefaults: (body) => ({ rep_pen: 1.2, ...body }) });
  await ask(defaults, 'POST', '/api/v1/generate', { prompt: 'Hi' });
  expect(seen[0]?.request.sampling.repetitionPenalty).toBe(1.2);
});

test('generate: 200 with the reason without a text model', async () => {
  const { service, seen } = fakeService({ state: () => ({ type: 'none' }) });
  const whole = await ask(parts(service), 'POST', '/api/v1/generate', { prompt: 'Hi' });
  expect(whole.status).toBe(200);
  expect(await jsonOf(whole)).toMatchObject({ results: [{ text: '', finish_reason: 'error' }] });
  const stream = await ask(parts(service), 'POST', '/api/extra/generate/stream', { prompt: 'Hi' });
  expect(await textOf(stream)).toMatch(/^event: message\ndata: \{"token": "", "finish_reason": "error", "error": /);
  expect(seen).toEqual([]);
});

const busy = new AppError('busy', { retryAfterSeconds: 3 });
test.each<[string, Partial<TextService> & { readonly events?: readonly GenerationEvent[] }]>([
  [
    'thrown at once',
    {
      generate: () => {
        throw busy;
      },
    },
  ],
  ['sent as the first event', { events: [{ type: 'error', error: busy }] }],
])('generate: 503 for a full queue, %s', async (_, own) => {
  for (const path of ['/api/v1/generate', '/api/extra/generate/stream']) {
    const reply = await ask(parts(fakeService(own).service), 'POST', path, { prompt: 'Hi' });
    expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': '3' } });
    expect(await textOf(reply)).toBe(
      '{"detail":{"msg":"Server is busy; please try again later.","type":"service_unavailable"}}',
    );
  }
});

test.each<[string | object, string]>([
  ['{broken', 'not valid JSON'],
  ['', 'it is empty'],
  ['[]', 'body must be an object'],
  [{ prompt: ['x'] }, 'prompt must be a string'],
])('generate: refuses the body %o as bad input', async (body, message) => {
  const reply = await ask(parts(fakeService({}).service), 'POST', '/api/extra/generate/stream', body);
  expect(reply.status).toBe(400);
  expect(await jsonOf(reply)).toEqual({ detail: { msg: expect.stringContaining(message), type: 'bad_input' } });
});

test('generate: 401 body for a missing key', async () => {
  const [endpoint] = nativeEndpoints(parts(fakeService({}).service));
  const reply = endpoint?.dialect.errorReply(new AppError('unauthorized', {})) as Reply;
  expect(reply.status).toBe(401);
  expect(await textOf(reply)).toBe(
    '{"detail":{"error":"Unauthorized","msg":"Authentication key is missing or invalid.","type":"unauthorized"}}',
  );
});

test.each<[AbortOutcome, string]>([
  ['stopped', '{"success":"true","done":"true"}'],
  ['pending', '{"success":"true","done":"false"}'],
  ['refused', '{"success":"false","done":"false"}'],
])('abort: %s answers %s', async (outcome, body) => {
  const { service } = fakeService({ abort: () => outcome });
  expect(await textOf(await ask(parts(service), 'POST', '/api/extra/abort', { genkey: 'A' }))).toBe(body);
});

test('check and abort: an invalid or missing body counts as one without a key', async () => {
  const asked: string[] = [];
  const abort = (genkey: string): AbortOutcome => {
    asked.push(genkey);
    return 'stopped';
  };
  const all = parts(fakeService({ abort }).service);
  for (const body of [undefined, '{broken', '[]', { genkey: null }, { genkey: {} }, { genkey: 7 }]) {
    await ask(all, 'POST', '/api/extra/abort', body);
  }
  expect(asked).toEqual(['', '', '', '', '', '7']);
  expect(await textOf(await ask(all, 'GET', '/api/extra/generate/check'))).toBe(
    '{"results":[{"text":"text of the only one"}]}',
  );
  expect(await textOf(await ask(all, 'POST', '/api/extra/generate/check', { genkey: 'B' }))).toBe(
    '{"results":[{"text":"text of B"}]}',
  );
});

test('check: has the queue position of a waiting request', async () => {
  const queuePosition = (genkey: string) => (genkey === 'B' ? { position: 2, estimateSeconds: 8 } : undefined);
  const all = parts(fakeService({ check: () => '', queuePosition }).service);
  const look = async (genkey: string) => textOf(await ask(all, 'POST', '/api/extra/generate/check', { genkey }));
  expect(await look('B')).toBe('{"results":[{"text":"","queue_position":2,"queue_estimate":8}]}');
  expect(await look('A')).toBe('{"results":[{"text":""}]}');
});

test.each([
  [undefined, ''],
  [null, ',"finish_reason":null'],
  ['stop', ',"finish_reason":"stop"'],
  ['tool-calls', ',"finish_reason":"tool_calls"'],
  ['aborted', ',"finish_reason":"abort"'],
  ['error', ',"finish_reason":"error"'],
] as const)('check: a request that ended with %j has %j', async (finished, told) => {
  const all = parts(fakeService({ check: () => 'x', finished: () => finished }).service);
  const look = await textOf(await ask(all, 'POST', '/api/extra/generate/check', { genkey: 'B' }));
  expect(look).toBe(`{"results":[{"text":"x"${told}}]}`);
});

test('last_logprobs: null until there are some', async () => {
  const none = parts(fakeService({}).service);
  expect(await textOf(await ask(none, 'GET', '/api/extra/last_logprobs'))).toBe('{"logprobs":null}');
  const some = parts(
    fakeService({ lastLogprobs: () => [{ token: 1, text: 'a', bytes: [97], logprob: 0, top: [] }] }).service,
  );
  expect(await jsonOf(await ask(some, 'POST', '/api/extra/last_logprobs', {}))).toMatchObject({
    logprobs: { tokens: ['a'] },
  });
});

const { chat } = scriptedChat([], {
  render: async (request) => {
    const { messages } = request as unknown as { readonly messages: readonly unknown[] };
    return { by: 'adapter', memory: '<', prompt: `${messages.length}>`, stop: [], warnings: [] };
  },
});
const withChat = parts(fakeService({}).service, { chat });
test.each<[NativeContext, string, unknown, number, unknown]>([
  [withChat, 'tokencount', { prompt: 'A' }, 200, { value: 2, ids: [1, 65], prompt: 'A' }],
  [withChat, 'tokenize', { prompt: 'A', special: false }, 200, { value: 1, ids: [65], prompt: 'A' }],
  [withChat, 'tokencount', { messages: [{}], special: false }, 200, { value: 3, ids: [60, 49, 62], prompt: '<1>' }],
  [withChat, 'tokencount', { prompt: 5 }, 400, { value: -1 }],
  [withChat, 'tokencount', '{broken', 400, { value: -1 }],
  [withChat, 'detokenize', { ids: [72, 105] }, 200, { result: 'Hi', success: true }],
  [withChat, 'detokenize', { ids: ['72'] }, 400, { result: '', success: false }],
  [withChat, 'detokenize', { ids: [-1] }, 400, { result: '', success: false }],
  [withChat, 'detokenize', { ids: Array.from({ length: 65_536 }, () => 1) }, 400, { result: '', success: false }],
  [withChat, 'detokenize', '', 400, { result: '', success: false }],
  [withChat, 'json_to_grammar', { schema: { type: 'null' } }, 200, { result: 'root ::= type', success: true }],
  [withChat, 'json_to_grammar', { type: 'null' }, 200, { result: 'root ::= type', success: true }],
  [withChat, 'json_to_grammar', '7', 200, { result: '', success: false, error: expect.stringContaining('object') }],
  [withChat, 'json_to_grammar', '{', 400, { result: '', success: false }],
])('token endpoints: %# %s of %o', async (all, path, body, status, expected) => {
  const reply = await ask(all, 'POST', `/api/extra/${path}`, body);
  expect(reply.status).toBe(status);
  expect(await jsonOf(reply)).toEqual(expected);
});

test('json_to_grammar: no success, with the reason, for a schema that cannot be converted', async () => {
  const schemaToGrammar = () => {
    throw new Error('no such type');
  };
  const reply = await ask(
    parts(fakeService({}).service, { controlLimits: () => ({ ...controlLimits, schemaToGrammar }) }),
    'POST',
    '/api/extra/json_to_grammar',
    {},
  );
  expect(reply.status).toBe(200);
  expect(await jsonOf(reply)).toEqual({ result: '', success: false, error: 'no such type' });
});

test.each([
  [{ schema: 5 }],
  [{ schema: 'text' }],
  [{ schema: null }],
  [{ schema: [] }],
  [{ schema: { type: 'text' } }],
  [{ schema: { not: {} } }],
  [{ schema: { $ref: '#/nowhere' } }],
  [{ multipleOf: 0.5 }],
])('json_to_grammar: refuses %j', async (body) => {
  const reply = await ask(
    parts(fakeService({}).service, { controlLimits: () => ({ ...controlLimits, schemaToGrammar: convert }) }),
    'POST',
    '/api/extra/json_to_grammar',
    body,
  );
  expect(reply.status).toBe(200);
  expect(await jsonOf(reply)).toEqual({ result: '', success: false, error: expect.stringContaining('schema must be') });
});

test('shutdown: only from this machine and with --singleinstance', async () => {
  let ended = 0;
  const allowed = parts(fakeService({}).service, { shutdown: () => void ended++ });
  const path = '/api/extra/shutdown';
  expect(await textOf(await ask(parts(fakeService({}).service), 'POST', path))).toBe('{"success":false}');
  expect(await textOf(await ask(allowed, 'POST', path, '', { remoteAddress: '192.168.1.4' }))).toBe(
    '{"success":false}',
  );
  expect(ended).toBe(0);
  for (const remoteAddress of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
    expect(await textOf(await ask(allowed, 'POST', path, '', { remoteAddress }))).toContain('"success":true');
  }
  expect(ended).toBe(3);
});
