import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keyScopes } from '../../src/core/people.ts';
import { KeyFile } from '../../src/keys/key-file.ts';
import { neverEnding } from './client.ts';
import { freePort } from './free-port.ts';
import { type LiveServer, liveServers, untrainedModel } from './server.ts';

// Marked secrets are sent in every way that clients and settings have, and errors are provoked. Then everything that the server has
// written or can be asked for is searched for the marks. A further place to search is one row of `sources`.

const start = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-secrets-'));
const temporary = join(folder, 'temporary');
const home = process.env.PARLEY_HOME ?? '';

/** Each has a value that occurs nowhere else. */
const secret = (name: string): string => `MARKED${name}0123456789abcdefXYZ`;
const settings = {
  password: secret('Password'),
  adminPassword: secret('AdminPassword'),
  remoteKey: secret('RemoteKey'),
  hubToken: secret('HubToken'),
  toolEnvironment: secret('ToolEnvironment'),
  toolArgument: secret('ToolArgument'),
  toolHeader: secret('ToolHeader'),
  toolQuery: secret('ToolQuery'),
  toolUser: secret('ToolUser'),
  toolPassword: secret('ToolPassword'),
  addedHeader: secret('AddedHeader'),
};
const mark = /MARKED\w+/g;

/** Answers every request with an error that repeats all of it, as careless services do. */
function echo(incoming: IncomingMessage, response: ServerResponse): void {
  const { url = '', headers } = incoming;
  if (url === '/v1/traces') return void collect(incoming, response);
  if (url.endsWith('/models') && !url.startsWith('/mcp')) {
    const names = [400, 401, 403, 404, 418, 429, 500, 503].map((status) => ({ id: `echo-${status}`, object: 'model' }));
    return void response.setHeader('content-type', 'application/json').end(JSON.stringify({ data: names }));
  }
  let body = '';
  incoming.on('data', (piece: Buffer) => {
    body += piece.toString();
  });
  incoming.on('end', () => {
    const status = url.includes('.gguf') ? 404 : Number(/echo-(\d+)/.exec(body)?.[1] ?? 500);
    const message = `No: ${incoming.method} ${url} ${JSON.stringify(headers)} ${body}`;
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }));
  });
}

/** What `--trace` has sent. */
const traces: string[] = [];

async function collect(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = '';
  for await (const piece of incoming) body += piece;
  traces.push(body);
  response.setHeader('content-type', 'application/json').end('{}');
}

const careless = createServer(echo);
let server: LiveServer;
let upstream = '';
/** Everything that was answered, by what was asked. */
const answers: { readonly asked: string; readonly text: string }[] = [];
/** Keys of the key file, which are marks too. */
const keys: string[] = [];

