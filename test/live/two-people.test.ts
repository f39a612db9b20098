import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { KeyFile } from '../../src/keys/key-file.ts';
import { readTar } from '../../src/library/tar.ts';
import { stockGraph } from '../../src/protocols/comfy/testing/graphs.ts';
import { pngOf } from '../../src/protocols/testing/pictures.ts';
import { builtApp } from '../../src/server/testing/built-app.ts';
import { neverEnding } from './client.ts';
import { type Answered, type Person, personOf, triedRows } from './one-person.ts';
import { type LiveServer, untrainedServers } from './server.ts';

// Anna leaves something in every store of a running server, and Ben looks for it by every endpoint that could show or change it.

const start = untrainedServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-two-people-'));
const home = join(folder, 'home');
const formerHome = process.env.PARLEY_HOME;
const keyfile = join(folder, 'keys.json');
const password = 'the password';
/** In everything that Anna writes. */
const secret = 'kingfisher-of-anna';
const everything = ['text', 'chat', 'images', 'audio', 'embeddings', 'tools', 'documents'] as const;

let server: LiveServer;
let anna: Person;
let ben: Person;
let boss: Person;
/** Has the password, and is no administrator. */
let holder: Person;
let keys: Readonly<Record<string, string>> = {};
const app = await builtApp({ admin: true, savedatafile: 'x', multiplayer: true, singleinstance: true });
const rows = triedRows(app.modelEndpoints);

const file = () => new KeyFile({ path: keyfile, warn: expect.fail, now: () => new Date() });
const byKey = (key: string) => personOf(server.base, { authorization: `Bearer ${key}` });

beforeAll(async () => {
  process.env.PARLEY_HOME = home;
  const own = { weight: 1, shared: false };
  const names = ['anna', 'ben'].map(async (name) => [name, await file().add({ name, scopes: everything, ...own }, 0)]);
  const created = await Promise.all([
    ...names,
    ...['mum', 'dad'].map(async (name) => [
      name,
      await file().add({ name, scopes: everything, weight: 1, shared: true }, 0),
    ]),
    file()
      .add({ name: 'boss', scopes: [...everything, 'admin'], ...own }, 0)
      .then((key) => ['boss', key]),
  ]);
  keys = Object.fromEntries(created);
  const saves = ['--savedatafile', join(folder, 'saves')];
  server = await start([
    '--keyfile',
    keyfile,
    '--password',
    password,
    '--admin',
    '--adminpassword',
    'of the administrator',
    '--inspect',
    '50',
    ...saves,
  ]);
  const person = (name: string) => byKey(keys[name] ?? '');
  [anna, ben, boss] = [person('anna'), person('ben'), person('boss')];
  holder = byKey(password);
});
afterAll(() => {
  if (formerHome === undefined) delete process.env.PARLEY_HOME;
  else process.env.PARLEY_HOME = formerHome;
  rmSync(folder, { recursive: true });
});

type Sent = Parameters<Person['ask']>;

/** Ben and the holder of the password are refused. */
async function refused(...sent: Sent): Promise<void> {
  rows.note(sent[0], sent[1]);
  for (const other of [ben, holder]) {
    const { status, text } = await other.ask(...sent);
    expect([sent[0], sent[1], status >= 400 && status < 500], text).toEqual([sent[0], sent[1], true]);
    expect(text).not.toContain(secret);
  }
}

/** They get an answer without anything of Anna. */
async function empty(...sent: Sent): Promise<Answered> {
  rows.note(sent[0], sent[1]);
  await without(holder, sent);
  return without(ben, sent);
}

async function without(other: Person, sent: Sent): Promise<Answered> {
  const answer = await other.ask(...sent);
  expect(answer.status, answer.text).toBeLessThan(500);
  expect(answer.text, `${sent[0]} ${sent[1]}`).not.toContain(secret);
  return answer;
}

const chat = (more: object = {}) => ({ max_tokens: 4, messages: [{ role: 'user', content: secret }], ...more });
const form = (fields: Readonly<Record<string, string | Blob>>, name = `${secret}.txt`): FormData => {
  const sent = new FormData();
  for (const [field, value] of Object.entries(fields))
    if (typeof value === 'string') sent.set(field, value);
    else sent.set(field, value, name);
  return sent;
};
const anthropic = { 'anthropic-version': '2023-06-01' };

