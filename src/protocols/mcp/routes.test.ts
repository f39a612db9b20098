import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { echoTool, playedTools, textResult } from '../../core/testing/tool-servers.ts';
import { type CallOptions, ToolCallError, type ToolServers } from '../../core/tool-servers.ts';
import { ask, latch, serve } from '../../http/testing/world.ts';
import { bindAll } from '../testing/bind.ts';
import { callOf } from '../testing/doubles.ts';
import { mcpEndpoints, readMessage } from './routes.ts';

const product = { name: 'Parley', version: '1.2.3' };

async function world(tools: ToolServers | undefined, options: Parameters<typeof serve>[1] = {}) {
  const server = await serve(bindAll(mcpEndpoints({ toolsOf: () => tools, product }), undefined), options);
  const post = async (body: unknown, headers: Record<string, string> = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await ask(server, { method: 'POST', path: '/mcp', headers, body: text });
    return { ...answer, json: answer.text.startsWith('{') ? (JSON.parse(answer.text) as unknown) : answer.text };
  };
  return { server, post };
}

const request = (method: string, params?: object) => ({ jsonrpc: '2.0', id: 7, method, params });
const echoing = () => playedTools(async ({ arguments: given }) => textResult(String(given?.message)));
const failed = (code: number, message: string, id: unknown = 7) => ({ jsonrpc: '2.0', id, error: { code, message } });
const calling = (name: unknown, own: object = {}) => request('tools/call', { name, ...own });

describe('POST /mcp', () => {
  test('initialize: replies with the version of the client', async () => {
    const { post } = await world(echoing().servers);
    const { status, headers, json } = await post(request('initialize', { protocolVersion: '2025-06-18' }));
    expect([status, headers['content-type']]).toEqual([200, 'application/json']);
    expect(json).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: { listChanged: false } },
        serverInfo: { name: 'parley', version: '1.2.3' },
      },
    });
  });

  test.each([undefined, {}, { protocolVersion: 5 }])(
    'initialize: replies with the oldest version without one (%j)',
    async (params) => {
      const { post } = await world(echoing().servers);
      expect((await post(request('initialize', params))).json).toMatchObject({
        result: { protocolVersion: '2024-11-05' },
      });
    },
  );

  test('answers ping', async () => {
    const { post } = await world(echoing().servers);
    expect((await post(request('ping'))).json).toEqual({ jsonrpc: '2.0', id: 7, result: {} });
  });

  test('tools/list: returns the tools unchanged', async () => {
    const { post } = await world(echoing().servers);
    expect((await post(request('tools/list', {}))).json).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: { tools: [echoTool] },
    });
  });

  test('tools/call: returns the result unchanged', async () => {
    const { servers, calls } = echoing();
    const { post } = await world(servers);
    const { status, json } = await post(calling('echo', { arguments: { message: 'hi' }, _meta: { trace: 'x' } }));
    expect([status, json]).toEqual([200, { jsonrpc: '2.0', id: 7, result: textResult('hi') }]);
    expect(calls).toEqual([{ name: 'echo', arguments: { message: 'hi' }, meta: { trace: 'x' } }]);
  });

  test('tools/call: works without arguments', async () => {
    const { servers, calls } = echoing();
    const { post } = await world(servers);
    await post(calling('echo', { arguments: null, _meta: { progressToken: 1 } }));
    expect(calls).toEqual([{ name: 'echo' }]);
  });

  test('tools/call: returns the error of a tool server with the id of the request', async () => {
    const error = new ToolCallError(-32042, 'not today', { why: 'rain' });
    const { post } = await world(playedTools(() => Promise.reject(error)).servers);
    const { status, json } = await post(calling('echo'));
    expect(status).toBe(200);
    expect(json).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: { code: -32042, message: 'not today', data: { why: 'rain' } },
    });
  });

  test.each([
    ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }],
    ['an unrequested response', { jsonrpc: '2.0', id: 1, result: {} }],
  ])('accepts %s with an empty 202', async (_, message) => {
    const { post } = await world(echoing().servers);
    const { status, text } = await post(message);
    expect([status, text]).toEqual([202, '']);
  });

  test.each([
    ['resources/list', request('resources/list'), 200, failed(-32601, 'Method not found')],
    ['what is no JSON', '{"id":', 400, failed(-32700, 'Parse error', null)],
    ['nothing', '', 400, failed(-32700, 'Parse error', null)],
    ['a list', [request('ping')], 400, failed(-32600, 'Invalid Request: body must be an object.', null)],
    ['a call of no tool', calling(undefined), 200, failed(-32602, 'Invalid params: params.name is a text')],
    [
      'arguments in a list',
      calling('echo', { arguments: [] }),
      200,
      failed(-32602, 'Invalid params: params.arguments is an object'),
    ],
  ])('refuses %s', async (_, body, status, error) => {
    const { post } = await world(echoing().servers);
    expect(await post(body)).toMatchObject({ status, json: error });
  });

  test('reads a message of megabytes', async () => {
    const { post } = await world(echoing().servers);
    const message = 'x'.repeat(3_000_000);
    expect((await post(calling('echo', { arguments: { message } }))).json).toMatchObject({
      result: textResult(message),
    });
  });

  test('without tool servers: answers every request with an error', async () => {
    const { post } = await world(undefined);
    for (const method of ['initialize', 'ping', 'tools/list', 'tools/call']) {
      const sentence = 'No tool servers are configured. Start the server with --mcpfile FILE.';
      expect(await post(request(method))).toMatchObject({ status: 200, json: failed(-32000, sentence) });
    }
    expect((await post({ method: 'notifications/initialized' })).status).toBe(202);
  });

  test('replies in JSON-RPC to any body', async () => {
    const { servers } = echoing();
    const [endpoint] = mcpEndpoints({ toolsOf: () => servers, product });
    const method = fc.constantFrom('initialize', 'ping', 'tools/list', 'tools/call', 'x');
    const message = fc.record({ id: fc.jsonValue(), method, params: fc.jsonValue() }, { requiredKeys: [] });
    await fc.assert(
      fc.asyncProperty(message, async (body) => {
        const reply = await endpoint?.handle(callOf('/mcp', body), undefined);
        expect([200, 202, 400]).toContain(reply?.status);
        const text = reply && 'body' in reply ? String(reply.body) : '';
        if (text !== '') expect(JSON.parse(text)).toMatchObject({ jsonrpc: '2.0' });
      }),
    );
  });
});

