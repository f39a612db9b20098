import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessTable } from '../../scripts/pages/tables.ts';
import { keyScopes } from '../../src/core/people.ts';
import type { AccessRule } from '../../src/http/call.ts';
import { KeyFile } from '../../src/keys/key-file.ts';
import { builtApp } from '../../src/server/testing/built-app.ts';
import { type LiveServer, liveServers } from './server.ts';

// Every path of a running server with every kind of key, against the rules that the rows of the endpoints declare. The bodies are no JSON, and no text
// model is loaded, so that nothing is computed.

const start = liveServers();
const rules = accessTable(await builtApp());
const folder = mkdtempSync(join(tmpdir(), 'parley-access-'));
const keyfile = join(folder, 'keys.json');
const agent = new Agent({ keepAlive: true, maxSockets: 4 });
const password = 'the password';
const wellFormed = `parley_abcdefgh_${'A'.repeat(43)}`;

/** Key by name: one of each scope, and one of all. */
const keys = new Map<string, { readonly key: string; readonly scopes: readonly string[] }>();
let server: LiveServer;

beforeAll(async () => {
  const file = new KeyFile({ path: keyfile, warn: expect.fail, now: () => new Date() });
  for (const scopes of [...keyScopes.map((scope) => [scope]), [...keyScopes]]) {
    const name = scopes.length > 1 ? 'all' : (scopes[0] ?? '');
    keys.set(name, { key: await file.add({ name, scopes, weight: 1 }, 0), scopes });
  }
  const everything = ['--admin', '--singleinstance', '--multiplayer', '--websearch', '--savedatafile', 'saved.json'];
  const files = everything.map((word) => (word === 'saved.json' ? join(folder, word) : word));
  server = await start(['--nomodel', '--quiet', '--password', password, '--keyfile', keyfile, ...files]);
});
afterAll(() => {
  agent.destroy();
  rmSync(folder, { recursive: true });
});

interface Listed {
  readonly family: string;
  readonly method: string;
  /** As it is declared. */
  readonly path: string;
  readonly match: 'exact' | 'ending' | 'folder' | 'below';
  readonly needsKey: boolean;
}

/** The list that the server shows of itself. */
async function listed(): Promise<readonly Listed[]> {
  const page = await (await fetch(`${server.base}/api?plain=1&all=1`)).text();
  return page.split('<section ').flatMap((section) => {
    const family = /^aria-labelledby="family-(\w+)"/.exec(section)?.[1] ?? '';
    const rows = section.matchAll(/<tr><td>(\w+)<\/td><td><code>(…?)([^<…]+)(…?)<\/code><\/td><td>(yes|no)<\/td>/g);
    return [...rows].map(([, method = '', front, path = '', behind, key]): Listed => {
      const match = front && behind ? 'folder' : front ? 'ending' : behind ? 'below' : 'exact';
      return { family, method, path: match === 'folder' ? path.slice(0, -1) : path, match, needsKey: key === 'yes' };
    });
  });
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** With the path exactly as it is here; `fetch` would normalise it. */
function ask(method: string, path: string, headers: Record<string, string> = {}, body = 'no JSON'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = method === 'GET' ? '' : body;
    const length = { 'content-length': String(sent.length) };
    const call = request({
      agent,
      host: '127.0.0.1',
      port: server.port,
      method,
      path,
      headers: { ...headers, ...length },
    });
    call.on('error', reject).on('response', (response) => void textOf(response).then(resolve, reject));
    call.on('upgrade', (_, socket) => {
      socket.destroy();
      resolve({ status: 101, text: '' });
    });
    call.end(sent);
  });
}

async function textOf(response: IncomingMessage): Promise<Answer> {
  let text = '';
  for await (const piece of response) text += piece;
  return { status: response.statusCode ?? 0, text };
}

/** Files of the pages are in no table: they are open. */
const ruleOf = ({ method, path }: Pick<Listed, 'method' | 'path'>): AccessRule =>
  rules.get(`${method} ${path}`) ?? { access: 'open' };

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
/** The path to request: one below it, where the declared path covers all below. */
const endings = { exact: '', ending: '', folder: '/something', below: 'something' };
const requestPath = ({ path, match }: Pick<Listed, 'path' | 'match'>) => path + endings[match];

