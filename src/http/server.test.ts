import { Agent } from 'node:http';
import { describe, expect, test } from 'vitest';
import { AppError } from '../core/errors.ts';
import { json } from './call.ts';
import { createHttpServer } from './server.ts';
import { testTls } from './testing/certificate.ts';
import { ask, echo, endpoint, handTimer, latch, serve, wire } from './testing/world.ts';

const post = { method: 'POST', path: '/work', body: '{}' } as const;
const info = endpoint(() => json({ version: 1 }), { method: 'GET', path: '/info', access: 'open', rateLimited: false });

describe('HTTP server: response', () => {
  test('has the headers of every response', async () => {
    const { status, headers, text } = await ask(await serve([info]), { path: '/info' });
    expect([status, text]).toEqual([200, '{"version":1}']);
    expect(headers).toMatchObject({
      server: 'Parley',
      'cache-control': 'no-store',
      'content-type': 'application/json',
      'content-length': '13',
      'access-control-allow-origin': '*',
      'access-control-allow-private-network': 'true',
      vary: 'Origin',
    });
  });

  test('may override headers in any case, and extends Vary', async () => {
    const headers = { 'Cache-Control': 'max-age=60', Vary: 'Accept-Encoding' };
    const world = await serve([{ ...info, handle: () => ({ status: 200, headers, body: '' }) }]);
    expect((await ask(world, { path: '/info' })).headers).toMatchObject({
      'cache-control': 'max-age=60',
      vary: 'Origin, Accept-Encoding',
    });
  });

  test('names a permitted origin, and gives no permission to others', async () => {
    const world = await serve([info]);
    const from = async (origin: string) => (await ask(world, { path: '/info', headers: { origin } })).headers;
    expect(await from('http://localhost:3000')).toMatchObject({
      'access-control-allow-origin': 'http://localhost:3000',
      'access-control-allow-credentials': 'true',
    });
    expect(Object.keys(await from('https://elsewhere.example')).join()).not.toContain('access-control');
  });

  test('accepts a chunked body, an empty one, and any or no content type', async () => {
    const world = await serve([echo]);
    const chunked = await ask(world, { ...post, body: 'abc', headers: { 'transfer-encoding': 'chunked' } });
    expect(JSON.parse(chunked.text)).toEqual({ path: '/work', body: 'abc' });
    expect(JSON.parse((await ask(world, { method: 'POST', path: '/x/work/?a=1' })).text).body).toBe('');
    expect((await ask(world, { ...post, headers: { 'content-type': 'text/plain' } })).status).toBe(200);
  });

  test('keeps the connection open', async () => {
    const world = await serve([echo]);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const first = await ask(world, { ...post, agent });
    const second = await ask(world, { ...post, agent });
    expect([first.headers.connection, second.status]).toEqual(['keep-alive', 200]);
    agent.destroy();
  });

  test('answers pipelined requests in order', async () => {
    const one = wire(await serve([echo]));
    one.send('POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\nfirst');
    one.send('POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 6\r\nconnection: close\r\n\r\nsecond');
    await one.closed;
    expect(one.received).toMatch(/"first".*"second"/s);
  });

  test('closes the connection of an HTTP/1.0 client', async () => {
    const one = wire(await serve([info])).send('GET /info HTTP/1.0\r\n\r\n');
    await one.closed;
    expect(one.received).toContain('{"version":1}');
  });
});

