import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KeyFile } from '../../src/keys/key-file.ts';
import { type LiveServer, liveServers } from './server.ts';

// Invitations, sessions and their cookies on a running server.

const start = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-people-'));
const keyfile = join(folder, 'keys.json');
const password = 'the password';
let server: LiveServer;
let boss = '';

beforeAll(async () => {
  const file = new KeyFile({ path: keyfile, warn: expect.fail, now: () => new Date() });
  boss = await file.add({ name: 'boss', scopes: ['admin', 'chat'], weight: 1 }, 0);
  server = await start(['--nomodel', '--quiet', '--admin', '--password', password, '--keyfile', keyfile]);
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  /** As a browser would send it back. */
  readonly cookie: string;
  readonly setCookie: string;
}

type Headers = Readonly<Record<string, string>>;

/** With headers that `fetch` does not let programs write. */
function ask(method: string, path: string, headers: Headers = {}, body?: object, on = server): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const call = request({
      host: '127.0.0.1',
      port: on.port,
      method,
      path,
      headers: { ...headers, 'content-length': text.length },
    });
    call.on('error', reject).on('response', async (response) => {
      let read = '';
      for await (const piece of response) read += piece;
      const [setCookie = ''] = response.headers['set-cookie'] ?? [];
      const parsed = read.startsWith('{') ? (JSON.parse(read) as Record<string, unknown>) : {};
      resolve({ status: response.statusCode ?? 0, body: parsed, setCookie, cookie: setCookie.split(';', 1)[0] ?? '' });
    });
    call.on('upgrade', (_, socket) => {
      socket.destroy();
      resolve({ status: 101, body: {}, setCookie: '', cookie: '' });
    });
    call.end(text);
  });
}

const asAdmin = () => ({ authorization: `Bearer ${boss}` });
const ownPage = { 'sec-fetch-site': 'same-origin' };
const signIn = async (key: string, on = server) =>
  (await ask('POST', '/api/extra/session', ownPage, { key }, on)).cookie;
const guarded = '/api/extra/cache';
const status = async (headers: Headers, path = '/api/extra/models', method = 'GET') =>
  (await ask(method, path, headers)).status;

test('join: an invitation makes a key with its rules, signs in by a cookie that scripts cannot read, and works once', async () => {
  const rules = { name: 'Anna', scopes: ['text'], rate: 50, tokens_per_day: 1000, weight: 2 };
  const invited = await ask('POST', '/api/admin/invitations', asAdmin(), rules);
  expect(invited).toMatchObject({ status: 200, body: { name: 'Anna', existing: false, by: 'boss', minutes_left: 15 } });
  const { token, path } = invited.body as { token: string; path: string };
  expect(path).toBe(`/join#${token}`);
  expect((await ask('GET', '/api/admin/invitations', asAdmin())).body).not.toMatchObject({ token });

  const preview = (sent: unknown) => ask('POST', '/api/extra/join/preview', ownPage, { token: sent });
  expect((await preview(token)).body).toMatchObject({ name: 'Anna', by: 'boss', state: 'open', tokens_per_day: 1000 });
  expect((await preview('made up')).status).toBe(403);
  const joined = await ask('POST', '/api/extra/join', ownPage, { token, device: 'Phone' });
  expect(joined).toMatchObject({ status: 200, body: { type: 'key', name: 'Anna', scopes: ['text'] } });
  expect(joined.setCookie).toMatch(/^parley-session-0=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=\d+$/);
  const { cookie } = joined;
  expect(await status({ ...ownPage, cookie }, guarded)).toBe(200);
  // The scopes are those of the key.
  expect(await status({ ...ownPage, cookie }, '/api/extra/sync/list', 'POST')).toBe(403);
  const who = await ask('GET', '/api/extra/session', { ...ownPage, cookie });
  expect(who.body).toMatchObject({ type: 'key', name: 'Anna', devices: [{ device: 'Phone', current: true }] });

  expect((await ask('POST', '/api/extra/join', ownPage, { token })).status).toBe(410);
  expect((await preview(token)).body).toMatchObject({ state: 'used' });
  expect((await ask('POST', '/api/extra/join', ownPage, { token: 'made up' })).status).toBe(403);
  expect((await ask('POST', '/api/admin/invitations', asAdmin(), rules)).status).toBe(409);
});

