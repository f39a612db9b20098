import { resolve } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { documentsCommand } from './documents-command.ts';

/** A server on which these requests are answered. */
function world(replies: Readonly<Record<string, unknown>>) {
  const lines: string[] = [];
  const sent: string[] = [];
  const owners: (string | null)[] = [];
  const known: Readonly<Record<string, unknown>> = {
    'GET /api/extra/version': { parley: {} },
    'GET /v1/models': { data: [] },
    'GET /api/extra/true_max_context_length': { value: 1 },
    ...replies,
  };
  const ask = (async (url: string, { method = 'GET', body, headers }: RequestInit = {}) => {
    const request = `${method} ${new URL(url).pathname}`;
    if (request.endsWith('/folders')) owners.push(new Headers(headers).get('x-parley-owner'));
    if (request.includes('documents')) sent.push(typeof body === 'string' ? `${request} ${body}` : request);
    return request in known
      ? Response.json(known[request])
      : Response.json({ detail: { msg: 'Only an administrator may do this.' } }, { status: 403 });
  }) as typeof fetch;
  const terminal = { line: (line = '') => void lines.push(line) } as never;
  const run = (...args: string[]) => documentsCommand({ args, terminal, fetch: ask, folder: '/nowhere' });
  return { lines, sent, owners, run };
}

const collection = {
  id: 'vs_1',
  name: 'notes',
  bytes: 2_000_000,
  passages: 12,
  files: { total: 3, in_progress: 1, failed: 1 },
};

test('documents list: shows the collections of the server', async () => {
  const { lines, run } = world({ 'GET /api/extra/documents': { collections: [collection] } });
  expect(await run('list')).toBe(0);
  expect(lines[1]).toMatch(/^notes +3 +1 +1 +12 +/);
});

test('documents add: makes the collection, and adds the folder to it', async () => {
  const { lines, sent, run } = world({
    'GET /api/extra/documents': { collections: [] },
    'POST /api/extra/documents': collection,
    'POST /api/extra/documents/vs_1/folders': collection,
  });
  expect(await run('add', '/srv/notes', '--collection', 'notes')).toBe(0);
  expect(sent.slice(1)).toEqual([
    'POST /api/extra/documents {"name":"notes"}',
    'POST /api/extra/documents/vs_1/folders {"path":"/srv/notes"}',
  ]);
  expect(lines[0]).toContain('/srv/notes');
});

test('documents add: a server on this machine is sent its owner token and the whole path, another one neither', async () => {
  const { sent, owners, run } = world({
    'GET /api/extra/owner': { token: 'secret' },
    'GET /api/extra/documents': { collections: [collection] },
    'POST /api/extra/documents/vs_1/folders': collection,
  });
  expect(await run('add', 'notes', '--collection', 'notes')).toBe(0);
  expect(await run('add', 'notes', '--collection', 'notes', '--url', 'http://example.com')).toBe(0);
  expect(owners).toEqual(['secret', null]);
  const request = 'POST /api/extra/documents/vs_1/folders';
  expect(sent.filter((one) => one.startsWith(request))).toEqual([
    `${request} ${JSON.stringify({ path: resolve('notes') })}`,
    `${request} {"path":"notes"}`,
  ]);
});

test('documents add: says what the server refuses', async () => {
  const { lines, run } = world({ 'GET /api/extra/documents': { collections: [collection] } });
  expect(await run('add', '/srv/notes', '--collection', 'notes')).toBe(3);
  expect(lines).toEqual(['The server answered 403: Only an administrator may do this.']);
});

test('documents add: deletes a collection that it made for a folder that is refused, and no other', async () => {
  const { sent, lines, run } = world({
    'GET /api/extra/documents': { collections: [collection] },
    'POST /api/extra/documents': { id: 'vs_2' },
  });
  expect(await run('add', '/srv/none', '--collection', 'new')).toBe(3);
  expect(sent.slice(-2)).toEqual([
    'POST /api/extra/documents/vs_2/folders {"path":"/srv/none"}',
    'DELETE /api/extra/documents/vs_2',
  ]);
  expect(await run('add', '/srv/none', '--collection', 'notes')).toBe(3);
  expect(sent.at(-1)).toContain('POST');
  expect(lines).toEqual(Array(2).fill('The server answered 403: Only an administrator may do this.'));
});

test('documents rm: deletes by name, and names what is not there', async () => {
  const { lines, sent, run } = world({
    'GET /api/extra/documents': { collections: [collection] },
    'DELETE /api/extra/documents/vs_1': {},
  });
  expect(await run('rm', 'notes')).toBe(0);
  expect(sent.at(-1)).toBe('DELETE /api/extra/documents/vs_1');
  expect(await run('rm', 'other')).toBe(1);
  expect(lines).toEqual(['There is no collection "other".']);
});

test('documents: arguments that are not understood show the usage', async () => {
  const { lines, run } = world({});
  for (const args of [[], ['add'], ['list', 'x'], ['forget', 'x'], ['list', '--unknown']])
    expect(await run(...args)).toBe(2);
  expect(lines[0]).toContain('parley documents add FOLDER');
});

test.each([['--documentsdir=/srv/own'], ['--documentsdir', '/srv/own']])(
  'documents: %s names the folder of the collections without a server',
  async (...flag) => {
    const folders: string[] = [];
    vi.doMock('../documents/open-documents.ts', () => ({
      openDocuments: ({ folder }: { readonly folder: string }) => {
        folders.push(folder);
        return { of: () => ({ collections: async () => [] }), stop: async () => undefined };
      },
    }));
    onTestFinished(() => void vi.doUnmock('../documents/open-documents.ts'));
    const { lines, run } = world({ 'GET /api/extra/version': {} });
    expect(await run('list', ...flag)).toBe(0);
    expect(folders).toEqual([resolve('/srv/own')]);
    expect(lines).toEqual(['There are no collections.']);
  },
);
