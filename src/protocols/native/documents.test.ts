import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { memoryLibraries } from '../../documents/testing/memory-libraries.ts';
import type { Call, ClientKey } from '../../http/call.ts';
import { freshFolders } from '../../store/testing/folder.ts';
import { asked } from '../testing/asked.ts';
import { bindAll } from '../testing/bind.ts';
import { formOf } from '../testing/forms.ts';
import { type DocumentDeps, documentEndpoints } from './documents.ts';

const freshFolder = freshFolders();
const root = '/api/extra/documents';

function world(own: Partial<DocumentDeps> = {}) {
  const libraries = memoryLibraries({ folder: freshFolder() });
  const endpoints = bindAll(documentEndpoints({ ...libraries, ...own }), undefined);
  const ask = (method: string, target: string, body: unknown = '', call: Partial<Call> = {}) =>
    asked(endpoints, method, `${root}${target}`, body, call);
  const collection = async (name = 'handbook'): Promise<string> => (await ask('POST', '', { name })).json.id;
  return { ...libraries, ask, collection };
}

const text = 'The lighthouse was built in 1871.\n\nIts keeper was Ada.';
const key = (name: string, scopes = ['documents']): ClientKey => ({ name, scopes, weight: 1, shared: false });

test('documents: a collection is created, listed, changed and deleted', async () => {
  const { ask, collection } = world();
  const id = await collection();
  expect((await ask('GET', '')).json).toEqual({
    collections: [expect.objectContaining({ id, name: 'handbook', files: expect.objectContaining({ total: 0 }) })],
    can_add_folders: false,
  });
  expect((await ask('POST', `/${id}`, { name: 'Handbook', description: 'of 2026' })).json).toMatchObject({
    name: 'Handbook',
    description: 'of 2026',
  });
  expect((await ask('GET', '/Handbook')).json.id).toBe(id);
  expect((await ask('DELETE', `/${id}`)).json).toEqual({ success: true });
  expect((await ask('GET', `/${id}`)).status).toBe(404);
});

test('documents: takes several files of a form, and refuses a form without one', async () => {
  const { ask, collection } = world();
  const id = await collection();
  const files = ['a.txt', 'b.txt'].map((name) => ({ field: 'file', name, bytes: Buffer.from(text) }));
  const added = await ask('POST', `/${id}/files`, '', await formOf({ attributes: '{"year":2026}' }, files));
  expect(added.json.files).toMatchObject([
    { name: 'a.txt', status: 'completed', error: null, attributes: { year: 2026 } },
    { name: 'b.txt' },
  ]);
  expect((await ask('GET', `/${id}/files`)).json.files).toHaveLength(2);
  expect((await ask('POST', `/${id}/files`, '', await formOf({}, []))).status).toBe(400);
});

test('documents: takes a text, files by id, and a web page, which is named by its address', async () => {
  const page = Buffer.from(`<p>${text}</p>`);
  const fetchMedia: DocumentDeps['fetchMedia'] = async (url) =>
    url.startsWith('https://a.example/')
      ? { type: 'fetched', bytes: page, contentType: 'text/html; charset=utf-8' }
      : { type: 'refused', reason: 'is not on the public internet' };
  const { ask, collection, files } = world({ fetchMedia });
  const id = await collection();
  const add = async (body: object) => ask('POST', `/${id}/files`, body);
  expect((await add({ name: 'note.md', text })).json.files).toMatchObject([{ name: 'note.md' }]);
  const stored = await files.of({}).list();
  expect((await add({ file_ids: [stored[0]?.id] })).json.files).toMatchObject([{ name: 'note.md' }]);
  expect((await add({ url: 'https://a.example/tower.php' })).json.files).toMatchObject([
    { name: 'a.example - tower.html', attributes: { url: 'https://a.example/tower.php' } },
  ]);
  expect((await add({ url: 'http://127.0.0.1/' })).json.detail.msg).toContain('is not on the public internet');
  expect((await add({ text, url: 'https://a.example/' })).status).toBe(400);
  expect((await add({})).status).toBe(400);
});

