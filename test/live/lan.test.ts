import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { request as plainRequest, type RequestOptions } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { type LiveServer, program, programEnvironment, untrainedServers } from './server.ts';

const start = untrainedServers();

interface Asked extends RequestOptions {
  readonly body?: object;
  /** The certificate of the authority; plain HTTP without it. */
  readonly ca?: string;
}

/** A request of a phone, which knows the server by its name in the network. */
function ask({ port }: LiveServer, path: string, { body, ca, headers, ...options }: Asked = {}) {
  return new Promise<{ status: number; text: string; cookie: string | undefined; type: string | undefined }>(
    (resolve, reject) => {
      const text = body && JSON.stringify(body);
      const own = {
        host: `parley.local:${port}`,
        ...(text !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      };
      const where = {
        hostname: '127.0.0.1',
        port,
        path,
        agent: false,
        method: text ? 'POST' : 'GET',
        headers: own,
        ...options,
      } as const;
      const outgoing = ca === undefined ? plainRequest(where) : tlsRequest({ ...where, ca });
      outgoing.on('error', reject).on('response', (incoming) => {
        let received = '';
        incoming.setEncoding('utf8').on('data', (data: string) => {
          received += data;
        });
        incoming.on('end', () =>
          resolve({
            status: incoming.statusCode ?? 0,
            text: received,
            cookie: incoming.headers['set-cookie']?.[0],
            type: incoming.headers['content-type'],
          }),
        );
      });
      outgoing.end(text);
    },
  );
}

async function lan(...args: string[]): Promise<string> {
  return (await promisify(execFile)(process.execPath, [program, 'lan', ...args], { env: programEnvironment() })).stdout;
}

test('--lan: a phone trusts the authority, joins with a QR code, and speaks over HTTPS', async () => {
  const server = await start(['--lan', '--host', '127.0.0.1', '--ctx-size', '1024']);
  const { port } = server;
  const origin = `https://parley.local:${port}`;

  // What a guest sees: the pages and the certificate, and nothing else.
  expect((await ask(server, '/')).status).toBe(200);
  expect((await ask(server, '/api/v1/generate', { body: { prompt: 'x' } })).status).toBe(401);
  expect((await ask(server, '/v1/models')).text).not.toContain('untrained');
  const { text: ca, type } = await ask(server, '/lan/authority.crt');
  expect([ca.split('\n')[0], type]).toEqual(['-----BEGIN CERTIFICATE-----', 'application/x-x509-ca-cert']);
  expect((await ask(server, '/lan/parley.mobileconfig')).text).toContain('com.apple.security.root');
  const facts = JSON.parse((await ask(server, '/api/extra/lan')).text);
  expect(facts).toMatchObject({ enabled: true, addresses: ['127.0.0.1'], port });

  // The token of the QR code gives a key and a cookie, once.
  const printed = await lan('--new', '--port', String(port));
  expect(printed).toContain('█');
  const token = /\/join#(\S+)/.exec(printed)?.[1] ?? '';
  const join = { body: { token }, ca, headers: { origin } };
  const joined = await ask(server, '/api/extra/join', join);
  expect([joined.status, JSON.parse(joined.text).name]).toEqual([200, 'Phone']);
  expect(joined.cookie).toMatch(/; HttpOnly; SameSite=Strict; Secure/);
  expect((await ask(server, '/api/extra/join', join)).status).toBe(410);
  const cookie = joined.cookie?.split(';')[0] ?? '';
  const chat = { model: 'any', max_tokens: 2, messages: [{ role: 'user', content: 'Hi' }] };
  expect((await ask(server, '/v1/chat/completions', { body: chat, ca, headers: { origin, cookie } })).status).toBe(200);
  expect((await ask(server, '/v1/chat/completions', { body: chat, ca, headers: { origin } })).status).toBe(401);
  expect(
    (await ask(server, '/v1/chat/completions', { body: chat, ca, headers: { origin: 'https://evil.example', cookie } }))
      .status,
  ).toBe(401);

  // Talk runs over a WebSocket.
  const socket = new WebSocket(`wss://127.0.0.1:${port}/v1/realtime?model=any`, {
    ca,
    headers: { host: `parley.local:${port}`, cookie, origin },
  });
  const first = await new Promise<string>((resolve, reject) =>
    socket.once('message', (data) => resolve(String(data))).once('error', reject),
  );
  expect(JSON.parse(first).type).toBe('session.created');
  socket.close();

  // The next phone gets another key; the list shows both.
  expect(await lan('--name', 'Anna', '--port', String(port))).toContain('"Anna"');
  await expect(lan('--name', 'Phone', '--port', String(port))).rejects.toThrow();
});

test('--lan: this machine itself needs no key, under a name of loopback and without a proxy', async () => {
  const server = await start(['--lan', '--host', '127.0.0.1', '--ctx-size', '1024']);
  const local = { host: `localhost:${server.port}` };
  const status = async (headers: Record<string, string>) =>
    (await ask(server, '/api/v1/generate', { body: { prompt: 'x', max_length: 1 }, headers })).status;
  expect(await status(local)).toBe(200);
  expect(await status({ ...local, origin: `http://localhost:${server.port}` })).toBe(200);
  for (const headers of [
    { host: `192.168.1.5:${server.port}` },
    { host: 'localhost.evil.example' },
    { ...local, origin: 'https://evil.example' },
    { ...local, 'sec-fetch-site': 'cross-site' },
    { ...local, 'x-forwarded-for': '192.168.1.9' },
    { ...local, authorization: 'Bearer wrong' },
  ])
    expect(await status(headers)).toBe(401);
  const page = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' };
  const owner = await ask(server, '/api/extra/owner', { headers: { ...local, ...page } });
  expect(JSON.parse(owner.text).token).toMatch(/^[\w-]{43}$/);
  expect(JSON.parse((await ask(server, '/api/extra/owner', { headers: page })).text).token).toBeNull();
});

test('--lan: certificates stay the same after a restart, in a file of the account alone', async () => {
  const flags = ['--lan', '--host', '127.0.0.1', '--nomodel'];
  const one = await start(flags);
  const { text: ca } = await ask(one, '/lan/authority.crt');
  const { fingerprint } = JSON.parse((await ask(one, '/api/extra/lan')).text);
  await one.stop();
  const two = await start(flags);
  expect((await ask(two, '/lan/authority.crt')).text).toBe(ca);
  expect(two.output()).toContain(fingerprint);
  expect((await ask(two, '/', { ca })).status).toBe(200);
  const path = join(process.env.PARLEY_HOME ?? '', 'state', 'lan', 'certificates.json');
  expect(JSON.parse(readFileSync(path, 'utf8')).authority.certificate).toBe(ca);
  if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600);
  // No token is in a log.
  expect(two.output()).not.toContain('/join#');
  expect(two.output()).toContain('parley lan --new');
});

