import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { fetchRemote, type OutgoingOptions } from './outgoing.ts';
import { testTls } from './testing/certificate.ts';
import { handTimer, latch } from './testing/world.ts';

/** A local server in place of a remote one; returns the port. */
async function remote(listener: RequestListener, secure = false): Promise<number> {
  const server = secure
    ? createTlsServer({ cert: testTls.certificate, key: testTls.key }, listener)
    : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

const never = new AbortController().signal;
const onlyHere: Partial<OutgoingOptions> = { allows: (address) => address === '127.0.0.1' };
const here = async () => [{ address: '127.0.0.1', family: 4 }];
/** No name server is ever asked, and only this machine is ever reached. */
const ask = (url: string, options: Partial<OutgoingOptions> = {}) =>
  fetchRemote(url, { signal: never, resolve: here, ...onlyHere, ...options });

test('fetchRemote: returns the body and its type', async () => {
  const port = await remote((_, response) => response.setHeader('content-type', 'image/png').end('PNG'));
  expect(await ask(`http://pictures.example:${port}/a.png`)).toEqual({
    type: 'fetched',
    bytes: Buffer.from('PNG'),
    contentType: 'image/png',
  });
});

test('fetchRemote: sends the host name and nothing about the client', async () => {
  const seen: object[] = [];
  const port = await remote((request, response) => {
    seen.push({ ...request.headers, path: request.url });
    response.end();
  });
  await ask(`http://pictures.example:${port}/a.png?b=c#d`);
  expect(seen).toEqual([
    {
      host: `pictures.example:${port}`,
      path: '/a.png?b=c',
      accept: '*/*',
      'accept-encoding': 'identity',
      'user-agent': 'Parley',
      connection: 'close',
    },
  ]);
});

test.each([
  ['file:///etc/passwd', 'is neither http nor https'],
  ['ftp://pictures.example/a.png', 'is neither http nor https'],
  ['data:image/png;base64,AAAA', 'is neither http nor https'],
  ['http://', 'is not an address'],
  ['http://me:secret@pictures.example/', 'holds a name or a password'],
])('fetchRemote: refuses %s', async (url, reason) => expect(await ask(url)).toEqual({ type: 'refused', reason }));

test.each([
  'http://127.0.0.1/',
  'http://2130706433/',
  'http://0x7f.1/',
  'http://0177.0.0.1/',
  'http://[::1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://169.254.169.254/latest/meta-data',
  'http://10.0.0.1:8080/',
])('fetchRemote: refuses %s before it connects', async (url) => {
  const reason = 'is not on the public internet';
  expect(await fetchRemote(url, { signal: never })).toEqual({ type: 'refused', reason });
});

test('fetchRemote: refuses a name if any of its addresses is private', async () => {
  const resolve = async () => [
    { address: '93.184.215.14', family: 4 },
    { address: '10.0.0.1', family: 4 },
  ];
  const reason = 'is not on the public internet';
  expect(await fetchRemote('http://pictures.example/', { signal: never, resolve })).toEqual({
    type: 'refused',
    reason,
  });
});

test('fetchRemote: resolves the name once and connects to the checked address', async () => {
  let asked = 0;
  const resolve = async () => {
    asked += 1;
    return [{ address: asked === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }];
  };
  const port = await remote((_, response) => response.end('first'));
  expect(await ask(`http://pictures.example:${port}/`, { resolve })).toMatchObject({ bytes: Buffer.from('first') });
  expect(asked).toBe(1);
});

test('fetchRemote: follows a redirect, also a relative one', async () => {
  const port = await remote((request, response) => {
    if (request.url === '/b/c') response.end('moved');
    else response.writeHead(302, { location: 'b/c' }).end('elsewhere');
  });
  expect(await ask(`http://pictures.example:${port}/a`)).toMatchObject({ bytes: Buffer.from('moved') });
});

test.each([
  ['http://192.168.0.1/', 'is not on the public internet'],
  ['http://[::1]/', 'is not on the public internet'],
  ['http://inside.example/', 'is not on the public internet'],
  ['file:///etc/passwd', 'is neither http nor https'],
  ['http://', 'is not an address'],
])('fetchRemote: refuses a redirect to %s', async (location, reason) => {
  const port = await remote((_, response) => response.writeHead(301, { location }).end());
  const resolve = async (name: string) => (name === 'inside.example' ? [{ address: '10.0.0.1', family: 4 }] : here());
  expect(await ask(`http://pictures.example:${port}/`, { resolve })).toEqual({ type: 'refused', reason });
});

test('fetchRemote: refuses a fourth redirect', async () => {
  let hops = 0;
  const port = await remote((_, response) => {
    hops += 1;
    response.writeHead(307, { location: '/again' }).end();
  });
  const reason = 'points to another place more than 3 times';
  expect(await ask(`http://pictures.example:${port}/`)).toEqual({ type: 'refused', reason });
  expect(hops).toBe(4);
});

test.each([404, 500, 204])('fetchRemote: refuses status %i', async (status) => {
  const port = await remote((_, response) => response.writeHead(status).end());
  const reason = `answers with status ${status}`;
  expect(await ask(`http://pictures.example:${port}/`)).toEqual({ type: 'refused', reason });
});

test('fetchRemote: refuses a body above the limit, with and without Content-Length', async () => {
  const port = await remote((request, response) => {
    if (request.url === '/told') response.writeHead(200, { 'content-length': '4000000' }).flushHeaders();
    else response.write(Buffer.alloc(3 * 1024 * 1024));
  });
  const bytes = 2 * 1024 * 1024;
  for (const path of ['told', 'untold']) {
    const reason = 'is larger than 2 MB';
    expect(await ask(`http://pictures.example:${port}/${path}`, { bytes })).toEqual({ type: 'refused', reason });
  }
});

test('fetchRemote: refuses a compressed body', async () => {
  const port = await remote((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'));
  expect(await ask(`http://pictures.example:${port}/`)).toMatchObject({ reason: 'comes compressed' });
});

test('fetchRemote: times out during the response and during the DNS lookup', async () => {
  const clock = handTimer();
  const begun = latch();
  const port = await remote((_, response) => {
    response.write('begun');
    begun.open();
  });
  const slow = ask(`http://pictures.example:${port}/`, { startTimer: clock.startTimer });
  await begun.promise;
  clock.pass(10_000);
  expect(await slow).toEqual({ type: 'refused', reason: 'took longer than 10 seconds' });
  const silent = ask('http://pictures.example/', {
    startTimer: clock.startTimer,
    resolve: () => new Promise(() => undefined),
  });
  clock.pass(10_000);
  expect(await silent).toEqual({ type: 'refused', reason: 'took longer than 10 seconds' });
  expect(clock.waiting()).toEqual([]);
});

test('fetchRemote: stops when the client disconnects, also before the start', async () => {
  const stop = new AbortController();
  const asked = latch();
  const port = await remote(() => asked.open());
  const waiting = ask(`http://pictures.example:${port}/`, { signal: stop.signal });
  await asked.promise;
  stop.abort();
  expect(await waiting).toEqual({ type: 'refused', reason: 'was no longer waited for' });
  expect(await ask(`http://pictures.example:${port}/`, { signal: stop.signal })).toMatchObject({ type: 'refused' });
});

test('fetchRemote: refuses an untrusted certificate', async () => {
  const port = await remote((_, response) => response.end('x'), true);
  const reason = expect.stringMatching(/^could not be reached \(its certificate is (self-signed|for another name)\)$/);
  expect(await ask(`https://pictures.example:${port}/`)).toEqual({ type: 'refused', reason });
});

test('fetchRemote: reports a failed connection', async () => {
  const port = await remote((request) => request.socket.destroy());
  expect(await ask(`http://pictures.example:${port}/`)).toMatchObject({
    reason: expect.stringContaining('could not be reached'),
  });
  const resolve = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
  expect(await ask('http://nowhere.example/', { resolve })).toEqual({
    type: 'refused',
    reason: 'could not be reached (host not found)',
  });
});

test('fetchRemote: times out for a slow or silent server', async () => {
  for (const drips of [true, false]) {
    const timer = handTimer();
    const asked = latch();
    const port = await remote((_, response) => {
      if (drips) {
        const drip = setInterval(() => response.write('x'), 5);
        response.on('close', () => clearInterval(drip));
      }
      asked.open();
    });
    const fetched = ask(`http://pictures.example:${port}/`, { startTimer: timer.startTimer, milliseconds: 30_000 });
    await asked.promise;
    timer.pass(30_000);
    expect(await fetched).toEqual({ type: 'refused', reason: 'took longer than 30 seconds' });
  }
});

test('fetchRemote: refuses huge headers, and a body that is reset', async () => {
  const huge = await remote((_, response) => {
    response.writeHead(200, { 'x-huge': 'x'.repeat(100_000) }).end();
  });
  expect(await ask(`http://pictures.example:${huge}/`)).toMatchObject({
    type: 'refused',
    reason: expect.stringContaining('its headers are too large'),
  });
  const reset = await remote((_, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('x', () => response.socket?.resetAndDestroy());
  });
  expect(await ask(`http://pictures.example:${reset}/`)).toMatchObject({ type: 'refused' });
});
