import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findExactly, modelId } from '../core/model-names.ts';
import { adminFiles, adminTarget, fileOfFolder, listedFile, optionNames } from './admin-options.ts';

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
  mkdirSync(join(root, 'far'));
  writeFileSync(join(root, 'far', 'far.gguf'), '');
  symlinkSync('../far', join(folder, 'elsewhere'));
  symlinkSync('b.gguf', join(folder, 'inside.gguf'));
  symlinkSync('../b.gguf', join(folder, 'sub', 'up.gguf'));
  symlinkSync('../secret.gguf', join(folder, 'outside.gguf'));
  symlinkSync('nowhere.gguf', join(folder, 'dangling.gguf'));
  symlinkSync('sub', join(folder, 'folderlink.gguf'));
  symlinkSync('loop.gguf', join(folder, 'loop.gguf'));
});

describe('adminFiles', () => {
  test('lists configs and models of the folder and its subfolders, in order', async () => {
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

  test('is empty for a missing folder or a file', async () => {
    expect(await adminFiles(join(root, 'nowhere'))).toEqual([]);
    expect(await adminFiles(join(folder, 'b.gguf'))).toEqual([]);
  });
});

describe('adminFiles: links out of the folder', () => {
  test('are skipped and reported', async () => {
    const skipped: string[] = [];
    const files = await adminFiles(folder, { onSkipped: (name) => skipped.push(name) });
    expect(files).not.toContain('outside.gguf');
    expect(skipped.sort()).toEqual(['elsewhere', 'outside.gguf']);
  });

  test('are followed if allowed, including folders', async () => {
    const links = { allowLinks: true, onSkipped: () => expect.unreachable() };
    expect(await adminFiles(folder, links)).toEqual(expect.arrayContaining(['outside.gguf', 'elsewhere/far.gguf']));
    expect(await listedFile(folder, 'outside.gguf', links)).toBe(join(folder, 'outside.gguf'));
    expect(await listedFile(folder, 'elsewhere/far.gguf', links)).toBe(join(folder, 'elsewhere/far.gguf'));
    expect(await listedFile(folder, 'dangling.gguf', links)).toBeUndefined();
    expect(await listedFile(folder, '../secret.gguf', links)).toBeUndefined();
  });
});

test('fileOfFolder: finds a path among the listed files, through links to the folder', async () => {
  const files = await adminFiles(folder);
  expect(await fileOfFolder(folder, files, join(folder, 'sub', 'inner.gguf'))).toBe('sub/inner.gguf');
  expect(await fileOfFolder(folder, files, join(root, 'secret.gguf'))).toBeUndefined();
  expect(await fileOfFolder(folder, files, join(root, 'nowhere', 'b.gguf'))).toBeUndefined();
});

describe('adminTarget', () => {
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
  ])('%j is rejected', async (name) => {
    expect(await listedFile(folder, name)).toBeUndefined();
    expect(await adminTarget(folder, name)).toBeUndefined();
  });

  test('selects a config, a model, the initial model or none', async () => {
    expect(await adminTarget(folder, 'a.kcpps')).toEqual({ type: 'config', path: join(folder, 'a.kcpps') });
    expect(await adminTarget(folder, 'T.KCPPT')).toMatchObject({ type: 'config' });
    expect(await adminTarget(folder, 'b.gguf')).toEqual({ type: 'model', path: join(folder, 'b.gguf') });
    expect(await adminTarget(folder, 'initial_model')).toEqual({ type: 'initial' });
    expect(await adminTarget(folder, 'unload_model')).toEqual({ type: 'unload' });
  });

  test('accepts a folder behind a link', async () => {
    const link = join(root, 'link');
    symlinkSync('options', link);
    expect(await listedFile(link, 'b.gguf')).toBe(join(folder, 'b.gguf'));
  });
});

describe('optionNames', () => {
  const ids = (...files: string[]) => [...optionNames(files).values()].map(([id]) => id);
  const allNames = (...files: string[]) => Object.fromEntries(optionNames(files));

  test('an id has neither folder nor extension if it is unique', () => {
    expect(ids('a.kcpps', 'sub/b.gguf')).toEqual(['a', 'b']);
  });

  test('a config and a model of one name keep their extensions; the short name selects the config', () => {
    expect(allNames('a.gguf', 'a.kcpps')).toEqual({ 'a.gguf': ['a.gguf'], 'a.kcpps': ['a.kcpps', 'a'] });
  });

  test('two models of one name keep their folders; the short name selects the first', () => {
    expect(allNames('a.gguf', 'sub/A.gguf')).toEqual({
      'a.gguf': ['a.gguf', 'a'],
      'sub/A.gguf': ['sub/A', 'sub/A.gguf'],
    });
  });

  test('the initial model keeps its name, and its file is listed under it', () => {
    const initial = { name: 'a', file: 'a.gguf' };
    expect(Object.fromEntries(optionNames(['a.gguf', 'a.kcpps'], initial))).toEqual({
      'a.gguf': ['a', 'a.gguf'],
      'a.kcpps': ['a.kcpps'],
    });
    expect(Object.fromEntries(optionNames(['sub/a.gguf'], { name: 'a', file: undefined }))).toEqual({
      'sub/a.gguf': ['sub/a', 'sub/a.gguf'],
    });
  });

  test('ids are unique, and each file is accepted by its path', () => {
    const file = fc
      .tuple(
        fc.constantFrom('', 'x/', 'y/'),
        fc.constantFrom('a', 'A', 'b', 'a b', 'ab'),
        fc.constantFrom('gguf', 'kcpps', 'GGUF'),
      )
      .map(([inside, name, ending]) => `${inside}${name}.${ending}`);
    fc.assert(
      fc.property(fc.uniqueArray(file), fc.option(file, { nil: undefined }), (files, first) => {
        const inFolder = files.find((one) => one === first);
        const named = optionNames(files, first === undefined ? undefined : { name: 'a', file: inFolder });
        const given = [...named.values()].map(([id]) => modelId(id).toLowerCase());
        expect(new Set(given).size).toBe(files.length);
        for (const [one, names] of named) {
          expect(findExactly([...named.entries()], ([, own]) => own, names[0])?.[0]).toBe(one);
          expect(findExactly([...named.entries()], ([, own]) => own, one)?.[0]).toBe(one);
        }
      }),
    );
  });
});