beforeAll(async () => {
  mkdirSync(temporary);
  await new Promise<void>((resolve) => careless.listen(0, '127.0.0.1', resolve));
  upstream = `127.0.0.1:${(careless.address() as AddressInfo).port}`;
  const file = new KeyFile({ path: join(folder, 'keys.json'), warn: expect.fail, now: () => new Date() });
  keys.push(await file.add({ name: 'all', scopes: keyScopes, weight: 1 }, 0));
  keys.push(await file.add({ name: 'chat', scopes: ['chat'], weight: 1 }, 0));
  const talkative = 'console.error(JSON.stringify([process.argv, process.env])); process.exit(3)';
  const nobody = `127.0.0.1:${await freePort()}`;
  const mcpServers = {
    talkative: {
      command: process.execPath,
      args: ['-e', talkative, '--', `--token=${settings.toolArgument}`],
      env: { TOOL_TOKEN: settings.toolEnvironment },
    },
    small: {
      command: process.execPath,
      args: [fileURLToPath(new URL('../../src/mcp/testing/small-server.mjs', import.meta.url))],
    },
    header: { url: `http://${upstream}/mcp`, headers: { authorization: `Bearer ${settings.toolHeader}` } },
    query: { url: `http://${nobody}/mcp?token=${settings.toolQuery}` },
    user: { url: `http://${settings.toolUser}:${settings.toolPassword}@${upstream}/mcp` },
    older: { url: `http://${upstream}/mcp?token=${settings.toolQuery}`, type: 'sse' },
  };
  writeFileSync(join(folder, 'mcp.json'), JSON.stringify({ mcpServers }));
  const environment = {
    TMPDIR: temporary,
    UPSTREAM_KEY: settings.remoteKey,
    HF_TOKEN: settings.hubToken,
    HF_ENDPOINT: `http://${upstream}`,
    PARLEY_ADMINPASSWORD: settings.adminPassword,
  };
  const before = Object.fromEntries(Object.keys(environment).map((name) => [name, process.env[name]]));
  Object.assign(process.env, environment);
  const flags = ['--password', settings.password, '--keyfile', join(folder, 'keys.json'), '--admin', '--websearch'];
  const remote = ['--remote', `http://${upstream},key=env:UPSTREAM_KEY`];
  const watching = ['--inspect', '500', '--trace', `http://${upstream}`];
  const files = ['--mcpfile', join(folder, 'mcp.json'), '--savedatafile', join(folder, 'saved.json')];
  server = await start([...flags, ...remote, ...files, ...watching, '--model', untrainedModel(), '--debugmode', '1']);
  for (const [name, value] of Object.entries(before))
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
});
afterAll(() => {
  careless.close();
  rmSync(folder, { recursive: true });
});

/** With a path exactly as given. Resolves to the status. */
function ask(method: string, path: string, headers: Record<string, string> = {}, body = ''): Promise<number> {
  return new Promise((resolve, reject) => {
    const length = { 'content-length': String(Buffer.byteLength(body)) };
    const outgoing = request({
      host: '127.0.0.1',
      port: server.port,
      method,
      path,
      headers: { ...headers, ...length },
    });
    outgoing.on('error', reject).on('response', async (response) => {
      let text = JSON.stringify(response.headers);
      for await (const piece of response) text += piece;
      // The quote in the error of a JSON parser goes to nobody but the sender of that text.
      const withoutQuote = text.replace(/(is not valid JSON: [^,]*),.*$/s, '$1');
      answers.push({ asked: `${method} ${path.replace(mark, '(mark)')}`, text: withoutQuote });
      resolve(response.statusCode ?? 0);
    });
    outgoing.end(body);
  });
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const owner = bearer(settings.adminPassword);
const json = (value: unknown) => JSON.stringify(value);
const hello = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 2 };

/** Every way in which clients send a key. */
const credentials = (key: string): readonly [string, Record<string, string>][] => [
  ['', bearer(key)],
  ['', { authorization: `Basic ${Buffer.from(`me:${key}`).toString('base64')}` }],
  ['', { authorization: key }],
  ...['x-api-key', 'api-key', 'x-goog-api-key', 'x-auth-token', 'cookie'].map(
    (name): [string, Record<string, string>] => ['', { [name]: name === 'cookie' ? `key=${key}` : key }],
  ),
  ...['key', 'api_key', 'token', 'password'].map((name): [string, Record<string, string>] => [`?${name}=${key}`, {}]),
];

/** All that can be read and might have picked something up. */
const readable = [
  ...['/props', '/slots', '/metrics', '/health', '/v1/models', '/api/tags', '/api/ps', '/queue', '/history', '/tools'],
  ...['/api/extra/version', '/api/extra/perf', '/api/extra/models', '/api/extra/mcp', '/api/extra/cache'],
  ...[
    '/api/admin/list_options',
    '/api/admin/models',
    '/api/admin/keys',
    '/api/openapi.json?all=1',
    '/api/extra/fidelity',
  ],
  ...['/lora-adapters', '/sdapi/v1/options', '/sdapi/v1/cmd-flags', '/system_stats', '/.well-known/serviceinfo'],
];

