import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { noKey } from '../../core/owner.ts';
import type { Call, Reply } from '../../http/call.ts';
import { router } from '../../http/router.ts';
import { latch } from '../../http/testing/world.ts';
import { ResponseStore } from '../../store/responses.ts';
import type { DialectContext } from '../dialect.ts';
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
import { responseState } from './background.ts';
import { responsesDialect } from './errors.ts';
import { responsesEndpoints } from './routes.ts';

function world(script: Script = [], own: Partial<DialectContext> & { readonly store?: ResponseStore } = {}) {
  const { chat, asked } = scriptedChat(script);
  const store = own.store ?? new ResponseStore();
  const parts = dialectParts({ chat, ...own });
  const { find } = router(bindAll(responsesEndpoints(responseState(store), parts), parts));
  const ask = async (method: string, target: string, body: unknown = '', more: Partial<Call> = {}): Promise<Reply> => {
    const { pathname, searchParams } = new URL(target, 'http://localhost');
    const endpoint = find(method, pathname);
    if (!endpoint) throw new Error(`nobody answers ${method} ${pathname}`);
    try {
      return await endpoint.handle(callOf(pathname, body, { method, query: searchParams, ...more }));
    } catch (error) {
      if (error instanceof AppError) return endpoint.dialect.errorReply(error);
      throw error;
    }
  };
  return { ask, asked, store };
}

// biome-ignore lint/suspicious/noExplicitAny: what the bodies hold is what these tests are about.
const bodyOf = (reply: Reply): any => ('body' in reply ? JSON.parse(String(reply.body)) : undefined);

async function streamOf(reply: Reply): Promise<string> {
  if (!('stream' in reply)) throw new Error(`a stream was expected: ${String(reply.body)}`);
  let bytes = '';
  for await (const piece of reply.stream) bytes += piece;
  return bytes;
}

const hello: GenerationEvent[] = [startEvent(), { type: 'text-delta', text: 'Hello' }, finishEvent()];

const refusal = (message: string) => ({ message, type: 'invalid_request_error', param: null, code: null });

test('create: fetches pictures, also those of the previous response', async () => {
  const urls: string[] = [];
  const fetchMedia = async (url: string) => {
    urls.push(url);
    return { type: 'fetched', bytes: Buffer.from([0, 0, 0]), contentType: 'image/png' } as const;
  };
  const { text } = scriptedText([], { state: () => seeing() });
  const { ask, asked } = world(hello, { text, fetchMedia });
  const url = 'https://pictures.example/a.png';
  const first = { role: 'user', content: [{ type: 'input_image', image_url: url }] };
  const { id } = bodyOf(await ask('POST', '/v1/responses', { input: [first] }));
  await ask('POST', '/v1/responses', { input: 'And now?', previous_response_id: id });
  const picture = { kind: 'image', base64: 'AAAA', format: 'image/png' };
  expect(asked.map(({ request }) => request.conversation.media)).toEqual([[picture], [picture]]);
  expect(urls).toEqual([url, url]);
  const counted = await ask('POST', '/v1/responses/input_tokens', { input: [first] });
  expect(counted.headers).toMatchObject({ 'x-parley-warnings': 'media-not-counted' });
});

test('create: a failed fetch is an error with the path of the picture', async () => {
  const { text } = scriptedText([], { state: () => seeing() });
  const fetchMedia = async () => ({ type: 'refused', reason: 'answers with status 404' }) as const;
  const image = { type: 'input_image', image_url: 'https://pictures.example/a.png' };
  const reply = await world(hello, { text, fetchMedia }).ask('POST', '/v1/responses', {
    input: [{ role: 'user', content: [image] }],
  });
  expect(reply.status).toBe(400);
  expect(bodyOf(reply).error).toMatchObject({ param: 'input[0].content[0].image_url', type: 'invalid_request_error' });
});

