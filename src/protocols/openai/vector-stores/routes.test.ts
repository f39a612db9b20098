import OpenAI, { BadRequestError, NotFoundError } from 'openai';
import { expect, test } from 'vitest';
import { memoryLibraries } from '../../../documents/testing/memory-libraries.ts';
import type { Call, ClientKey } from '../../../http/call.ts';
import { serve } from '../../../http/testing/world.ts';
import { freshFolders } from '../../../store/testing/folder.ts';
import { asked } from '../../testing/asked.ts';
import { bindAll } from '../../testing/bind.ts';
import { vectorStoreEndpoints } from './routes.ts';

const freshFolder = freshFolders();

/** The official client before the endpoints on a real socket. */
async function world({ asksUntilIndexed = 0 } = {}) {
  const libraries = memoryLibraries({ folder: freshFolder(), asksUntilIndexed });
  let number = 0;
  const newId = (prefix: string): string => `${prefix}n${++number}`;
  const endpoints = bindAll(vectorStoreEndpoints({ ...libraries, newId, now: () => 5_000_000 }), {});
  const { port } = await serve(endpoints);
  const client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'none', maxRetries: 0 });
  const upload = async (text: string, name = 'tower.txt', sender = {}): Promise<string> => {
    const content = (async function* () {
      yield Buffer.from(text);
    })();
    return (
      await libraries.files.of(sender).add({ name, purpose: 'assistants' }, content, new AbortController().signal)
    ).id;
  };
  return { ...libraries, client, upload, endpoints };
}

const text = 'The lighthouse was built in 1871.\n\nIts keeper was Ada.';

test('vector stores: the official client creates, changes, lists and deletes one', async () => {
  const { client, upload } = await world();
  const file = await upload(text);
  const store = await client.vectorStores.create({
    name: 'docs',
    file_ids: [file],
    expires_after: { anchor: 'last_active_at', days: 2 },
    metadata: { team: 'a' },
  });
  expect(store).toEqual({
    id: store.id,
    object: 'vector_store',
    created_at: 1000,
    name: 'docs',
    description: null,
    usage_bytes: text.length,
    file_counts: { in_progress: 0, completed: 1, failed: 0, cancelled: 0, total: 1 },
    status: 'completed',
    expires_after: { anchor: 'last_active_at', days: 2 },
    expires_at: 2000 + 2 * 86_400,
    last_active_at: 2000,
    metadata: { team: 'a' },
  });
  const changed = await client.vectorStores.update(store.id, { name: 'papers', expires_after: null });
  expect(changed).toMatchObject({ name: 'papers', expires_after: null, expires_at: null });
  expect(await client.vectorStores.retrieve(store.id)).toMatchObject({ name: 'papers' });
  expect(await client.vectorStores.delete(store.id)).toEqual({
    id: store.id,
    object: 'vector_store.deleted',
    deleted: true,
  });
  await expect(client.vectorStores.retrieve(store.id)).rejects.toThrow(NotFoundError);
});

test('vector stores: a name that is too long is refused with the limit', async () => {
  const { client } = await world();
  const { id } = await client.vectorStores.create({ name: 'a'.repeat(256) });
  const sentence = 'name must be a name of at most 256 characters, and this one has 257.';
  for (const asking of [
    client.vectorStores.create({ name: 'a'.repeat(257) }),
    client.vectorStores.update(id, { name: 'a'.repeat(257) }),
  ])
    await expect(asking).rejects.toMatchObject({ status: 400, param: 'name', error: { message: sentence } });
});

test('vector stores: pages follow one another in both orders', async () => {
  const { client } = await world();
  const made: string[] = [];
  for (const name of ['a', 'b', 'c', 'd', 'e']) made.push((await client.vectorStores.create({ name })).id);
  const ids: string[] = [];
  for await (const { id } of client.vectorStores.list({ limit: 2 })) ids.push(id);
  expect(ids).toEqual(made.toReversed());
  const first = await client.vectorStores.list({ limit: 2, order: 'asc' });
  expect(first.data.map(({ id }) => id)).toEqual(made.slice(0, 2));
  const before = await client.vectorStores.list({ limit: 2, order: 'asc', before: made[3] as string });
  expect(before.data.map(({ id }) => id)).toEqual(made.slice(1, 3));
  expect(before.has_more).toBe(true);
  await expect(client.vectorStores.list({ after: 'vs_other' })).rejects.toThrow(BadRequestError);
});

test('vector stores: files are attached, polled, read, given attributes and detached', async () => {
  const { client, upload } = await world({ asksUntilIndexed: 2 });
  const { id: store } = await client.vectorStores.create({ name: 'docs' });
  const file = await upload(text);
  const attached = await client.vectorStores.files.createAndPoll(store, {
    file_id: file,
    attributes: { year: 2026 },
    chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 200, chunk_overlap_tokens: 50 } },
  });
  expect(attached).toMatchObject({
    id: file,
    object: 'vector_store.file',
    vector_store_id: store,
    status: 'completed',
    last_error: null,
    attributes: { year: 2026 },
    chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 200, chunk_overlap_tokens: 50 } },
  });
  const changed = await client.vectorStores.files.update(file, { vector_store_id: store, attributes: { year: 2027 } });
  expect(changed.attributes).toEqual({ year: 2027 });
  const pages = await client.vectorStores.files.content(file, { vector_store_id: store });
  expect(pages.data).toEqual([{ type: 'text', text }]);
  const listed = await client.vectorStores.files.list(store, { filter: 'failed' });
  expect(listed.data).toEqual([]);
  expect(await client.vectorStores.files.delete(file, { vector_store_id: store })).toEqual({
    id: file,
    object: 'vector_store.file.deleted',
    deleted: true,
  });
  await expect(client.vectorStores.files.retrieve(file, { vector_store_id: store })).rejects.toThrow(NotFoundError);
});