describe('HTTP server: methods and paths', () => {
  test('HEAD: answers with the status of the resource', async () => {
    const world = await serve([{ ...echo, match: 'prefix', path: '/blobs/', probeStatus: 404 }]);
    expect((await ask(world, { method: 'HEAD', path: '/blobs/sha256:00' })).status).toBe(404);
    expect((await ask(world, { method: 'OPTIONS', path: '/blobs/sha256:00' })).status).toBe(200);
    expect((await ask(world, { method: 'HEAD', path: '/other' })).status).toBe(200);
  });

  test.each(['HEAD', 'OPTIONS'])('%s: 200 without a body on any path', async (method) => {
    const { status, headers, text } = await ask(await serve([info]), { method, path: '/anything' });
    expect([status, headers['content-type'], text]).toEqual([200, 'text/html', '']);
    expect(headers['access-control-allow-methods']).toBe('*');
  });

  test.each(['PATCH', 'TRACE', 'PROPFIND'])('%s: 501', async (method) =>
    expect((await ask(await serve([info]), { method, path: '/info' })).status).toBe(501),
  );

  test('CONNECT: 501', async () => {
    const one = wire(await serve([])).send('CONNECT example.org:443 HTTP/1.1\r\nhost: example.org\r\n\r\n');
    await one.closed;
    expect(one.received).toMatch(/^HTTP\/1.1 501 /);
  });

  test('unknown GET: answers with a page that links to the API page', async () => {
    const { status, headers, text } = await ask(await serve([]), { path: '/<b>' });
    expect([status, headers['content-type']]).toEqual([404, 'text/html']);
    expect(headers['content-security-policy']).toContain("frame-ancestors 'none'");
    expect(text).toContain('<a href="/api">');
    expect(text).toContain('/&#60;b&#62;');
  });

  test.each(['POST', 'PUT', 'DELETE'])('unknown %s: answers in JSON', async (method) => {
    const { status, text } = await ask(await serve([]), { method, path: '/nowhere' });
    const msg = `There is no ${method} /nowhere on this server.`;
    expect([status, JSON.parse(text)]).toEqual([404, { detail: { msg, type: 'not_found' } }]);
  });

  test('wrong method: names the right one in the error format of the API', async () => {
    const { status, headers, text } = await ask(await serve([echo]), { path: '/work' });
    expect([status, headers.allow]).toEqual([405, 'POST']);
    expect(JSON.parse(text)).toEqual({ family: 'method-not-allowed', sentence: 'GET is not possible here; use POST.' });
  });

  test('/lcpp redirects to /lcpp/', async () => {
    const world = await serve([{ ...info, match: 'exact', path: '/lcpp' }]);
    const { status, headers } = await ask(world, { path: '/lcpp?a=1' });
    expect([status, headers.location]).toEqual([302, '/lcpp/']);
    expect((await ask(world, { path: '/lcpp/' })).status).toBe(200);
  });
});

