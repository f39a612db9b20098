import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { OrderedIds } from '../core/ids.ts';
import { plainFileName, StoredFiles, type StoredFilesOptions } from './stored-files.ts';
import { freshFolders } from './testing/folder.ts';
import { bundled, runScript } from './testing/processes.ts';

const freshFolder = freshFolders();
const signal = new AbortController().signal;

async function* chunks(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

function library(own: Partial<StoredFilesOptions> = {}) {
  const clock = { now: 1_790_000_000_000 };
  const warnings: string[] = [];
  const folder = own.folder ?? join(freshFolder(), 'common');
  const files = new StoredFiles({
    folder,
    owner: 'no key',
    limits: { fileBytes: 1000, allBytes: 5000 },
    now: () => clock.now,
    warn: (sentence) => warnings.push(sentence),
    ...own,
  });
  const add = (name: string, ...texts: readonly string[]) =>
    files.add({ name, purpose: 'user_data' }, chunks(...texts), signal);
  return { files, folder, clock, warnings, add };
}

test('StoredFiles: keeps content and facts, for another start too', async () => {
  const { files, folder, add } = library();
  const made = await add('Notes.md', 'one ', 'two');
  expect(made).toEqual({
    id: expect.stringMatching(/^file-[0-9a-f]{36}$/),
    name: 'Notes.md',
    mime: 'text/markdown',
    purpose: 'user_data',
    bytes: 7,
    createdAt: 1_790_000_000,
  });
  const again = library({ folder }).files;
  for (const one of [files, again]) {
    expect(await one.list()).toEqual([made]);
    expect(await one.get(made.id)).toEqual(made);
    expect(await one.get(made.id.replace('file-', 'file_'))).toEqual(made);
    expect(readFileSync(await one.path(made.id), 'utf8')).toBe('one two');
  }
});

test.skipIf(process.platform === 'win32')('StoredFiles: files are readable for the account only', async () => {
  const { folder, add } = library();
  await add('a.txt', 'a');
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777, name).toBe(0o600);
});

test('StoredFiles: lists the newest first, also of one millisecond', async () => {
  const { files, add } = library();
  for (const name of ['a', 'b', 'c']) await add(name, name);
  expect((await files.list()).map(({ name }) => name)).toEqual(['c', 'b', 'a']);
});

test('StoredFiles: the first files of an owner may come at the same time', async () => {
  const { files, add } = library();
  await Promise.all(['a', 'b', 'c', 'd'].map((name) => add(name, name)));
  expect(await files.list()).toHaveLength(4);
});

test('StoredFiles: an id that no file can have is unknown, and leads to no other path', async () => {
  const { files, folder, add } = library();
  await add('a.txt', 'a');
  writeFileSync(join(folder, '..', 'secret.json'), '{}');
  for (const id of ['', 'file-', '../secret', 'file-../../secret', `file-${'0'.repeat(36)}`, 'owner', 'file-%2e%2e']) {
    expect(await files.get(id)).toBeUndefined();
    expect(await files.delete(id)).toBe(false);
    await expect(files.path(id)).rejects.toMatchObject({ code: 'not-stored' });
  }
});

test('StoredFiles: a deleted file is gone, and deleted once', async () => {
  const forgotten: string[] = [];
  const { files, folder, add } = library({ onDeleted: async (id) => void forgotten.push(id) });
  const { id } = await add('a.txt', 'a');
  expect(await files.delete(id)).toBe(true);
  expect(await files.delete(id)).toBe(false);
  expect(await files.list()).toEqual([]);
  expect(readdirSync(folder)).toEqual(['owner.json']);
  expect(forgotten).toEqual([id]);
});