test('vector stores: a file without text fails, and its batch completes', async () => {
  const { client, upload } = await world({ asksUntilIndexed: 1 });
  const { id: store } = await client.vectorStores.create({});
  const files = [await upload(text), await upload(' ', 'scan.pdf')];
  const batch = await client.vectorStores.fileBatches.createAndPoll(store, { file_ids: files });
  expect(batch).toMatchObject({
    object: 'vector_store.files_batch',
    status: 'completed',
    created_at: 5000,
    file_counts: { completed: 1, failed: 1, total: 2 },
  });
  const { data } = await client.vectorStores.fileBatches.listFiles(batch.id, {
    vector_store_id: store,
    filter: 'failed',
  });
  expect(data).toMatchObject([{ id: files[1], last_error: { code: 'unsupported_file' } }]);
});

test('vector stores: files of a batch have attributes of their own, and it can be cancelled', async () => {
  const { client, upload } = await world({ asksUntilIndexed: 1000 });
  const { id: store } = await client.vectorStores.create({});
  const file = await upload(text);
  const batch = await client.vectorStores.fileBatches.create(store, {
    files: [{ file_id: file, attributes: { lang: 'en' } }],
  });
  expect(batch.status).toBe('in_progress');
  expect(await client.vectorStores.files.retrieve(file, { vector_store_id: store })).toMatchObject({
    attributes: { lang: 'en' },
  });
  const cancelled = await client.vectorStores.fileBatches.cancel(batch.id, { vector_store_id: store });
  expect(cancelled).toMatchObject({ status: 'cancelled', file_counts: { cancelled: 1 } });
  await expect(client.vectorStores.fileBatches.retrieve('vsfb_x', { vector_store_id: store })).rejects.toThrow(
    NotFoundError,
  );
});

test('vector stores: search with filters answers passages with page and heading among the attributes', async () => {
  const { client, upload } = await world();
  const { id: store } = await client.vectorStores.create({});
  for (const year of [2025, 2026]) {
    const attributes = { year };
    await client.vectorStores.files.create(store, { file_id: await upload(text, `${year}.txt`), attributes });
  }
  const found = await client.vectorStores.search(store, {
    query: ['keeper', 'Ada'],
    filters: { type: 'and', filters: [{ type: 'gte', key: 'year', value: 2026 }] },
    max_num_results: 5,
    ranking_options: { ranker: 'auto', score_threshold: 0.5 },
    rewrite_query: true,
  });
  expect(found.data).toEqual([
    {
      file_id: expect.any(String),
      filename: '2026.txt',
      score: 1,
      attributes: { year: 2026, page: 1, heading: 'Chapter' },
      content: [{ type: 'text', text: 'Its keeper was Ada.' }],
    },
  ]);
});

test('vector stores: replies tell the client when to ask again', async () => {
  const { client, upload } = await world();
  const { id } = await client.vectorStores.create({});
  const { id: file } = await client.vectorStores.files.create(id, { file_id: await upload(text) });
  const { response } = await client.vectorStores.files.retrieve(file, { vector_store_id: id }).withResponse();
  expect(response.headers.get('openai-poll-after-ms')).toBe('200');
});

test.each([
  ['', { metadata: { a: 1 } }, 'metadata.a'],
  ['', { expires_after: { anchor: 'created_at', days: 1 } }, 'expires_after.anchor'],
  ['', { expires_after: { anchor: 'last_active_at', days: 366 } }, 'expires_after.days'],
  ['/STORE/search', { query: '' }, 'query'],
  ['/STORE/search', { query: 'x', max_num_results: 51 }, 'max_num_results'],
  ['/STORE/search', { query: 'x', filters: { type: 'like', key: 'a', value: 1 } }, 'filters.type'],
  ['/STORE/search', { query: 'x', ranking_options: { score_threshold: 2 } }, 'ranking_options.score_threshold'],
  ['/STORE/files', {}, 'file_id'],
  ['/STORE/file_batches', {}, 'file_ids'],
  ['/STORE/file_batches', { file_ids: ['a'], files: [{ file_id: 'a' }] }, 'file_ids'],
  [
    '/STORE/files',
    {
      file_id: 'a',
      chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 200, chunk_overlap_tokens: 101 } },
    },
    'chunking_strategy.static.chunk_overlap_tokens',
  ],
])('vector stores: POST %s refuses %j', async (target, body, param) => {
  const { client, endpoints } = await world();
  const { id } = await client.vectorStores.create({});
  const reply = await asked(endpoints, 'POST', `/v1/vector_stores${target.replace('STORE', id)}`, body);
  expect([reply.status, reply.json.error.param]).toEqual([400, param]);
});

test('vector stores: each key sees its own, by ids only, and needs the scope', async () => {
  const { endpoints } = await world();
  const key = (name: string, scopes = ['documents']): Partial<Call> => ({
    key: { name, scopes, weight: 1, shared: false } satisfies ClientKey,
  });
  const { json } = await asked(endpoints, 'POST', '/v1/vector_stores', { name: 'private' }, key('ada'));
  const get = async (id: string, own: Partial<Call>) =>
    (await asked(endpoints, 'GET', `/v1/vector_stores/${id}`, '', own)).status;
  expect(await get(json.id, key('ada'))).toBe(200);
  expect(await get(json.id, key('bob'))).toBe(404);
  expect(await get('private', key('ada'))).toBe(404);
  expect(await get(json.id, key('ada', ['chat']))).toBe(403);
});