describe('two keys: see nothing of each other', () => {
  test('stored responses, their items, and those in the background', async () => {
    const created = (await anna.done('POST', '/v1/responses', { input: secret, max_output_tokens: 4 })).json;
    const path = `/v1/responses/${created.id}`;
    const [item] = (await anna.done('GET', `${path}/input_items`)).json.data;
    await refused('GET', path);
    await refused('GET', `${path}/input_items`);
    await refused('DELETE', path);
    await refused('POST', `${path}/cancel`);
    for (const below of ['', '/input_tokens', '/compact'])
      await refused('POST', `/v1/responses${below}`, { input: 'Go on', previous_response_id: created.id });
    await refused('POST', '/v1/responses', { input: [{ type: 'item_reference', id: item.id }] });
    expect((await anna.done('GET', path)).json.id).toBe(created.id);

    const running = { input: secret, background: true, max_output_tokens: 4000, ...neverEnding };
    const { id } = (await anna.done('POST', '/v1/responses', running)).json;
    await refused('POST', `/v1/responses/${id}/cancel`);
    await refused('GET', `/v1/responses/${id}?stream=true`);
    expect((await anna.done('POST', `/v1/responses/${id}/cancel`)).json.status).toBe('cancelled');
  });

  test('streams that can be taken up', async () => {
    const sent = { ...chat({ stream: true, max_tokens: 8 }), ...neverEnding };
    const named = `name-of-the-stream-${secret.length}`;
    const { headers, text } = await anna.done('POST', '/v1/chat/completions', sent, { 'x-parley-resumable': named });
    for (const id of [headers.get('x-request-id'), named]) {
      await refused('GET', `/api/extra/stream/${id}`);
      await refused('DELETE', `/api/extra/stream/${id}`);
      expect((await anna.done('GET', `/api/extra/stream/${id}`)).text).toBe(text);
    }
  });

  test('running and finished texts, with and without their genkey', async () => {
    const genkey = 'KCPP1234';
    const grammar = `root ::= "${secret}"`;
    await anna.done('POST', '/api/v1/generate', { prompt: secret, grammar, genkey, logprobs: true });
    await anna.done('POST', '/api/v1/generate', { prompt: secret, grammar, logprobs: true });
    const looks = async (running: boolean) => {
      await empty('GET', '/api/extra/generate/check');
      await empty('GET', '/api/extra/last_logprobs');
      for (const body of [{}, { genkey }]) {
        expect((await empty('POST', '/api/extra/generate/check', body)).json.results[0].text).toBe('');
        expect((await empty('POST', '/api/extra/last_logprobs', body)).json.logprobs ?? null).toBeNull();
        const { json } = await empty('POST', '/api/extra/abort', body);
        // While nothing runs, one without a genkey succeeds: it stops nothing.
        if (running) expect(json.success).toBe('false');
      }
    };
    await looks(false);
    expect((await anna.done('POST', '/api/extra/generate/check', { genkey })).json.results[0].text).toBe(secret);

    const endless = { prompt: secret, max_length: 4000, genkey, ...neverEnding };
    const running = anna.done('POST', '/api/v1/generate', endless);
    const text = async () =>
      (await anna.done('POST', '/api/extra/generate/check', { genkey })).json.results[0].text as string;
    await expect.poll(text).not.toBe(secret);
    await expect.poll(text).not.toBe('');
    await looks(true);
    await empty('GET', '/slots');
    expect((await anna.done('POST', '/api/extra/abort', { genkey })).json.success).toBe('true');
    await running;
  });

  test('figures and reports of the server', async () => {
    // Twice the same beginning, so that there is a report on where the prompts part.
    const long = (end: string) => `${'The bird flies over the water. '.repeat(40)}${secret} ${end}`;
    for (const end of ['one', 'two']) await anna.done('POST', '/v1/completions', { prompt: long(end), max_tokens: 2 });
    await ben.done('POST', '/v1/completions', { prompt: long('three').replace(secret, 'x'), max_tokens: 2 });
    for (const path of ['/api/extra/cache', '/metrics', '/lora-adapters', '/api/extra/models', '/api/extra/mcp'])
      await empty('GET', path);
    for (const path of ['/api/extra/perf', '/v1/models', '/props', '/api/extra/version', '/api/ps'])
      await empty('GET', path);
    expect(
      (await empty('GET', '/api/extra/conversations')).json.conversations.map(({ key }: { key: string }) => key),
    ).not.toContain('anna');
    await empty('DELETE', '/api/extra/conversations');
    await empty('GET', '/tools');
    expect((await ben.done('GET', '/api/extra/session')).text).not.toContain('anna');
    const invited = await ben.done('POST', '/api/extra/invitations', {});
    rows.note('POST', '/api/extra/invitations');
    expect(invited.json.name).toBe('ben');
  });

  test('memories', async () => {
    const { id } = (await anna.done('POST', '/api/extra/memories', { text: secret, pinned: true })).json;
    await empty('GET', '/api/extra/memories');
    await empty('POST', '/api/extra/memories', { text: 'of another' });
    await empty('POST', '/api/extra/memories/search', { text: secret.replace('anna', 'whom') });
    await empty('POST', '/api/extra/memories/suggest', { messages: [{ role: 'user', content: 'I am here.' }] });
    await refused('POST', `/api/extra/memories/${id}`, { text: 'changed' });
    await refused('DELETE', `/api/extra/memories/${id}`);
    expect((await anna.done('GET', '/api/extra/memories')).text).toContain(secret);
  });

  test('save slots, synced chats, and settings and files of speech', async () => {
    await anna.done('POST', '/api/extra/data/save', { slot: 1, title: secret, format: 'f', data: secret });
    await empty('POST', '/api/extra/data/list');
    await empty('POST', '/api/extra/data/load', { slot: 1 });
    await empty('POST', '/api/extra/data/save', { slot: 1, data: '' });
    expect((await anna.done('POST', '/api/extra/data/load', { slot: 1 })).text).toContain(secret);

    for (const kind of ['chats', 'stories', 'characters', 'personas']) {
      const record = { kind, id: 'a1' };
      await anna.done('POST', '/api/extra/sync/save', { ...record, base: 0, data: secret });
      await empty('POST', '/api/extra/sync/list', {});
      await empty('POST', '/api/extra/sync/load', record);
      await empty('POST', '/api/extra/sync/save', { ...record, base: 1 });
      expect((await anna.done('POST', '/api/extra/sync/load', record)).text).toContain(secret);
    }

    await anna.done('POST', '/set_tts_settings', { speed: 1.5 });
    await empty('POST', '/set_tts_settings', { speed: 0.5 });
    expect((await anna.done('GET', '/get_tts_settings')).json.speed).toBe(1.5);
    const speech = { text: 'Hello.', file_name_or_path: 'kingfisher' };
    for (const one of [anna, ben, holder]) await one.done('POST', '/tts_to_file', speech);
    expect(readdirSync(join(home, 'output')).sort()).toEqual([
      expect.stringMatching(/^anna-/),
      expect.stringMatching(/^ben-/),
      'kingfisher.wav',
    ]);
  });

  test('files, uploads and what names them', async () => {
    const blob = new Blob([secret]);
    const { id } = (await anna.done('POST', '/v1/files', form({ purpose: 'user_data', file: blob }))).json;
    for (const [own, dialect] of [
      [id, {}],
      [id.replace('file-', 'file_'), anthropic],
    ] as const) {
      await empty('GET', '/v1/files', undefined, dialect);
      await refused('GET', `/v1/files/${own}`, undefined, dialect);
      await refused('GET', `/v1/files/${own}/content`, undefined, dialect);
      await refused('DELETE', `/v1/files/${own}`, undefined, dialect);
    }
    await refused('POST', '/v1/chat/completions', {
      messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: id } }] }],
    });
    await refused('POST', '/v1/responses', {
      input: [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }],
    });
    const source = { type: 'file', file_id: id.replace('file-', 'file_') };
    const document = [{ role: 'user', content: [{ type: 'document', source }] }];
    await refused('POST', '/v1/messages', { max_tokens: 4, messages: document }, anthropic);
    await refused('POST', '/v1/batches', { input_file_id: id, endpoint: '/v1/embeddings', completion_window: '24h' });

    const bytes = secret.length;
    const upload = { filename: 'a.txt', purpose: 'user_data', bytes, mime_type: 'text/plain' };
    const created = (await anna.done('POST', '/v1/uploads', upload)).json;
    const part = (await anna.done('POST', `/v1/uploads/${created.id}/parts`, form({ data: blob }))).json;
    await refused('POST', `/v1/uploads/${created.id}/parts`, form({ data: blob }));
    await refused('POST', `/v1/uploads/${created.id}/complete`, { part_ids: [part.id] });
    await refused('POST', `/v1/uploads/${created.id}/cancel`);
    await anna.done('POST', `/v1/uploads/${created.id}/complete`, { part_ids: [part.id] });
    expect((await anna.done('GET', `/v1/files/${id}/content`)).text).toBe(secret);
  });

  test('batches of both APIs', async () => {
    const line = { custom_id: secret, method: 'POST', url: '/v1/embeddings', body: { model: 'any', input: secret } };
    const input = new Blob([JSON.stringify(line)]);
    const { id } = (await anna.done('POST', '/v1/files', form({ purpose: 'batch', file: input }, 'a.jsonl'))).json;
    const request = { input_file_id: id, endpoint: '/v1/embeddings', completion_window: '24h' };
    const batch = (await anna.done('POST', '/v1/batches', { ...request, metadata: { note: secret } })).json;
    await empty('GET', '/v1/batches');
    await refused('GET', `/v1/batches/${batch.id}`);
    await refused('POST', `/v1/batches/${batch.id}/cancel`);
    expect((await anna.done('GET', `/v1/batches/${batch.id}`)).json.id).toBe(batch.id);

    const params = { model: 'any', max_tokens: 4, messages: chat().messages };
    const path = '/v1/messages/batches';
    const requests = { requests: [{ custom_id: 'one', params }] };
    const own = (await anna.done('POST', path, requests, anthropic)).json;
    expect((await empty('GET', path, undefined, anthropic)).json.data).toEqual([]);
    await refused('GET', `${path}/${own.id}`, undefined, anthropic);
    await refused('GET', `${path}/${own.id}/results`, undefined, anthropic);
    await refused('POST', `${path}/${own.id}/cancel`, undefined, anthropic);
    await refused('DELETE', `${path}/${own.id}`, undefined, anthropic);
    expect((await anna.done('GET', `${path}/${own.id}`, undefined, anthropic)).json.id).toBe(own.id);
  });

  test('collections of documents, vector stores, and what searches them', async () => {
    const collections = '/api/extra/documents';
    const { id } = (await anna.done('POST', collections, { name: `papers of ${secret}` })).json;
    const added = await anna.done('POST', `${collections}/${id}/files`, { name: 'a.txt', text: `It is ${secret}.` });
    const results = async () => {
      const search = { query: secret, collections: [id] };
      return (await anna.done('POST', `${collections}/search`, search)).json.results as { passage: string }[];
    };
    await expect.poll(async () => (await results()).length).toBeGreaterThan(0);
    const [{ passage = '' } = {}] = await results();
    const own = added.json.files?.[0]?.id ?? (await anna.done('GET', `${collections}/${id}/files`)).json.files[0].id;
    const at = `${collections}/${id}`;
    await empty('GET', collections);
    await empty('POST', `${collections}/search`, { query: 'bird' });
    await refused('POST', `${collections}/search`, { query: 'bird', collections: [id] });
    for (const path of [at, `${at}/files`, `${at}/files/${own}/text`, `${at}/files/${own}/content`])
      await refused('GET', path);
    await refused('GET', `${collections}/passages/${passage}`);
    await refused('POST', at, { name: 'changed' });
    await refused('POST', `${at}/files`, { name: 'b.txt', text: 'b' });
    await refused('POST', `${at}/folders`, { path: folder });
    await refused('POST', `${at}/reindex`, {});
    await refused('DELETE', `${at}/files/${own}`);
    await refused('DELETE', `${at}/folders`, { path: folder });
    await refused('DELETE', at);

    const stores = '/v1/vector_stores';
    const file = (await anna.done('GET', '/v1/files')).json.data[0].id;
    const batch = (await anna.done('POST', `${stores}/${id}/file_batches`, { file_ids: [file] })).json.id;
    const store = `${stores}/${id}`;
    await empty('GET', stores);
    for (const path of ['', '/files', `/files/${own}`, `/files/${own}/content`, `/file_batches/${batch}`])
      await refused('GET', `${store}${path}`);
    await refused('GET', `${store}/file_batches/${batch}/files`);
    await refused('POST', store, { name: 'changed' });
    await refused('POST', `${store}/search`, { query: 'bird' });
    await refused('POST', `${store}/files`, { file_id: file });
    await refused('POST', `${store}/files/${own}`, { attributes: { a: 1 } });
    await refused('POST', `${store}/file_batches`, { file_ids: [file] });
    await refused('POST', `${store}/file_batches/${batch}/cancel`);
    await refused('DELETE', `${store}/files/${own}`);
    await refused('DELETE', store);
    const { id: bens } = (await ben.done('POST', stores, { name: 'empty' })).json;
    rows.note('POST', stores);
    expect((await ben.ask('POST', `${stores}/${bens}/files`, { file_id: file })).status).toBe(404);

    for (const endpoint of ['/v1/chat/completions', '/v1/responses', '/v1/messages'])
      await refused('POST', endpoint, { ...chat({ input: 'bird' }), collections: [id] });
    const tool = { type: 'file_search', vector_store_ids: [id] };
    await refused('POST', '/v1/responses', { input: 'bird', tools: [tool] });
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
    await empty('POST', '/mcp', { ...call, params: { name: 'search', arguments: { query: 'bird' } } });
    await empty('POST', '/mcp', { ...call, params: { name: 'fetch', arguments: { id: passage } } });
    expect((await anna.done('GET', at)).text).toContain(secret);
  });

  test('graphs, pictures and drawings', async () => {
    const sent = form({ image: new Blob([pngOf(8, 8)]) }, 'kingfisher.png');
    await anna.done('POST', '/upload/image', sent);
    await anna.done('POST', '/upload/mask', form({ image: new Blob([pngOf(8, 8)]) }, 'mask.png'));
    await refused('GET', `/view?filename=kingfisher.png&type=input`);
    const original = JSON.stringify({ filename: 'kingfisher.png', type: 'input', subfolder: '' });
    await refused('POST', '/upload/mask', form({ image: new Blob([pngOf(8, 8)]), original_ref: original }, 'm.png'));
    expect((await empty('GET', '/object_info')).text).not.toContain('kingfisher.png');

    const loads = { '1': { class_type: 'LoadImage', inputs: { image: 'kingfisher.png' } } };
    const saves = { '2': { class_type: 'SaveImage', inputs: { images: ['1', 0], filename_prefix: 'bird' } } };
    await refused('POST', '/prompt', { prompt: { ...loads, ...saves } });

    const messages: string[] = [];
    const listen = new WebSocket(`${server.base.replace('http', 'ws')}/ws?clientId=the-same`, {
      headers: { authorization: `Bearer ${keys.ben}` },
    });
    listen.on('message', (data) => messages.push(String(data)));
    await new Promise((resolve) => listen.once('open', resolve));
    const graph = stockGraph(
      { steps: 1 },
      {
        '6': { class_type: 'CLIPTextEncode', inputs: { text: secret, clip: ['4', 1] } },
        '9': { class_type: 'SaveImage', inputs: { images: ['8', 0], filename_prefix: 'bird' } },
      },
    );
    const { prompt_id: id } = (await anna.done('POST', '/prompt', { prompt: graph, client_id: 'the-same' })).json;
    await empty('GET', '/queue');
    await empty('POST', '/queue', { clear: true });
    await empty('POST', '/queue', { delete: [id] });
    await empty('POST', '/interrupt', {});
    await empty('POST', '/interrupt', { prompt_id: id });
    await empty('POST', '/sdapi/v1/interrupt', {});
    await empty('POST', '/sdapi/v1/skip', {});
    await expect.poll(async () => Object.keys((await anna.done('GET', `/history/${id}`)).json)).toEqual([id]);
    const entry = (await anna.done('GET', `/history/${id}`)).json[id];
    expect(entry.status.completed, JSON.stringify(entry)).toBe(true);
    const [
      {
        images: [{ filename }],
      },
    ] = Object.values(entry.outputs) as [{ images: [{ filename: string }] }];
    expect((await empty('GET', '/history')).json).toEqual({});
    expect((await empty('GET', `/history/${id}`)).json).toEqual({});
    await empty('POST', '/history', { clear: true });
    await empty('POST', '/history', { delete: [id] });
    await refused('GET', `/view?filename=${filename}`);
    expect((await anna.done('GET', `/view?filename=${filename}`)).status).toBe(200);
    listen.terminate();
    expect(messages.join('')).not.toContain(id);

    const genkey = 'KCPP5678';
    const drawing = { prompt: secret, steps: 1, width: 64, height: 64, genkey };
    await anna.done('POST', '/sdapi/v1/txt2img', drawing);
    await refused('GET', `/sdapi/v1/get_last.json?genkey=${genkey}`);
    expect((await empty('GET', `/sdapi/v1/progress?genkey=${genkey}`)).json.stored).toBe(false);
    expect((await anna.done('GET', `/sdapi/v1/get_last.json?genkey=${genkey}`)).json.images).toHaveLength(1);
  });

  test('what administrators see, nobody else does', async () => {
    await anna.done('POST', '/v1/chat/completions', chat());
    const admins = app.modelEndpoints.filter(({ access, scope }) => access === 'admin' || scope === 'admin');
    expect(admins.length).toBeGreaterThan(40);
    for (const { method, path, match } of admins) {
      const { status } = await ben.ask(
        method,
        match === 'prefix' ? `${path}anna` : path,
        method === 'POST' ? {} : undefined,
      );
      expect([method, path, status]).toEqual([method, path, 403]);
    }
    const { requests } = (await boss.done('GET', '/api/extra/requests')).json;
    const own = requests.find(
      ({ key, path }: Record<string, string>) => key === 'anna' && path === '/v1/chat/completions',
    );
    expect((await boss.done('GET', `/api/extra/requests/${own.id}`)).text).toContain(secret);
    const { conversations } = (await boss.done('GET', '/api/extra/conversations')).json;
    expect(conversations.map(({ key }: { key: string }) => key)).toContain('anna');
  });
});

