import { createReadStream, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { toFile } from 'openai';
import { expect, test } from 'vitest';
import { noKey } from '../core/owner.ts';
import type { ClientKey, Endpoint } from '../http/call.ts';
import { ask, serve, wire } from '../http/testing/world.ts';
import { messagesFileEndpoints } from '../protocols/messages/files.ts';
import { fileEndpoints } from '../protocols/openai/files.ts';
import { bindAll } from '../protocols/testing/bind.ts';
import { freshFolders } from '../store/testing/folder.ts';
import { fileServices, openFiles } from './file-services.ts';

const freshFolder = freshFolders();

/** Both dialects on one server, as the official clients see it. `key`: of all requests. */
async function world({ fileMegabytes = 2, allMegabytes = 8, keys = {} }: WorldOptions = {}) {
  const folder = join(freshFolder(), 'files');
  const forgotten: string[] = [];
  const stored = openFiles({
    folder,
    limits: { fileBytes: fileMegabytes * 2 ** 20, allBytes: allMegabytes * 2 ** 20 },
    now: () => Date.now(),
    warn: (sentence) => expect.fail(sentence),
    forget: async (library, id) => void forgotten.push(`${library}: ${id}`),
  });
  const services = fileServices(folder, { filelimit: fileMegabytes }, stored);
  const rows = [...fileEndpoints(services), ...messagesFileEndpoints(services)];
  const endpoints = bindAll(rows, {}).map(
    (endpoint): Endpoint => ({
      ...endpoint,
      handle: (call) => {
        const key = keys[String(call.headers['x-test-key'])];
        return endpoint.handle({ ...call, ...(key && { key }) });
      },
    }),
  );
  const server = await serve(endpoints);
  const base = `http://127.0.0.1:${server.port}`;
  const options = { maxRetries: 0, apiKey: 'none' };
  return {
    server,
    base,
    folder,
    forgotten,
    stored,
    openai: new OpenAI({ ...options, baseURL: `${base}/v1` }),
    anthropic: new Anthropic({ ...options, baseURL: base }),
    as: (key: string) => new OpenAI({ ...options, baseURL: `${base}/v1`, defaultHeaders: { 'x-test-key': key } }),
    left: () => readdirSync(join(folder, 'incoming')),
  };
}

interface WorldOptions {
  readonly fileMegabytes?: number;
  readonly allMegabytes?: number;
  readonly keys?: Readonly<Record<string, ClientKey>>;
}

const text = (content: string, name = 'a.txt') => toFile(Buffer.from(content), name);
const textOf = async (response: { text(): Promise<string> }) => response.text();

test('files: the OpenAI client stores, lists, reads and deletes', async () => {
  const { openai, forgotten, left } = await world();
  const made = await openai.files.create({ file: await text('Übersicht', 'Übersicht.md'), purpose: 'assistants' });
  expect(made).toEqual({
    id: expect.stringMatching(/^file-/),
    object: 'file',
    bytes: 10,
    created_at: expect.any(Number),
    expires_at: null,
    filename: 'Übersicht.md',
    purpose: 'assistants',
    status: 'processed',
    status_details: null,
  });
  expect(await openai.files.retrieve(made.id)).toEqual(made);
  expect(await openai.files.waitForProcessing(made.id)).toEqual(made);
  expect(await textOf(await openai.files.content(made.id))).toBe('Übersicht');
  expect((await openai.files.list()).data).toEqual([made]);
  expect(await openai.files.delete(made.id)).toEqual({ id: made.id, object: 'file', deleted: true });
  await expect(openai.files.retrieve(made.id)).rejects.toThrow(OpenAI.NotFoundError);
  await expect(openai.files.delete(made.id)).rejects.toThrow(OpenAI.NotFoundError);
  expect(forgotten).toEqual([`${noKey}: ${made.id}`]);
  await expect.poll(left).toEqual([]);
});

test('files: a stream without Content-Length is stored whole', async () => {
  const { openai } = await world();
  const path = join(freshFolder(), 'large.bin');
  const content = Buffer.alloc(1_500_000, 'abc');
  writeFileSync(path, content);
  const { id, bytes } = await openai.files.create({ file: createReadStream(path), purpose: 'user_data' });
  expect(bytes).toBe(content.length);
  const read = Buffer.from(await (await openai.files.content(id)).arrayBuffer());
  expect(read.equals(content)).toBe(true);
});

test('files: the list has pages, which a deleted file does not disturb', async () => {
  const { openai } = await world();
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e'])
    ids.push(
      (await openai.files.create({ file: await text(name, name), purpose: name === 'c' ? 'batch' : 'vision' })).id,
    );
  const [a = '', b = '', c = '', d = '', e = ''] = ids;
  const listed: string[] = [];
  for await (const { id } of openai.files.list({ limit: 2 })) {
    listed.push(id);
    // The cursor of the next page.
    if (id === d) await openai.files.delete(d);
  }
  expect(listed).toEqual([e, d, c, b, a]);
  const idsOf = async (query: OpenAI.FileListParams) => (await openai.files.list(query)).data.map(({ id }) => id);
  expect(await idsOf({ order: 'asc', limit: 2 })).toEqual([a, b]);
  expect(await idsOf({ order: 'asc', after: b })).toEqual([c, e]);
  expect(await idsOf({ purpose: 'batch' })).toEqual([c]);
  await expect(openai.files.list({ limit: 0 })).rejects.toThrow(OpenAI.BadRequestError);
});

test('files: expiry is as asked for; files for batches live 30 days', async () => {
  const { openai } = await world();
  const create = async (purpose: OpenAI.FilePurpose, expires_after?: OpenAI.FileCreateParams.ExpiresAfter) =>
    openai.files.create({ file: await text('a'), purpose, ...(expires_after && { expires_after }) });
  const asked = await create('assistants', { anchor: 'created_at', seconds: 3600 });
  expect(asked.expires_at).toBe(asked.created_at + 3600);
  const batch = await create('batch');
  expect(batch.expires_at).toBe(batch.created_at + 30 * 24 * 3600);
  await expect(create('batch', { anchor: 'created_at', seconds: 60 })).rejects.toThrow('3600');
});

test('files: what is empty, missing or of another purpose is refused', async () => {
  const { openai, base, left } = await world();
  await expect(openai.files.create({ file: await text(''), purpose: 'batch' })).rejects.toThrow('not empty');
  const purpose = 'other' as OpenAI.FilePurpose;
  await expect(openai.files.create({ file: await text('a'), purpose })).rejects.toMatchObject({
    status: 400,
    param: 'purpose',
  });
  const plain = await fetch(`${base}/v1/files`, { method: 'POST', body: '{"purpose":"batch"}' });
  expect([plain.status, ((await plain.json()) as { error: { param: string } }).error.param]).toEqual([400, 'file']);
  await expect.poll(left).toEqual([]);
});

test('files: a file beyond the limits is refused, and nothing of it is left', async () => {
  const { openai, left, folder } = await world({ fileMegabytes: 1, allMegabytes: 2 });
  const megabytes = (count: number) => toFile(Buffer.alloc(count * 2 ** 20), 'a.bin');
  const store = async (count: number) => openai.files.create({ file: await megabytes(count), purpose: 'vision' });
  await expect(store(1.5)).rejects.toMatchObject({ status: 413, message: expect.stringContaining('--filelimit') });
  await expect(store(3)).rejects.toMatchObject({ status: 413 });
  await store(1);
  await store(0.9);
  await expect(store(0.9)).rejects.toMatchObject({ status: 507, message: expect.stringContaining('--filespace') });
  await expect.poll(left).toEqual([]);
  expect(readdirSync(join(folder, 'common')).filter((name) => name.endsWith('.part'))).toEqual([]);
});

test('files: the Anthropic client has the same files in its own form', async () => {
  const { openai, anthropic } = await world();
  const made = await anthropic.files.upload({ file: await text('%PDF', 'a.pdf'), expires_in_seconds: 3600 });
  expect(made).toMatchObject({
    id: expect.stringMatching(/^file_/),
    type: 'file',
    filename: 'a.pdf',
    mime_type: 'application/pdf',
    size_bytes: 4,
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    downloadable: true,
  });
  const { id } = await openai.files.create({ file: await text('b', 'b.txt'), purpose: 'user_data' });
  expect((await openai.files.retrieve(made.id)).filename).toBe('a.pdf');
  expect((await anthropic.files.retrieveMetadata(id)).filename).toBe('b.txt');
  expect(await textOf(await anthropic.files.download(made.id))).toBe('%PDF');
  const names: string[] = [];
  for await (const { filename } of anthropic.files.list({ limit: 1 })) names.push(filename);
  expect(names).toEqual(['b.txt', 'a.pdf']);
  expect(await anthropic.files.delete(made.id)).toEqual({ id: made.id, type: 'file_deleted' });
  const gone = anthropic.files.retrieveMetadata(made.id);
  await expect(gone).rejects.toThrow(Anthropic.NotFoundError);
  await expect(gone).rejects.toMatchObject({ error: { type: 'error', error: { type: 'not_found_error' } } });
});

test('files: Anthropic pages go forwards, backwards and by ids', async () => {
  const { anthropic, base } = await world();
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c', 'd']) ids.push((await anthropic.files.upload({ file: await text(name) })).id);
  const [a = '', b = '', c = '', d = ''] = ids;
  const list = async (query: string) => {
    const reply = await fetch(`${base}/v1/files?${query}`, { headers: { 'anthropic-version': '2023-06-01' } });
    const { data, ...rest } = (await reply.json()) as { data: { id: string }[] };
    return { ids: data.map(({ id }) => id), ...rest };
  };
  expect(await list('limit=2')).toEqual({ ids: [d, c], has_more: true, first_id: d, last_id: c, next_page: c });
  expect(await list(`limit=2&page=${c}`)).toMatchObject({ ids: [b, a], has_more: false, next_page: null });
  expect(await list(`limit=2&after_id=${d}`)).toMatchObject({ ids: [c, b], has_more: true });
  expect(await list(`limit=2&before_id=${b}`)).toMatchObject({ ids: [d, c], has_more: false });
  expect(await list(`ids[]=${a}&ids[]=${c}`)).toMatchObject({ ids: [c, a], has_more: false });
});

test('files: a full store is the error that the Anthropic client knows', async () => {
  const { anthropic } = await world({ allMegabytes: 0 });
  await expect(anthropic.files.upload({ file: await text('a') })).rejects.toMatchObject({
    status: 400,
    error: { error: { type: 'invalid_request_error', details: { error_code: 'storage_quota_exceeded' } } },
  });
});

test('files: the holders of keys do not see the files of each other', async () => {
  const key = (name: string, shared = false) => ({ name, shared, scopes: ['documents'], weight: 1 });
  const keys = { anna: key('anna'), ben: key('ben'), shared: key('shared', true) };
  const { as, openai, folder } = await world({ keys });
  const [anna, ben] = [as('anna'), as('ben')];
  const { id } = await anna.files.create({ file: await text('secret'), purpose: 'user_data' });
  const common = await as('shared').files.create({ file: await text('common'), purpose: 'user_data' });
  for (const other of [ben, openai]) {
    await expect(other.files.retrieve(id)).rejects.toThrow(OpenAI.NotFoundError);
    await expect(other.files.content(id)).rejects.toThrow(OpenAI.NotFoundError);
    await expect(other.files.delete(id)).rejects.toThrow(OpenAI.NotFoundError);
  }
  expect((await ben.files.list()).data).toEqual([]);
  expect((await openai.files.list()).data.map((file) => file.id)).toEqual([common.id]);
  expect(await textOf(await anna.files.content(id))).toBe('secret');
  const upload = await anna.uploads.create({ bytes: 1, filename: 'a', mime_type: 'text/plain', purpose: 'batch' });
  await expect(ben.uploads.cancel(upload.id)).rejects.toThrow(OpenAI.NotFoundError);
  expect(readdirSync(folder).sort()).toEqual([expect.stringMatching(/^anna-[0-9a-f]{8}$/), 'common', 'incoming']);
});

test('files: a name cannot break out of a header or a folder', async () => {
  const { openai, base } = await world();
  const names = ['../../../etc/passwd', 'a"; filename="b.html', "it's (1)*.txt", 'x\ty.txt', '\u{1f600}.txt'];
  for (const name of names) {
    const { id, filename } = await openai.files.create({ file: await text('a', name), purpose: 'user_data' });
    expect(filename).not.toMatch(/[/\\]|\p{Cc}/u);
    const reply = await fetch(`${base}/v1/files/${id}/content`);
    const disposition = reply.headers.get('content-disposition') ?? '';
    expect(disposition).toMatch(/^attachment; filename="[\w .()-]*"; filename\*=UTF-8''[\w%.!~-]*$/);
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
    expect(reply.headers.get('content-security-policy')).toContain('sandbox');
  }
  const { status } = await fetch(`${base}/v1/files/..%2f..%2fowner.json/content`);
  expect(status).toBe(404);
});

test('files: a raw line break in a name does not become a header', async () => {
  const { server, base } = await world();
  const boundary = 'b';
  const part = (name: string, value: string, more = '') =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
  const body = `${part('purpose', 'user_data')}${part('file', 'text', '; filename="a%0d%0aSet-Cookie: b.txt"')}--${boundary}--\r\n`;
  const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` };
  const reply = await ask(server, { method: 'POST', path: '/v1/files', headers, body });
  expect(reply.status).toBe(200);
  const { id } = JSON.parse(reply.text) as { id: string };
  const content = await fetch(`${base}/v1/files/${id}/content`);
  expect(content.headers.get('set-cookie')).toBeNull();
});

test('files: part headers without an end, and fields without number, are refused', async () => {
  const { server, left } = await world();
  const headers = { 'content-type': 'multipart/form-data; boundary=b' };
  const long = `--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\nX-Long: ${'a'.repeat(500_000)}\r\n\r\ntext\r\n--b--\r\n`;
  const many = `${'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n'.repeat(1000)}--b--\r\n`;
  for (const body of [long, many, '--b', '--b\r\n\r\n', 'nothing'])
    expect((await ask(server, { method: 'POST', path: '/v1/files', headers, body })).status).toBe(400);
  await expect.poll(left).toEqual([]);
});

test('files: a client that goes away in the middle leaves nothing', async () => {
  const { server, left } = await world();
  const connection = wire(server);
  connection.send(
    'POST /v1/files HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 100000\r\n\r\n' +
      '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nbegun',
  );
  await expect.poll(() => left().length).toBe(1);
  connection.socket.destroy();
  await expect.poll(left).toEqual([]);
});

test('uploads: the OpenAI client sends a file in parts', async () => {
  const { openai } = await world();
  const upload = await openai.uploads.create({
    bytes: 11,
    filename: 'a.jsonl',
    mime_type: 'application/jsonl',
    purpose: 'batch',
    expires_after: { anchor: 'created_at', seconds: 7200 },
  });
  expect(upload).toMatchObject({ object: 'upload', status: 'pending', file: null, bytes: 11 });
  const parts = await Promise.all(
    ['hello', ' world'].map(async (each) => openai.uploads.parts.create(upload.id, { data: await text(each) })),
  );
  expect(parts[0]).toMatchObject({ object: 'upload.part', upload_id: upload.id });
  const part_ids = parts.map(({ id }) => id);
  const done = await openai.uploads.complete(upload.id, { part_ids });
  expect(done).toMatchObject({ status: 'completed', file: { filename: 'a.jsonl', bytes: 11, purpose: 'batch' } });
  expect(done.file?.expires_at).toBe((done.file?.created_at ?? 0) + 7200);
  expect(await textOf(await openai.files.content(done.file?.id ?? ''))).toBe('hello world');
  const other = await openai.uploads.create({ bytes: 1, filename: 'a', mime_type: 'text/plain', purpose: 'batch' });
  expect(await openai.uploads.cancel(other.id)).toMatchObject({ status: 'cancelled' });
  await expect(openai.uploads.complete(other.id, { part_ids: [] })).rejects.toThrow('cancelled');
});

test('cleaning: goes through the folders of all owners', async () => {
  const { openai, stored, folder } = await world();
  await openai.files.create({ file: await text('a'), purpose: 'user_data' });
  writeFileSync(join(folder, 'stray.txt'), '');
  await stored.clean();
  expect((await openai.files.list()).data).toHaveLength(1);
});