test('join: who is signed in makes a link for another device, which is signed out with all others', async () => {
  const { token } = (await ask('POST', '/api/admin/invitations', asAdmin(), { name: 'Bob' })).body;
  const { cookie } = await ask('POST', '/api/extra/join', ownPage, { token });
  const link = await ask('POST', '/api/extra/invitations', { ...ownPage, cookie }, {});
  expect(link.body).toMatchObject({ name: 'Bob', existing: true });
  const other = await ask('POST', '/api/extra/join', ownPage, { token: link.body.token, device: 'Laptop' });
  const listed = (await ask('GET', '/api/extra/session', { ...ownPage, cookie })).body.devices as { device: string }[];
  expect(listed.map(({ device }) => device).sort()).toEqual(['', 'Laptop']);

  const open = await ask('POST', '/api/extra/invitations', { ...ownPage, cookie: other.cookie }, {});
  const out = await ask('DELETE', '/api/extra/session?everywhere=1', { ...ownPage, cookie });
  expect(out).toMatchObject({ status: 200, body: { ended: 2 }, setCookie: expect.stringContaining('Max-Age=0') });
  for (const ended of [cookie, other.cookie]) expect(await status({ ...ownPage, cookie: ended }, guarded)).toBe(401);
  // The holder of a device may have made a link with it.
  expect((await ask('POST', '/api/extra/join', ownPage, { token: open.body.token })).status).toBe(403);
});

test('sessions: an app ends those of its person with the key itself', async () => {
  const { token } = (await ask('POST', '/api/admin/invitations', asAdmin(), { name: 'Gwen' })).body;
  const { key } = (await ask('POST', '/api/extra/join', {}, { token, key: true })).body;
  const sent = { authorization: `Bearer ${key}` };
  const link = (await ask('POST', '/api/extra/invitations', sent, {})).body;
  const { cookie } = await ask('POST', '/api/extra/join', ownPage, { token: link.token });
  expect((await ask('DELETE', '/api/extra/session?everywhere=1', {})).body).toEqual({ success: true, ended: 0 });
  expect(await status({ ...ownPage, cookie }, guarded)).toBe(200);
  const out = await ask('DELETE', '/api/extra/session?everywhere=1', sent);
  expect(out.body).toEqual({ success: true, ended: 1 });
  expect(await status({ ...ownPage, cookie }, guarded)).toBe(401);
});

test('join: in a browser in which somebody is signed in ends that session', async () => {
  const former = await signIn(password);
  const { token } = (await ask('POST', '/api/admin/invitations', asAdmin(), { name: 'Finn' })).body;
  const { cookie } = await ask('POST', '/api/extra/join', { ...ownPage, cookie: former }, { token });
  expect(await status({ ...ownPage, cookie: former }, guarded)).toBe(401);
  expect(await status({ ...ownPage, cookie }, guarded)).toBe(200);
});

test('join: only administrators invite, list and withdraw', async () => {
  const { token, id } = (await ask('POST', '/api/admin/invitations', asAdmin(), { name: 'Carl' })).body;
  const carl = await ask('POST', '/api/extra/join', ownPage, { token });
  for (const [method, path] of [
    ['POST', '/api/admin/invitations'],
    ['GET', '/api/admin/invitations'],
    ['DELETE', `/api/admin/invitations/${id}`],
    ['GET', '/api/admin/sessions'],
  ] as const) {
    expect(await status({}, path, method), path).toBe(401);
    expect(await status({ ...ownPage, cookie: carl.cookie }, path, method), path).toBe(403);
  }
  const { sessions } = (await ask('GET', '/api/admin/sessions', asAdmin())).body as {
    sessions: { id: string; name: string }[];
  };
  const own = sessions.find(({ name }) => name === 'Carl');
  expect((await ask('DELETE', `/api/admin/sessions/${own?.id}`, asAdmin())).status).toBe(200);
  expect(await status({ ...ownPage, cookie: carl.cookie }, guarded)).toBe(401);
});

describe('a stolen phone', () => {
  test('sessions: the cookie of a stolen phone is worth nothing after signing out everywhere, and after its key was revoked', async () => {
    const { token } = (await ask('POST', '/api/admin/invitations', asAdmin(), { name: 'Dora' })).body;
    const { cookie } = await ask('POST', '/api/extra/join', ownPage, { token });
    expect(await status({ ...ownPage, cookie }, guarded)).toBe(200);
    const file = new KeyFile({ path: keyfile, warn: expect.fail, now: () => new Date() });
    await file.revoke('Dora');
    await expect.poll(() => status({ ...ownPage, cookie }, guarded)).toBe(401);
  });
});

