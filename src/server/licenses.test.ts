import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { installedPackages, licensesText, readLicenses, readPackage } from './licenses.ts';

const temporary = mkdtempSync(join(tmpdir(), 'parley-licenses-'));
afterAll(() => rmSync(temporary, { recursive: true }));

/** A folder with these files; objects are written as JSON. */
function tree(files: Readonly<Record<string, string | object>>): string {
  const root = mkdtempSync(join(temporary, 'tree-'));
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  }
  return root;
}

const named = (name: string, more: object = {}) => ({ name, version: '1.0.0', license: 'MIT', ...more });
const namesIn = (root: string) => installedPackages(root).packages.map(({ name, version }) => `${name} ${version}`);

describe('installedPackages', () => {
  test('follows dependencies of dependencies, each once, and no development dependencies', () => {
    const root = tree({
      'package.json': { dependencies: { a: '1', b: '1' }, devDependencies: { tester: '1' } },
      'node_modules/a/package.json': named('a', { dependencies: { '@x/c': '1' } }),
      'node_modules/b/package.json': named('b', { dependencies: { '@x/c': '1', a: '1' } }),
      'node_modules/@x/c/package.json': named('@x/c', { dependencies: { b: '1' } }),
      'node_modules/tester/package.json': named('tester'),
    });
    expect(namesIn(root).sort()).toEqual(['@x/c 1.0.0', 'a 1.0.0', 'b 1.0.0']);
  });

  test('finds the nearest version of a package, as Node does', () => {
    const root = tree({
      'package.json': { dependencies: { a: '1', c: '1' } },
      'node_modules/a/package.json': named('a', { dependencies: { c: '2' } }),
      'node_modules/a/node_modules/c/package.json': named('c', { version: '2.0.0' }),
      'node_modules/c/package.json': named('c'),
    });
    expect(namesIn(root).sort()).toEqual(['a 1.0.0', 'c 1.0.0', 'c 2.0.0']);
  });

  test('finds packages beside an installed program', () => {
    const root = tree({
      'node_modules/parley/package.json': named('parley', { dependencies: { a: '1' } }),
      'node_modules/a/package.json': named('a'),
    });
    expect(namesIn(join(root, 'node_modules', 'parley'))).toEqual(['a 1.0.0']);
  });

  test.skipIf(process.platform === 'win32')('follows links to packages', () => {
    const root = tree({
      'package.json': { dependencies: { a: '1' } },
      'store/a/package.json': named('a', { dependencies: { b: '1' } }),
      'store/node_modules/b/package.json': named('b'),
      'node_modules/.keep': '',
    });
    symlinkSync(join(root, 'store', 'a'), join(root, 'node_modules', 'a'));
    expect(namesIn(root)).toEqual(['a 1.0.0', 'b 1.0.0']);
  });

  test('skips optional packages that are not installed, and names required ones', () => {
    const root = tree({
      'package.json': {
        dependencies: { gone: '1', 'for-windows': '1' },
        optionalDependencies: { 'for-windows': '1', 'for-linux': '1' },
        peerDependencies: { peer: '1', kept: '1' },
        peerDependenciesMeta: { kept: { optional: true } },
      },
      'node_modules/for-linux/package.json': named('for-linux'),
      'node_modules/kept/package.json': named('kept'),
      'node_modules/broken/package.json': '{',
    });
    expect(installedPackages(root)).toMatchObject({ packages: [{ name: 'for-linux' }], missing: ['gone'] });
  });
});

describe('readPackage', () => {
  test.each([
    [{ license: 'MIT' }, 'MIT'],
    [{ license: { type: 'ISC' } }, 'ISC'],
    [{ licenses: [{ type: 'MIT' }, { type: 'Apache-2.0' }] }, 'MIT or Apache-2.0'],
    [{}, 'unknown'],
  ])('licence of %j is %s', (manifest, licence) => {
    expect(readPackage(tree({ 'package.json': manifest })).licence).toBe(licence);
  });

  test('joins all licence files, and reads no code', () => {
    const folder = tree({
      'package.json': named('a'),
      'LICENSE.md': 'first\n',
      NOTICE: 'second',
      'license.js': 'code',
      'README.md': 'readme',
    });
    expect(readPackage(folder).text.split('\n\n').sort()).toEqual(['first', 'second']);
  });
});

describe('readLicenses', () => {
  test('has the own licence, packages, joined packages and weights', () => {
    const root = tree({
      'package.json': { dependencies: { b: '1' } },
      LICENSE: 'own text',
      'weights/LICENSES.txt': 'weights text',
      'node_modules/b/package.json': named('b'),
      'node_modules/b/LICENSE': 'b text',
      'dist/licenses.json': [{ name: 'a', version: '2.0.0', licence: 'ISC', text: 'a text' }],
    });
    const text = licensesText(readLicenses(root));
    expect(text).toContain('\na 2.0.0: ISC\nb 1.0.0: MIT\n');
    for (const part of ['own text', 'weights text', 'a text', 'b text']) expect(text).toContain(part);
  });

  test('reads a folder without any of them', () => {
    const text = licensesText(readLicenses(tree({ 'package.json': { dependencies: { gone: '1' } } })));
    expect(text).toContain('The file LICENSE is missing');
    expect(text).toContain('Not installed, so without their texts: gone.');
  });

  test('knows the licence of every package of this program', () => {
    const { own, packages, missing } = readLicenses(fileURLToPath(new URL('../..', import.meta.url)));
    expect(own).toContain('Apache License');
    expect(missing).toEqual([]);
    expect(packages.map(({ name }) => name)).toEqual(expect.arrayContaining(['koffi', 'ws', 'sharp']));
    expect(packages.map(({ name }) => name)).not.toContain('vitest');
    expect(packages.filter(({ licence }) => licence === 'unknown')).toEqual([]);
  });
});