/** Where a secret could turn up: texts by place. */
const sources: Readonly<Record<string, () => readonly (readonly [place: string, text: string])[]>> = {
  console: () => [['console', server.output()]],
  answers: () => answers.map(({ asked, text }) => [`answer of ${asked}`, text]),
  traces: () => traces.map((text) => ['trace', text]),
  'temporary files': () => filesIn(temporary),
  'data folder': () => filesIn(home),
  'saved data': () => filesIn(folder).filter(([path]) => !/(mcp|keys)\.json$/.test(path)),
  'key file': () => filesIn(folder).filter(([path]) => path.endsWith('keys.json')),
};

function filesIn(path: string): readonly (readonly [string, string])[] {
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name));
  return names.filter((name) => statSync(name).isFile()).map((name) => [name, readFileSync(name, 'latin1')]);
}

/** Each place with the marks in it. */
function leaks(): string[] {
  const all = Object.values(sources).flatMap((read) => read());
  return all.flatMap(([path, text]) => {
    const secrets = [...(text.match(mark) ?? []), ...keys.filter((key) => text.includes(key))];
    return [...new Set(secrets)].map((one) => `${path}: ${one}: …${around(text, one)}…`);
  });
}

function around(text: string, match: string): string {
  const at = text.indexOf(match);
  return text.slice(Math.max(0, at - 120), at + match.length + 40);
}

test('secrets of clients: keys, right and wrong ones, appear nowhere, however they are sent', async () => {
  for (const key of [settings.password, settings.adminPassword, ...keys, secret('WrongKey')]) {
    for (const [query, headers] of credentials(key)) {
      await ask('POST', `/v1/chat/completions${query}`, headers, json({ messages: 'no list' }));
      await ask('GET', `/nothing/here${query}`, headers);
    }
    await ask('GET', `/tts_stream?key=${key}`);
    await ask('PUT', `/v1/chat/completions?key=${key}`, bearer(key));
    await ask('POST', `http://me:${key}@127.0.0.1/v1/messages?key=${key}`, bearer(key), json({}));
    await ask('POST', '/api/extra/shutdown', bearer(key));
    await ask('GET', '/v1/chat/completions', { ...bearer(key), host: `me:${key}@evil.example` });
  }
  expect(leaks()).toEqual([]);
});

test('secrets in requests: tokens in addresses and in what is not valid JSON appear nowhere', async () => {
  const image = `https://user:${secret('ImagePassword')}@127.0.0.1/a.png?token=${secret('ImageToken')}`;
  const plain = `http://127.0.0.1:1/a.png?token=${secret('ImageToken')}`;
  for (const url of [image, plain, `ftp://${secret('ImageToken')}@host/`]) {
    const part = { type: 'image_url', image_url: { url } };
    await ask('POST', '/v1/chat/completions', owner, json({ messages: [{ role: 'user', content: [part] }] }));
    await ask('POST', '/api/extra/webpage', owner, json({ url }));
    await ask('POST', '/sdapi/v1/img2img', owner, json({ init_images: [url] }));
    await ask('POST', '/sdapi/v1/interrogate', owner, json({ image: url }));
    await ask('POST', '/v1/images/edits', owner, json({ prompt: 'a', image: url }));
  }
  for (const model of [
    'owner/name/file.gguf',
    `http://${upstream}/a.gguf?token=${secret('PullToken')}`,
    `http://me:${secret('PullPassword')}@${upstream}/a.gguf`,
  ])
    await ask('POST', '/api/pull', owner, json({ model }));
  await ask('POST', '/api/admin/mcp/add', owner, `{"headers":{"authorization":${secret('Json')}}}`);
  await ask('POST', '/api/admin/mcp/add', owner, json({ name: 'a', url: `nothing://${secret('Json')}` }));
  await ask(
    'POST',
    '/api/admin/mcp/add',
    owner,
    json({ name: 'a', url: upstream, headers: { 'bad name': secret('Json') } }),
  );
  await ask(
    'POST',
    '/api/admin/mcp/add',
    owner,
    json({ name: 'b', url: 'http://a', headers: { a: `é\n${secret('Json')}` } }),
  );
  expect(leaks()).toEqual([]);
});