describe('access to /mcp', () => {
  test.each(['GET', 'DELETE'])('%s is answered 405 with Allow', async (method) => {
    const { server } = await world(echoing().servers);
    const answer = await ask(server, { method, path: '/mcp' });
    expect([answer.status, answer.headers.allow, answer.text]).toEqual([405, 'POST', '']);
  });

  test('matches the exact path only', async () => {
    const { server } = await world(echoing().servers);
    expect((await ask(server, { method: 'POST', path: '/other/mcp', body: '{}' })).status).toBe(404);
    expect((await ask(server, { method: 'POST', path: '/lcpp/mcp/', body: '{}' })).status).toBe(400);
  });

  test('needs the key if there is one', async () => {
    const { servers, calls } = echoing();
    const { post } = await world(servers, { guard: { password: 'secret' } });
    expect(await post(calling('echo'))).toMatchObject({ status: 401, json: { jsonrpc: '2.0', id: null } });
    expect(calls).toEqual([]);
    expect((await post(calling('echo'), { authorization: 'Bearer secret' })).status).toBe(200);
  });

  test.each([{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }])(
    'rejects a foreign origin (%j)',
    async (headers) => {
      const { servers, calls } = echoing();
      const { post } = await world(servers);
      const { status, json } = await post(calling('echo'), { ...headers, 'content-type': 'text/plain' });
      expect([status, calls]).toEqual([403, []]);
      expect(json).toMatchObject({ error: { code: -32000, message: expect.stringContaining('may not call') } });
    },
  );

  test('rejects a foreign host name', async () => {
    const { servers, calls } = echoing();
    const { post } = await world(servers);
    expect((await post(calling('echo'), { host: 'evil.example' })).status).toBe(421);
    expect(calls).toEqual([]);
  });
});

describe('tools/call with a progress token', () => {
  const params = { arguments: {}, _meta: { progressToken: 'p1', trace: 1 } };
  const accept = { accept: 'application/json, text/event-stream' };

  test('streams progress and then the result', async () => {
    const { servers, calls } = playedTools(async (_, { progress }) => {
      progress?.({ progress: 1, total: 2 });
      progress?.({ progress: 2, total: 2, message: 'nearly' });
      return textResult('done');
    });
    const { post } = await world(servers);
    const { headers, text } = await post(calling('echo', params), accept);
    expect(headers['content-type']).toBe('text/event-stream');
    const frames = text
      .split('\n\n')
      .filter(Boolean)
      .map((frame) => JSON.parse(frame.replace(/^event: message\ndata: /, '')));
    const note = (step: object) => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 'p1', ...step },
    });
    expect(frames).toEqual([
      note({ progress: 1, total: 2 }),
      note({ progress: 2, total: 2, message: 'nearly' }),
      { jsonrpc: '2.0', id: 7, result: textResult('done') },
    ]);
    expect(calls[0]?.meta).toEqual({ trace: 1 });
  });

  test('streams an error', async () => {
    const { post } = await world(playedTools(() => Promise.reject(new ToolCallError(-32000, 'gone'))).servers);
    const { text } = await post(calling('echo', params), accept);
    expect(text).toContain('"error":{"code":-32000,"message":"gone"}');
  });

  test('without text/event-stream: returns only the result', async () => {
    const { post } = await world(echoing().servers);
    expect((await post(calling('echo', params))).headers['content-type']).toBe('application/json');
  });

  test.each([{}, accept])('ends with its client (%j)', async (headers) => {
    const begun = latch<CallOptions>();
    const { servers } = playedTools((_, options) => {
      begun.open(options);
      return new Promise((_resolve, reject) =>
        options.signal.addEventListener('abort', () => reject(options.signal.reason)),
      );
    });
    const { server } = await world(servers);
    const client = new AbortController();
    const body = JSON.stringify(calling('echo', params));
    const address = `http://127.0.0.1:${server.port}/mcp`;
    const asked = fetch(address, { method: 'POST', headers, body, signal: client.signal }).then((reply) =>
      reply.text(),
    );
    const { signal } = await begun.promise;
    const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve));
    client.abort();
    await expect(asked).rejects.toThrow();
    await stopped;
    expect(server.errors).toEqual([]);
  });
});

