import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BatchStore } from '../src/batches/store.ts';
import { readConfigFile } from '../src/config/config-file.ts';
import { settingsFrom } from '../src/config/flags.ts';
import { noUsage } from '../src/core/usage.ts';
import { OpenCollection } from '../src/documents/storage/collection.ts';
import { CollectionDatabase } from '../src/documents/storage/collection-database.ts';
import { DiskStore } from '../src/engines/llama/worker/cache/disk-store.ts';
import { KeyFile } from '../src/keys/key-file.ts';
import { Keyring } from '../src/keys/keyring.ts';
import { UsageLog } from '../src/keys/usage-log.ts';
import { CertificateStore, renewed } from '../src/lan/certificate-store.ts';
import { download, readSha256 } from '../src/library/download.ts';
import { readFacts } from '../src/packs/built.ts';
import { checkPackage } from '../src/packs/manifest.ts';
import { openFiles } from '../src/server/file-services.ts';
import { loginFile } from '../src/server/tool-servers.ts';
import { MemoryStore } from '../src/store/memories.ts';
import { SaveSlots } from '../src/store/save-slots.ts';
import { SharedStory } from '../src/store/shared-story.ts';
import { LastModel, SavedDownloads, SavedSummaries } from '../src/store/state-files.ts';
import { SummaryStore } from '../src/store/summary-store.ts';
import { SyncedRecords } from '../src/store/synced-records.ts';
import { chatsOf } from '../web/src/conversations/sharing.ts';

// Updates lose nothing: what each version of Parley has stored is read by the present one. `fixtures/VERSION` has the files as
// that version wrote them. They are never changed; a new format gets a new file, in the folder of the version that writes it.

