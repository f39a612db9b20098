import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adminFiles, adminTarget, listedFile, optionNames } from './admin-options.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'parley-options-')));
const folder = join(root, 'options');
afterAll(() => rmSync(root, { recursive: true }));

const put = (...path: string[]) => writeFileSync(join(folder, ...path), '');

beforeAll(() => {
  for (const path of ['sub', 'sub/deeper', 'empty', 'folder.gguf', '.hidden']) {
    mkdirSync(join(folder, path), { recursive: true });
  }
  for (const name of ['b.gguf', 'a.kcpps', 'T.KCPPT', 'notes.txt', 'odd name é%2e.gguf', '..gguf', 'gguf']) put(name);
  put('sub', 'inner.gguf');
  put('sub', 'inner.json');
  put('sub', 'deeper', 'too-deep.gguf');
  writeFileSync(join(root, 'secret.gguf'), '');
  symlinkSync('b.gguf', join(folder, 'inside.gguf'));
  symlinkSync('../b.gguf', join(folder, 'sub', 'up.gguf'));
  symlinkSync('../secret.gguf', join(folder, 'outside.gguf'));
  symlinkSync('nowhere.gguf', join(folder, 'dangling.gguf'));
  symlinkSync('sub', join(folder, 'folderlink.gguf'));
  symlinkSync('loop.gguf', join(folder, 'loop.gguf'));
});

describe('the files that can be switched to', () => {
  test('are the configs and models of the folder and of the folders in it, in order', async () => {
    expect(await adminFiles(folder)).toEqual([
      '..gguf',
      'T.KCPPT',
      'a.kcpps',
      'b.gguf',
      'inside.gguf',
      'odd name é%2e.gguf',
      'sub/inner.gguf',
      'sub/up.gguf',
    ]);
  });

  test('are none where there is no such folder, or it is none', async () => {
    expect(await adminFiles(join(root, 'nowhere'))).toEqual([]);
    expect(await adminFiles(join(folder, 'b.gguf'))).toEqual([]);
  });
});

describe('a name', () => {
  test.each(['b.gguf', 'sub/inner.gguf', 'inside.gguf', 'odd name é%2e.gguf', '..gguf'])(
    '%j is a file',
    async (name) => {
      expect(await listedFile(folder, name)).toBe(join(folder, name));
    },
  );

  test.each([
    'outside.gguf',
    'dangling.gguf',
    'loop.gguf',
    'folderlink.gguf',
    'folder.gguf',
    'notes.txt',
    'sub/deeper/too-deep.gguf',
    '../secret.gguf',
    'sub/../b.gguf',
    './b.gguf',
    'b.gguf\0',
    'B.GGUF',
    '/etc/passwd',
    '',
    '.',
    '..',
  ])('%j is none', async (name) => {
    expect(await listedFile(folder, name)).toBeUndefined();
    expect(await adminTarget(folder, name)).toBeUndefined();
  });

  test('stands for a config, a model, the first one, or none', async () => {
    expect(await adminTarget(folder, 'a.kcpps')).toEqual({ type: 'config', path: join(folder, 'a.kcpps') });
    expect(await adminTarget(folder, 'T.KCPPT')).toMatchObject({ type: 'config' });
    expect(await adminTarget(folder, 'b.gguf')).toEqual({ type: 'model', path: join(folder, 'b.gguf') });
    expect(await adminTarget(folder, 'initial_model')).toEqual({ type: 'initial' });
    expect(await adminTarget(folder, 'unload_model')).toEqual({ type: 'unload' });
  });

  test('a folder that is itself behind a link is a folder', async () => {
    const link = join(root, 'link');
    symlinkSync('options', link);
    expect(await listedFile(link, 'b.gguf')).toBe(join(folder, 'b.gguf'));
  });
});

describe('what clients call them', () => {
  const names = (...files: string[]) => Object.fromEntries(optionNames(files));

  test('has neither folder nor ending', () => {
    expect(names('a.kcpps', 'sub/b.gguf')).toEqual({ 'a.kcpps': 'a', 'sub/b.gguf': 'b' });
  });

  test('of a config and a model the config has the name', () => {
    expect(names('a.gguf', 'a.kcpps')).toEqual({ 'a.gguf': 'a.gguf', 'a.kcpps': 'a' });
  });

  test('of two models the first has it', () => {
    expect(names('a.gguf', 'sub/A.gguf')).toEqual({ 'a.gguf': 'a', 'sub/A.gguf': 'sub/A.gguf' });
  });

  test('is nobody’s twice', () => {
    const file = fc
      .tuple(fc.constantFrom('', 'x/', 'y/'), fc.constantFrom('a', 'A', 'b'), fc.constantFrom('gguf', 'kcpps', 'GGUF'))
      .map(([inside, name, ending]) => `${inside}${name}.${ending}`);
    fc.assert(
      fc.property(fc.uniqueArray(file), (files) => {
        const given = [...optionNames(files).values()];
        expect(new Set(given).size).toBe(files.length);
      }),
    );
  });
});