describe('HTTP server: rejection', () => {
  test.each([
    ['another name', { host: 'rebound.example' }, 421, 'host-refused'],
    ['another origin', { origin: 'https://elsewhere.example' }, 403, 'origin-refused'],
  ])('%s: answers in the error format of the API', async (_name, headers, status, code) => {
    const answer = await ask(await serve([echo]), { ...post, headers });
    expect([answer.status, JSON.parse(answer.text).family]).toEqual([status, code]);
  });

  test.each(['https://elsewhere.example', 'null'])(
    'preflight of %s: is refused as its request will be',
    async (origin) => {
      const world = await serve([echo, info]);
      const asks = (method: string, path: string) =>
        ask(world, { method: 'OPTIONS', path, headers: { origin, 'access-control-request-method': method } });
      const refused = await asks('POST', '/work');
      expect([refused.status, JSON.parse(refused.text).family]).toEqual([403, 'origin-refused']);
      expect(Object.keys(refused.headers).join()).not.toContain('access-control');
      expect((await asks('GET', '/info')).status).toBe(200);
      expect((await asks('POST', '/nowhere')).status).toBe(200);
    },
  );

  test('preflight with a password: lets any page send the key, without credentials of the browser', async () => {
    const world = await serve([echo], { guard: { password: 'swordfish' } });
    const origin = 'https://elsewhere.example';
    const headers = {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    };
    const preflight = await ask(world, { method: 'OPTIONS', path: '/work', headers });
    expect(preflight.status).toBe(200);
    expect(preflight.headers['access-control-allow-origin']).toBe(origin);
    expect(preflight.headers).not.toHaveProperty('access-control-allow-credentials');
    const basic = `Basic ${Buffer.from('me:swordfish').toString('base64')}`;
    const from = async (own: object) => (await ask(world, { ...post, headers: { origin, ...own } })).status;
    expect(await from({ authorization: 'Bearer swordfish' })).toBe(200);
    expect(await from({ authorization: basic, 'content-type': 'text/plain' })).toBe(403);
  });

  test.each(['GET', 'HEAD', 'OPTIONS'])('foreign host: also rejects %s of an unknown path', async (method) =>
    expect((await ask(await serve([]), { method, path: '/', headers: { host: 'rebound.example' } })).status).toBe(421),
  );

  test('missing key: rejects before the body, and accepts the right key', async () => {
    const world = await serve([echo, info], { guard: { password: 'swordfish' } });
    const one = wire(world).send('POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n');
    await one.until('"unauthorized"');
    expect(one.received).toMatch(/^HTTP\/1.1 401 .*connection: close/is);
    one.send('x'.repeat(100));
    await one.closed;
    expect((await ask(world, { ...post, headers: { 'x-api-key': 'swordfish' } })).status).toBe(200);
    expect((await ask(world, { path: '/info' })).status).toBe(200);
  });

  test('rate limit: counts queued endpoints and unknown paths only', async () => {
    let now = 0;
    const helper = endpoint(() => json({}), { path: '/helper', rateLimited: false });
    const world = await serve([echo, helper], { rateLimitSeconds: 5, now: () => now });
    const status = async (path: string) => (await ask(world, { ...post, path })).status;
    expect([await status('/work'), await status('/helper'), await status('/work')]).toEqual([200, 200, 503]);
    expect(await status('/nowhere')).toBe(503);
    now = 5000;
    expect([await status('/nowhere'), await status('/work')]).toEqual([404, 503]);
  });
});