describe('a page of another origin', () => {
  const host = () => `127.0.0.1:${server.port}`;
  const own = () => `http://${host()}`;

  test.each([
    ['the same origin', () => ({ 'sec-fetch-site': 'same-origin' }), true],
    ['another port of this host', () => ({ 'sec-fetch-site': 'same-site', origin: 'http://127.0.0.1:1' }), false],
    ['another site', () => ({ 'sec-fetch-site': 'cross-site' }), false],
    ['an address that was typed', () => ({ 'sec-fetch-site': 'none' }), false],
    ['another site that claims the origin', () => ({ 'sec-fetch-site': 'cross-site', origin: own() }), false],
    ['no Sec-Fetch-Site, and the origin of the server', () => ({ origin: own() }), true],
    ['no Sec-Fetch-Site, and a page of the server', () => ({ referer: `${own()}/` }), true],
    ['no Sec-Fetch-Site, and another origin', () => ({ origin: 'http://192.0.2.1', referer: `${own()}/` }), false],
    ['no Sec-Fetch-Site, and another port', () => ({ origin: 'http://127.0.0.1:1' }), false],
    ['no Sec-Fetch-Site, and another page', () => ({ referer: `http://evil.example/?${own()}/` }), false],
    ['a sandboxed frame', () => ({ origin: 'null' }), false],
    ['no word of a browser', () => ({}), false],
  ])('sessions: the cookie in a request of %s', async (_, headers, counts) => {
    const cookie = await signIn(password);
    expect(cookie).not.toBe('');
    const sent = { host: host(), cookie, ...headers() } as Headers;
    expect(await status(sent, guarded)).toBe(counts ? 200 : 401);
    const post = await ask('POST', '/api/extra/tokencount', sent, { prompt: 'a' });
    expect([200, 503].includes(post.status)).toBe(counts);
    expect(post.status === 401).toBe(!counts);
    const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
    const socket = await status({ ...sent, ...upgrade, 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' }, '/ws');
    expect(socket).toBe(counts ? 101 : 401);
  });

  test.each(['/api/extra/session', '/api/extra/join'])(
    'sessions: another site cannot sign anybody in at %s',
    async (path) => {
      const headers = { host: host(), origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
      const answer = await ask('POST', path, headers, { key: password, token: 'x' });
      expect(answer).toMatchObject({ status: 403, setCookie: '' });
      expect((await ask('DELETE', '/api/extra/session', headers)).status).toBe(403);
    },
  );

  test('sessions: nor can a page whose calls are allowed, such as those of all origins and of other ports of this machine', async () => {
    const open = await start(['--nomodel', '--quiet', '--password', password, '--allowedorigins', '*', 'null']);
    for (const origin of ['https://evil.example', 'null', 'http://localhost:9']) {
      const answer = await ask('POST', '/api/extra/session', { host: host(), origin }, { key: password }, open);
      expect(answer, origin).toMatchObject({ status: 403, setCookie: '' });
    }
  });

  test('sessions: a request with its own key ignores the cookie', async () => {
    const cookie = await signIn(password);
    expect(await status({ ...ownPage, cookie, authorization: 'Bearer wrong' }, guarded)).toBe(401);
    expect(await status({ ...ownPage, cookie, 'x-api-key': 'wrong' }, guarded)).toBe(401);
  });

  test('sessions: pages of any origin still call the server with a key of their own', async () => {
    const headers = { origin: 'https://app.example', authorization: `Bearer ${password}` };
    expect(await status(headers, guarded)).toBe(200);
  });
});

test('sessions: signing in again in the same browser ends the former session', async () => {
  const first = await signIn(password);
  const again = await ask(
    'POST',
    '/api/extra/session',
    { ...ownPage, cookie: first },
    { key: password, remember: false },
  );
  expect(again.setCookie).not.toContain('Max-Age');
  expect(await status({ ...ownPage, cookie: first }, guarded)).toBe(401);
  expect(await status({ ...ownPage, cookie: again.cookie }, guarded)).toBe(200);
});

test('sessions: cookies are Secure over HTTPS, and have the path of the proxy', async () => {
  const headers = { host: 'parley.example', origin: 'https://parley.example', ...ownPage };
  const { setCookie } = await ask('POST', '/below/a/proxy/api/extra/session', headers, { key: password });
  expect(setCookie).toMatch(
    /^__Secure-parley-session-0=[\w-]{43}; Path=\/below\/a\/proxy; HttpOnly; SameSite=Strict; Secure; /,
  );
});

test('sessions: that of --adminpassword administers, that of the password does not', async () => {
  const other = await start(['--nomodel', '--quiet', '--admin', '--adminpassword', 'boss', '--password', password]);
  const allowed = async (key: string) => {
    const cookie = await signIn(key, other);
    const { body } = await ask('GET', '/api/extra/models', { ...ownPage, cookie }, undefined, other);
    return (body.admin as { allowed: boolean }).allowed;
  };
  expect([await allowed('boss'), await allowed(password)]).toEqual([true, false]);
  await other.stop();
});
