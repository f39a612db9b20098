import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freshFolders } from '../store/testing/folder.ts';
import { fileContent, openFile } from './open-file.ts';

const freshFolder = freshFolders();
const isWindows = process.platform === 'win32';

function world(content = 'Text.') {
  const folder = realpathSync(freshFolder());
  mkdirSync(join(folder, 'deep'));
  const path = join(folder, 'deep', 'a.txt');
  writeFileSync(path, content);
  const read = async (): Promise<string> => {
    let text = '';
    for await (const piece of (await fileContent('a.txt', path, true)).stream) text += Buffer.from(piece);
    return text;
  };
  return { folder, path, read };
}

test('fileContent: a file of a folder, also an empty one', async () => {
  expect(await world().read()).toBe('Text.');
  expect(await world('').read()).toBe('');
});

test('fileContent: a file that is gone is not found', async () => {
  const { path, read } = world();
  rmSync(path);
  await expect(read()).rejects.toMatchObject({ status: 404, code: 'file-gone' });
});

test('fileContent: refuses links, also one in place of a sub-folder', async () => {
  const { folder, path, read } = world();
  const outside = freshFolder();
  writeFileSync(join(outside, 'a.txt'), 'Secret.');
  rmSync(path);
  symlinkSync(join(outside, 'a.txt'), path);
  await expect(read()).rejects.toMatchObject({ status: 409, code: 'file-replaced' });
  renameSync(join(folder, 'deep'), join(folder, 'other'));
  symlinkSync(outside, join(folder, 'deep'));
  await expect(read()).rejects.toMatchObject({ status: 409, code: 'file-replaced' });
});

test('fileContent: refuses a folder', async () => {
  const { path, read } = world();
  rmSync(path);
  mkdirSync(path);
  await expect(read()).rejects.toMatchObject({ status: 409, code: 'file-replaced' });
});

test.skipIf(isWindows)('fileContent: refuses a pipe without waiting for its other end', async () => {
  const { path, read } = world();
  rmSync(path);
  execFileSync('mkfifo', [path]);
  await expect(read()).rejects.toMatchObject({ status: 409, code: 'file-replaced' });
  await expect(openFile(path)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('fileContent: sends a file as it was when it was opened, whatever is added meanwhile', async () => {
  const { path } = world('x'.repeat(600_000));
  const { bytes, stream } = await fileContent('a.txt', path, true);
  appendFileSync(path, 'more');
  let length = 0;
  for await (const piece of stream) length += piece.length;
  expect([bytes, length]).toEqual([600_000, 600_000]);
});

test('fileContent: fails if the file is shortened meanwhile', async () => {
  const { path } = world('x'.repeat(600_000));
  const { stream } = await fileContent('a.txt', path, true);
  truncateSync(path, 300_000);
  const read = async () => {
    for await (const _ of stream);
  };
  await expect(read()).rejects.toMatchObject({ code: 'file-changed' });
});