test('StoredFiles: refuses what is beyond the limits, and leaves nothing behind', async () => {
  const { files, folder, add } = library({ limits: { fileBytes: 10, allBytes: 15 } });
  await expect(add('a', '123456', '78901')).rejects.toMatchObject({ code: 'file-too-large', status: 413 });
  await add('b', '1234567890');
  await expect(add('c', '123456')).rejects.toMatchObject({ code: 'storage-full', status: 507 });
  expect(readdirSync(folder).filter((name) => !name.startsWith('owner'))).toHaveLength(2);
  const sent = await Promise.allSettled([add('d', '12345'), add('e', '12345')]);
  expect(sent.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  expect(await files.list()).toHaveLength(2);
});

test('StoredFiles: counts what is stored beside the files', async () => {
  const { add } = library({ limits: { fileBytes: 10, allBytes: 15 }, otherBytes: async () => 12 });
  await expect(add('a', '1234')).rejects.toMatchObject({ code: 'storage-full' });
  await add('a', '123');
});

test('StoredFiles: an aborted or failing content leaves nothing behind', async () => {
  const { files, folder } = library();
  const stop = new AbortController();
  async function* stopping(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a');
    stop.abort();
    yield Buffer.from('b');
  }
  async function* failing(): AsyncGenerator<Uint8Array> {
    yield Buffer.from('a');
    throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
  }
  const file = { name: 'a', purpose: 'user_data' } as const;
  await expect(files.add(file, stopping(), stop.signal)).rejects.toThrow();
  await expect(files.add(file, failing(), signal)).rejects.toMatchObject({ code: 'ENOSPC' });
  expect(await files.list()).toEqual([]);
  expect(readdirSync(folder)).toEqual(['owner.json']);
});

test('StoredFiles: a moved file is no longer where it was', async () => {
  const { files } = library();
  const path = join(freshFolder(), 'sent');
  writeFileSync(path, 'text');
  const stored = await files.move({ name: 'a.txt', purpose: 'assistants' }, path);
  expect(stored).toMatchObject({ bytes: 4, mime: 'text/plain' });
  expect(readFileSync(await files.path(stored.id), 'utf8')).toBe('text');
  expect(() => statSync(path)).toThrow();
});

test('StoredFiles: an expired file is gone, also for the list, and its collections are told', async () => {
  const forgotten: string[] = [];
  const { files, clock, folder } = library({ onDeleted: async (id) => void forgotten.push(id) });
  const expiresAfter = 100;
  const first = await files.add({ name: 'a', purpose: 'batch', expiresAfter }, chunks('a'), signal);
  const second = await files.add({ name: 'b', purpose: 'batch', expiresAfter }, chunks('b'), signal);
  clock.now += 99_000;
  expect(await files.get(first.id)).toEqual(first);
  clock.now += 1000;
  expect(await files.get(first.id)).toBeUndefined();
  expect(await files.list()).toEqual([]);
  expect(readdirSync(folder)).toEqual(['owner.json']);
  expect(forgotten).toEqual([first.id, second.id]);
});

test('StoredFiles: the lifetime of a file begins with its creation, however long its content takes', async () => {
  const { files, clock } = library({});
  async function* slowly() {
    yield Buffer.from('a');
    clock.now += 5000;
  }
  const { createdAt, expiresAt } = await files.add({ name: 'a', purpose: 'batch', expiresAfter: 60 }, slowly(), signal);
  expect([createdAt, expiresAt]).toEqual([1_790_000_005, 1_790_000_065]);
});

test('StoredFiles: sees what another server stores and deletes in the same folder', async () => {
  const { files, folder, add } = library();
  const other = library({ folder });
  const { id } = await other.add('a', 'a');
  expect(await files.list()).toHaveLength(1);
  await other.files.delete(id);
  expect(await files.get(id)).toBeUndefined();
  expect(await files.list()).toEqual([]);
  const { id: second } = await add('b', 'b');
  expect(await other.files.get(second)).toMatchObject({ name: 'b' });
});

test('StoredFiles: leaves damaged files and those of later versions alone, and says so once', async () => {
  const { files, folder, warnings, add } = library();
  const { id } = await add('a', 'a');
  const ids = new OrderedIds(() => 1_790_000_000_500);
  const [newer, broken] = [ids.next('file-'), ids.next('file-')];
  writeFileSync(join(folder, `${newer}.json`), '{"file_version":2}');
  writeFileSync(join(folder, `${broken}.json`), '{"file_version":1,"name":');
  for (let turn = 0; turn < 2; turn++) expect((await files.list()).map((file) => file.id)).toEqual([id]);
  expect(await files.delete(newer)).toBe(false);
  expect(readdirSync(folder)).toContain(`${newer}.json`);
  expect(warnings).toHaveLength(2);
  expect(warnings.join()).toContain('newer version');
});

test('StoredFiles: cleaning removes what killed servers have left, and nothing else', async () => {
  const { files, folder, clock, add } = library();
  const { id } = await add('a', 'a');
  const orphan = new OrderedIds(() => 1).next('file-');
  for (const name of [`${orphan}.data`, `${orphan}.2147483647.part`, `${orphan}.${process.pid}.part`])
    writeFileSync(join(folder, name), 'left');
  clock.now = Date.now();
  await files.clean();
  expect(readdirSync(folder)).toHaveLength(6);
  clock.now = Date.now() + 2 * 60 * 60 * 1000;
  await files.clean();
  expect(readdirSync(folder).sort()).toEqual([`${id}.data`, `${id}.json`, 'owner.json']);
});

test('StoredFiles: an id that was taken before is used, again after a crash', async () => {
  const { files } = library();
  const id = files.newId();
  for (const text of ['first', 'second'])
    await files.add({ id, name: 'a', purpose: 'batch_output' }, chunks(text), signal);
  expect(await files.list()).toHaveLength(1);
  expect(readFileSync(await files.path(id), 'utf8')).toBe('second');
});

test('StoredFiles: a process that is killed while it stores leaves only whole files', async () => {
  const folder = join(freshFolder(), 'common');
  const module = await bundled(new URL('./stored-files.ts', import.meta.url), freshFolder());
  const script = `
    const [href, folder] = process.argv.slice(1);
    const { StoredFiles } = await import(href);
    const limits = { fileBytes: 2 ** 30, allBytes: 2 ** 30 };
    const files = new StoredFiles({ folder, owner: 'no key', limits, now: () => Date.now(), warn: console.log });
    async function* content(bytes) { for (let sent = 0; sent < bytes; sent += 1000) yield Buffer.alloc(1000, 97); }
    let count = 0;
    for (;;) {
      if (++count === 20) setImmediate(() => process.kill(process.pid, 'SIGKILL'));
      await files.add({ name: 'a', purpose: 'batch' }, content(50_000), new AbortController().signal);
    }`;
  await runScript(script, [pathToFileURL(module).href, folder]);
  const { files } = library({ folder });
  const stored = await files.list();
  expect(stored.length).toBeGreaterThanOrEqual(19);
  for (const { id } of stored) expect(statSync(await files.path(id)).size).toBe(50_000);
});

test('StoredFiles: there is nothing before the first file, and nothing is made for reading', async () => {
  const { files, folder } = library();
  expect(await files.list()).toEqual([]);
  await files.clean();
  expect(() => readdirSync(folder)).toThrow();
  mkdirSync(folder, { recursive: true });
  utimesSync(folder, 0, 0);
  rmSync(folder, { recursive: true });
});

test.each([
  ['a.pdf', 'a.pdf'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\Users\\me\\a.txt', 'a.txt'],
  ['a\r\nSet-Cookie: b=c.txt', 'aSet-Cookie: b=c.txt'],
  ['a\0b\u202etxt.exe', 'abtxt.exe'],
  ['\ud800a.txt', 'a.txt'],
  ['', 'unnamed.pdf'],
  ['..', 'unnamed.pdf'],
  ['\u{1f600} Übersicht.md', '\u{1f600} Übersicht.md'],
])('plainFileName: %j becomes %j', (sent, name) => {
  expect(plainFileName(sent, 'application/pdf')).toBe(name);
});

test('plainFileName: refuses a name of more than 255 characters', () => {
  expect(plainFileName('a'.repeat(255))).toHaveLength(255);
  expect(plainFileName('a'.repeat(256))).toBeUndefined();
});
