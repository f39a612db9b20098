import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
  const run = async (args: string, more: { findPackage?: () => Promise<{ tarball: string }> } = {}) => {
    output = '';
    const code = await packCommand({
      args: args.split(' ').filter(Boolean),
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

test.each(['--help', 'list --help', 'remove --help', 'build cuda --help'])(
  '%j shows the usage, and is no error',
  async (args) => {
    const { run } = world();
    expect(await run(args)).toMatchObject({ code: 0, output: expect.stringMatching(/^parley pack list/) });
  },
);

test.each(['add', 'fetch fast', 'add --fast', 'add fast elsewhere', 'list fast'])(
  '%j fails with the usage',
  async (args) => {
    const { run } = world();
    expect(await run(args)).toMatchObject({ code: 2, output: expect.stringContaining('parley pack add NAME') });
  },
);

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
  [
    'npm error code ENOTFOUND\nnpm error network',
    undefined,
    'cannot reach the npm registry: host not found. Check the network connection',
  ],
  ['', 'ENOENT', 'is not installed here'],
  ['something else', 1, 'npm could not say where x@1 is'],
])('whyNot: explains npm output %j', (stderr, code, expected) => {
  expect(whyNot('x@1', { stderr, code })).toContain(expected);
});

test('pack add: the image pack names its systems on an unsupported one', async () => {
  const folder = mkdtempSync(join(root, 'none-'));
  let output = '';
  const terminal = new Terminal({ write: (text) => (output += text), interactive: false, columns: 200 });
  const command = { args: ['add', 'diffusion'], folder, terminal, fetch, now: () => 0 };
  expect(await packCommand({ ...command, system: { platform: 'win32', arch: 'arm64' } })).toBe(2);
  expect(output).toContain('diffusion has no part for this system (win32-arm64); it has linux-x64');
});

test('pack add: names a package that the registry does not have', async () => {
  const folder = mkdtempSync(join(root, 'part-'));
  let output = '';
  const terminal = new Terminal({ write: (text) => (output += text), interactive: false, columns: 200 });
  const code = await packCommand({
    args: ['add', 'diffusion'],
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

/** Packs of several packages, one of which they share, from a registry that counts. */
function manyPackages() {
  const folder = mkdtempSync(join(root, 'many-'));
  const archives = new Map<string, Buffer>();
  const packageOf = (name: string) => {
    const bytes = packed({
      'package/package.json': Buffer.from(JSON.stringify({ name, version: '1.0.0' })),
      'package/code': Buffer.from(`the code of ${name}`),
    });
    archives.set(name, bytes);
    const hash = `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
    return { name, version: '1.0.0', integrity: hash, megabytes: 3 };
  };
  const runtime = packageOf('runtime');
  const pack = (name: string, ...others: string[]): Pack => ({
    name,
    brings: 'Things.',
    licence: 'MIT',
    packages: { 'linux-x64': [runtime, ...others.map(packageOf)] },
  });
  const packs = [pack('music', 'music-driver'), pack('pictures', 'picture-driver', 'codec')];
  const asked: string[] = [];
  const run = async (args: string, { catalogue: list = packs, gone = '' } = {}) => {
    let output = '';
    asked.length = 0;
    const code = await packCommand({
      args: args.split(' '),
      folder,
      terminal: new Terminal({ write: (text) => (output += text), interactive: false, columns: 200 }),
      catalogue: list,
      system: { platform: 'linux', arch: 'x64' },
      fetch: async (address) => {
        const name = String(address).split('/').at(-1) ?? '';
        return new Response(new Uint8Array(archives.get(name) ?? Buffer.of()));
      },
      findPackage: async (specifier) => {
        const name = specifier.replace('@1.0.0', '');
        if (name === gone) throw new Error(`npm does not know ${specifier}`);
        asked.push(name);
        return { tarball: `https://packages.invalid/${name}` };
      },
      now: () => 0,
    });
    return { code, output };
  };
  const file = (name: string) => join(folder, 'node_modules', name);
  return { folder, run, packs, asked, file };
}

test('pack add: installs all packages of a pack or none, and goes on from there', async () => {
  const { folder, run, asked } = manyPackages();
  const { code } = await run('add pictures', { gone: 'codec' });
  expect(code).toBe(3);
  expect(existsSync(join(folder, 'node_modules'))).toBe(false);
  expect((await run('list')).output).toContain('pictures  9 MB to fetch.');
  expect((await run('add pictures')).code).toBe(0);
  expect(asked).toEqual(['codec']);
  expect(readdirSync(folder)).toEqual(['node_modules']);
  expect((await run('list')).output).toMatch(/music {5}3 MB to fetch.*\npictures {2}installed\./);
});

test('pack verify: an intact pack, and nothing installed', async () => {
  const { run } = manyPackages();
  expect(await run('verify')).toEqual({ code: 0, output: 'No packs are installed.\n' });
  expect(await run('verify music')).toEqual({ code: 1, output: 'music: not installed. Run: parley pack add music\n' });
  await run('add music');
  expect(await run('verify')).toEqual({ code: 0, output: 'music: intact, 4 files checked.\n' });
});

test('pack verify: names the damage, and repair fetches only what is broken', async () => {
  const { run, file, asked } = manyPackages();
  await run('add pictures');
  await run('add music');
  writeFileSync(file('codec/code'), 'x'.repeat(17));
  rmSync(file('codec/package.json'));
  rmSync(file('music-driver'), { recursive: true });
  const { code, output } = await run('verify');
  expect(code).toBe(1);
  expect(output).toBe(
    'pictures: broken: codec: 1 missing (package.json), 1 changed (code).\nRepair it with: parley pack repair pictures\n',
  );
  expect((await run('list')).output).toContain('pictures  broken: parley pack repair pictures.');
  expect((await run('repair pictures', { gone: 'codec' })).code).toBe(3);
  expect(readFileSync(file('codec/code'), 'utf8')).toBe('x'.repeat(17));
  const repaired = await run('repair');
  expect([repaired.code, asked]).toEqual([0, ['codec']]);
  expect(repaired.output).toContain('pictures is repaired.');
  expect(await run('verify pictures')).toEqual({ code: 0, output: 'pictures: intact, 6 files checked.\n' });
  expect(await run('repair pictures')).toEqual({ code: 0, output: 'pictures: intact, 6 files checked.\n' });
});

test('pack verify: names a missing package, and add fetches it too', async () => {
  const { run, file, asked } = manyPackages();
  await run('add pictures');
  rmSync(file('codec'), { recursive: true });
  expect(await run('verify')).toMatchObject({ code: 1, output: expect.stringContaining('broken: codec is missing.') });
  expect((await run('add pictures')).code).toBe(0);
  expect(asked).toEqual(['codec']);
});

test('pack verify: says what it could not check of a pack without a manifest', async () => {
  const { run, file } = manyPackages();
  for (const name of ['runtime', 'music-driver']) {
    mkdirSync(file(name), { recursive: true });
    writeFileSync(join(file(name), 'package.json'), '{"version": "1.0.0"}');
  }
  const { code, output } = await run('verify');
  expect(code).toBe(0);
  expect(output).toContain('music: no damage found. It was installed without a list of its files');
  expect((await run('list')).output).toContain('music     installed.');
});

test('pack list: names the update to the version of the catalogue', async () => {
  const { run, packs } = manyPackages();
  await run('add music');
  const later = packs.map((pack) => ({
    ...pack,
    packages: { 'linux-x64': (pack.packages['linux-x64'] ?? []).map((one) => ({ ...one, version: '1.1.0' })) },
  }));
  expect((await run('list', { catalogue: later })).output).toContain(
    'music     update available: parley pack add music.',
  );
  const { code, output } = await run('verify', { catalogue: later });
  expect([code, output]).toEqual([
    0,
    'music: intact, but of another version; update available: parley pack add music\n',
  ]);
});

test('pack remove: keeps a package that another installed pack needs', async () => {
  const { run, file } = manyPackages();
  await run('add music');
  await run('add pictures');
  await run('remove music');
  expect([existsSync(file('runtime')), existsSync(file('music-driver'))]).toEqual([true, false]);
  expect(await run('verify')).toEqual({ code: 0, output: 'pictures: intact, 6 files checked.\n' });
  await run('remove pictures');
  expect(existsSync(file('runtime'))).toBe(false);
});
