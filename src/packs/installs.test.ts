import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { packed } from '../library/testing/archive.ts';
import type { Pack } from './catalogue.ts';
import { packInstalls } from './installs.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-pack-installs-'));
afterAll(() => rmSync(root, { recursive: true }));

const archive = packed({ 'package/package.json': Buffer.from(JSON.stringify({ version: '1.0.0' })) });
const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
const packageOf = (name: string) => ({ name, version: '1.0.0', integrity, megabytes: 3 });
const packOf = (name: string, ...others: string[]): Pack => ({
  name,
  brings: 'Things.',
  licence: 'MIT',
  packages: { 'linux-x64': ['runtime', ...others].map(packageOf) },
});
const elsewhere: Pack = { name: 'elsewhere', brings: '', licence: 'MIT', packages: { 'win32-x64': [] } };

function world(chosenAt = Date.now() - 1e6) {
  const folder = mkdtempSync(join(root, 'packs-'));
  const gates = new Map<string, Promise<void>>();
  const asked: string[] = [];
  const installs = packInstalls({
    folder,
    catalogue: [packOf('voices', 'speech'), packOf('ears', 'hearing'), elsewhere],
    system: { platform: 'linux', arch: 'x64' },
    chosenAt: () => chosenAt,
    fetch: async () => new Response(new Uint8Array(archive), { headers: { 'content-length': `${archive.length}` } }),
    findPackage: async (specifier) => {
      asked.push(specifier);
      await gates.get(specifier);
      return { tarball: 'https://packages.invalid/x.tgz' };
    },
  });
  const pack = async (name: string) => (await installs.list()).find((one) => one.name === name);
  return { folder, installs, gates, asked, pack };
}

test('packInstalls: lists the packs of this system with what is left to download', async () => {
  const { installs } = world();
  expect(await installs.list()).toMatchObject([
    { name: 'voices', state: 'absent', bytes: 6e6, inUse: false, job: undefined },
    { name: 'ears', state: 'absent', bytes: 6e6 },
  ]);
});

test('packInstalls: installs one pack after the other, and shares their packages', async () => {
  const { installs, gates, asked, pack } = world();
  let open = () => {};
  gates.set('speech@1.0.0', new Promise((resolve) => (open = resolve)));
  expect([installs.add('voices'), installs.add('ears'), installs.add('voices')]).toEqual([true, true, true]);
  await expect
    .poll(async () => (await pack('voices'))?.job)
    .toMatchObject({
      state: 'running',
      doneBytes: 3e6,
      totalBytes: 6e6,
    });
  expect((await pack('ears'))?.job?.state).toBe('waiting');
  open();
  await expect.poll(async () => (await pack('ears'))?.state).toBe('installed');
  expect(await pack('voices')).toMatchObject({ state: 'installed', bytes: 6e6, inUse: false, job: undefined });
  expect(asked).toEqual(['runtime@1.0.0', 'speech@1.0.0', 'hearing@1.0.0']);
});

test('packInstalls: a pack that was there when engines were chosen is in use', async () => {
  const { installs, pack } = world(Date.now() + 1e6);
  installs.add('ears');
  await expect.poll(async () => (await pack('ears'))?.inUse).toBe(true);
});

test('packInstalls: keeps the reason of a failure, and tries again', async () => {
  const { installs, gates, pack } = world();
  const failing = Promise.reject(new Error('npm is not installed here'));
  failing.catch(() => undefined);
  gates.set('runtime@1.0.0', failing);
  installs.add('ears');
  await expect
    .poll(async () => (await pack('ears'))?.job)
    .toMatchObject({
      state: 'failed',
      reason: 'runtime 1.0.0: npm is not installed here',
    });
  gates.clear();
  installs.add('ears');
  await expect.poll(async () => (await pack('ears'))?.state).toBe('installed');
});

test('packInstalls: remove ends an installation, and deletes only what no other pack needs', async () => {
  const { installs, gates, folder, pack } = world();
  installs.add('voices');
  await expect.poll(async () => (await pack('voices'))?.state).toBe('installed');
  let open = () => {};
  gates.set('hearing@1.0.0', new Promise((resolve) => (open = resolve)));
  installs.add('ears');
  await expect.poll(async () => (await pack('ears'))?.job?.state).toBe('running');
  const removed = installs.remove('ears');
  open();
  expect(await removed).toBe(true);
  expect(await pack('ears')).toMatchObject({ state: 'absent', job: undefined });
  expect(existsSync(join(folder, 'node_modules', 'runtime'))).toBe(true);
  await installs.remove('voices');
  expect(existsSync(join(folder, 'node_modules', 'runtime'))).toBe(false);
});

test.each(['nonsense', 'elsewhere', '../voices', 'cuda-built'])(
  'packInstalls: %s cannot be installed',
  async (name) => {
    const { installs, asked } = world();
    expect([installs.add(name), await installs.remove(name), asked]).toEqual([false, false, []]);
  },
);
