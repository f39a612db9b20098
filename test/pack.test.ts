import { execFile } from 'node:child_process';
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { liveServers } from './live/server.ts';
import { servesEverything } from './live/serves-everything.ts';
import { npmEnvironment } from './npm-environment.ts';

// What people get who install the packed program. `overrides` hold for this repository alone, and not for them.

interface Locked {
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
  readonly hasInstallScript?: boolean;
}

const project = fileURLToPath(new URL('..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'parley-pack-'));
const npm = (args: readonly string[], cwd: string) => promisify(execFile)('npm', args, { cwd, env: npmEnvironment });
const startServer = liveServers();
afterAll(() => rmSync(folder, { recursive: true }));

const mostPackages = 60;
/** On Linux and Windows with x64 the build of llama.cpp has Vulkan, which alone takes 80 MB and more. */
const mostMegabytes = process.arch === 'x64' && process.platform !== 'darwin' ? 390 : 300;
/** Its script looks for a prebuilt library, which is there, and does nothing else; without the script that is found too. */
const withScripts = ['koffi'];
/** Engines that compute nothing for us, and whose install scripts fetch files from elsewhere. */
const unwanted = /onnxruntime|transformers|tensorflow|tfjs|canvas/;

let tarball: string | undefined;
beforeAll(async () => {
  if (!(await registryAnswers())) return;
  // The build is there already; making it anew would take it away from under other tests.
  await npm(['pack', '--ignore-scripts', '--pack-destination', folder], project);
  const name = readdirSync(folder).find((each) => /^parley-\d.*\.tgz$/.test(each));
  tarball = name && join(folder, name);
});

async function registryAnswers(): Promise<boolean> {
  try {
    await npm(['view', 'koffi', 'name', '--fetch-timeout=10000', '--fetch-retries=0'], project);
    return true;
  } catch {
    return false;
  }
}

/** A folder of its own into which the tarball was installed. */
async function installed(file: string, ...flags: string[]): Promise<string> {
  const home = mkdtempSync(join(folder, 'empty-'));
  writeFileSync(join(home, 'package.json'), '{"private": true}');
  await npm(['install', '--no-fund', '--no-audit', '--prefer-offline', ...flags, file], home);
  return home;
}

function packagesOf(lockFile: string): Record<string, Locked> {
  const { packages } = JSON.parse(readFileSync(lockFile, 'utf8')) as { packages: Record<string, Locked> };
  return Object.fromEntries(
    Object.entries(packages).flatMap(([path, entry]) =>
      path === '' ? [] : [[path.replace(/^.*node_modules\//, ''), entry]],
    ),
  );
}

const noRegistry = 'the npm registry does not answer, so nothing can be installed';

describe('an install of the packed program', () => {
  const fits = (list: readonly string[] | undefined, own: string): boolean =>
    list === undefined || list.includes(own) || (list.some((one) => one.startsWith('!')) && !list.includes(`!${own}`));

  test('has few packages, no duplicate engine and no downloading install script, on every system', async ({ skip }) => {
    if (tarball === undefined) return skip(noRegistry);
    const home = await installed(tarball, '--package-lock-only', '--os=linux', '--cpu=x64');
    const locked = Object.entries(packagesOf(join(home, 'package-lock.json')));
    for (const [os, cpu] of [
      ['linux', 'x64'],
      ['linux', 'arm64'],
      ['darwin', 'arm64'],
      ['darwin', 'x64'],
      ['win32', 'x64'],
    ] as const) {
      const own = locked.filter(
        ([, entry]) => fits(entry.os, os) && fits(entry.cpu, cpu) && fits(entry.libc, os === 'linux' ? 'glibc' : ''),
      );
      const names = own.map(([name]) => name);
      expect(names).toContain('parley');
      expect(names.filter((name) => unwanted.test(name))).toEqual([]);
      expect(own.filter(([, entry]) => entry.hasInstallScript).map(([name]) => name)).toEqual(withScripts);
      expect(names.length, `packages on ${os}-${cpu}`).toBeLessThanOrEqual(mostPackages);
    }
  });

  let home = '';
  /** Unpacking takes longest, so that there is one folder. `npm rebuild` runs the scripts that were left out. */
  test.for<[string, (file: string) => Promise<unknown>]>([
    [
      'without install scripts',
      async (file) => {
        home = await installed(file, '--ignore-scripts');
      },
    ],
    ['with install scripts', () => npm(['rebuild'], home)],
  ])(
    '%s: starts, and serves text, speech, transcription, embeddings and images',
    { timeout: 600_000 },
    async ([, install], { skip }) => {
      if (tarball === undefined) return skip(noRegistry);
      await install(tarball);
      const names = Object.keys(packagesOf(join(home, 'node_modules/.package-lock.json')));
      expect(names.filter((name) => unwanted.test(name))).toEqual([]);
      expect(names.filter((name) => hasScript(join(home, 'node_modules', name)))).toEqual(withScripts);
      expect(names.length).toBeLessThanOrEqual(mostPackages);
      expect(megabytes(join(home, 'node_modules'))).toBeLessThanOrEqual(mostMegabytes);

      const own = join(home, 'node_modules/parley');
      expect(readdirSync(own)).not.toContain('src');
      expect(readdirSync(join(own, 'models'))).toContain('parley-mini.gguf');
      expect(readdirSync(join(own, 'weights'))).toContain('LICENSES.txt');
      const server = await startServer([], { command: [join(home, 'node_modules/.bin/parley')] });
      await servesEverything(server.base);
      await server.stop();
    },
  );
});

function hasScript(packageFolder: string): boolean {
  const { scripts = {} } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as {
    scripts?: Record<string, string>;
  };
  return ['preinstall', 'install', 'postinstall'].some((name) => scripts[name] !== undefined);
}

/** What the files of a folder take together; links count as nothing. */
function megabytes(path: string): number {
  const files = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, entry) => sum + lstatSync(join(entry.parentPath, entry.name)).size, 0) / 1e6;
}
