import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { childrenOf } from '../faults/processes.ts';
import { nativeClient } from './client.ts';
import { freePort } from './free-port.ts';
import { runProgram } from './program.ts';
import { type LiveServer, untrainedServers } from './server.ts';

const start = untrainedServers();
const root = mkdtempSync(join(tmpdir(), 'parley-documents-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const path = '/api/extra/documents';

interface StoredFile {
  readonly name: string;
  readonly status: string;
  readonly passages: number;
}

interface Hit {
  readonly name: string;
  readonly text: string;
  readonly found: { readonly vector?: number; readonly keywords?: number };
}

function documents({ base }: LiveServer) {
  const { get, post } = nativeClient(base);
  return {
    create: async (name: string) => ((await post(path, { name })).json() as { id: string }).id,
    add: async (id: string, name: string, text: string) =>
      expect((await post(`${path}/${id}/files`, { name, text })).status).toBe(200),
    files: async (id: string) => ((await get(`${path}/${id}/files`)).json() as { files: StoredFile[] }).files,
    collections: () => get(path),
    search: async (query: string) => ((await post(`${path}/search`, { query })).json() as { results: Hit[] }).results,
  };
}

const storeOf = ({ pid }: LiveServer): number | undefined => childrenOf(pid, 'documents/worker')[0];

const sections = (subject: string, count: number) =>
  Array.from({ length: count }, (_, at) => `# Part ${at}\n\n${`${subject} number ${at} is here. `.repeat(30)}`).join(
    '\n\n',
  );

test('documents: are indexed and found, also after their process was killed while it was indexing', async () => {
  const server = await start(['--documentsdir', join(root, 'killed')]);
  expect(storeOf(server)).toBeUndefined();
  expect((await nativeClient(server.base).get('/metrics')).text).not.toMatch(/^parley_document_/m);
  expect(storeOf(server)).toBeUndefined();
  const { create, add, files, search } = documents(server);
  const id = await create('animals');
  await add(id, 'zebra.md', '# Zebra\n\nThe zebra lives in Africa.');
  await expect.poll(async () => (await files(id))[0]?.status).toBe('completed');
  expect((await search('Where does the zebra live?'))[0]).toMatchObject({ name: 'zebra.md', found: { vector: 1 } });
  for (const name of ['lions', 'tigers', 'wolves']) await add(id, `${name}.md`, sections(name, 20));
  const killed = storeOf(server) as number;
  process.kill(killed, 'SIGKILL');
  await expect
    .poll(async () => (await files(id)).map(({ status }) => status))
    .toEqual(['completed', 'completed', 'completed', 'completed']);
  expect(storeOf(server)).not.toBe(killed);
  for (const { passages, name } of await files(id))
    expect(passages).toBeGreaterThanOrEqual(name === 'zebra.md' ? 1 : 20);
  expect((await search('wolves number 7'))[0]?.name).toBe('wolves.md');
  const metrics = (await nativeClient(server.base).get('/metrics')).text;
  expect(metrics).toMatch(/^parley_document_files 4$/m);
  expect(metrics).toMatch(/^parley_document_files_waiting 0$/m);
});

test('documents: a second server on the same folder says who has them, and serves everything else', async () => {
  const folder = join(root, 'shared');
  const first = await start(['--documentsdir', folder]);
  const id = await documents(first).create('notes');
  const second = await start(['--documentsdir', folder]);
  const refused = await documents(second).collections();
  expect(refused.status).toBeGreaterThanOrEqual(500);
  expect(refused.text).toContain(`are used by another server (process ${first.pid})`);
  expect(refused.text).toContain('--documentsdir');
  expect((await nativeClient(second.base).get('/health')).status).toBe(200);
  await first.stop();
  await expect.poll(async () => (await documents(second).collections()).text).toContain(id);
});

test('documents add: without a server stores the text, and the next server makes the vectors', async () => {
  const folder = join(root, 'command');
  const notes = join(root, 'notes');
  mkdirSync(notes);
  writeFileSync(join(notes, 'zebra.md'), '# Zebra\n\nThe zebra lives in Africa.');
  const own = ['--documentsdir', folder, '--port', String(await freePort())];
  const { code, stdout, stderr } = await runProgram(['documents', 'add', notes, '--collection', 'animals', ...own]);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('animals: 1 file');
  const server = await start(['--documentsdir', folder]);
  await expect
    .poll(async () => (await documents(server).search('Where does the zebra live?'))[0])
    .toMatchObject({ name: 'zebra.md', found: { vector: 1 } });
});

test('documents add: a folder that does not exist leaves no collection behind', async () => {
  const own = ['--documentsdir', join(root, 'missing'), '--port', String(await freePort())];
  expect((await runProgram(['documents', 'add', join(root, 'nowhere'), '--collection', 'a', ...own])).code).toBe(3);
  expect((await runProgram(['documents', 'list', ...own])).stdout).toBe('There are no collections.\n');
});