type Verdict = 'unauthorized' | 'forbidden' | 'passed';

function expected({ access, scope }: AccessRule, who: 'nobody' | 'owner' | readonly string[]): Verdict {
  if (access === 'open' || who === 'owner') return 'passed';
  if (who === 'nobody') return 'unauthorized';
  return scope === undefined || who.includes(scope) ? 'passed' : 'forbidden';
}

/** By its sentence too: some endpoints refuse everybody. */
function verdictOf({ status, text }: Answer): Verdict {
  if (status === 401 && text.includes('Authentication key is missing')) return 'unauthorized';
  return status === 403 && text.includes('This key may not be used here') ? 'forbidden' : 'passed';
}

/** The body of a refusal, by family: the words that its clients know, for 401 and for 403. */
const forms: Readonly<Record<string, readonly [unauthorized: RegExp, forbidden: RegExp]>> = {
  native: [/^\{"detail":.*"type":"unauthorized"/, /^\{"detail":.*"type":"forbidden"/],
  openai: [/"code":"invalid_api_key"/, /"code":"insufficient_permissions"/],
  responses: [/"code":"invalid_api_key"/, /"code":"insufficient_permissions"/],
  messages: [/^\{"type":"error".*"authentication_error"/, /^\{"type":"error".*"permission_error"/],
  ollama: [/^\{"error":"Auth/, /^\{"error":"This key/],
  llamacpp: [/"code":401.*"authentication_error"/, /"code":403.*"permission_error"/],
  xtts: [/^\{"detail":.*Auth/, /^\{"detail":.*This key/],
  vits: [/^\{"status":"error","message":"Auth/, /^\{"status":"error","message":"This key/],
  comfy: [/"error":\{"type":.*Auth.*"node_errors"/, /"error":\{"type":.*This key.*"node_errors"/],
  sdapi: [/"error":"HTTPException".*Auth/, /"error":"HTTPException".*This key/],
  admin: [/^\{"success":false,"error":"Auth/, /^\{"success":false,"error":"This key/],
  mcp: [/^\{"jsonrpc":"2.0".*Auth/, /^\{"jsonrpc":"2.0".*This key/],
  pages: [/<p>Auth/, /<p>This key/],
};

function ofFamily(family: string, { text }: Answer, verdict: Verdict): boolean {
  if (verdict === 'passed') return true;
  return forms[family]?.[verdict === 'unauthorized' ? 0 : 1]?.test(text) ?? false;
}

/** Every kind of caller. On an open path none may be refused. */
function everyone({ access }: AccessRule) {
  const some = [
    { name: 'no key', who: 'nobody' as const, headers: {} },
    { name: 'a wrong key', who: 'nobody' as const, headers: bearer('wrong') },
  ];
  if (access === 'open') return some;
  const scoped = [...keys].map(([name, { key, scopes }]) => ({
    name: `a key for ${name}`,
    who: scopes,
    headers: bearer(key),
  }));
  return [...some, ...scoped, { name: 'the password', who: 'owner' as const, headers: bearer(password) }];
}

test('a running server: has a row in the access table for every path that it lists, and the other way round', async () => {
  const all = await listed();
  expect(all.length).toBeGreaterThan(250);
  for (const endpoint of all) {
    const { family, method, path, needsKey } = endpoint;
    expect([method, path, ruleOf(endpoint).access !== 'open']).toEqual([method, path, needsKey]);
    if (family !== 'pages') expect(rules.has(`${method} ${path}`), path).toBe(true);
  }
  const there = new Set(all.map(({ method, path }) => `${method} ${path}`));
  expect([...rules.keys()].filter((key) => !there.has(key) && !key.startsWith('SOCKET'))).toEqual([]);
});

test('a running server: lets each key in where the access table says so, and nowhere else', async () => {
  const wrong: string[] = [];
  const tried = { unauthorized: 0, forbidden: 0, passed: 0 };
  const endpoints = (await listed()).filter(({ path }) => path !== '/api/extra/shutdown');
  await inParallel(endpoints, async (endpoint) => {
    const rule = ruleOf(endpoint);
    for (const { name, who, headers } of everyone(rule)) {
      // Some of its paths are those of the OpenAI API.
      const own = endpoint.family === 'messages' ? { ...headers, 'anthropic-version': '2023-06-01' } : headers;
      const answer = await ask(endpoint.method, requestPath(endpoint), own);
      const verdict = expected(rule, who);
      tried[verdict] += 1;
      if (verdictOf(answer) !== verdict || !ofFamily(endpoint.family, answer, verdict))
        wrong.push(`${endpoint.method} ${endpoint.path} with ${name}: ${answer.status} ${answer.text.slice(0, 200)}`);
    }
  });
  expect(wrong).toEqual([]);
  for (const count of Object.values(tried)) expect(count).toBeGreaterThan(300);
});

test('a running server: no spelling of a guarded path leads around its key', async () => {
  const open: string[] = [];
  await inParallel(await listed(), async (endpoint) => {
    const { method, family } = endpoint;
    if (!endpoint.needsKey) return;
    const path = requestPath(endpoint);
    const spellings = [`${path}/`, `${path}?key=wrong`, `/lcpp${path}`, `/below/a/proxy${path}`, `//${path.slice(1)}`];
    const last = path.length - 1;
    const encoded = `${path.slice(0, last)}%${path.charCodeAt(last).toString(16)}`;
    for (const spelling of [...spellings, encoded, path.toUpperCase(), `http://other.example${path}`]) {
      const { status, text } = await ask(method, spelling);
      // The page for people says that there is nothing; it is no reply of the endpoint.
      if (![401, 404, 405].includes(status)) open.push(`${method} ${spelling} (${family}): ${status} ${text}`);
    }
    for (const probe of ['HEAD', 'OPTIONS']) {
      const { text } = await ask(probe, path);
      if (text !== '') open.push(`${probe} ${path}: ${text}`);
    }
  });
  expect(open).toEqual([]);
});

test('a running server: opens a socket for those whom the access table lets in', async () => {
  const sockets = [...rules].filter(([key]) => key.startsWith('SOCKET '));
  expect(sockets.length).toBeGreaterThan(0);
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  for (const [key, rule] of sockets) {
    const family = key.endsWith('/realtime') ? 'openai' : 'comfy';
    for (const { name, who, headers } of everyone(rule)) {
      const all = { ...upgrade, 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==', ...headers };
      const answer = await ask('GET', key.slice('SOCKET '.length), all);
      expect([key, name, verdictOf(answer)]).toEqual([key, name, expected(rule, who)]);
      if (expected(rule, who) === 'passed') expect(answer.status).toBe(101);
      else expect(ofFamily(family, answer, expected(rule, who)), answer.text).toBe(true);
    }
  }
});

test('a running server: refuses a wrong key of the right form, however it is sent', async () => {
  const basic = { authorization: `Basic ${Buffer.from(`me:${wellFormed}`).toString('base64')}` };
  for (const headers of [bearer(wellFormed), basic, { 'x-api-key': wellFormed }, { 'api-key': wellFormed }])
    expect((await ask('POST', '/v1/chat/completions', headers)).status).toBe(401);
  expect((await ask('GET', `/tts_stream?text=a&key=${wellFormed}`)).status).toBe(401);
});

test('a running server: is shut down by a key for administration, and by no other', async () => {
  const shutdown = (headers: Record<string, string>) => ask('POST', '/api/extra/shutdown', headers);
  expect((await shutdown({})).status).toBe(401);
  for (const [name, { key }] of keys)
    if (name !== 'admin' && name !== 'all') expect((await shutdown(bearer(key))).status).toBe(403);
  expect((await shutdown(bearer(keys.get('admin')?.key ?? ''))).status).toBe(200);
  await server.says('Stopping');
});

/** Some at once; the order does not matter. */
async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const rest = [...items];
  const lane = async () => {
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) await work(item);
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
}
