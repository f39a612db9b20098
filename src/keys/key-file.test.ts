import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { freshFolders } from '../store/testing/folder.ts';
import { bundled, runScript } from '../store/testing/processes.ts';
import { KeyExists, KeyFile, keyId } from './key-file.ts';

const freshFolder = freshFolders();

function keyFile() {
  const path = join(freshFolder(), 'keys.json');
  return { path, file: new KeyFile({ path, warn: expect.fail, now: () => new Date(0) }) };
}

const bob = { name: 'bob', scopes: ['text'], weight: 1 } as const;

test('KeyFile: stores a hash of the key, readable by its owner only', async () => {
  const { path, file } = keyFile();
  const key = await file.add(bob, 5);
  expect(key).toMatch(/^parley_[a-z0-9]{8}_[\w-]{43}$/);
  const content = readFileSync(path, 'utf8');
  expect(content).not.toContain(key.split('_').slice(2).join('_'));
  expect(await file.keys()).toMatchObject([{ ...bob, id: keyId(key), created: 5 }]);
  if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('KeyFile: refuses a second key of one name, and revokes keys', async () => {
  const { file } = keyFile();
  await file.add(bob, 0);
  await expect(file.add(bob, 0)).rejects.toBeInstanceOf(KeyExists);
  expect([await file.revoke('bob'), await file.revoke('bob'), await file.keys()]).toEqual([true, false, []]);
});

test('KeyFile: keys that several processes add and revoke at once are all stored and all gone', async () => {
  const { path, file } = keyFile();
  for (const name of ['old1', 'old2', 'old3']) await file.add({ ...bob, name }, 0);
  const module = await bundled(new URL('./key-file.ts', import.meta.url), freshFolder());
  const script = `
    const [href, path, number] = process.argv.slice(1);
    const { KeyFile } = await import(href);
    const file = new KeyFile({ path, warn: console.log, now: () => new Date() });
    const added = file.add({ name: 'new' + number, scopes: [], weight: 1 }, 0);
    const revoked = await file.revoke('old' + number);
    await added;
    console.log(revoked);`;
  const run = (number: string) => runScript(script, [pathToFileURL(module).href, path, number]);
  const runs = await Promise.all(['1', '2', '3'].map(run));
  expect(runs.map(({ output }) => output.trim())).toEqual(['true', 'true', 'true']);
  expect((await file.keys()).map(({ name }) => name).toSorted()).toEqual(['new1', 'new2', 'new3']);
});

test('KeyFile: leaves a file of a newer version alone', async () => {
  const { path, file } = keyFile();
  writeFileSync(path, '{"file_version":2,"keys":[]}');
  await expect(file.add(bob, 0)).rejects.toThrow('newer version of Parley');
});

test('KeyFile: ignores scopes that it does not know', async () => {
  const { path, file } = keyFile();
  const key = { ...bob, scopes: ['text', 'telepathy'], id: 'a', salt: '', hash: '', created: 0 };
  writeFileSync(path, JSON.stringify({ file_version: 1, keys: [key] }));
  expect((await file.keys())[0]?.scopes).toEqual(['text']);
});

test.each(['[]', '{}', '{"keys":[{}]}', '{"keys":[{"name":"a"'])(
  'KeyFile: leaves a damaged file alone, since without it nobody gets in: %s',
  async (content) => {
    const { path, file } = keyFile();
    writeFileSync(path, content);
    await expect(file.keys()).rejects.toThrow('damaged and left alone');
    await expect(file.add(bob, 0)).rejects.toThrow('Mend it, or move it away');
    expect(readFileSync(path, 'utf8')).toBe(content);
  },
);