test('secrets of settings: keys of upstreams and tool servers appear nowhere when these fail', async () => {
  for (const status of [400, 401, 403, 404, 418, 429, 500, 503]) {
    for (const stream of [false, true]) {
      const body = json({ model: `echo-${status}`, ...hello, stream });
      await ask('POST', '/v1/chat/completions', owner, body);
      await ask('POST', '/v1/messages', owner, body);
    }
    await ask('POST', '/api/generate', owner, json({ model: `echo-${status}`, prompt: 'Hi' }));
  }
  const repeated = answers.filter(({ text }) => text.includes('Bearer …'));
  expect(repeated.length).toBeGreaterThan(10);
  const added = { name: 'added', url: `http://${upstream}/mcp`, headers: { 'x-token': settings.addedHeader } };
  expect(await ask('POST', '/api/admin/mcp/add', owner, json(added))).toBe(200);
  for (const name of ['talkative', 'header', 'query', 'user', 'older', 'added'])
    await server.says(`MCP Init Error: ${name}:`);
  for (const method of ['tools/list', 'resources/list', 'nothing'])
    await ask('POST', '/mcp', owner, json({ jsonrpc: '2.0', id: 1, method, params: {} }));
  expect(server.output()).toMatch(/talkative: .* it wrote: .*--token=…/);
  expect(leaks()).toEqual([]);
});

test('secrets after a crash: the report of an engine that ended in the middle of a request holds none', async () => {
  const running = ask(
    'POST',
    '/v1/chat/completions',
    bearer(keys[1] ?? ''),
    json({ ...hello, max_tokens: 2000, ...neverEnding }),
  );
  await expect.poll(() => server.worker()).toBeDefined();
  const slots = async () => (await fetch(`${server.base}/slots`, { headers: owner })).text();
  await expect.poll(slots).toContain('"is_processing":true');
  process.kill(server.worker() ?? 0, 'SIGKILL');
  expect(await running).toBe(500);
  expect(leaks()).toEqual([]);
});

test('secrets in what can be read: no path shows one, to nobody and to no key', async () => {
  for (const path of readable)
    for (const headers of [{}, owner, bearer(keys[0] ?? ''), bearer(keys[1] ?? '')]) await ask('GET', path, headers);
  expect(leaks()).toEqual([]);
});

test('secrets in the inspector and in traces: recorded requests show none, in any dialect', async () => {
  const list = await fetch(`${server.base}/api/extra/requests`, { headers: owner });
  const { requests } = (await list.json()) as { requests: readonly { id: string; status: number }[] };
  expect(requests.length).toBeGreaterThan(50);
  await ask('GET', '/api/extra/requests', owner);
  for (const { id, status } of requests) {
    await ask('GET', `/api/extra/requests/${id}`, owner);
    for (const as of status === 200 ? ['openai', 'messages', 'ollama'] : [])
      await ask('POST', `/api/extra/requests/${id}/replay`, owner, json({ as }));
  }
  await expect.poll(() => traces.length).toBeGreaterThan(0);
  expect(leaks()).toEqual([]);
});

test('secrets in structured logs: no line of --logformat json has one', async () => {
  const logging = await start([
    ...['--logformat', 'json', '--password', settings.password],
    ...['--keyfile', join(folder, 'keys.json'), '--model', untrainedModel()],
  ]);
  for (const key of [settings.password, ...keys, secret('WrongKey')]) {
    for (const [query, headers] of credentials(key)) {
      const reply = await fetch(`${logging.base}/v1/chat/completions${query}`, { method: 'POST', headers, body: '{' });
      await reply.text();
    }
  }
  await logging.stop();
  const lines = logging.output().trim().split('\n');
  expect(lines.filter((line) => line.includes('"family":"openai"')).length).toBeGreaterThan(30);
  const secrets = [settings.password, ...keys, secret('WrongKey')].filter((key) => logging.output().includes(key));
  expect(secrets).toEqual([]);
});
