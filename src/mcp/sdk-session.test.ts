import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { latch } from '../http/testing/world.ts';
import type { ServerConfig } from './config.ts';
import { type Session, SessionLost } from './connection.ts';
import { limitedFetch } from './limited-fetch.ts';
import { disconnectedCode, LastLines, lossOf, sdkSessions } from './sdk-session.ts';
import { streamableServer, twoEndpointServer } from './testing/http-servers.ts';

const patient = new AbortController().signal;
const smallServer = fileURLToPath(new URL('./testing/small-server.mjs', import.meta.url));
const node: ServerConfig & { type: 'command' } = {
  type: 'command',
  name: 'small',
  command: process.execPath,
  args: [smallServer],
  env: {},
  folder: '/',
};
const address = (url: string, own: object = {}): ServerConfig => ({
  type: 'address',
  name: 'web',
  url,
  headers: {},
  sse: false,
  ...own,
});

function world(environment: Readonly<Record<string, string>> = {}) {
  const guarded: string[] = [];
  const said: string[] = [];
  const lost = latch<string>();
  const changed = latch();
  const started = latch<number>();
  const open = sdkSessions({
    product: { name: 'Parley', version: '1.2.3' },
    environment,
    guard: {
      add: (pid) => {
        guarded.push(`+${pid}`);
        started.open(pid);
      },
      end: (pid) => guarded.push(`-${pid}`),
    },
  });
  const connect = async (config: ServerConfig, signal = patient): Promise<Session> => {
    const session = await open(
      config,
      {
        lost: (reason) => lost.open(reason),
        toolsChanged: () => changed.open(),
        transportFailed: () => undefined,
        log: (level, text) => said.push(`${level}: ${text}`),
      },
      signal,
    );
    onTestFinished(() => session.close());
    return session;
  };
  return { connect, guarded, logged: said, lost: lost.promise, changed: changed.promise, started: started.promise };
}

const call = (session: Session, name: string, args?: object) =>
  session.call({ name, ...(args ? { arguments: { ...args } } : {}) }, { signal: patient });

