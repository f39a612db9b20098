import { expect, test } from 'vitest';
import { clearedResult } from '../../chat/compaction-plan.ts';
import { AppError, asAppError } from '../../core/errors.ts';
import type { Reply } from '../../http/call.ts';
import { router } from '../../http/router.ts';
import type { DialectContext } from '../dialect.ts';
import { fieldTables } from '../fidelity/fidelity.ts';
import { ignoredIn } from '../fields.ts';
import { bindAll } from '../testing/bind.ts';
import {
  callOf,
  dialectParts,
  finishEvent,
  type Script,
  scriptedChat,
  scriptedText,
  seeing,
  startEvent,
} from '../testing/doubles.ts';
import { messagesDialect } from './errors.ts';
import { createFields } from './fields.ts';
import { messagesEndpoints } from './routes.ts';

const hello = { model: 'any', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] };
const script: Script = [startEvent(), { type: 'text-delta', text: 'Hello' }, finishEvent()];

async function ask(parts: DialectContext, path: string, body: unknown, method = 'POST'): Promise<Reply> {
  const endpoint = router(bindAll(messagesEndpoints(parts), parts)).find(method, path);
  if (!endpoint) throw new Error(`nobody answers ${method} ${path}`);
  try {
    return await endpoint.handle(callOf(path, body, { method }));
  } catch (error) {
    return endpoint.dialect.errorReply(asAppError(error));
  }
}

const bodyOf = (reply: Reply) => ('body' in reply ? JSON.parse(String(reply.body)) : undefined);

async function streamOf(reply: Reply): Promise<string> {
  if (!('stream' in reply)) throw new Error('not a stream');
  let all = '';
  for await (const piece of reply.stream) all += piece;
  return all;
}

test.each(['/v1/messages', '/some/prefix/v1/messages', '/messages'])(
  '%s answers with the whole message',
  async (path) => {
    const { chat, asked } = scriptedChat(script);
    const reply = await ask(dialectParts({ chat }), path, { ...hello, genkey: 'mine' });
    expect(reply).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json', 'request-id': 'req_1' },
    });
    expect('body' in reply && reply.body).toBe(
      '{"id":"msg_1","type":"message","role":"assistant","model":"mini","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":4,"cache_creation_input_tokens":0,"cache_read_input_tokens":3,"output_tokens":5}}',
    );
    expect(asked[0]?.requestContext).toMatchObject({ genkey: 'mine', part: 'mine' });
  },
);

test('messages: fetches pictures by URL before generation', async () => {
  const { chat, asked } = scriptedChat(script);
  const { text } = scriptedText([], { state: () => seeing() });
  const fetchMedia = async () =>
    ({ type: 'fetched', bytes: Buffer.from([0, 0, 0]), contentType: 'image/png' }) as const;
  const source = { type: 'url', url: 'https://pictures.example/a.png' };
  const body = { ...hello, messages: [{ role: 'user', content: [{ type: 'image', source }] }] };
  const parts = dialectParts({ chat, text, fetchMedia });
  expect((await ask(parts, '/v1/messages', body)).status).toBe(200);
  expect(asked[0]?.request.conversation.media).toEqual([{ kind: 'image', base64: 'AAAA', format: 'image/png' }]);
  // The number of its tokens is unknown, so that the header says it is not counted.
  const counted = await ask(parts, '/v1/messages/count_tokens', body);
  expect(counted).toMatchObject({ status: 200, headers: { 'x-parley-warnings': 'media-not-counted' } });
});

test('messages: only generating endpoints are queued', () => {
  expect(
    messagesEndpoints(dialectParts()).map(({ method, match, path, queued }) => `${method} ${match} ${path} ${queued}`),
  ).toEqual([
    'POST ending /v1/messages true',
    'POST exact /messages true',
    'POST ending /v1/messages/count_tokens false',
  ]);
});

test('messages: a stream has named events, with ping as keep-alive', async () => {
  const reply = await ask(dialectParts({ chat: scriptedChat(script).chat }), '/v1/messages', {
    ...hello,
    stream: true,
  });
  expect(reply).toMatchObject({
    status: 200,
    headers: { 'content-type': 'text/event-stream', 'request-id': 'req_1' },
    keepAlive: { filler: 'event: ping\ndata: {"type":"ping"}\n\n', initialFiller: ': keepalive\n\n' },
  });
  const stream = await streamOf(reply);
  expect(stream.match(/^event: .*/gm)).toEqual([
    'event: message_start',
    'event: ping',
    'event: content_block_start',
    'event: content_block_delta',
    'event: content_block_stop',
    'event: message_delta',
    'event: message_stop',
  ]);
});