describe('responses: paths', () => {
  test.each([
    ['POST', '/v1/responses'],
    ['POST', '/openai/v1/responses'],
    ['POST', '/responses'],
    ['POST', '/v1/responses/input_tokens'],
    ['POST', '/responses/input_tokens'],
  ])('%s %s creates a response', async (method, path) => {
    expect((await world(hello).ask(method, path, { input: 'Hi' })).status).toBe(200);
  });

  test.each([
    ['GET', '/v1/responses/resp_9'],
    ['GET', '/responses/resp_9'],
    ['GET', '/v1/responses/resp_9/input_items'],
    ['DELETE', '/v1/responses/resp_9'],
    ['POST', '/v1/responses/resp_9/cancel'],
  ])('%s %s is 404 for an unknown id', async (method, path) => {
    const reply = await world().ask(method, path);
    expect(reply.status).toBe(404);
    expect(bodyOf(reply)).toEqual({ error: refusal('There is no stored response "resp_9" on this server.') });
  });

  test('an unknown action is 404', async () => {
    const reply = await world().ask('POST', '/v1/responses/forget');
    expect(reply.status).toBe(404);
    expect(bodyOf(reply)).toEqual({ error: refusal('There is no POST /v1/responses/forget on this server.') });
  });

  test('there is no list of responses', () => {
    const { find, methods } = router(responsesEndpoints(responseState(), dialectParts()));
    expect([find('GET', '/v1/responses'), methods('/v1/responses')]).toEqual([undefined, ['POST']]);
  });

  test('only create and compact are queued', () => {
    for (const { queued, path } of responsesEndpoints(responseState(), dialectParts())) {
      expect([path, queued]).toEqual([path, /\/responses(\/compact)?$/.test(path)]);
    }
  });
});

describe('create', () => {
  test('x-parley-ignored names fields, tools and items without effect', async () => {
    const reply = await world(hello).ask('POST', '/v1/responses', {
      model: 'any',
      user: 'me',
      service_tier: null,
      tools: [{ type: 'wëb_search' }],
      input: [{ type: 'mcp_call' }, { role: 'user', content: 'Hi' }, { type: 'item_reference', id: 'x' }],
    });
    expect(reply.headers).toEqual({
      'content-type': 'application/json',
      'x-parley-ignored': 'user, tools (w?b_search), input[2] (item_reference), input[0] (mcp_call)',
    });
  });

  test('x-parley-dropped-tokens has the number of dropped tokens', async () => {
    const { ask } = world([startEvent({ droppedTokens: 12 }), finishEvent()]);
    const reply = await ask('POST', '/v1/responses', { input: 'Hi' });
    expect(reply.headers).toMatchObject({ 'x-parley-dropped-tokens': '12' });
  });

  test('truncation drops whole messages and reports their number', async () => {
    const { chat, asked } = scriptedChat(hello, {
      countTokens: async ({ conversation }) => conversation.messages.length * 1500,
    });
    const input = ['One', 'Two', 'Three'].map((content) => ({ role: 'user', content }));
    const reply = await world([], { chat }).ask('POST', '/v1/responses', { input, truncation: 'auto', stream: true });
    expect(reply.headers).toMatchObject({ 'x-parley-dropped-messages': '1' });
    expect(asked[0]?.request.conversation.messages).toHaveLength(2);
  });

  test('the request context has genkey and client', async () => {
    const { ask, asked } = world(hello);
    await ask('POST', '/v1/responses', { input: 'Hi', genkey: 'mine' });
    expect(asked[0]?.requestContext).toMatchObject({ genkey: 'mine', part: 'mine' });
  });

  test('store: false stores nothing', async () => {
    const { ask, store } = world(hello);
    expect(bodyOf(await ask('POST', '/v1/responses', { input: 'Hi', store: false }))).toMatchObject({ store: false });
    expect(store.size).toBe(0);
  });

  test('a response too large for the store has store: false', async () => {
    const { ask } = world(hello, { store: new ResponseStore({ responses: 1, bytes: 100 }) });
    expect(bodyOf(await ask('POST', '/v1/responses', { input: 'Hi' }))).toMatchObject({ store: false });
  });

  test('a stream is stored before its last frame', async () => {
    const { ask, store } = world(hello);
    const bytes = await streamOf(await ask('POST', '/v1/responses', { input: 'Hi', stream: true }));
    const last = JSON.parse(bytes.slice(bytes.lastIndexOf('data: ') + 6));
    expect(store.of(noKey).get(last.response.id)?.response).toEqual(last.response);
  });

  test('the response of a disconnected client is not stored', async () => {
    const client = new AbortController();
    const { ask, store } = world(async function* () {
      yield startEvent();
      client.abort();
      yield finishEvent({ reason: 'aborted', cause: 'aborted' });
    });
    await ask('POST', '/v1/responses', { input: 'Hi' }, { signal: client.signal });
    expect(store.size).toBe(0);
  });

  test('item_reference finds items of stored responses', async () => {
    const { ask, asked } = world(hello);
    const { output } = bodyOf(await ask('POST', '/v1/responses', { input: 'Hi' }));
    const reference = { type: 'item_reference', id: output[0].id };
    await ask('POST', '/v1/responses', { input: [reference, { role: 'user', content: 'And?' }] });
    expect(asked[1]?.request.conversation.messages).toMatchObject([
      { role: 'assistant', content: [{ text: 'Hello' }] },
      { role: 'user' },
    ]);
  });

  test('a conversation continues after earlier responses were evicted', async () => {
    const { ask, asked, store } = world(hello);
    const first = bodyOf(await ask('POST', '/v1/responses', { input: 'One' }));
    const second = bodyOf(await ask('POST', '/v1/responses', { input: 'Two', previous_response_id: first.id }));
    store.of(noKey).delete(first.id);
    await ask('POST', '/v1/responses', { input: 'Three', previous_response_id: second.id });
    expect(asked[2]?.request.conversation.messages).toHaveLength(5);
  });
});

