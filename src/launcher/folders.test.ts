import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allowedFolders, allowedPath, listFolder } from './folders.ts';
import { configName } from './service.ts';

const top = realpathSync(mkdtempSync(join(tmpdir(), 'parley-folders-')));
const home = join(top, 'home');
beforeAll(() => {
  mkdirSync(join(home, 'models'), { recursive: true });
  mkdirSync(join(home, 'Zebra'));
  mkdirSync(join(home, '.hidden'));
  mkdirSync(join(top, 'secret'));
  writeFileSync(join(top, 'secret', 'key.gguf'), 'x');
  writeFileSync(join(home, 'b.gguf'), '12345');
  writeFileSync(join(home, 'a.kcpps'), '{}');
  writeFileSync(join(home, 'note.txt'), '');
  symlinkSync(join(top, 'secret'), join(home, 'out'));
  symlinkSync(join(top, 'nowhere'), join(home, 'broken.gguf'));
});
afterAll(() => rmSync(top, { recursive: true }));

const names = async (wanted: 'model' | 'config' | 'any') =>
  (await listFolder(home, wanted, [home]))?.entries.map(({ name }) => name);

describe('listFolder', () => {
  test('lists folders first, then matching files', async () => {
    expect(await names('model')).toEqual(['models', 'out', 'Zebra', 'b.gguf']);
    expect(await names('config')).toEqual(['models', 'out', 'Zebra', 'a.kcpps']);
    expect(await names('any')).toEqual(['models', 'out', 'Zebra', 'a.kcpps', 'b.gguf', 'note.txt']);
  });

  test('returns file sizes and the parent folder', async () => {
    const folder = await listFolder(home, 'model', [home]);
    expect(folder?.entries.find(({ name }) => name === 'b.gguf')).toEqual({
      name: 'b.gguf',
      path: join(home, 'b.gguf'),
      folder: false,
      bytes: 5,
    });
    expect(folder?.parent).toBeUndefined();
    expect((await listFolder(join(home, 'models'), 'model', [home]))?.parent).toBe(home);
  });

  test.each([
    ['outside', () => top],
    ['beside', () => join(top, 'secret')],
    ['by two dots', () => join(home, 'models', '..', '..', 'secret')],
    ['by a link that leads out', () => join(home, 'out')],
    ['that is not there', () => join(home, 'nothing')],
    ['that is a file', () => join(home, 'b.gguf')],
    ['that is no whole path', () => 'models'],
    ['with a strange character', () => `${home}\0`],
    ['without a name', () => ''],
  ])('rejects %s', async (_, path) => {
    expect(await listFolder(path(), 'model', [home])).toBeUndefined();
  });
});

test('allowedPath: resolves links and rejects a file outside of the allowed folders', async () => {
  expect(await allowedPath(join(home, 'b.gguf'), [home])).toBe(join(home, 'b.gguf'));
  expect(await allowedPath(join(home, 'out', 'key.gguf'), [home])).toBeUndefined();
  expect(await allowedPath(join(home, 'out', 'key.gguf'), [home, join(top, 'secret')])).toBe(
    join(top, 'secret', 'key.gguf'),
  );
  expect(await allowedPath(`${home}-other`, [home])).toBeUndefined();
  expect(await allowedPath(home, ['/not/there'])).toBeUndefined();
});

test('allowedFolders: own folders and the drives', () => {
  expect(allowedFolders('/home/me', '/home/me', 'linux')).toEqual(['/home/me', '/mnt', '/media', '/run/media', '/srv']);
  expect(allowedFolders('/Users/me', '/work', 'darwin', ['/x'])).toEqual(['/Users/me', '/work', '/Volumes', '/x']);
  expect(allowedFolders('C:\\me', 'D:\\', 'win32')).toEqual(expect.arrayContaining(['C:\\me', 'C:\\', 'Z:\\']));
});

test.each([
  ['mine', 'config', 'mine.kcpps'],
  [' mine.kcpps ', 'config', 'mine.kcpps'],
  ['mine.kcppt', 'config', 'mine.kcpps'],
  ['mine', 'template', 'mine.kcppt'],
  ['My model (8k)', 'config', 'My model (8k).kcpps'],
  ['../up', 'config', undefined],
  ['a/b', 'config', undefined],
  ['a\\b', 'config', undefined],
  ['.hidden', 'config', undefined],
  ['..', 'config', undefined],
  ['', 'config', undefined],
  ['.kcpps', 'config', undefined],
  ['a\0', 'config', undefined],
  ['con', 'config', undefined],
  ['C:x', 'config', undefined],
  ['x'.repeat(101), 'config', undefined],
] as const)('configName: %o of a %s is %o', (asked, kind, name) => {
  expect(configName(asked, kind)).toBe(name);
});