test('messages: x-parley-ignored names fields and paths without effect', async () => {
  const reply = await ask(dialectParts({ chat: scriptedChat(script).chat }), '/v1/messages', {
    ...hello,
    metadata: { user_id: 'u' },
    service_tier: null,
    container: {},
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, { type: 'evil\r\nkind' }] }],
  });
  expect(reply.headers?.['x-parley-ignored']).toBe('metadata, container, messages[0].content[1]');
});

test('messages: x-parley-ignored has at most 16 paths', async () => {
  const content = Array.from({ length: 30 }, () => ({ type: 'unknown' }));
  const reply = await ask(dialectParts({ chat: scriptedChat(script).chat }), '/v1/messages', {
    ...hello,
    messages: [{ role: 'user', content }],
  });
  expect(reply.headers?.['x-parley-ignored']).toMatch(/content\[15\], 14 more places$/);
});

test('messages: headers report dropped tokens and warnings', async () => {
  const { chat } = scriptedChat([
    startEvent({ droppedTokens: 9 }),
    { type: 'warning', code: 'prompt-trimmed', text: '' },
    finishEvent(),
  ]);
  const reply = await ask(dialectParts({ chat }), '/v1/messages', hello);
  expect(reply.headers).toMatchObject({ 'x-parley-dropped-tokens': '9', 'x-parley-warnings': 'prompt-trimmed' });
});

test('messages: max_tokens 0 only reads the prompt', async () => {
  const { chat, asked } = scriptedChat(script);
  const reply = await ask(dialectParts({ chat }), '/v1/messages', { ...hello, max_tokens: 0 });
  expect(bodyOf(reply)).toMatchObject({ content: [], stop_reason: 'max_tokens', usage: { output_tokens: 0 } });
  expect(asked[0]?.request.controls.maxTokens).toBe(1);
});

test('count_tokens: works without the queue and without max_tokens', async () => {
  const { chat, asked } = scriptedChat([], { countTokens: async ({ conversation }) => conversation.messages.length });
  const reply = await ask(dialectParts({ chat }), '/v1/messages/count_tokens', {
    ...hello,
    max_tokens: 'x',
    compaction: {},
  });
  expect('body' in reply && reply.body).toBe('{"input_tokens":1}');
  expect(reply.headers).toMatchObject({ 'request-id': 'req_1', 'x-parley-ignored': 'compaction, max_tokens' });
  expect(asked).toEqual([]);
});

test('count_tokens: fails without a model', async () => {
  const none = scriptedText([], { state: () => ({ type: 'none' }) }).text;
  const failed = scriptedText([], { state: () => ({ type: 'failed', name: 'big', reason: 'no memory' }) }).text;
  for (const [text, message] of [
    [none, 'No text model is loaded'],
    [failed, 'big could not be loaded'],
  ] as const) {
    const reply = await ask(dialectParts({ text }), '/v1/messages/count_tokens', hello);
    expect(reply).toMatchObject({ status: 503, headers: { 'x-should-retry': 'false' } });
    expect(bodyOf(reply).error).toEqual({ type: 'api_error', message: expect.stringContaining(message) });
  }
});

test('messages: a full context has the error message that agents know', async () => {
  const error = new AppError('context-overflow', { promptTokens: 512, contextSize: 512 });
  const parts = dialectParts({ chat: scriptedChat([{ type: 'error', error }]).chat });
  const reply = await ask(parts, '/v1/messages', hello);
  expect(bodyOf(reply)).toMatchObject({
    error: { message: 'prompt is too long: 512 tokens > 512 maximum, which must have room for a reply too' },
  });
});

test.each([[true], [false]])(
  'messages: an error before the first event keeps its status (stream: %s)',
  async (stream) => {
    const error = new AppError('context-overflow', { promptTokens: 9000, contextSize: 4096 });
    const parts = dialectParts({ chat: scriptedChat([{ type: 'error', error }]).chat });
    const reply = await ask(parts, '/v1/messages', { ...hello, stream });
    expect(reply.status).toBe(400);
    expect(bodyOf(reply)).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 9000 tokens > 4096 maximum' },
      request_id: reply.headers?.['request-id'],
    });
  },
);

