import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { packed } from '../library/testing/archive.ts';
import type { PackPackage } from './catalogue.ts';
import { installedVersion, installPackage, packageFolder, removePackage } from './install.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-packs-'));
afterAll(() => rmSync(root, { recursive: true }));

/** A registry of one package, and a folder to install it into. */
function world(files: Readonly<Record<string, string>>, { integrity, version = '1.0.0' }: Partial<PackPackage> = {}) {
  const own = { 'package/package.json': JSON.stringify({ name: '@x/engine', version }), ...files };
  const archive = packed(Object.fromEntries(Object.entries(own).map(([name, text]) => [name, Buffer.from(text)])));
  const right = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
  const asked: string[] = [];
  const folder = mkdtempSync(join(root, 'packs-'));
  const wanted: PackPackage = { name: '@x/engine', version, integrity: integrity ?? right, megabytes: 1 };
  const install = (broken?: Error) =>
    installPackage(wanted, folder, {
      fetch: async () => {
        if (broken) throw broken;
        return new Response(new Uint8Array(archive), { headers: { 'content-length': String(archive.length) } });
      },
      findPackage: async (specifier) => {
        asked.push(specifier);
        return { tarball: 'https://packages.invalid/engine.tgz' };
      },
      progress: () => {},
      attempts: 1,
    });
  return { folder, wanted, install, asked };
}

describe('installPackage', () => {
  test('extracts all files of this version, and leaves nothing else', async () => {
    const { folder, install, asked } = world({ 'package/bins/linux/engine.so': 'code', 'package/run': '#!' });
    expect(await install()).toBe(true);
    expect(asked).toEqual(['@x/engine@1.0.0']);
    const target = packageFolder(folder, '@x/engine');
    expect(readFileSync(join(target, 'bins/linux/engine.so'), 'utf8')).toBe('code');
    expect(installedVersion(folder, '@x/engine')).toBe('1.0.0');
    expect(readdirSync(folder)).toEqual(['node_modules']);
    if (process.platform !== 'win32') expect(statSync(join(target, 'run')).mode & 0o100).toBe(0o100);
  });

  test('does nothing if this version is installed', async () => {
    const { install, asked } = world({});
    await install();
    expect(await install()).toBe(false);
    expect(asked.length).toBe(1);
  });

  test('replaces another version completely', async () => {
    const { folder, install } = world({});
    const target = packageFolder(folder, '@x/engine');
    mkdirSync(target, { recursive: true });
    writeFileSync(join(target, 'package.json'), JSON.stringify({ version: '0.9.0' }));
    writeFileSync(join(target, 'old'), '');
    expect(await install()).toBe(true);
    expect(installedVersion(folder, '@x/engine')).toBe('1.0.0');
    expect(existsSync(join(target, 'old'))).toBe(false);
  });

  test('rejects a wrong hash and leaves no files, whatever the registry says', async () => {
    const wrong = `sha512-${createHash('sha512').update('something else').digest('base64')}`;
    const { folder, install } = world({}, { integrity: wrong });
    await expect(install()).rejects.toThrow('nothing of it is kept');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('reports a failed connection, and installs nothing', async () => {
    const { folder, install } = world({});
    await expect(install(new TypeError('fetch failed', { cause: new Error('ENOTFOUND') }))).rejects.toThrow(
      'packages.invalid could not be reached (ENOTFOUND)',
    );
    expect(installedVersion(folder, '@x/engine')).toBeUndefined();
  });

  test.each(['package/../../outside', 'package/a/../../../outside'])('rejects a file at %s', async (name) => {
    const { folder, install } = world({ [name]: 'gotcha' });
    await expect(install()).rejects.toThrow('outside of its folder');
    expect(installedVersion(folder, '@x/engine')).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
  });
});

test('removePackage: deletes the folder and returns whether it was installed', async () => {
  const { folder, wanted, install } = world({});
  await install();
  expect(await removePackage(wanted, folder)).toBe(true);
  expect(existsSync(packageFolder(folder, '@x/engine'))).toBe(false);
  expect(await removePackage(wanted, folder)).toBe(false);
});

test('installedVersion: undefined for an unreadable package.json', () => {
  const folder = mkdtempSync(join(root, 'broken-'));
  mkdirSync(packageFolder(folder, 'x'), { recursive: true });
  writeFileSync(join(packageFolder(folder, 'x'), 'package.json'), '{');
  expect(installedVersion(folder, 'x')).toBeUndefined();
});