describe('stored responses', () => {
  async function stored(input: unknown) {
    const { ask, ...rest } = world([
      startEvent(),
      { type: 'reasoning-delta', text: 'hm' },
      { type: 'text-delta', text: 'Hello' },
      { type: 'tool-start', index: 0, id: 'call_1', name: 'look' },
      { type: 'tool-delta', index: 0, json: '{}' },
      { type: 'tool-end', index: 0 },
      finishEvent({ reason: 'tool-calls' }),
    ]);
    const response = bodyOf(await ask('POST', '/v1/responses', { input }));
    return { ask, response, ...rest };
  }

  test('are returned as sent, and replayed frame by frame', async () => {
    const { ask, response } = await stored('Hi');
    const path = `/v1/responses/${response.id}`;
    expect(bodyOf(await ask('GET', path))).toEqual(response);
    const bytes = await streamOf(await ask('GET', `${path}?stream=true`));
    const frames = bytes
      .split('\n\n')
      .slice(0, -1)
      .map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 6)));
    expect(frames.map(({ sequence_number: number }) => number)).toEqual(frames.map((_, index) => index));
    expect(frames[0].response).toEqual({
      ...response,
      status: 'in_progress',
      output: [],
      usage: null,
      completed_at: null,
    });
    expect(frames.at(-1)).toMatchObject({ type: 'response.completed', response });
    const done = frames.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
    expect(done).toEqual(response.output);
  });

  test('starting_after is rejected', async () => {
    const { ask, response } = await stored('Hi');
    const reply = await ask('GET', `/v1/responses/${response.id}?stream=true&starting_after=3`);
    expect(reply.status).toBe(400);
    expect(bodyOf(reply)).toMatchObject({ error: { param: 'starting_after', code: 'unsupported_parameter' } });
  });

  test('are deleted once', async () => {
    const { ask, response } = await stored('Hi');
    const path = `/v1/responses/${response.id}`;
    expect(bodyOf(await ask('DELETE', path))).toEqual({ id: response.id, object: 'response', deleted: true });
    expect((await ask('DELETE', path)).status).toBe(404);
    expect((await ask('GET', path)).status).toBe(404);
  });

  test('cannot be cancelled unless in the background', async () => {
    const { ask, response } = await stored('Hi');
    expect((await ask('POST', `/v1/responses/${response.id}/cancel`)).status).toBe(400);
  });

  const five = [1, 2, 3, 4, 5].map((number) => ({ role: 'user', content: 'Hi', id: `msg_i${number}` }));

  test.each<[string, string[], boolean]>([
    ['', ['5', '4', '3', '2', '1'], false],
    ['?order=asc', ['1', '2', '3', '4', '5'], false],
    ['?limit=2', ['5', '4'], true],
    ['?limit=2&after=msg_i4', ['3', '2'], true],
    ['?limit=2&after=msg_i2', ['1'], false],
    ['?limit=2&after=msg_i4&order=asc', ['5'], false],
    ['?limit=0', ['5'], true],
    ['?limit=1000', ['5', '4', '3', '2', '1'], false],
    ['?after=msg_i1', [], false],
  ])('list input items with %s', async (query, numbers, more) => {
    const { ask, response } = await stored(five);
    const ids = numbers.map((number) => `msg_i${number}`);
    const list = bodyOf(await ask('GET', `/v1/responses/${response.id}/input_items${query}`));
    expect(list.data.map(({ id }: { id: string }) => id)).toEqual(ids);
    expect(list).toMatchObject({
      object: 'list',
      first_id: ids[0] ?? null,
      last_id: ids.at(-1) ?? null,
      has_more: more,
    });
  });

  test.each(['?order=up', '?after=msg_unknown'])('reject input_items%s', async (query) => {
    const { ask, response } = await stored(five);
    expect((await ask('GET', `/v1/responses/${response.id}/input_items${query}`)).status).toBe(400);
  });
});