describe('HTTP server: failure', () => {
  test('error of the handler: answers in the error format of the API', async () => {
    const failing = endpoint(() => {
      throw new AppError('busy', { retryAfterSeconds: 1 });
    });
    const world = await serve([failing]);
    const { status, text } = await ask(world, post);
    expect([status, JSON.parse(text).family]).toEqual([503, 'busy']);
    expect(world.errors).toEqual([]);
  });

  test('unexpected exception: answers 500 and reports it', async () => {
    const error = new Error('out of cheese');
    const world = await serve([endpoint(() => Promise.reject(error))]);
    const { status, text } = await ask(world, post);
    expect([status, JSON.parse(text).family]).toEqual([500, 'internal']);
    expect(world.errors).toEqual([error]);
  });

  test('failing error encoder or invalid header: the server survives', async () => {
    const badHeaders = endpoint(() => ({ status: 200, headers: { 'x-a': 'a\nb' }, body: '' }), { path: '/header' });
    const badFamily = {
      name: '',
      title: '',
      errorReply: () => {
        throw new Error('speechless');
      },
    };
    const speechless = endpoint(() => Promise.reject(new Error('first')), { dialect: badFamily });
    const world = await serve([badHeaders, speechless]);
    expect((await ask(world, { ...post, path: '/header' })).status).toBe(500);
    expect((await ask(world, post)).status).toBe(500);
    expect(world.errors).toHaveLength(3);
  });

  test('error in a stream: closes the connection', async () => {
    async function* stream() {
      yield 'begun';
      throw new Error('lost');
    }
    const world = await serve([endpoint(() => ({ status: 200, stream: stream() }))]);
    const one = wire(world).send('POST /work HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await one.closed;
    expect(one.received).toContain('begun');
    expect(one.received).not.toContain('\r\n0\r\n');
    expect(world.errors).toHaveLength(1);
  });

  test('a stream that was stopped on request: closes the connection without an error on the console', async () => {
    async function* stream() {
      yield 'begun';
      throw new AppError('stopped', {});
    }
    const world = await serve([endpoint(() => ({ status: 200, stream: stream() }))]);
    const one = wire(world).send('POST /work HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await one.closed;
    expect(one.received).toContain('begun');
    expect(world.errors).toEqual([]);
  });

  test.each([
    ['not HTTP at all', 'hello\r\n\r\n', 400],
    ['a broken chunk', 'POST /work HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n', 400],
    ['two lengths', 'POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 400],
    ['endless headers', `GET / HTTP/1.1\r\nhost: localhost\r\nx-a: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
  ])('client error, %s: answers and closes', async (_name, text, status) => {
    const one = wire(await serve([echo], { guard: { allowedHosts: ['a'] } })).send(text);
    await one.closed;
    expect(one.received).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });
});

describe('HTTP server: request body', () => {
  const small = { maxRequestMegabytes: 1 / 1024 };

  test('reads a body up to the limit', async () =>
    expect((await ask(await serve([echo], small), { ...post, body: 'x'.repeat(1024) })).status).toBe(200));

  test('rejects a Content-Length above the limit before the body', async () => {
    const one = wire(await serve([echo], small));
    one.send('POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1025\r\n\r\n');
    await one.until('payload-too-large');
    expect(one.received).toMatch(/^HTTP\/1.1 413 .*connection: close/is);
    one.send('x'.repeat(1025));
    await one.closed;
  });

  test('rejects a chunked body as soon as it is above the limit', async () => {
    const one = wire(await serve([echo], small));
    one.send('POST /work HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n');
    one.send(`400\r\n${'x'.repeat(1024)}\r\n1\r\nx\r\n`);
    await one.until('payload-too-large');
    one.send('0\r\n\r\n');
    await one.closed;
    expect(one.received).toMatch(/^HTTP\/1.1 413 /);
  });

  test('a client that sends far more than the limit still gets the response', async () => {
    const { status } = await ask(await serve([echo], small), { ...post, body: Buffer.alloc(20_000_000) });
    expect(status).toBe(413);
  });

  test('drains an endless body for a limited time', async () => {
    const time = handTimer();
    const one = wire(await serve([echo], { ...small, startTimer: time.startTimer }));
    one.send('POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1025\r\n\r\n');
    await one.until('payload-too-large');
    time.pass(30_000);
    await one.closed;
  });

  test('answers 408 and closes when the body stalls for a minute', async () => {
    const time = handTimer();
    const one = wire(await serve([echo], { startTimer: time.startTimer }));
    one.send('POST /work HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 10\r\n\r\n');
    await one.until('100 Continue');
    expect(time.waiting()).toEqual([60_000]);
    time.pass(60_000);
    await one.closed;
    expect(one.received).toMatch(/HTTP\/1.1 408 /);
  });

  test('sends 100 Continue only when the body is needed', async () => {
    const world = await serve([echo], small);
    const head = 'POST /work HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\n';
    const welcome = wire(world).send(`${head}content-length: 2\r\n\r\n`);
    await welcome.until('100 Continue');
    await welcome.send('{}').until('"body":"{}"');
    const unwelcome = wire(world).send(`${head}content-length: 5000\r\n\r\n`);
    await unwelcome.closed;
    expect(unwelcome.received).toMatch(/^HTTP\/1.1 413 /);
  });
});

describe('HTTP server: listen', () => {
  const options = { port: 0, endpoints: [info], onError: () => undefined };

  test('uses the loopback addresses by default', async () => {
    const server = createHttpServer(options);
    const { port, addresses } = await server.listen();
    expect(addresses[0]).toBe('127.0.0.1');
    for (const host of addresses)
      expect((await fetch(`http://${host.includes(':') ? `[${host}]` : host}:${port}/info`)).status).toBe(200);
    await server.close();
  });

  test('rejects with a sentence if the port is in use', async () => {
    const { port } = await serve([]);
    await expect(createHttpServer({ ...options, port }).listen()).rejects.toThrow(
      `Port ${port} on 127.0.0.1 is taken by another program.`,
    );
  });

  test('rejects with a sentence if the address does not exist', () =>
    expect(createHttpServer({ ...options, host: '192.0.2.1' }).listen()).rejects.toThrow('Check --host'));

  test('rejects with a sentence if the certificate is invalid', () =>
    expect(createHttpServer({ ...options, tls: { certificate: 'x', key: 'y' } }).listen()).rejects.toThrow('--ssl'));

  test('answers over TLS', async () => {
    const world = await serve([echo], { tls: testTls });
    expect((await ask(world, { ...post, tls: true })).text).toContain('"body":"{}"');
  });

  test('close: closes every connection, including idle ones', async () => {
    const world = await serve([info]);
    const idle = wire(world).send('GET /info HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await idle.until('version');
    await world.close();
    await idle.closed;
  });
});

describe('HTTP server: security headers', () => {
  const wanted = {
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
    'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
  };

  test.each([
    ['an answer', { method: 'POST', path: '/work', body: 'x' }],
    ['a path that is not there', { method: 'GET', path: '/nowhere' }],
    ['HEAD', { method: 'HEAD', path: '/work' }],
    ['OPTIONS', { method: 'OPTIONS', path: '/work' }],
    ['a method that is not there', { method: 'PATCH', path: '/work' }],
    ['a host that is refused', { method: 'GET', path: '/info', headers: { host: 'evil.example' } }],
  ])('are sent with %s', async (_, options) => {
    expect((await ask(await serve([echo, info]), options)).headers).toMatchObject(wanted);
  });

  test('are sent with the 400 for invalid HTTP', async () => {
    const one = wire(await serve([echo])).send('nonsense\r\n\r\n');
    await one.closed;
    expect(one.received).toMatch(/x-content-type-options: nosniff/);
  });
});

describe('HTTP server: broken connections', () => {
  test('clientError: answers a complete request before it rejects invalid HTTP after it', async () => {
    const gate = latch();
    const began = latch();
    const slow = endpoint(async () => {
      began.open();
      await gate.promise;
      return json({ slow: true });
    });
    const one = wire(await serve([slow]));
    one.send('POST /work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\nGARBAGE\r\n\r\n');
    await began.promise;
    one.send('more garbage\r\n\r\n');
    for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve));
    gate.open();
    await one.closed;
    expect(one.received.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 400']);
  });

  test('rejects several Host headers with 400', async () => {
    const one = wire(await serve([info])).send('GET /info HTTP/1.1\r\nhost: localhost\r\nHost: evil.example\r\n\r\n');
    await one.until('400 Bad Request');
  });

  test.each([
    ['plain HTTP', 'GET /info HTTP/1.1\r\nhost: localhost\r\n\r\n', /plain HTTP, and this port speaks HTTPS/],
    ['garbage', '\u0016\u0003\u0001nonsense nonsense nonsense', /TLS handshake failed/],
  ])('TLS: %s closes that connection and is reported', async (_, bytes, reason) => {
    const told = latch<string>();
    const world = await serve([info], { tls: testTls, onRefused: ({ error }) => told.open(error.message) });
    const one = wire(world).send(bytes);
    await one.closed;
    expect(await told.promise).toMatch(reason);
    expect((await ask(world, { path: '/info', tls: true })).status).toBe(200);
  });

  test('TLS: a reset during the handshake affects no other connection', async () => {
    const refused: unknown[] = [];
    const world = await serve([info], { tls: testTls, onRefused: (one) => refused.push(one) });
    for (let count = 0; count < 20; count += 1) {
      const one = wire(world).send('\u0016\u0003\u0001\u0002');
      await new Promise((resolve) => one.socket.once('connect', resolve));
      one.socket.resetAndDestroy();
      await one.closed;
    }
    expect((await ask(world, { path: '/info', tls: true })).status).toBe(200);
    expect([refused, world.errors]).toEqual([[], []]);
  });
});
