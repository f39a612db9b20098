import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { type NativeClient, nativeClient } from './client.ts';
import { type LiveServer, liveServers } from './server.ts';

const startServer = liveServers();
const story = 'Once upon a time';

describe('HTTP: paths and methods', () => {
  let server: LiveServer;
  let client: NativeClient;
  beforeAll(async () => {
    server = await startServer();
    client = nativeClient(server.base);
  });

  test.each([
    '/api/v1/generate',
    '/api/latest/generate',
    '/lcpp/api/v1/generate',
    '/foo/api/v1/generate',
    '/api/v1/generate/',
    '/api/v1/generate/?x=1',
    '/api/v1/generate?x=1',
  ])('POST %s generates', async (path) => {
    expect((await client.generate({ prompt: story, max_length: 2 }, path)).completion_tokens).toBe(2);
  });

  test.each(['HEAD', 'OPTIONS'])('%s: is accepted on every path', async (method) => {
    const answer = await client.call(method, '/api/v1/generate');
    expect([answer.status, answer.text]).toEqual([200, '']);
  });

  test('unknown page: redirects to the list of endpoints', async () => {
    const answer = await client.get('/nowhere');
    expect(answer.status).toBe(404);
    expect(answer.headers.get('content-type')).toMatch(/^text\/html/);
    expect(answer.text).toContain('href="/api"');
    expect((await client.get('/api')).status).toBe(200);
    expect((await client.post('/nowhere')).status).toBe(404);
  });

  test.each([
    ['/api/v1/model', { result: 'koboldcpp/parley-mini' }],
    ['/api/v1/info/version', { result: '1.2.5' }],
    ['/api/v1/config/max_length', { value: 1024 }],
    ['/api/v1/config/max_context_length', { value: 2048 }],
    ['/api/v1/config/soft_prompt', { value: '' }],
    ['/api/v1/config/soft_prompts_list', { values: [] }],
    ['/api/extra/true_max_context_length', { value: 2048 }],
    ['/api/extra/preloadstory', {}],
    ['/ping', { status: 'healthy' }],
    ['/health', { status: 'ok' }],
  ])('GET %s answers as documented', async (path, body) => {
    expect((await client.get(path)).json()).toEqual(body);
  });

  test('/api/extra/version: lists the available features', async () => {
    const version = (await client.get('/api/extra/version')).json();
    expect(version).toMatchObject({ result: 'KoboldCpp', llm: true, protected: false, txt2img: true, admin: 0 });
    expect(version).toMatchObject({ transcribe: true, tts: true, embeddings: true, music: false });
    expect(Object.keys(version as object).slice(0, 5)).toEqual(['result', 'version', 'protected', 'llm', 'txt2img']);
  });

  test('models and props describe the loaded model', async () => {
    const models = (await client.get('/v1/models')).json();
    expect(models).toMatchObject({
      object: 'list',
      data: [{ id: 'koboldcpp/parley-mini', object: 'model' }],
    });
    const props = (await client.get('/props')).json();
    expect(props).toMatchObject({ n_ctx: 2048, total_slots: 1, modalities: { vision: false, audio: false } });
    expect((props as { chat_template: string }).chat_template).toContain('<|im_start|>');
  });

  test('guard: refuses unknown origins and unknown host names', async () => {
    const { base, port } = server;
    const page = nativeClient(base, { origin: 'https://example.org' });
    expect((await page.post('/api/v1/generate', { prompt: story })).status).toBe(403);
    const own = nativeClient(base, { origin: base });
    expect((await own.post('/api/v1/generate', { prompt: story, max_length: 1 })).status).toBe(200);
    const called = request({ port, path: '/api/v1/model', headers: { host: 'rebound.example.org' } }).end();
    const [reply] = (await once(called, 'response')) as [IncomingMessage];
    expect(reply.resume().statusCode).toBe(421);
  });
});

describe('HTTP: while the model is loading', () => {
  test('port is open, the state is reported, and a request waits and succeeds', async () => {
    const server = await startServer([], { until: 'Listening on ' });
    const client = nativeClient(server.base);
    // Its load takes as long as the test wants it to.
    let worker: number | undefined;
    while (worker === undefined) worker = server.worker();
    process.kill(worker, 'SIGSTOP');
    const reply = client.generate({ prompt: story, max_length: 4 });
    expect((await client.get('/health')).status).toBe(503);
    expect((await client.get('/api/extra/version')).status).toBe(200);
    process.kill(worker, 'SIGCONT');
    expect((await reply).text).toMatch(/^, there was/);
    expect((await client.get('/health')).status).toBe(200);
    await server.stop();
  });
});