describe('background responses', () => {
  /** A generation that ends when the test lets it. */
  function held() {
    const end = latch();
    const begun = latch();
    async function* script(): AsyncGenerator<GenerationEvent> {
      yield startEvent();
      begun.open();
      await end.promise;
      yield { type: 'text-delta', text: 'Hello' };
      yield finishEvent();
    }
    return { script, begun, end };
  }

  test('are queued, then in progress, then completed', async () => {
    const { script, begun, end } = held();
    const { ask } = world(script);
    const queued = bodyOf(await ask('POST', '/v1/responses', { input: 'Hi', background: true }));
    expect(queued).toMatchObject({ status: 'queued', background: true, output: [], usage: null });
    await begun.promise;
    const path = `/v1/responses/${queued.id}`;
    expect(bodyOf(await ask('GET', path))).toMatchObject({ status: 'in_progress' });
    const replayed = streamOf(await ask('GET', `${path}?stream=true`));
    end.open();
    expect(await replayed).toContain('event: response.completed');
    expect(bodyOf(await ask('GET', path))).toMatchObject({ status: 'completed', output: [{ type: 'message' }] });
    expect(bodyOf(await ask('POST', `${path}/cancel`))).toMatchObject({ status: 'completed' });
  });

  test('are not stored again after deletion', async () => {
    const { script, begun, end } = held();
    const { ask, asked, store } = world(script);
    const { id } = bodyOf(await ask('POST', '/v1/responses', { input: 'Hi', background: true }));
    await begun.promise;
    const replayed = streamOf(await ask('GET', `/v1/responses/${id}?stream=true`));
    await ask('DELETE', `/v1/responses/${id}`);
    expect(asked[0]?.requestContext.signal.aborted).toBe(true);
    end.open();
    expect(await replayed).toContain('event: response.failed');
    expect(store.size).toBe(0);
  });

  test('are stored with their failure', async () => {
    const error = new AppError('engine-lost', { capability: 'text' });
    const { ask } = world([{ type: 'error', error }]);
    const { id } = bodyOf(await ask('POST', '/v1/responses', { input: 'Hi', background: true }));
    await streamOf(await ask('GET', `/v1/responses/${id}?stream=true`));
    expect(bodyOf(await ask('GET', `/v1/responses/${id}`))).toMatchObject({
      status: 'failed',
      error: { code: 'server_error', message: error.message },
    });
  });

  test('are rejected and aborted if they cannot be stored', async () => {
    const { ask, asked } = world(hello, { store: new ResponseStore({ responses: 1, bytes: 100 }) });
    const reply = await ask('POST', '/v1/responses', { input: 'Hi', background: true });
    expect(bodyOf(reply)).toMatchObject({ error: { param: 'background', code: 'unsupported_parameter' } });
    expect(asked[0]?.requestContext.signal.aborted).toBe(true);
  });

  test('continue after a disconnect', async () => {
    const leaving = new AbortController();
    const { ask, asked } = world(hello);
    await ask('POST', '/v1/responses', { input: 'Hi', background: true }, { signal: leaving.signal });
    leaving.abort();
    expect(asked[0]?.requestContext.signal.aborted).toBe(false);
  });
});

test('input_tokens: counts the rendered prompt, and fails without a model', async () => {
  const path = '/v1/responses/input_tokens';
  expect(bodyOf(await world().ask('POST', path, { input: 'Hi' }))).toEqual({
    object: 'response.input_tokens',
    input_tokens: 42,
  });
  const { text } = scriptedText([], { state: () => ({ type: 'none' }) });
  const reply = await world([], { text }).ask('POST', path, { input: 'Hi' });
  expect(reply).toMatchObject({ status: 503, headers: { 'x-should-retry': 'false' } });
});