const fixtures = fileURLToPath(new URL('./fixtures', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'parley-updates-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** How each kind of stored file is read, by its name: rejects unless it holds what was written. */
const stored: Readonly<Record<string, (path: string) => Promise<void>>> = {
  'settings.kcpps': async (path) => {
    const { settings, problems, notes } = readConfig(path);
    expect([problems, notes]).toEqual([[], []]);
    expect(settings).toMatchObject({
      model: ['story.gguf'],
      port: 5002,
      contextsize: 8192,
      gpulayers: 12,
      password: 'secret',
      multiuser: 3,
      lora: ['a.gguf'],
      gendefaults: { temperature: 0.5 },
    });
  },
  'settings.kcppt': async (path) => {
    const { settings, problems } = readConfig(path);
    expect(problems).toEqual([]);
    expect(settings).toMatchObject({ model: ['story.gguf'], port: 5002, gpulayers: -1, password: null });
  },
  'launcher.kcpps': async (path) => {
    expect(readConfig(path).settings).toMatchObject({ model: ['story.gguf'], contextsize: 8192 });
  },
  'slots.jsondb': async (path) => {
    const slots = new SaveSlots({ path, ...file });
    const title = 'Über “alles” 🚪';
    expect(await slots.titles()).toEqual(['The cellar', ...Array.from({ length: 10 }, () => ''), title]);
    // Changing one slot keeps the others.
    await slots.save(1, { title: 'New', format: 'plain', data: '' });
    const saved = (await new SaveSlots({ path, ...file }).load(11)) ?? Buffer.of();
    expect(JSON.parse(Buffer.from(saved).toString())).toEqual({ title, format: 'plain', data: 'line one\nline two' });
  },
  // Made by `parley keys add`.
  'keys.json': async (path) => {
    const keys = new KeyFile({ path, ...file });
    const keyring = new Keyring({ path, file: keys, now: () => 0, tick: () => 0, warn: never });
    await keyring.refresh();
    expect(await keyring.find('parley_i3vnuvo0_clXrpCCG4QXNyT3EAeeiEHnRc2PPlXHK-5GLdNQCWIw', '')).toMatchObject({
      name: 'phone',
      scopes: ['chat', 'text'],
      rate: 30,
    });
  },
  // Records that the pages keep on the server, beside the slots.
  'slots.records': async (path) => {
    const records = new SyncedRecords({ folder: path, parse: file.parse });
    const record = await records.load({ kind: 'chats', id: 'a1' });
    expect(JSON.parse(record?.json.toString() ?? '')).toMatchObject({ data: '{"id":"a1","title":"Über 🚪"}' });
    expect((await records.list()).records).toContainEqual({ kind: 'stories', id: 'b2', revision: 2, deleted: true });
    expect(await records.save({ kind: 'stories', id: 'b2' }, 2, '{}')).toEqual({ saved: true, revision: 4 });
  },
  // Of the holder of a key, with an upload in parts.
  files: async (path) => {
    const now = () => 1_790_000_100_000;
    const limits = { fileBytes: 100, allBytes: 1000 };
    const { files, uploads, batches } = openFiles({ folder: path, limits, now, warn: never });
    const sender = { key: { name: 'phone', shared: false } };
    const [stored] = await files.of(sender).list();
    expect(stored).toMatchObject({
      name: 'Übersicht.md',
      bytes: 9,
      createdAt: 1_790_000_000,
      expiresAt: 1_790_003_600,
    });
    expect(readFileSync(await files.of(sender).path(stored?.id ?? ''), 'utf8')).toBe('# Hello\n\n');
    const id = 'upload_01a0c55e2c01a1b2c3d4e5f60718293a4b5c';
    const deps = ['part_01a0c55e2c02a1b2c3d4e5f60718293a4b5c'];
    const { file } = await uploads.of(sender).complete(id, deps, undefined, new AbortController().signal);
    expect(file).toMatchObject({ name: 'a.jsonl', bytes: 5, expiresAt: 1_790_007_300 });
    const [batch] = await batches.of(sender).list('openai');
    expect(batch).toMatchObject({
      status: 'in_progress',
      model: 'mini',
      counts: { total: 2, succeeded: 1, failed: 0 },
    });
    const store = new BatchStore({ folder: join(path, 'phone-45569da5', 'batches'), now, warn: never });
    const contents = [store.requests(batch?.id ?? ''), store.replies(batch?.id ?? '')];
    const customIds: string[] = [];
    for (const content of contents) for await (const { customId } of content) customIds.push(customId);
    expect(customIds).toEqual(['a', 'b', 'a']);
  },
  'multiplayer-5001.json': async (path) => {
    const story = new SharedStory({ path, clock: () => 0, ...file });
    const written = { story: 'Once upon a time, twice', format: 'plain', major: 2, minor: 2 };
    expect(await story.turn()).toMatchObject(written);
    expect(await story.update({ ...written, full: false })).toMatchObject({ major: 2, minor: 3 });
    expect(await new SharedStory({ path, clock: () => 0, ...file }).turn()).toMatchObject({ major: 2, minor: 3 });
  },
  // The model of the last switch.
  'model-5001.json': async (path) => {
    const last = new LastModel({ path, ...file });
    expect(await last.read()).toEqual({ option: 'sub/story.gguf', base: 'base.kcpps' });
  },
  'downloads-5001.json': async (path) => {
    expect(await new SavedDownloads({ path, ...file }).read()).toMatchObject([
      { model: 'acme/foo:Q4_K_M', state: 'running', files: ['/models/acme--foo/foo-Q4_K_M.gguf'], done: 5, total: 10 },
      { model: 'acme/bar', state: 'failed', reason: 'cannot reach hub.example' },
    ]);
  },
  // The same with load settings.
  'model-5002.json': async (path) => {
    const loads = { initial_model: { contextsize: 4096, gpulayers: null } };
    expect(await new LastModel({ path, ...file }).read()).toEqual({ option: 'initial_model', loads });
  },
  'summaries-5001.json': async (path) => {
    const summaries = new SummaryStore({ file: new SavedSummaries({ path, ...file }), now: () => 1_790_000_000_000 });
    expect(await summaries.of('story').get('key phone', 'hash')).toMatchObject([
      { role: 'user' },
      { role: 'assistant' },
    ]);
  },
  'notes.collection': async (path) => {
    const collection = new OpenCollection('common', 'vs_notes', CollectionDatabase.open(path));
    const { database } = collection;
    expect(database.facts()).toEqual({
      id: 'vs_notes',
      name: 'Notizen “1”',
      description: 'd',
      createdAt: 1,
      lastActiveAt: 2,
      metadata: { a: 'b' },
      expiresAfterDays: 7,
      embedding: 'letters',
      dimensions: 4,
    });
    expect(database.folders()).toEqual([{ path: '/srv/notes', include: ['*.md'], exclude: [], maxFileBytes: 1000 }]);
    expect(database.files().map(({ id, state, error, attributes }) => [id, state, error?.code, attributes])).toEqual([
      ['file-2', 'failed', 'invalid_file', {}],
      ['file-1', 'completed', undefined, { year: 1900 }],
    ]);
    const weights = { vector: 1, keywords: 1 };
    const question = { query: 'zebras', vector: new Float32Array([1, 0, 0, 0]) };
    const [hit] = collection.search([question], { weights, limit: 1 });
    expect(hit?.found).toEqual({ vector: 1, keywords: 1 });
    expect(hit?.passage.text).toBe('# Zoo\n\nThe zebra 🦓 lives in Africa.');
    collection.close();
  },
  'memories.json': async (path) => {
    const memories = new MemoryStore({ path, warn: never, now: () => new Date(0), newId: () => 'new' });
    expect(await memories.list()).toEqual([
      { id: 'a1', text: 'The dog is called Rex.', pinned: true, createdAt: 1790000000, changedAt: 1790000100 },
      { id: 'b2', text: 'Likes tea.', character: 'Ada', pinned: false, createdAt: 1790000000, changedAt: 1790000000 },
    ]);
  },
  'certificates.json': async (path) => {
    const stored = await new CertificateStore({ path, warn: never, now: () => new Date() }).read();
    expect(stored).toMatchObject({ machineNames: ['desk'], hosts: ['localhost', '192.168.1.5'] });
    const needed = { hosts: ['localhost'], machineNames: ['desk'], name: 'desk', now: Date.UTC(2027, 0, 2) };
    expect(stored && renewed(stored, needed)).toBe(stored);
  },
  'usage.json': async (path) => {
    const usage = new UsageLog({ path, warn: never, now: () => new Date(2026, 10, 18, 12).getTime() });
    await usage.open();
    expect(usage.list(2)).toEqual([
      { day: '2026-11-18', client: 'key phone', ...noUsage, requests: 2, promptTokens: 30, completionTokens: 12 },
      { day: '2026-11-17', client: 'address 192.0.2.1', ...noUsage, requests: 1, images: 1, audioSecondsOut: 1.5 },
    ]);
  },
  'mcp-logins.json': async (path) => {
    const logins = loginFile(path);
    expect(await logins.get('https://mcp.example.com/mcp', 'https://login.example.com')).toEqual({
      client: { client_id: 'client-1' },
      tokens: { access_token: 'token-1', token_type: 'Bearer', refresh_token: 'refresh-1' },
    });
  },
  'snapshot.parley-cache': async (path) => {
    const cache = mkdtempSync(join(folder, 'cache-'));
    cpSync(path, join(cache, '42af99c6cbed53be215eef5c695c7100.parley-cache'));
    const store = await DiskStore.open({
      folder: cache,
      bytes: 2 ** 20,
      fingerprint: 'ab'.repeat(32),
      now: () => Date.now(),
      processes: { own: process.pid, alive: () => true },
      log: never,
    });
    const [entry] = store.entries();
    expect(await store.read(entry?.id ?? '')).toEqual({
      tokens: Int32Array.of(1, 2, 3, 4, 5),
      state: Uint8Array.of(9, 8, 7),
      checkpoints: [{ index: 2, state: Uint8Array.of(6, 5) }],
    });
  },
  // With its side file.
  'model.gguf.part': async (path) => {
    const target = path.replace(/\.part$/, '');
    const requests: unknown[] = [];
    const rest = ', and the second';
    const fetchRest: typeof fetch = async (_, options) => {
      requests.push(options?.headers);
      return new Response(rest, { status: 206, headers: { etag: '"v1"', 'content-length': String(rest.length) } });
    };
    await download({ url: 'https://hub.invalid/model.gguf', target }, { fetch: fetchRest, progress: () => {} });
    expect(requests).toEqual([{ range: 'bytes=20-', 'if-range': '"v1"' }]);
    expect(readFileSync(target, 'utf8')).toBe('GGUF, the first half, and the second');
  },
  // The same in chunks of 10 bytes.
  'chunks.gguf.part': async (path) => {
    const target = path.replace(/\.part$/, '');
    const whole = 'GGUF, the first half, and the second';
    const requests: string[] = [];
    const fetchRange: typeof fetch = async (_, options) => {
      const range = new Headers(options?.headers).get('range') ?? '';
      requests.push(range);
      const [from = 0, to = 0] = range.replace('bytes=', '').split('-').map(Number);
      const headers = { 'content-range': `bytes ${from}-${to}/${whole.length}` };
      return new Response(whole.slice(from, to + 1), { status: 206, headers });
    };
    const expected = readSha256('e0d7e05c0b32b8aeae47354116fd95ddbe554adb241abc63b6bcb70afb23ed7a');
    await download(
      { url: 'https://hub.invalid/model.gguf', target, expected, bytes: whole.length },
      { fetch: fetchRange, progress: () => {}, chunkBytes: 10 },
    );
    expect(requests.sort()).toEqual(['bytes=13-19', 'bytes=30-35']);
    expect(readFileSync(target, 'utf8')).toBe(whole);
  },
  'chats.json': async (path) => {
    const deps = { toDataUrl: never, toBlob: never, newId: () => 'new', now: 0 };
    const [chat] = chatsOf(JSON.parse(readFileSync(path, 'utf8')), deps);
    expect(chat).toMatchObject({
      title: 'Animals',
      folder: 'Home',
      turns: { b: { text: 'A dog.', reasoning: 'Ears.' } },
    });
  },
  // Made by `parley pack build cuda`.
  'cuda-built.json': async (path) => {
    expect(readFacts(readFileSync(path, 'utf8'))).toMatchObject({
      version: '3.21.1',
      system: 'linux-x64',
      toolkit: '13.0.88',
      architectures: ['90'],
      libraries: ['/usr/local/cuda/lib64/libcudart.so.13', '/usr/local/cuda/lib64/libcublas.so.13'],
    });
  },
  // Installed by `parley pack add`.
  package: async (path) => {
    expect(await checkPackage({ version: '1.0.0' }, path, 'thorough')).toMatchObject({ type: 'installed' });
    expect(await checkPackage({ version: '1.1.0' }, path, 'quick')).toEqual({ type: 'outdated', version: '1.0.0' });
  },
};

const never = (...what: unknown[]): never => {
  throw new Error(`unexpected: ${what.join(' ')}`);
};

const file = { warn: never, now: () => new Date(0), parse: async (bytes: Buffer) => JSON.parse(bytes.toString()) };

function readConfig(path: string) {
  const { values, problems, notes } = readConfigFile(readFileSync(path, 'utf8'), { allowOnready: false, path });
  return { settings: settingsFrom(values), problems, notes };
}

describe.each(readdirSync(fixtures))('files of Parley %s', (version) => {
  const names = readdirSync(join(fixtures, version)).filter((name) => !name.endsWith('.etag'));
  const copy = join(folder, version);
  beforeAll(() => cpSync(join(fixtures, version), copy, { recursive: true }));

  test.each(names)('%s is read by this version', async (name) => {
    await stored[name]?.(join(copy, name));
    expect(stored).toHaveProperty([name]);
  });
});

test('every stored file has a fixture', () => {
  const there = readdirSync(fixtures).flatMap((version) => readdirSync(join(fixtures, version)));
  expect(Object.keys(stored).filter((name) => !there.includes(name))).toEqual([]);
});