test('readMessage: reads a request with id, method and optional params', () => {
  expect(readMessage({ jsonrpc: '2.0', id: 1, method: 'ping' })).toEqual({
    type: 'request',
    id: 1,
    method: 'ping',
    params: {},
  });
  expect(readMessage({ id: 'x', method: 'tools/call', params: { name: 'a' } })).toMatchObject({
    id: 'x',
    params: { name: 'a' },
  });
  expect(readMessage({ id: null, method: 'ping', params: null })).toMatchObject({
    type: 'request',
    id: null,
    params: {},
  });
});

test.each([{ method: 'notifications/initialized' }, { id: 4, result: {} }, { id: 4, error: { code: 1, message: '' } }])(
  'readMessage: %j is unanswered',
  (message) => {
    expect(readMessage(message)).toEqual({ type: 'unanswered' });
  },
);

test.each([
  [{}, null, 'there is no method'],
  [{ id: 3 }, 3, 'there is no method'],
  [{ id: 3, method: 7 }, 3, 'there is no method'],
  [{ id: {}, method: 'ping' }, null, 'an id is a text or a number'],
  [{ id: true, method: 'ping' }, null, 'an id is a text or a number'],
  [{ id: 3, method: 'ping', params: [] }, 3, 'params is an object'],
])('readMessage: %j is invalid', (value, id, reason) => {
  expect(readMessage(value)).toEqual({ type: 'invalid', id, reason });
});

test('readMessage: classifies any object', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('id', 'method', 'params', 'result', 'x'), fc.jsonValue()), (value) => {
      expect(['request', 'unanswered', 'invalid']).toContain(readMessage(value).type);
    }),
  );
});

describe('POST /mcp: resources and prompts', () => {
  const servers: ToolServers = {
    ...echoing().servers,
    catalog: {
      servers: () => [],
      resources: async () => [{ uri: 'a://1' }],
      resourceTemplates: async () => [{ uriTemplate: 'a://{id}' }],
      readResource: async (uri) => {
        if (uri !== 'a://1') throw new ToolCallError(-32002, 'Resource not found', { uri });
        return { contents: [{ uri, text: 'x' }] };
      },
      prompts: async () => [{ name: 'greet' }],
      getPrompt: async (name, given) => ({ messages: [{ name, given }] }),
    },
  };

  test.each([
    ['resources/list', {}, { resources: [{ uri: 'a://1' }] }],
    ['resources/templates/list', {}, { resourceTemplates: [{ uriTemplate: 'a://{id}' }] }],
    ['resources/read', { uri: 'a://1' }, { contents: [{ uri: 'a://1', text: 'x' }] }],
    ['prompts/list', {}, { prompts: [{ name: 'greet' }] }],
    ['prompts/get', { name: 'greet', arguments: { a: 'b' } }, { messages: [{ name: 'greet', given: { a: 'b' } }] }],
  ])('%s: the result of the servers', async (method, params, result) => {
    const { post } = await world(servers);
    expect((await post(request(method, params))).json).toEqual({ jsonrpc: '2.0', id: 7, result });
  });

  test('errors of the servers, and bad parameters', async () => {
    const { post } = await world(servers);
    expect((await post(request('resources/read', { uri: 'b' }))).json).toMatchObject({ error: { code: -32002 } });
    expect((await post(request('resources/read', {}))).json).toMatchObject({ error: { code: -32602 } });
    expect((await post(request('prompts/get', {}))).json).toMatchObject({ error: { code: -32602 } });
    expect((await post(request('sampling/x', {}))).json).toMatchObject({ error: { code: -32601 } });
  });

  test('initialize: has both capabilities', async () => {
    const { post } = await world(servers);
    expect((await post(request('initialize'))).json).toMatchObject({
      result: { capabilities: { tools: {}, resources: {}, prompts: {} } },
    });
  });
});