test('documents: a file is sent as a download that no browser runs', async () => {
  const { ask, collection } = world();
  const id = await collection();
  const { json } = await ask('POST', `/${id}/files`, { name: 'Überblick "1".html', text: '<script>1</script>' });
  const [file] = json.files;
  const sent = await ask('GET', `/${id}/files/${file.id}/content`);
  expect(sent.text).toBe('<script>1</script>');
  expect(sent.headers).toMatchObject({
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="_berblick _1_.html"; filename*=UTF-8''%C3%9Cberblick%20%221%22.html`,
    'x-content-type-options': 'nosniff',
  });
  expect((await ask('GET', `/${id}/files/${file.id}/text`)).headers['content-type']).toBe('text/plain; charset=utf-8');
});

test('documents: the content of a file that is gone is not found', async () => {
  const { ask, collection, files } = world();
  const id = await collection();
  const { json } = await ask('POST', `/${id}/files`, { name: 'a.txt', text });
  const file = json.files[0].id;
  rmSync(await files.of({}).path(file));
  const { status, json: refused } = await ask('GET', `/${id}/files/${file}/content`);
  expect([status, refused.detail.msg]).toEqual([404, 'a.txt is not there any more on the machine of the server.']);
});

test('documents: removing a file deletes the upload unless another collection has it', async () => {
  const { ask, collection, files } = world();
  const [first, second] = [await collection('a'), await collection('b')];
  const { json } = await ask('POST', `/${first}/files`, { text });
  const file = json.files[0].id;
  await ask('POST', `/${second}/files`, { file_ids: [file] });
  await ask('DELETE', `/${first}/files/${file}`);
  expect(await files.of({}).get(file)).toBeDefined();
  await ask('DELETE', `/${second}`);
  expect(await files.of({}).get(file)).toBeUndefined();
});

test('documents: search finds passages with the address of each', async () => {
  const { ask, collection } = world();
  const id = await collection();
  await ask('POST', `/${id}/files`, { name: 'tower.txt', text });
  const { json } = await ask('POST', '/search', { query: 'keeper Ada', collections: ['handbook'] });
  expect(json).toMatchObject({
    queries: ['keeper Ada'],
    results: [{ collection: id, name: 'tower.txt', text: 'Its keeper was Ada.', score: 1, found: { keywords: 1 } }],
    notes: [],
  });
  const [{ passage, url }] = json.results;
  expect(url).toBe(`/documents/${passage}`);
  expect((await ask('GET', `/passages/${passage}`)).json).toMatchObject({
    text: 'Its keeper was Ada.',
    before: 'The lighthouse was built in 1871.\n\n',
    after: '',
  });
  expect((await ask('GET', '/passages/x.1')).status).toBe(404);
});

test.each([
  [{}, 'query'],
  [{ query: ' ' }, 'query'],
  [{ query: 'x'.repeat(5000) }, 'query'],
  [{ queries: Array(9).fill('x') }, 'queries'],
  [{ query: 'x', limit: 51 }, 'limit'],
  [{ query: 'x', filter: { type: 'like', key: 'a', value: 'b' } }, 'filter.type'],
  [{ query: 'x', collections: ['other'] }, 'other'],
])('documents: search refuses %j', async (body, named) => {
  const { ask } = world();
  const { status, json } = await ask('POST', '/search', body);
  expect(status).toBeGreaterThanOrEqual(400);
  expect(json.detail.msg).toContain(named);
});

test('documents: folders are for whoever runs the server', async () => {
  const { ask, collection } = world();
  const id = await collection();
  expect((await ask('POST', `/${id}/folders`, { path: '/home/ada' })).status).toBe(403);
  const own = world({ mayAddFolders: () => true });
  const owned = await own.collection();
  const folder = { path: '/home/ada', include: ['*.md'], max_file_bytes: 1000 };
  expect((await own.ask('POST', `/${owned}/folders`, folder)).json.folders).toEqual([
    { ...folder, exclude: [], note: null },
  ]);
  expect((await own.ask('DELETE', `/${owned}/folders?path=%2Fhome%2Fada`)).json.folders).toEqual([]);
});

test('documents: each key has its own collections, and needs the scope', async () => {
  const { ask } = world();
  const { json } = await ask('POST', '', { name: 'private' }, { key: key('ada') });
  expect((await ask('GET', `/${json.id}`, '', { key: key('bob') })).status).toBe(404);
  expect((await ask('GET', '', '', { key: key('bob') })).json.collections).toEqual([]);
  expect((await ask('GET', '', '', { key: key('ada', ['chat']) })).status).toBe(403);
});

test('documents: refused where the server has none', async () => {
  const { ask } = world({ documents: undefined, files: undefined });
  expect((await ask('GET', '')).json.detail.msg).toContain('--nodocuments');
});
