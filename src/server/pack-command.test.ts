import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { packed } from '../library/testing/archive.ts';
import { Terminal } from '../observe/terminal.ts';
import type { Pack } from '../packs/catalogue.ts';
import { whyNot } from './npm-package.ts';
import { packCommand } from './pack-command.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-pack-command-'));
afterAll(() => rmSync(root, { recursive: true }));

const archive = packed({ 'package/package.json': Buffer.from(JSON.stringify({ version: '2.0.0' })) });
const integrity = `sha512-${createHash('sha512').update(archive).digest('base64')}`;
const catalogue: readonly Pack[] = [
  {
    name: 'fast',
    brings: 'Speed.',
    licence: 'MIT',
    packages: { 'linux-x64': [{ name: 'fast-linux', version: '2.0.0', integrity, megabytes: 12 }] },
  },
  { name: 'elsewhere', brings: 'Nothing here.', licence: 'MIT', packages: { 'win32-x64': [] } },
];

function world() {
  const folder = mkdtempSync(join(root, 'packs-'));
  let output = '';
  const terminal = new Terminal({ write: (text) => (output += text), interactive: false, columns: 200 });
  const run = async (words: string, more: { findPackage?: () => Promise<{ tarball: string }> } = {}) => {
    output = '';
    const code = await packCommand({
      words: words.split(' ').filter(Boolean),
      folder,
      terminal,
      catalogue,
      system: { platform: 'linux', arch: 'x64' },
      fetch: async () => new Response(new Uint8Array(archive), { headers: { 'content-length': `${archive.length}` } }),
      findPackage: async () => ({ tarball: 'https://packages.invalid/x.tgz' }),
      now: () => 0,
      ...more,
    });
    return { code, output };
  };
  return { folder, run };
}

test('pack list: shows content, download size and unsupported systems', async () => {
  const { run } = world();
  const { code, output } = await run('list');
  expect(code).toBe(0);
  expect(output).toContain('fast       12 MB to fetch.  Speed. (MIT)');
  expect(output).toContain('elsewhere  not for this system: it has win32-x64.');
  expect((await run('')).output).toBe(output);
});

test('pack add: installs once, and remove deletes it', async () => {
  const { run, folder } = world();
  const added = await run('add fast');
  expect([added.code, added.output.includes(`fast is installed, in ${folder}`)]).toEqual([0, true]);
  expect(added.output).toContain('100%');
  expect((await run('list')).output).toContain('fast       installed.');
  expect((await run('add fast')).output).toContain('is here already');
  expect((await run('remove fast')).output).toContain('fast is gone.');
  expect((await run('remove fast')).output).toContain('fast was not here.');
});

test('pack add: names a pack without packages for this system', async () => {
  const { run } = world();
  const { code, output } = await run('add elsewhere');
  expect([code, output.trim()]).toEqual([2, 'elsewhere has no part for this system (linux-x64); it has win32-x64.']);
});

test('pack add: lists the known packs for an unknown name', async () => {
  const { run } = world();
  expect(await run('add nonsense')).toMatchObject({ code: 2, output: expect.stringContaining('fast, elsewhere') });
});

test.each(['add', 'fetch fast', 'add fast elsewhere', 'list fast'])('%j fails with the usage', async (words) => {
  const { run } = world();
  expect(await run(words)).toMatchObject({ code: 2, output: expect.stringContaining('parley pack add NAME') });
});

test('pack add: a failure names the package and the reason', async () => {
  const { run } = world();
  const findPackage = () => Promise.reject(new Error('the npm registry could not be reached (ENOTFOUND)'));
  const { code, output } = await run('add fast', { findPackage });
  expect(code).toBe(3);
  expect(output).toContain('fast could not be installed: fast-linux 2.0.0: the npm registry could not be reached');
});

test.each([
  ['npm ERR! code E404', undefined, 'npm does not know x@1'],
  ['npm error code ETARGET', undefined, 'npm does not know x@1'],
  ['npm error code ENOTFOUND\nnpm error network', undefined, 'needs a network once'],
  ['', 'ENOENT', 'is not installed here'],
  ['something else', 1, 'npm could not say where x@1 is'],
])('whyNot: explains npm output %j', (stderr, code, expected) => {
  expect(whyNot('x@1', { stderr, code })).toContain(expected);
});

test('pack add: the image pack names its systems on an unsupported one', async () => {
  const folder = mkdtempSync(join(root, 'none-'));
  let output = '';
  const terminal = new Terminal({ write: (text) => (output += text), interactive: false, columns: 200 });
  const command = { words: ['add', 'diffusion'], folder, terminal, fetch, now: () => 0 };
  expect(await packCommand({ ...command, system: { platform: 'win32', arch: 'arm64' } })).toBe(2);
  expect(output).toContain('diffusion has no part for this system (win32-arm64); it has linux-x64');
});

test('pack add: names a package that the registry does not have', async () => {
  const folder = mkdtempSync(join(root, 'part-'));
  let output = '';
  const terminal = new Terminal({ write: (text) => (output += text), interactive: false, columns: 200 });
  const code = await packCommand({
    words: ['add', 'diffusion'],
    folder,
    terminal,
    fetch,
    now: () => 0,
    system: { platform: 'linux', arch: 'x64' },
    findPackage: (specifier) => Promise.reject(new Error(`npm does not know ${specifier}`)),
  });
  expect(code).toBe(3);
  expect(output).toContain('bare-sidecar 0.3.0: npm does not know bare-sidecar@0.3.0');
});