/** Rows that show and change nothing of anybody, or are for all on purpose. */
const common: Readonly<Record<string, string>> = {
  'POST /api/extra/tokencount': 'computes',
  'POST /api/extra/detokenize': 'computes',
  'POST /api/extra/json_to_grammar': 'computes',
  'POST /tokenize': 'computes',
  'POST /detokenize': 'computes',
  'POST /apply-template': 'computes',
  'POST /v1/chat/completions/input_tokens': 'computes',
  'POST /v1/messages/count_tokens': 'computes',
  'POST /sdapi/v1/png-info': 'computes',
  'POST /api/extra/multiplayer/status': 'one story for all, with --multiplayer',
  'POST /api/extra/multiplayer/getstory': 'one story for all, with --multiplayer',
  'POST /api/extra/multiplayer/setstory': 'one story for all, with --multiplayer',
  'POST /api/extra/websearch': 'nothing is kept of a search',
  'POST /api/extra/webpage': 'nothing is kept of a page',
  'POST /slots/{rest}': 'not there',
  'POST /chat/completions/control': 'not there',
  'GET /cors-proxy': 'not there',
  'POST /switch_model': 'changes nothing',
  'POST /set_output': 'changes nothing',
  'POST /set_speaker_folder': 'changes nothing',
  'POST /free': 'changes nothing',
  'POST /sdapi/v1/options': 'changes nothing',
  'POST /sdapi/v1/refresh-checkpoints': 'changes nothing',
  'POST /sdapi/v1/refresh-vae': 'changes nothing',
  'POST /sdapi/v1/refresh-embeddings': 'changes nothing',
  'POST /sdapi/v1/refresh-loras': 'changes nothing',
  'POST /sdapi/v1/unload-checkpoint': 'changes nothing',
  'POST /sdapi/v1/reload-checkpoint': 'changes nothing',
  'POST /v1/files': 'makes an entry',
  'POST /v1/uploads': 'makes an entry',
  'POST /v1/messages/batches': 'makes an entry',
  'POST /api/extra/documents': 'makes an entry',
  'POST /upload/image': 'makes an entry',
};