describe('stdio session', () => {
  test('performs the handshake and lists the tools page by page', async () => {
    const { connect } = world();
    const tools = await (await connect(node)).tools();
    expect(tools.map(({ name }) => name)).toEqual([
      'get_weather',
      'get_time',
      'wait',
      'die',
      'grow',
      'fail',
      'env',
      'progress',
    ]);
    expect(tools[0]).toMatchObject({ 'x-own': 1 });
  });

  test('calls a tool and reports progress', async () => {
    const { connect } = world();
    const session = await connect(node);
    const result = await call(session, 'get_weather', { city: 'Paris' });
    expect(result).toEqual({ content: [{ type: 'text', text: '{"temperature": 21, "sky": "sunny"}' }] });
    const steps: number[] = [];
    await session.call({ name: 'progress' }, { signal: patient, progress: ({ progress }) => steps.push(progress) });
    expect(steps).toEqual([1, 2]);
  });

  test('passes the error of the server on', async () => {
    const { connect } = world();
    await expect(call(await connect(node), 'fail')).rejects.toMatchObject({
      name: 'ToolCallError',
      code: -32042,
      message: 'not today',
      data: { why: 'rain' },
    });
  });

  test('the program gets the environment of the file, and no secrets', async () => {
    const { connect } = world({ TZ: 'UTC', PARLEY_PASSWORD: 'secret', HTTPS_PROXY: 'http://user:pass@proxy' });
    process.env.PARLEY_TEST_SECRET = 'hidden';
    onTestFinished(() => void delete process.env.PARLEY_TEST_SECRET);
    const session = await connect({ ...node, env: { OWN: 'value' } });
    const { content } = (await call(session, 'env')) as { content: { text: string }[] };
    const seen = JSON.parse(content[0]?.text ?? '') as Record<string, string>;
    expect(seen).toMatchObject({ OWN: 'value', TZ: 'UTC', PATH: process.env.PATH });
    expect(JSON.stringify(seen)).not.toMatch(/secret|hidden|proxy/i);
  });

  test('reports list_changed and log messages of warning level', async () => {
    const { connect, changed, logged: said } = world();
    const session = await connect(node);
    await call(session, 'grow');
    await changed;
    expect((await session.tools()).map(({ name }) => name)).toContain('grown');
    expect(said).toEqual(['warning: I have grown']);
  });

  test('a program that ends fails its call, with its error output', async () => {
    const { connect, lost } = world();
    await expect(call(await connect(node), 'die')).rejects.toBeInstanceOf(SessionLost);
    expect(await lost).toBe('its program ended; it wrote: I had enough');
  });

  test('check: finds an ended program', async () => {
    const { connect, lost } = world();
    const session = await connect(node);
    await session.check();
    await call(session, 'die').catch(() => undefined);
    await lost;
    await expect(session.check()).rejects.toBeInstanceOf(SessionLost);
  });

  test('an abort cancels the call on the server', async () => {
    const { connect } = world();
    const session = await connect(node);
    const client = new AbortController();
    const waiting = session.call({ name: 'wait' }, { signal: client.signal });
    client.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    expect(await call(session, 'get_weather')).toBeDefined();
  });

  test('the guard is called at start and end', async () => {
    const { connect, guarded, lost } = world();
    const closed = await connect(node);
    expect(guarded).toEqual([expect.stringMatching(/^\+\d+$/)]);
    await closed.close();
    expect(guarded[1]).toBe(guarded[0]?.replace('+', '-'));
    await call(await connect(node), 'die').catch(() => undefined);
    await lost;
    expect(guarded.map((one) => one[0])).toEqual(['+', '-', '+', '-']);
  });

  test('a missing program is reported with its folder', async () => {
    const { connect, guarded } = world();
    await expect(connect({ ...node, command: 'no-such-program' })).rejects.toThrow(
      'no-such-program cannot be started in /: there is no such program or folder',
    );
    await expect(connect({ ...node, folder: '/no/such/folder' })).rejects.toThrow('/no/such/folder');
    expect(guarded).toEqual([]);
  });

  test('a program without MCP is reported with its error output', async () => {
    const { connect } = world();
    const args = ['-e', 'console.error("usage: x"); process.exit(2)'];
    await expect(connect({ ...node, args })).rejects.toThrow(/closed.*; it wrote: usage: x/i);
  });

  test('a program that never answers is ended after the time-out', async () => {
    const { connect, guarded } = world();
    const patience = new AbortController();
    const opened = connect({ ...node, args: ['-e', 'process.stdin.resume()'] }, patience.signal);
    setImmediate(() => patience.abort(new Error('too late')));
    await expect(opened).rejects.toThrow();
    expect(guarded.filter((one) => one.startsWith('+')).length).toBe(
      guarded.filter((one) => one.startsWith('-')).length,
    );
  });

  test('an aborted attempt rejects after its program has ended', async () => {
    const { connect, started } = world();
    const patience = new AbortController();
    // It neither answers nor ends when its input closes.
    const opened = connect({ ...node, args: ['-e', 'setInterval(() => {}, 1000)'] }, patience.signal);
    opened.catch(() => undefined);
    const pid = await started;
    patience.abort(new Error('closing'));
    await expect(opened).rejects.toThrow();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  test('starts no program after an abort', async () => {
    const { connect, guarded } = world();
    await expect(connect(node, AbortSignal.abort(new Error('closing')))).rejects.toThrow('closing');
    expect(guarded).toEqual([]);
  });
});

describe('HTTP session', () => {
  test('sends the headers of the file and a user agent', async () => {
    const server = await streamableServer();
    const { connect } = world();
    const session = await connect(address(server.url, { headers: { authorization: 'Bearer k' } }));
    expect((await session.tools()).map(({ name }) => name)).toEqual(['echo']);
    expect(await call(session, 'echo')).toEqual({ content: [{ type: 'text', text: 'hi' }] });
    await session.check();
    const { headers } = server.requests.at(-1) ?? {};
    expect(headers).toMatchObject({ authorization: 'Bearer k', 'user-agent': 'Parley/1.2.3', 'mcp-session-id': '1' });
  });

  test('close ends the session on the server', async () => {
    const server = await streamableServer();
    const session = await world().connect(address(server.url));
    await session.close();
    const { method, headers } = server.requests.at(-1) ?? {};
    expect([method, headers?.['mcp-session-id']]).toEqual(['DELETE', '1']);
  });

  test('the file can set the user agent', async () => {
    const server = await streamableServer();
    await world().connect(address(server.url, { headers: { 'User-Agent': 'other' } }));
    expect(server.requests.at(-1)?.headers['user-agent']).toBe('other');
  });

  test('passes the error of the server on', async () => {
    const server = await streamableServer();
    const session = await world().connect(address(server.url));
    await expect(call(session, 'nothing')).rejects.toMatchObject({ code: -32602, message: 'no such tool' });
  });

  test('an unknown session is lost and unprocessed', async () => {
    const server = await streamableServer();
    const session = await world().connect(address(server.url));
    server.forget();
    await expect(call(session, 'echo')).rejects.toMatchObject({ name: 'SessionLost', unprocessed: true });
    await expect(session.check()).rejects.toBeInstanceOf(SessionLost);
  });

  test('a server that ends fails its call', async () => {
    const server = await streamableServer();
    const session = await world().connect(address(server.url));
    await expect(call(session, 'cut')).rejects.toMatchObject({ name: 'SessionLost', unprocessed: false });
    const hanging = call(session, 'hang');
    const answer = expect(hanging).rejects.toMatchObject({ name: 'SessionLost', unprocessed: false });
    // It has begun to answer by then.
    await session.check();
    server.stop();
    await answer;
    await expect(session.check()).rejects.toBeInstanceOf(SessionLost);
    await expect(call(session, 'echo')).rejects.toMatchObject({ unprocessed: true });
  });

  test('a refused connection is reported with its reason', async () => {
    const server = await streamableServer();
    const { url } = server;
    server.stop();
    await expect(world().connect(address(url))).rejects.toThrow(/ECONNREFUSED/);
  });

  test('uses the older SSE transport, detected or configured', async () => {
    const server = await twoEndpointServer();
    for (const sse of [false, true]) {
      const session = await world().connect(address(server.url, { sse, headers: { 'x-key': 'k' } }));
      expect(await call(session, 'echo')).toEqual({ content: [{ type: 'text', text: 'hi' }] });
    }
    expect(server.requests.every(({ headers }) => headers['x-key'] === 'k')).toBe(true);
    // The newer greeting comes first only where the file does not say.
    expect(server.requests.filter(({ method, url }) => method === 'POST' && url === '/mcp')).toHaveLength(1);
  });
});

const written = (...pieces: string[]): string => {
  const lines = new LastLines();
  for (const piece of pieces) lines.add(piece);
  return lines.text;
};

test('LastLines: joins pieces to lines', () => {
  expect(written('one\ntw', 'o\n\n  \nthree')).toBe('one | two | three');
});

test('LastLines: empty without output', () => {
  expect(written()).toBe('');
  expect(written('\n', ' \n')).toBe('');
});

test('LastLines: keeps the last twenty lines', () => {
  const text = written(...Array.from({ length: 50 }, (_, index) => `line ${index}\n`));
  expect(text.split(' | ')).toEqual(Array.from({ length: 20 }, (_, index) => `line ${index + 30}`));
});

test('LastLines: bounds a line without an end', () => {
  const text = written(...Array.from({ length: 100 }, () => 'x'.repeat(1000)));
  expect(text.length).toBeLessThanOrEqual(500);
});

async function serving(type: string, pieces: readonly string[]): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': type });
    for (const piece of pieces) response.write(piece);
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test('limitedFetch: a response within the limit is unchanged', async () => {
  const url = await serving('application/json', ['{"a":', '1}']);
  const response = await limitedFetch(7)(url);
  expect([response.url, response.status, response.headers.get('content-type')]).toEqual([url, 200, 'application/json']);
  expect(await response.json()).toEqual({ a: 1 });
});

test('limitedFetch: a response over the limit fails', async () => {
  const response = await limitedFetch(100)(await serving('application/json', ['x'.repeat(60), 'x'.repeat(60)]));
  await expect(response.text()).rejects.toThrow('it sent a message of more than');
});

test('limitedFetch: counts each event of a stream', async () => {
  const events = Array.from({ length: 50 }, () => 'data: x\r\n\r\n');
  const response = await limitedFetch(20)(await serving('text/event-stream', events));
  expect(await response.text()).toBe(events.join(''));
});

test('limitedFetch: an endless event fails', async () => {
  const response = await limitedFetch(100)(await serving('text/event-stream', ['data: ', 'x'.repeat(200)]));
  await expect(response.text()).rejects.toThrow('it sent a message of more than');
});

const failure = (message: string, own: object): Error => Object.assign(new Error(message), own);
const refused = new TypeError('fetch failed', { cause: failure('connect ECONNREFUSED', { code: 'ECONNREFUSED' }) });

describe('lossOf', () => {
  test('a numeric code is the error of the server', () => {
    expect(lossOf(failure('no such tool', { code: -32602, data: { a: 1 } }))).toEqual({
      reason: 'no such tool',
      code: -32602,
      data: { a: 1 },
      lost: false,
      unprocessed: false,
      refused: false,
    });
  });

  test('the code of a cut stream is a loss', () => {
    expect(lossOf(failure('it hung up', { code: disconnectedCode }))).toMatchObject({ lost: true, unprocessed: false });
  });

  test.each([
    [404, { lost: true, unprocessed: true, refused: true }],
    [400, { lost: false, refused: true }],
    [401, { lost: false, refused: true }],
    [405, { lost: false, refused: true }],
    [500, { lost: false, refused: false }],
    [502, { lost: true, unprocessed: false, refused: false }],
    [503, { lost: true, unprocessed: false, refused: false }],
  ])('HTTP status %i', (status, expected) => {
    const error = failure('Error POSTing', { code: 'CLIENT_HTTP_NOT_IMPLEMENTED', data: { status } });
    expect(lossOf(error)).toMatchObject({ reason: `it answered with HTTP status ${status}`, ...expected });
    expect(lossOf(failure('x', { status }))).toMatchObject(expected);
  });

  test('a refused connection is lost and unprocessed', () => {
    expect(lossOf(refused)).toMatchObject({
      reason: 'fetch failed (connect ECONNREFUSED)',
      lost: true,
      unprocessed: true,
    });
  });

  test('refused connections of several addresses too', () => {
    const both = failure('', { code: 'ECONNREFUSED', errors: [{ code: 'ECONNREFUSED' }] });
    expect(lossOf(new TypeError('fetch failed', { cause: both }))).toMatchObject({
      reason: 'fetch failed (ECONNREFUSED)',
      unprocessed: true,
    });
  });

  test.each(['terminated', 'fetch failed', 'network error'])('a broken connection (%s) is a loss', (message) => {
    expect(lossOf(new TypeError(message))).toMatchObject({ reason: message, lost: true, unprocessed: false });
  });

  test.each(['CONNECTION_CLOSED', 'NOT_CONNECTED'])('%s is a loss', (code) => {
    expect(lossOf(failure('Connection closed', { code }))).toMatchObject({ lost: true, unprocessed: false });
  });

  test.each([
    failure('Request timed out', { code: 'REQUEST_TIMEOUT' }),
    new TypeError('x is no function'),
    'text',
    null,
  ])('%s is no loss', (error) => {
    expect(lossOf(error)).toMatchObject({ lost: false, unprocessed: false, refused: false });
  });
});