test('--lan: with a password, this machine needs it too', async () => {
  const server = await start(['--lan', '--host', '127.0.0.1', '--nomodel', '--password', 'secret']);
  const ask401 = await ask(server, '/api/v1/generate', {
    body: { prompt: 'x' },
    headers: { host: `localhost:${server.port}` },
  });
  expect(ask401.status).toBe(401);
});

/** What is tried for each path of the OpenAPI document. */
interface Documented {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

test('--lan: a guest of the network gets what is open and nothing else, whatever the name of the server is in the request', async () => {
  const server = await start(['--lan', '--host', '127.0.0.1', '--nomodel', '--admin']);
  const { paths } = JSON.parse((await ask(server, '/api/openapi.json')).text) as Documented;
  const hosts = ['parley.local', '192.168.1.5', 'rebound.example', 'localhost.rebound.example'];
  const answered = new Set<string>();
  for (const [path, methods] of Object.entries(paths)) {
    for (const method of Object.keys(methods).filter((name) => /^(get|post|put|delete)$/.test(name))) {
      const hostsOfMethod = method === 'get' ? hosts.slice(1, 3) : hosts;
      for (const host of hostsOfMethod) {
        const options = { method: method.toUpperCase(), headers: { host: `${host}:${server.port}` } };
        const { status } = await ask(server, path.replace(/\{.*?\}/g, 'x'), options);
        if (status !== 401) answered.add(`${method} ${path}`);
      }
    }
  }
  // All others only read; the list is in docs/security.md, and test/live/access.test.ts compares it.
  expect([...answered].filter((row) => !row.startsWith('get ')).sort()).toEqual([
    'delete /api/extra/session',
    'post /api/extra/join',
    'post /api/extra/join/preview',
    'post /api/extra/session',
  ]);
  expect(answered).not.toContain('get /api/extra/models');
  // The page of the owner: for a name of this machine only.
  const page = { 'sec-fetch-site': 'same-origin', 'sec-fetch-dest': 'empty' };
  for (const host of hosts) {
    const owner = await ask(server, '/api/extra/owner', { headers: { ...page, host: `${host}:${server.port}` } });
    expect(JSON.parse(owner.text).token).toBeNull();
  }
}, 60_000);

test.each([
  ['with its own key file, which is new', [], true],
  ['with --keyfile of a file that is missing', ['--keyfile', 'FOLDER/missing/keys.json'], false],
  ['with --noowner', ['--noowner'], false],
  ['with --adminpassword', ['--adminpassword', 'secret'], false],
  ['with --admin', ['--admin'], true],
  ['with origins and hosts that may all call it', ['--allowedorigins', '*', '--allowedhosts', '*'], true],
] as const)('--lan: is never open to others without any key, %s', async (_, flags, isOpenHere) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-lan-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const own = flags.map((flag) => flag.replace('FOLDER', folder));
  const server = await start(['--lan', '--host', '127.0.0.1', '--nomodel', ...own]);
  const status = async (host: string) =>
    (await ask(server, '/api/extra/tokencount', { body: { prompt: 'x' }, headers: { host: `${host}:${server.port}` } }))
      .status;
  expect(await status('192.168.1.5')).toBe(401);
  expect((await status('localhost')) === 401).toBe(!isOpenHere);
});

test('--lan: stays closed when the key file is deleted while it runs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-lan-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const keyfile = join(folder, 'keys.json');
  const server = await start(['--lan', '--host', '127.0.0.1', '--nomodel', '--keyfile', keyfile]);
  const token = /\/join#(\S+)/.exec(await lan('--new', '--port', String(server.port), '--keyfile', keyfile))?.[1];
  const { key } = JSON.parse((await ask(server, '/api/extra/join', { body: { token, key: true } })).text);
  const count = async (headers: Record<string, string> = {}) =>
    (await ask(server, '/api/extra/tokencount', { body: { prompt: 'x' }, headers })).status;
  const withKey = () => count({ authorization: `Bearer ${key}` });
  expect(await withKey()).not.toBe(401);
  rmSync(keyfile);
  await expect.poll(withKey, { timeout: 30_000 }).toBe(401);
  expect(await count()).toBe(401);
});