test('two keys: every endpoint that needs a key and does not wait in the queue was tried, or stores nothing', () => {
  const names = new Set(
    rows.names(({ access, scope, queued }) => !queued && access !== 'open' && access !== 'admin' && scope !== 'admin'),
  );
  expect([...names].filter((name) => !rows.tried.has(name) && !(name in common))).toEqual([]);
  expect(Object.keys(common).filter((name) => !names.has(name))).toEqual([]);
});

test('two keys: every socket was tried, or belongs to its connection', () => {
  const sockets = new Set(app.sockets.map(({ path }) => path));
  expect([...sockets].sort()).toEqual(['/api/ws', '/realtime', '/v1/realtime', '/ws']);
});

describe('sessions', () => {
  const ownPage = { 'sec-fetch-site': 'same-origin' };
  const signedIn = async (name: string) => {
    const { headers } = await personOf(server.base, ownPage).done('POST', '/api/extra/session', { key: keys[name] });
    return headers.getSetCookie()[0]?.split(';', 1)[0] ?? '';
  };
  const whose = async (headers: Readonly<Record<string, string>>) => {
    const person = personOf(server.base, headers);
    const { status, text } = await person.ask('GET', '/api/extra/memories');
    return status === 200 ? (text.includes(secret) ? 'anna' : 'ben') : status;
  };

  test('a person sees the same with a cookie as with the key, and others see as little', async () => {
    const cookies = { anna: await signedIn('anna'), ben: await signedIn('ben') };
    expect(await whose({ ...ownPage, cookie: cookies.anna })).toBe('anna');
    expect(await whose({ ...ownPage, cookie: cookies.ben })).toBe('ben');
  });

  test('a key that is sent, right or wrong, comes before the cookie', async () => {
    const cookie = await signedIn('anna');
    for (const header of ['x-api-key', 'api-key'])
      expect(await whose({ ...ownPage, cookie, [header]: keys.ben ?? '' })).toBe('ben');
    expect(await whose({ ...ownPage, cookie, authorization: `Bearer ${keys.ben}` })).toBe('ben');
    const basic = Buffer.from(`me:${keys.ben}`).toString('base64');
    expect(await whose({ ...ownPage, cookie, authorization: `Basic ${basic}` })).toBe('ben');
    for (const wrong of [{ 'x-api-key': 'wrong' }, { authorization: 'Bearer wrong' }, { authorization: 'Basic x' }])
      expect(await whose({ ...ownPage, cookie, ...(wrong as Record<string, string>) })).toBe(401);
  });

  test.each([
    ['a GET that makes something', 'GET', '/tts_stream?text=Hello.&speaker_wav=x'],
    ['a form', 'POST', '/noscript'],
    ['an EventSource', 'GET', '/api/extra/stream/name-of-the-stream-18'],
    ['a picture', 'GET', '/view?filename=kingfisher.png&type=input'],
    ['a deletion', 'DELETE', '/api/extra/conversations'],
  ])('the cookie does not count for %s of another origin', async (_, method, path) => {
    const cookie = await signedIn('anna');
    const foreign = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: 'http://localhost:1' },
      { 'sec-fetch-site': 'none' },
      { origin: 'https://evil.example' },
      { referer: 'https://evil.example/' },
      {},
    ];
    const type = { 'content-type': 'application/x-www-form-urlencoded' };
    for (const headers of foreign) {
      const { status } = await personOf(server.base, { cookie, ...type, ...headers }).ask(method, path);
      expect([headers, status]).toEqual([headers, 401]);
    }
    const own = await personOf(server.base, { cookie, ...type, ...ownPage }).ask(method, path);
    expect(own.status).not.toBe(401);
  });

  test('limits are those of the person, whatever the request is sent with', async () => {
    const rules = { scopes: ['chat', 'text'] as const, weight: 1, shared: false };
    const key = await file().add({ name: 'limited', ...rules, rate: 2 }, 0);
    keys = { ...keys, limited: key, poor: await file().add({ name: 'poor', ...rules, tokensPerDay: 5 }, 0) };
    await expect.poll(async () => (await byKey(key).ask('GET', '/api/extra/session')).status).toBe(200);
    await expect.poll(async () => (await byKey(keys.poor ?? '').ask('GET', '/api/extra/memories')).status).toBe(200);
    const cookie = await signedIn('limited');
    const page = personOf(server.base, { ...ownPage, cookie });
    for (const one of [byKey(key), page]) await one.done('POST', '/v1/chat/completions', chat());
    for (const one of [page, byKey(key)]) {
      expect((await one.ask('POST', '/v1/chat/completions', chat())).status).toBe(429);
      // What an open page asks for is no work.
      await one.done('GET', '/api/extra/memories');
    }

    const poor = personOf(server.base, { ...ownPage, cookie: await signedIn('poor') });
    await poor.done('POST', '/v1/chat/completions', { ...chat(), ...neverEnding });
    for (const one of [poor, byKey(keys.poor ?? '')])
      expect((await one.ask('POST', '/v1/chat/completions', chat())).status).toBe(429);
    const usage = (await boss.done('GET', '/api/admin/usage?days=1')).json as { name: string; requests: number }[];
    expect(usage.filter(({ name }) => name === 'poor')).toMatchObject([{ type: 'key', requests: 1 }]);
  });
});