describe('responsesFamily.errorReply', () => {
  const shape = (error: AppError) => bodyOf(responsesDialect.errorReply(error));

  test.each<[AppError, number, object]>([
    [
      new AppError('invalid-json', { reason: 'it is empty' }),
      400,
      { type: 'invalid_request_error', param: null, code: null },
    ],
    [
      new AppError('invalid-field', { field: 'input', expected: 'given' }),
      400,
      { type: 'invalid_request_error', param: 'input', code: null },
    ],
    [
      new AppError('invalid-field', { field: 'previous_response_id', expected: 'stored' }),
      400,
      { type: 'invalid_request_error', param: 'previous_response_id', code: 'previous_response_not_found' },
    ],
    [
      new AppError('unsupported', { feature: 'conversation', instead: 'no' }),
      400,
      { type: 'invalid_request_error', param: 'conversation', code: 'unsupported_parameter' },
    ],
    [
      new AppError('unsupported', { feature: 'Image input (input[0])', instead: 'no' }),
      400,
      { type: 'invalid_request_error', param: null, code: 'unsupported_parameter' },
    ],
    [
      new AppError('context-overflow', { promptTokens: 9, contextSize: 4 }),
      400,
      {
        message:
          'The input has 9 tokens, which with room for a reply is more than the maximum context length of 4 tokens.',
        type: 'invalid_request_error',
        param: 'input',
        code: 'context_length_exceeded',
        n_prompt_tokens: 9,
        n_ctx: 4,
      },
    ],
    [new AppError('unauthorized', {}), 401, { type: 'invalid_request_error', param: null, code: 'invalid_api_key' }],
    [
      new AppError('model-missing', { capability: 'text', flag: '--model' }),
      503,
      { type: 'server_error', param: null, code: 'model_not_loaded' },
    ],
    [new AppError('engine-lost', { capability: 'text' }), 500, { type: 'server_error', param: null, code: null }],
  ])('%s', (error, status, expected) => {
    expect(responsesDialect.errorReply(error).status).toBe(status);
    expect(shape(error).error).toEqual({ message: error.message, ...expected });
  });

  test('busy has the native detail and retry-after', () => {
    const error = new AppError('busy', { retryAfterSeconds: 1.2 });
    expect(responsesDialect.errorReply(error)).toMatchObject({ status: 503, headers: { 'retry-after': '2' } });
    expect(shape(error)).toEqual({
      error: { message: error.message, type: 'server_error', param: null, code: 'server_busy' },
      detail: { msg: error.message, type: 'service_unavailable' },
    });
  });

  test('an error before the first event of a stream keeps its status', async () => {
    const error = new AppError('context-overflow', { promptTokens: 9, contextSize: 4 });
    const reply = await world([{ type: 'error', error }]).ask('POST', '/v1/responses', { input: 'Hi', stream: true });
    expect(reply.status).toBe(400);
  });
});

describe('responses of another key', () => {
  const by = (name: string): Partial<Call> => ({ key: { name, scopes: ['chat'], weight: 1 } });

  test('are not found: neither read, listed, continued, cancelled nor deleted', async () => {
    const { ask } = world(hello);
    const { id } = bodyOf(await ask('POST', '/v1/responses', { input: 'Hi' }, by('one')));
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/input_items'],
      ['POST', '/cancel'],
      ['DELETE', ''],
    ] as const) {
      for (const other of [by('other'), {}]) {
        expect(await ask(method, `/v1/responses/${id}${path}`, '', other)).toMatchObject({ status: 404 });
      }
    }
    const next = { input: 'And?', previous_response_id: id };
    expect(await ask('POST', '/v1/responses', next, by('other'))).toMatchObject({ status: 400 });
    expect(await ask('GET', `/v1/responses/${id}`, '', by('one'))).toMatchObject({ status: 200 });
  });

  test('item_reference finds none of their items, also by an id that a client has chosen', async () => {
    const { ask, asked } = world(hello);
    const input = [{ id: 'msg_1', role: 'user', content: 'My secret' }];
    const { output } = bodyOf(await ask('POST', '/v1/responses', { input }, by('one')));
    const references = ['msg_1', output[0].id].map((id) => ({ type: 'item_reference', id }));
    const reply = await ask(
      'POST',
      '/v1/responses',
      { input: [...references, { role: 'user', content: 'And?' }] },
      by('other'),
    );
    expect(asked[1]?.request.conversation.messages).toMatchObject([{ content: [{ text: 'And?' }] }]);
    expect(reply.headers?.['x-parley-ignored']).toContain('item_reference');
  });

  test('in the background: are found and cancelled by their own key only', async () => {
    const { ask } = world(async function* () {
      yield startEvent();
      await new Promise(() => undefined);
    });
    const { id } = bodyOf(await ask('POST', '/v1/responses', { input: 'Hi', background: true }, by('one')));
    expect(await ask('POST', `/v1/responses/${id}/cancel`, '', by('other'))).toMatchObject({ status: 404 });
    expect(bodyOf(await ask('GET', `/v1/responses/${id}`, '', by('one')))).toMatchObject({ background: true });
  });
});
