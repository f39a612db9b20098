import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { childrenOf } from '../../bench/process-figures.ts';
import { callByTemplate, scripted, toolTemplateFlags } from '../load/scripted.ts';
import { fakeEngineCommand } from '../load/servers.ts';
import { isAlive } from './alive.ts';
import { type LiveServer, liveServers, program, programEnvironment } from './server.ts';

const start = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-documents-'));
afterAll(() => rmSync(folder, { recursive: true }));

const lighthouse = `# The tower\n\nThe lighthouse was built in 1871.\n\n# People\n\nIts keeper was called Ada, and she had a telescope.\n`;
const bread = '# Bread\n\nMix flour, water and salt, and wait for a night.\n';
const question = 'Who kept the lighthouse?';

interface Found {
  readonly results: readonly { readonly passage: string; readonly name: string; readonly text: string }[];
}

/** What one key sees, by each API. */
function clientOf(base: string, key: string) {
  const headers = { authorization: `Bearer ${key}` };
  const ask = async (path: string, body?: object): Promise<{ readonly status: number; readonly body: unknown }> => {
    const reply = await fetch(`${base}${path}`, {
      headers,
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    return { status: reply.status, body: await reply.json() };
  };
  const tool = async (name: string, args: Record<string, unknown>) => {
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/mcp`), { requestInit: { headers } }));
    const { structuredContent } = await client.callTool({ name, arguments: args });
    await client.close();
    return structuredContent as Found | undefined;
  };
  return { ask, tool, openai: new OpenAI({ baseURL: `${base}/v1`, apiKey: key, maxRetries: 0 }) };
}

type KeyClient = ReturnType<typeof clientOf>;

async function uploaded({ openai }: KeyClient) {
  const store = await openai.vectorStores.create({ name: 'papers' });
  const files = [await toFile(Buffer.from(lighthouse), 'tower.md'), await toFile(Buffer.from(bread), 'bread.md')];
  await openai.vectorStores.fileBatches.uploadAndPoll(store.id, { files }, { pollIntervalMs: 50 });
  return store.id;
}

describe('documents: two keys of one server', () => {
  let live: LiveServer;
  const keys: string[] = [];
  const clients = () => keys.map((key) => clientOf(live.base, key)) as [KeyClient, KeyClient];

  beforeAll(async () => {
    const keyfile = join(folder, 'keys.json');
    for (const name of ['ada', 'ben']) {
      const command = [program, 'keys', 'add', name, '--keyfile', keyfile];
      const { stdout } = await promisify(execFile)(process.execPath, command, { env: programEnvironment() });
      keys.push(stdout.split('\n', 1)[0] ?? '');
    }
    const flags = ['--keyfile', keyfile, '--jinjatools', ...toolTemplateFlags()];
    live = await start(flags, { command: fakeEngineCommand });
  });

  test('the native API, vector stores, file_search and MCP find the same passages', async () => {
    const [ada] = clients();
    const id = await uploaded(ada);
    const own = (await ada.ask('/api/extra/documents/search', { query: question, collections: [id] })).body as Found;
    expect(own.results[0]).toMatchObject({ name: 'tower.md', text: expect.stringContaining('Ada') });
    const texts = own.results.map(({ text }) => text);

    const { data } = await ada.openai.vectorStores.search(id, { query: question });
    expect(data.map(({ content }) => content[0]?.text)).toEqual(texts);

    const called = await ada.tool('search_documents', { query: question, collection: 'papers' });
    expect(called?.results.map(({ text }) => text)).toEqual(texts);

    const { output, output_text: reply } = await ada.openai.responses.create({
      model: 'any',
      input: scripted(question, ...callByTemplate('file_search', { query: question }), 'It was Ada [1] [9].'),
      tools: [{ type: 'file_search', vector_store_ids: [id] }],
      include: ['file_search_call.results'],
    });
    const [search, message] = output;
    expect(search?.type === 'file_search_call' && search.results?.map(({ text }) => text)).toEqual(texts);
    expect(reply).toBe('It was Ada [1].');
    expect(message).toMatchObject({
      content: [{ annotations: [{ type: 'file_citation', file_id: data[0]?.file_id, filename: 'tower.md' }] }],
    });
  });

  test('see nothing of each other by any API', async () => {
    const [ada, ben] = clients();
    const id = await uploaded(ada);
    const files = await ada.openai.files.list();
    const [file] = files.data;
    const own = (await ada.ask('/api/extra/documents/search', { query: question, collections: [id] })).body as Found;
    const line = { custom_id: 'a', method: 'POST', url: '/v1/embeddings', body: { model: 'any', input: 'Hi' } };
    const input = await ada.openai.files.create({
      file: await toFile(Buffer.from(JSON.stringify(line)), 'batch.jsonl'),
      purpose: 'batch',
    });
    const batch = await ada.openai.batches.create({
      input_file_id: input.id,
      endpoint: '/v1/embeddings',
      completion_window: '24h',
    });
    const memory = (await ada.ask('/api/extra/memories', { text: 'The dog is called Rex.' })).body as { id?: string };

    const { openai } = ben;
    for (const list of [openai.vectorStores.list(), openai.files.list(), openai.batches.list()])
      expect((await list).data).toEqual([]);
    expect((await ben.ask('/api/extra/documents')).body).toMatchObject({ collections: [] });
    expect(JSON.stringify((await ben.ask('/api/extra/memories')).body)).not.toContain('Rex');
    expect(JSON.stringify((await ada.ask('/api/extra/memories')).body)).toContain('Rex');

    const hidden = [
      `/v1/vector_stores/${id}`,
      `/v1/vector_stores/${id}/files`,
      `/v1/vector_stores/${id}/files/${file?.id}`,
      `/v1/vector_stores/${id}/files/${file?.id}/content`,
      `/v1/files/${file?.id}`,
      `/v1/files/${file?.id}/content`,
      `/v1/batches/${batch.id}`,
      `/api/extra/documents/${id}/files`,
      `/api/extra/documents/${id}/files/${file?.id}/text`,
      `/api/extra/documents/${id}/files/${file?.id}/content`,
      `/api/extra/documents/passages/${own.results[0]?.passage}`,
    ];
    for (const path of hidden) expect([path, (await ben.ask(path)).status]).toEqual([path, 404]);
    const refused: readonly [string, object][] = [
      [`/v1/vector_stores/${id}`, { name: 'mine' }],
      [`/v1/vector_stores/${id}/search`, { query: question }],
      [`/v1/vector_stores/${id}/files`, { file_id: file?.id }],
      [`/v1/batches/${batch.id}/cancel`, {}],
      [`/v1/batches`, { input_file_id: input.id, endpoint: '/v1/embeddings', completion_window: '24h' }],
      ['/api/extra/documents/search', { query: question, collections: [id] }],
      [`/api/extra/documents/${id}`, { name: 'mine' }],
      [`/api/extra/documents/${id}/reindex`, {}],
      [`/api/extra/memories/${memory.id ?? 'unknown'}`, { text: 'No dog.' }],
      ['/v1/chat/completions', { model: 'any', messages: [{ role: 'user', content: 'Hi' }], collections: [id] }],
    ];
    for (const [path, body] of refused) {
      const { status } = await ben.ask(path, body);
      expect([path, [400, 404].includes(status) || status]).toEqual([path, true]);
    }
    // His own store cannot take her file.
    const store = await ben.openai.vectorStores.create({ name: 'papers' });
    await expect(ben.openai.vectorStores.files.create(store.id, { file_id: file?.id ?? '' })).rejects.toThrow(
      /404|400/,
    );
    const searched = await ben.ask('/api/extra/documents/search', { query: question });
    expect(searched).toMatchObject({ status: 200, body: { results: [] } });
    expect((await ben.tool('search_documents', { query: question }))?.results ?? []).toEqual([]);
    expect(own.results).not.toEqual([]);
  });
});

/** The worker of the collections of a server. */
const workersOf = ({ pid }: LiveServer) => childrenOf(pid).filter(isAlive).length;

test('documents: a server that is killed while it indexes goes on, and one that shares the folder is refused', async () => {
  const documents = join(folder, 'own');
  const source = join(folder, 'source');
  mkdirSync(source);
  for (let number = 0; number < 12; number += 1)
    writeFileSync(
      join(source, `${number}.md`),
      `# Note ${number}\n\n${`Line of the note number ${number}. `.repeat(40)}\n`,
    );
  const flags = ['--documentsdir', documents, '--admin'];
  const options = { command: fakeEngineCommand };
  const first = await start(flags, options);
  const before = workersOf(first);
  const post = async (base: string, path: string, body: object) =>
    (await fetch(`${base}/api/extra/documents${path}`, { method: 'POST', body: JSON.stringify(body) })).json();
  const all = async ({ base }: LiveServer) => {
    const { collections } = (await (await fetch(`${base}/api/extra/documents`)).json()) as {
      collections: { files: { total: number; completed: number }; passages: number }[];
    };
    return collections[0];
  };
  await post(first.base, '', { name: 'notes' });
  await post(first.base, '/notes/folders', { path: source });
  await expect.poll(async () => (await all(first))?.passages, { interval: 10 }).toBeGreaterThan(0);
  expect(workersOf(first)).toBeGreaterThan(before);

  const other = await start(flags, options);
  const refused = await fetch(`${other.base}/api/extra/documents`);
  expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining('another server')]);
  await other.stop();

  process.kill(first.pid, 'SIGKILL');
  await first.exited;
  writeFileSync(join(source, '7.md'), 'Now it is about an axolotl.');
  rmSync(join(source, '8.md'));
  writeFileSync(join(source, 'new.md'), 'Quagga.');
  const second = await start(flags, options);
  onTestFinished(async () => void (await second.stop()));
  await expect.poll(async () => (await all(second))?.files).toMatchObject({ total: 12, completed: 12 });
  const { files } = (await (await fetch(`${second.base}/api/extra/documents/notes/files`)).json()) as {
    files: { path: string; passages: number }[];
  };
  expect(new Set(files.map(({ path }) => path)).size).toBe(12);
  expect((await all(second))?.passages).toBe(files.reduce((sum, { passages }) => sum + passages, 0));
  for (const [query, name] of [
    ['axolotl', '7.md'],
    ['quagga', 'new.md'],
  ] as const) {
    const { results } = (await post(second.base, '/search', { query, limit: 1 })) as Found;
    expect(results[0]?.name).toBe(name);
  }
});
