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
import { type PackPackage, packageFolder } from './catalogue.ts';
import { placePackage, removePackage, stagePackage } from './install.ts';
import { checkPackage } from './manifest.ts';

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
  const target = packageFolder(folder, wanted.name);
  const stage = (broken?: Error) =>
    stagePackage(wanted, folder, {
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
  const install = async () => {
    await stage();
    await placePackage(wanted, folder);
  };
  const state = () => checkPackage(wanted, target, 'thorough');
  return { folder, wanted, target, stage, install, state, asked };
}

describe('installing', () => {
  test('extracts all files of this version, and leaves nothing else', async () => {
    const { folder, target, install, state, asked } = world({
      'package/bins/linux/engine.so': 'code',
      'package/run': '#!',
    });
    await install();
    expect(asked).toEqual(['@x/engine@1.0.0']);
    expect(readFileSync(join(target, 'bins/linux/engine.so'), 'utf8')).toBe('code');
    expect(await state()).toEqual({ type: 'installed', files: 3 });
    expect(readdirSync(folder)).toEqual(['node_modules']);
    if (process.platform !== 'win32') expect(statSync(join(target, 'run')).mode & 0o100).toBe(0o100);
  });

  test('a staged package is not installed, and is not fetched again', async () => {
    const { folder, wanted, stage, state, asked } = world({});
    await stage();
    expect(await state()).toEqual({ type: 'missing' });
    await stage();
    expect(asked.length).toBe(1);
    await placePackage(wanted, folder);
    expect(await state()).toEqual({ type: 'installed', files: 1 });
  });

  test('a damaged staged package is fetched again', async () => {
    const { folder, stage, asked } = world({});
    await stage();
    writeFileSync(join(folder, '-x-engine-1.0.0.staged', 'package.json'), '{}');
    await stage();
    expect(asked.length).toBe(2);
  });

  test('replaces another version completely, with what was left of it', async () => {
    const { folder, target, install, state } = world({});
    mkdirSync(target, { recursive: true });
    writeFileSync(join(target, 'package.json'), JSON.stringify({ version: '0.9.0' }));
    writeFileSync(join(target, 'old'), '');
    writeFileSync(join(folder, '-x-engine-0.9.0.tgz.part'), '');
    writeFileSync(join(folder, '-x-engine-more-1.0.0.tgz.part'), 'of another package');
    await install();
    expect(await state()).toEqual({ type: 'installed', files: 1 });
    expect(existsSync(join(target, 'old'))).toBe(false);
    expect(readdirSync(folder).sort()).toEqual(['-x-engine-more-1.0.0.tgz.part', 'node_modules']);
  });

  test('keeps the installed package if the staged one cannot be put in its place', async () => {
    const { folder, wanted, target } = world({});
    mkdirSync(target, { recursive: true });
    writeFileSync(join(target, 'package.json'), JSON.stringify({ version: '0.9.0' }));
    await expect(placePackage(wanted, folder)).rejects.toThrow('ENOENT');
    expect(readFileSync(join(target, 'package.json'), 'utf8')).toContain('0.9.0');
  });

  test('rejects a wrong hash and leaves no files, whatever the registry says', async () => {
    const wrong = `sha512-${createHash('sha512').update('something else').digest('base64')}`;
    const { folder, stage } = world({}, { integrity: wrong });
    await expect(stage()).rejects.toThrow('nothing of it is kept');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('reports a failed connection, and installs nothing', async () => {
    const { stage, state } = world({});
    await expect(stage(new TypeError('fetch failed', { cause: new Error('ENOTFOUND') }))).rejects.toThrow(
      'cannot reach packages.invalid: ENOTFOUND.',
    );
    expect(await state()).toEqual({ type: 'missing' });
  });

  test.each(['package/../../outside', 'package/a/../../../outside'])('rejects a file at %s', async (name) => {
    const { folder, stage } = world({ [name]: 'gotcha' });
    await expect(stage()).rejects.toThrow('outside of its folder');
    expect(readdirSync(folder)).toEqual([]);
  });
});

test('removePackage: deletes the folder and returns whether it was installed', async () => {
  const { folder, target, wanted, install } = world({});
  await install();
  expect(await removePackage(wanted, folder)).toBe(true);
  expect(existsSync(target)).toBe(false);
  expect(await removePackage(wanted, folder)).toBe(false);
  expect(readdirSync(folder)).toEqual(['node_modules']);
});

describe('checkPackage', () => {
  const installed = async () => {
    const made = world({ 'package/bins/engine.so': 'code', 'package/bins/notes': 'some' });
    await made.install();
    const file = (name: string) => join(made.target, name);
    const quick = () => checkPackage(made.wanted, made.target, 'quick');
    return { ...made, file, quick };
  };
  const broken = { type: 'broken', missing: [], changed: [], extra: [] };

  test('finds missing, changed and additional files', async () => {
    const { file, state, quick } = await installed();
    expect(await quick()).toEqual({ type: 'installed', files: 3 });
    rmSync(file('bins/notes'));
    writeFileSync(file('bins/engine.so'), 'fake');
    writeFileSync(file('more'), '');
    expect(await state()).toEqual({
      type: 'broken',
      missing: ['bins/notes'],
      changed: ['bins/engine.so'],
      extra: ['more'],
    });
  });

  test('quick: finds missing files and other sizes', async () => {
    const { file, quick } = await installed();
    writeFileSync(file('bins/engine.so'), 'fake');
    expect(await quick()).toEqual({ type: 'installed', files: 3 });
    writeFileSync(file('bins/engine.so'), 'cod');
    expect(await quick()).toEqual({ ...broken, changed: ['bins/engine.so'] });
    rmSync(file('bins/notes'));
    expect(await quick()).toMatchObject({ missing: ['bins/notes'] });
  });

  test('an intact package of another version is outdated', async () => {
    const { target } = await installed();
    expect(await checkPackage({ version: '2.0.0' }, target, 'thorough')).toEqual({
      type: 'outdated',
      version: '1.0.0',
    });
  });

  test('a damaged manifest is damage, one of a newer version is not read', async () => {
    const { file, state } = await installed();
    writeFileSync(file('.parley-manifest.json'), '{');
    expect(await state()).toEqual({ ...broken, changed: ['.parley-manifest.json'] });
    writeFileSync(file('.parley-manifest.json'), '{"file_version": 2, "files": {}}');
    expect(await state()).toEqual({ type: 'installed', files: undefined });
  });

  test('without a manifest: the version and the main file', async () => {
    const { file, state } = await installed();
    rmSync(file('.parley-manifest.json'));
    expect(await state()).toEqual({ type: 'installed', files: undefined });
    writeFileSync(file('package.json'), '{"version": "1.0.0", "main": "engine"}');
    expect(await state()).toEqual({ ...broken, missing: ['engine'] });
    writeFileSync(file('engine.js'), '');
    expect(await state()).toEqual({ type: 'installed', files: undefined });
    writeFileSync(file('package.json'), '{');
    expect(await state()).toEqual({ ...broken, changed: ['package.json'] });
  });
});