test('shared keys: have one library, and requests of their own', async () => {
  const [mum, dad] = ['mum', 'dad'].map((name) => byKey(keys[name] ?? '')) as [Person, Person];
  const family = 'of the family';
  await mum.done('POST', '/api/extra/memories', { text: family });
  await mum.done('POST', '/api/extra/data/save', { slot: 2, title: family, format: 'f', data: family });
  const blob = form({ purpose: 'user_data', file: new Blob([family]) }, 'family.txt');
  const { id } = (await mum.done('POST', '/v1/files', blob)).json;
  expect((await dad.done('GET', '/api/extra/memories')).text).toContain(family);
  expect((await dad.done('POST', '/api/extra/data/list')).text).toContain(family);
  expect((await dad.done('GET', `/v1/files/${id}/content`)).text).toBe(family);
  for (const other of [anna, ben])
    for (const sent of [
      ['GET', '/api/extra/memories'],
      ['GET', '/v1/files'],
    ] as const)
      expect((await other.done(sent[0], sent[1])).text).not.toContain(family);
  const response = (await mum.done('POST', '/v1/responses', { input: family, max_output_tokens: 2 })).json.id;
  expect((await dad.ask('GET', `/v1/responses/${response}`)).status).toBe(404);
});

describe('removed person', () => {
  const path = (name: string, end = '') => `/api/admin/people/${name}${end}`;
  const contains = (text: string) =>
    filesBelow(folder).filter((one) => one.includes(text) || readFileSync(one).includes(text));
  const added = async (name: string) => {
    const created = await file().add({ name, scopes: everything, weight: 1, shared: false }, 0);
    await expect.poll(async () => (await byKey(created).ask('GET', '/api/extra/memories')).status).toBe(200);
    return byKey(created);
  };

  test('only by administrators, and nobody removes their own key', async () => {
    for (const one of [ben, holder]) {
      expect((await one.ask('GET', path('anna', '/export'))).status).toBe(403);
      expect((await one.ask('DELETE', path('anna', '?data=remove'))).status).toBe(403);
    }
    expect((await boss.ask('DELETE', path('boss'))).status).toBe(400);
    for (const name of ['nobody', '..%2F..', 'anna%2Fexport'])
      expect((await boss.ask('DELETE', path(name, '?data=remove'))).status).toBe(404);
    expect((await boss.ask('GET', path('nobody', '/export'))).status).toBe(404);
    expect((await boss.ask('DELETE', path('anna', '?data=maybe'))).status).toBe(400);
    expect((await anna.done('GET', '/api/extra/memories')).text).toContain(secret);
  });

  test('administrators change what a person may do, but never so that nobody is left', async () => {
    const some = await added('Some');
    expect((await ben.ask('PUT', path('Some'), { scopes: ['chat'] })).status).toBe(403);
    expect((await boss.ask('PUT', path('nobody'), { scopes: ['chat'] })).status).toBe(404);
    expect((await boss.ask('PUT', path('boss'), { scopes: ['chat'] })).status).toBe(400);
    expect((await boss.ask('PUT', path('Some'), { scopes: ['chat'], rate: 0 })).status).toBe(400);
    await boss.done('PUT', path('Some'), { scopes: ['images'], tokens_per_day: 1000, weight: 2 });
    const keys = (await boss.done('GET', '/api/admin/keys')).json as Record<string, unknown>[];
    expect(keys.find(({ name }) => name === 'Some')).toMatchObject({
      scopes: ['images'],
      rate: null,
      tokens_per_day: 1000,
      weight: 2,
      expires: null,
    });
    expect((await some.ask('POST', '/v1/chat/completions', chat())).status).toBe(403);
    await boss.done('DELETE', path('Some', '?data=remove'));
  });

  test('an archive has everything of one person, and nothing of others', async () => {
    await anna.done('POST', '/v1/chat/completions', chat());
    const reply = await boss.open('GET', path('anna', '/export'));
    expect(reply.headers.get('content-disposition')).toContain('anna.tar');
    const files = new Map<string, string>();
    for await (const { name, content } of readTar(reply.body as ReadableStream<Uint8Array>)) {
      const pieces: Uint8Array[] = [];
      for await (const piece of content) pieces.push(piece);
      files.set(name, Buffer.concat(pieces).toString('latin1'));
    }
    const folders = [...new Set([...files.keys()].map((name) => name.split('/', 1)[0]))].sort();
    const stores = ['conversations', 'documents', 'files', 'images', 'memories', 'responses', 'saves', 'speech'];
    expect(folders).toEqual([...stores, 'person.json', 'usage.json'].sort());
    for (const store of ['documents', 'files', 'images', 'memories', 'responses', 'saves']) {
      const own = [...files].filter(([name]) => name.startsWith(`${store}/`)).map(([, text]) => text);
      expect(own.join('').includes(secret), store).toBe(true);
    }
    expect([...files].find(([name]) => name.startsWith('saves/records/chats.a1'))?.[1]).toContain(secret);
    expect(JSON.parse(files.get('person.json') ?? '')).toMatchObject({ name: 'anna', key: { weight: 1 } });
    expect([...files.values()].join('')).not.toContain('of the family');
    expect([...files.values()].join('')).not.toContain(keys.anna ?? '');
  });

  test('with their data kept: a person of the same name finds it', async () => {
    expect((await boss.done('DELETE', path('anna'))).json).toEqual({ success: true, key: true, data: 'kept' });
    expect((await anna.ask('GET', '/api/extra/memories')).status).toBe(401);
    expect(contains(secret).length).toBeGreaterThan(0);
    expect((await boss.done('GET', path('anna', '/export'))).text).toContain(secret);
    anna = await added('anna');
    expect((await anna.done('GET', '/api/extra/memories')).text).toContain(secret);
  });

  test('whatever characters their name has', async () => {
    const zoe = await added('Zoë B.');
    await zoe.done('POST', '/api/extra/memories', { text: 'owl-of-zoe' });
    const removed = await boss.done('DELETE', path(encodeURIComponent('Zoë B.'), '?data=remove'));
    expect(removed.json).toMatchObject({ key: true, data: 'removed' });
    expect(contains('owl-of-zoe')).toEqual([]);
  });

  test('with their data: nothing of it is left, and that of others is', async () => {
    const genkey = 'KCPP9999';
    const running = anna.ask('POST', '/api/v1/generate', { prompt: secret, max_length: 4000, genkey, ...neverEnding });
    const text = async () => (await anna.done('POST', '/api/extra/generate/check', { genkey })).json.results[0].text;
    await expect.poll(text).not.toBe('');
    const bens = 'heron-of-ben';
    await ben.done('POST', '/api/extra/memories', { text: bens });
    const before = contains(bens);
    expect(before).toHaveLength(1);
    expect((await boss.done('DELETE', path('anna', '?data=remove'))).json).toEqual({
      success: true,
      key: true,
      data: 'removed',
    });
    await running;
    expect(contains(secret)).toEqual([]);
    expect(filesBelow(folder).filter((one) => /anna/.test(one.slice(folder.length)))).toEqual([]);
    expect(contains(bens)).toEqual(before);
    expect(await boss.ask('GET', path('anna', '/export'))).toMatchObject({ status: 404 });
    for (const list of ['/api/extra/requests', '/api/extra/conversations', '/api/admin/usage', '/api/admin/keys'])
      expect((await boss.done('GET', list)).text, list).not.toContain('"anna"');

    anna = await added('anna');
    for (const list of ['/api/extra/memories', '/v1/files', '/v1/batches', '/v1/vector_stores', '/history', '/queue'])
      expect((await anna.done('GET', list)).text, list).not.toMatch(/kingfisher|"id":/);
    expect((await anna.done('POST', '/api/extra/sync/list', {})).json).toMatchObject({ revision: 0, records: [] });
    expect((await anna.done('GET', '/get_tts_settings')).json.speed).toBe(1);
    const checked = await anna.done('POST', '/api/extra/generate/check', { genkey });
    expect(checked.json.results[0].text).toBe('');
  });
});

function filesBelow(path: string): readonly string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
