import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { StoredFiles } from './stored-files.ts';
import { freshFolders } from './testing/folder.ts';
import { Uploads } from './uploads.ts';

const freshFolder = freshFolders();
const signal = new AbortController().signal;

function world(limits = { fileBytes: 1000, allBytes: 5000 }, folder = freshFolder()) {
  const clock = { now: 1_790_000_000_000 };
  const now = () => clock.now;
  const warn = (sentence: string) => expect.fail(sentence);
  const files: StoredFiles = new StoredFiles({
    folder,
    owner: 'no key',
    limits,
    now,
    warn,
    otherBytes: () => uploads.bytes(),
  });
  const own = join(folder, 'uploads');
  const uploads: Uploads = new Uploads({ folder: own, files, fileBytes: limits.fileBytes, now });
  const create = (bytes: number) => uploads.create({ name: 'a.txt', purpose: 'batch', mime: 'text/plain', bytes });
  const add = async (id: string, text: string) => {
    const path = join(freshFolder(), 'sent');
    writeFileSync(path, text);
    return (await uploads.addPart(id, path)).id;
  };
  return { files, uploads, clock, folder: own, whole: folder, create, add };
}

test('Uploads: parts become one file in the order of the client', async () => {
  const { files, uploads, folder, create, add } = world();
  const { id, ...upload } = await create(11);
  expect(upload).toMatchObject({ status: 'pending', createdAt: 1_790_000_000, expiresAt: 1_790_003_600 });
  const [second, first] = [await add(id, ' world'), await add(id, 'hello')];
  const md5 = createHash('md5').update('hello world').digest('hex').toUpperCase();
  const { file, status } = await uploads.complete(id, [first, second], md5, signal);
  expect(status).toBe('completed');
  expect(file).toMatchObject({ name: 'a.txt', purpose: 'batch', bytes: 11 });
  expect(readFileSync(await files.path(file?.id ?? ''), 'utf8')).toBe('hello world');
  expect(readdirSync(join(folder, id))).toEqual(['upload.json']);
  await expect(uploads.complete(id, [first, second], undefined, signal)).rejects.toThrow('this one is completed');
});

test('Uploads: are completed by another start of the server', async () => {
  const { create, add, whole } = world();
  const { id } = await create(3);
  const part = await add(id, 'abc');
  const { uploads } = world(undefined, whole);
  expect(await uploads.complete(id, [part], undefined, signal)).toMatchObject({ status: 'completed' });
});

test('Uploads: refuse a wrong sum, checksum, part or id, and go on', async () => {
  const { uploads, create, add } = world();
  const { id } = await create(4);
  const part = await add(id, 'abc');
  const other = await create(3);
  const foreign = await add(other.id, 'xyz');
  await expect(uploads.complete(id, [part], undefined, signal)).rejects.toThrow('4 bytes together; these have 3');
  await expect(uploads.complete(id, [foreign], undefined, signal)).rejects.toThrow('part_ids[0]');
  await expect(uploads.complete(id, ['../upload.json'], undefined, signal)).rejects.toThrow('part_ids[0]');
  await expect(uploads.complete(id, [part, part], undefined, signal)).rejects.toThrow('named once');
  const last = await add(id, 'd');
  await expect(uploads.complete(id, [part, last], '0'.repeat(32), signal)).rejects.toThrow('md5');
  expect(await uploads.complete(id, [part, last], undefined, signal)).toMatchObject({ status: 'completed' });
  for (const unknown of ['', '..', `upload_${'0'.repeat(36)}`, '../common'])
    await expect(uploads.cancel(unknown)).rejects.toMatchObject({ code: 'not-stored' });
});

test('Uploads: a cancelled one keeps no parts', async () => {
  const { uploads, folder, create, add } = world();
  const { id } = await create(3);
  await add(id, 'abc');
  expect(await uploads.cancel(id)).toMatchObject({ status: 'cancelled' });
  expect(readdirSync(join(folder, id))).toEqual(['upload.json']);
  await expect(add(id, 'abc')).rejects.toThrow('this one is cancelled');
});

test('Uploads: expire after an hour, and are forgotten a day later', async () => {
  const { uploads, clock, folder, create, add } = world();
  const { id } = await create(3);
  const part = await add(id, 'abc');
  clock.now += 3600_000;
  await expect(uploads.complete(id, [part], undefined, signal)).rejects.toThrow('this one is expired');
  clock.now += 1000;
  await uploads.clean();
  expect(readdirSync(join(folder, id))).toEqual(['upload.json']);
  clock.now += 24 * 3600_000;
  await uploads.clean();
  expect(readdirSync(folder)).toEqual([]);
});

test('Uploads: keep the limits of files, all parts included', async () => {
  const { uploads, create, add } = world({ fileBytes: 10, allBytes: 15 });
  await expect(create(11)).rejects.toMatchObject({ code: 'file-too-large' });
  const { id } = await create(6);
  await add(id, '123456');
  await add(id, '123456');
  await expect(add(id, '1')).rejects.toThrow('12 bytes in all parts');
  expect(await uploads.bytes()).toBe(12);
  await expect(create(4)).rejects.toMatchObject({ code: 'storage-full' });
});