test.each([
  ['', 'it is empty'],
  ['{', 'not valid JSON'],
  ['[]', 'body must be an object'],
])('messages: rejects the body %j', async (body, sentence) => {
  const reply = await ask(dialectParts(), '/v1/messages', body);
  expect(reply.status).toBe(400);
  expect(bodyOf(reply).error).toEqual({ type: 'invalid_request_error', message: expect.stringContaining(sentence) });
});

test.each<[AppError, number, string, object]>([
  [new AppError('unauthorized', {}), 401, 'authentication_error', { detail: { type: 'unauthorized' } }],
  [new AppError('origin-refused', { origin: 'https://a.example' }), 403, 'permission_error', {}],
  [new AppError('not-found', { method: 'POST', path: '/x' }), 404, 'not_found_error', {}],
  [new AppError('payload-too-large', { limitMegabytes: 32 }), 413, 'request_too_large', {}],
  [new AppError('unsupported', { feature: 'x', instead: 'y' }), 400, 'invalid_request_error', {}],
  [
    new AppError('busy', { retryAfterSeconds: 1.5 }),
    503,
    'overloaded_error',
    { detail: { type: 'service_unavailable' } },
  ],
  [
    new AppError('rate-limited', { retryAfterSeconds: 3 }),
    503,
    'rate_limit_error',
    { detail: { type: 'service_unavailable' } },
  ],
  [new AppError('model-missing', { capability: 'text', flag: '--model' }), 503, 'api_error', {}],
  [new AppError('engine-lost', { capability: 'text' }), 500, 'api_error', {}],
  [new AppError('internal', { reason: 'x' }), 500, 'api_error', {}],
])('messagesFamily.errorReply: %s', (error, status, type, more) => {
  const reply = messagesDialect.errorReply(error, 'req_9');
  expect(reply.status).toBe(status);
  expect(reply.headers).toMatchObject({ 'request-id': 'req_9' });
  expect(bodyOf(reply)).toMatchObject({
    type: 'error',
    error: { type, message: error.message },
    request_id: 'req_9',
    ...more,
  });
});

test('messagesFamily.errorReply: retry-after for a full queue', () => {
  const reply = messagesDialect.errorReply(new AppError('busy', { retryAfterSeconds: 1.5 }));
  expect(reply.headers).toMatchObject({ 'retry-after': '2' });
});

test('messagesEndpoints: their tables list every field once', () => {
  for (const { fields } of fieldTables(messagesEndpoints(dialectParts()))) {
    expect(new Set(fields.map(({ field }) => field)).size).toBe(fields.length);
  }
  expect(ignoredIn(createFields, { speed: 'fast', stream: true })).toEqual(['speed']);
});

const clearing = {
  context_management: {
    edits: [
      {
        type: 'clear_tool_uses_20250919',
        trigger: { type: 'tool_uses', value: 0 },
        keep: { type: 'tool_uses', value: 0 },
      },
    ],
  },
  messages: [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'x'.repeat(500) }] },
  ],
};
/** One token for each character. */
const countTokens: DialectContext['chat']['countTokens'] = async ({ conversation }) =>
  JSON.stringify(conversation.messages).length;
const appliedEdit = {
  type: 'clear_tool_uses_20250919',
  cleared_tool_uses: 1,
  cleared_input_tokens: 500 - clearedResult.length,
};

test('messages: context_management: the message and message_delta report the applied edits', async () => {
  const { chat } = scriptedChat(script, { countTokens });
  const message = await ask(dialectParts({ chat }), '/v1/messages', { ...hello, ...clearing });
  expect(bodyOf(message).context_management).toEqual({ applied_edits: [appliedEdit] });
  const stream = await streamOf(
    await ask(dialectParts({ chat }), '/v1/messages', { ...hello, ...clearing, stream: true }),
  );
  expect(stream).toContain(
    `"context_management":${JSON.stringify({ applied_edits: [appliedEdit] })}}\n\nevent: message_stop`,
  );
});

test('count_tokens: context_management: counts after the edits and reports the tokens before', async () => {
  const { chat } = scriptedChat(script, { countTokens });
  const counted = bodyOf(await ask(dialectParts({ chat }), '/v1/messages/count_tokens', { ...hello, ...clearing }));
  const original = counted.context_management.original_input_tokens;
  expect(original - counted.input_tokens).toBe(appliedEdit.cleared_input_tokens);
});