describe('HTTP: without a text model', () => {
  let client: NativeClient;
  beforeAll(async () => {
    client = nativeClient((await startServer(['--nomodel'])).base);
  });

  test('generation gives an empty text and the reason', async () => {
    const reply = await client.generate({ prompt: story });
    expect(reply).toMatchObject({ text: '', finish_reason: 'error', prompt_tokens: 0, completion_tokens: 0 });
    const { frames } = await client.stream({ prompt: story });
    expect(frames.map(({ data }) => [data.token, data.finish_reason])).toEqual([['', 'error']]);
  });

  test('other endpoints report the missing model in the form of their dialect', async () => {
    const body = async (path: string) => (await client.get(path)).json();
    expect(await body('/api/v1/model')).toEqual({ result: 'inactive' });
    expect(await body('/v1/models')).toMatchObject({ data: [{ id: 'inactive' }] });
    expect(await body('/api/extra/version')).toMatchObject({ llm: false });
    expect(await body('/props')).toMatchObject({ chat_template: null });
    expect(await body('/api/extra/perf')).toMatchObject({ last_seed: -1, total_gens: 0, stop_reason: -1 });
    expect((await client.post('/api/extra/tokencount', { prompt: 'a' })).json()).toEqual({
      value: 0,
      ids: [],
      prompt: 'a',
    });
    expect((await client.post('/api/extra/detokenize', { ids: [1] })).json()).toEqual({ result: '', success: true });
  });
});

describe('HTTP: with --password', () => {
  let server: LiveServer;
  const sending = (headers: Record<string, string>) => nativeClient(server.base, headers);
  beforeAll(async () => {
    server = await startServer(['--password', 'open sesame', '--genlimit', '6']);
  });

  test.each([
    '/api/v1/generate',
    '/api/extra/generate/stream',
    '/api/extra/generate/check',
    '/api/extra/abort',
    '/api/extra/last_logprobs',
    '/api/extra/tokencount',
    '/api/extra/detokenize',
    '/api/extra/json_to_grammar',
    '/request',
  ])('%s: needs the key', async (path) => {
    for (const headers of [{}, { authorization: 'Bearer wrong' }]) {
      const answer = await sending(headers).post(path, { prompt: story });
      expect(answer.status).toBe(401);
      expect(answer.json()).toEqual({
        detail: { error: 'Unauthorized', msg: 'Authentication key is missing or invalid.', type: 'unauthorized' },
      });
    }
  });

  test.each([{ authorization: 'Bearer open sesame' }, { 'x-api-key': 'open sesame' }])(
    'accepts the key as %o',
    async (headers) => {
      expect((await sending(headers).generate({ prompt: story, max_length: 2 })).completion_tokens).toBe(2);
    },
  );

  test('information endpoints need no key and mask the model name', async () => {
    const client = sending({});
    for (const path of ['/', '/api', '/api/extra/version', '/api/extra/perf', '/props', '/v1/models', '/health']) {
      expect([path, (await client.get(path)).status]).toEqual([path, 200]);
    }
    expect((await client.get('/api/v1/model')).json()).toEqual({ result: 'koboldcpp/protected-model' });
    expect((await client.get('/api/extra/version')).json()).toMatchObject({ protected: true });
  });

  test('no reply is longer than --genlimit', async () => {
    const client = sending({ authorization: 'Bearer open sesame' });
    expect((await client.generate({ prompt: story, max_length: 500 })).completion_tokens).toBe(6);
  });
});

describe('HTTP: defaults of the server', () => {
  let client: NativeClient;
  beforeAll(async () => {
    const defaults = JSON.stringify({ stop_sequence: [' there'], temperature: 0 });
    client = nativeClient((await startServer(['--gendefaults', defaults, '--defaultgenamt', '64'])).base);
  });

  test('--gendefaults: sets missing fields only', async () => {
    const text = async (fields: object) =>
      (
        (await client.post('/api/v1/generate', { prompt: story, max_length: 6, ...fields })).json() as {
          results: [{ text: string }];
        }
      ).results[0].text;
    expect(await text({})).toBe(',');
    expect(await text({ stop_sequence: [] })).toMatch(/^, there was/);
  });

  test('--defaultgenamt: is the reply length if the request sets none', async () => {
    const answer = await client.post('/api/v1/generate', { prompt: story, ban_eos_token: true, stop_sequence: [] });
    expect(answer.json()).toMatchObject({ results: [{ completion_tokens: 64, finish_reason: 'length' }] });
  });
});

describe('HTTP: broken connections', () => {
  test('upgrade: a connection reset during the first upgrade ends no other connection', async () => {
    const server = await startServer();
    const upgrade =
      'GET /ws HTTP/1.1\r\nhost: localhost\r\nconnection: Upgrade\r\nupgrade: websocket\r\n' +
      'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
    const resets = Array.from({ length: 20 }, async (_, index) => {
      const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(upgrade);
      for (let turn = 0; turn < index; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      socket.resetAndDestroy();
    });
    await Promise.all(resets);
    expect((await fetch(`${server.base}/ping`)).status).toBe(200);
    expect(server.output()).not.toMatch(/ECONNRESET/);
  });
});
