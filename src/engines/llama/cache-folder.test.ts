import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { makeFolder, tryFolder } from './cache-folder.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-folder-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test('makeFolder: creates missing parents, for the owner only', async () => {
  const path = join(root, 'a', 'b', 'c');
  await makeFolder(path);
  expect(statSync(path).mode & 0o777).toBe(0o700);
  await makeFolder(path);
});

test('tryFolder: leaves an existing folder unchanged', async () => {
  const path = join(root, 'shared');
  mkdirSync(path, { mode: 0o755 });
  await tryFolder(path, 1);
  expect(statSync(path).mode & 0o777).toBe(0o755);
  expect(readdirSync(path)).toEqual([]);
});

test('makeFolder: fails if a file has that name', async () => {
  const file = join(root, 'file');
  writeFileSync(file, '');
  await expect(makeFolder(file)).rejects.toThrow('EEXIST');
  await expect(makeFolder(join(file, 'deep', 'deeper'))).rejects.toThrow('ENOTDIR');
});

test.runIf(existsSync('/proc/self'))('makeFolder, tryFolder: fail at once where nothing can be created', async () => {
  await expect(makeFolder('/proc/nope')).rejects.toThrow('ENOENT');
  await expect(makeFolder('/proc/nope/deep')).rejects.toThrow('ENOENT');
  await expect(tryFolder('/proc', 1)).rejects.toThrow();
});
