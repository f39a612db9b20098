import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import {
  type BuildDeps,
  buildCuda,
  buildProgress,
  checkTools,
  cmakeVersion,
  failureOf,
  workFolder,
} from './build-cuda.ts';
import { builtLibrary, builtPackage, builtProblem, runsOn } from './built.ts';
import { packageFolder } from './catalogue.ts';
import { checkPackage } from './manifest.ts';
import { type FakeProgram, fakeToolkit, versionLines } from './testing/fake-toolkit.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-build-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** A machine with fake tools (see `fakeToolkit`), and a folder for packs. */
function world(without: readonly (FakeProgram | 'libcublas.so')[] = []) {
  const place = mkdtempSync(join(root, 'machine-'));
  const fake = fakeToolkit(place, without);
  const folder = join(place, 'packs');
  const steps: string[] = [];
  const parts: BuildDeps = {
    folder,
    system: 'linux-x64',
    environment: fake.environment,
    source: fake.source,
    architectures: [],
    jobs: 3,
    fetch: () => Promise.reject(new Error('there is no network')),
    findPackage: () => Promise.reject(new Error('the npm registry could not be reached')),
    progress: () => {},
    started: (plan) => steps.push(JSON.stringify(plan)),
    compiled: (done, total) => steps.push(`${done}/${total}`),
  };
  const calls = () => (existsSync(join(place, 'calls')) ? readFileSync(join(place, 'calls'), 'utf8') : '');
  return { ...fake, place, folder, parts, steps, calls };
}

// The fake programs are shell scripts.
describe.skipIf(process.platform === 'win32')('buildCuda, with fake programs', () => {
  test('compiles for the GPUs, tells its progress and installs the library with its facts', async () => {
    const { folder, libraries, parts, steps, calls } = world();
    await buildCuda(parts);
    expect(steps).toEqual([JSON.stringify({ toolkit: '13.0.88', architectures: ['90'], jobs: 3 }), '1/2', '2/2']);
    expect(builtLibrary(folder)).toMatchObject({
      version: builtPackage.version,
      system: 'linux-x64',
      toolkit: '13.0.88',
      architectures: ['90'],
      libraries: [join(libraries, 'libcudart.so.13'), join(libraries, 'libcublas.so.13')],
    });
    const target = packageFolder(folder, builtPackage.name);
    expect(readFileSync(join(target, 'libggml-cuda.so'), 'utf8')).toContain('a fake library');
    expect(await checkPackage(builtPackage, target, 'thorough')).toEqual({ type: 'installed', files: 2 });
    expect(existsSync(workFolder(folder))).toBe(false);
    expect(calls()).toContain('-DCMAKE_CUDA_ARCHITECTURES=90 ');
    expect(calls()).toMatch(/--target ggml-cuda -j 3\n$/);
  });

  test('--arch needs no GPU; without both, the error names the flag', async () => {
    const { parts, calls } = world(['nvidia-smi']);
    await expect(buildCuda({ ...parts, environment: withoutSmi(parts) })).rejects.toThrow('--arch 90');
    await buildCuda({ ...parts, environment: withoutSmi(parts), architectures: ['86', '90'] });
    expect(calls()).toContain('-DCMAKE_CUDA_ARCHITECTURES=86;90 ');
  });

  test('a toolkit without cuBLAS is named', async () => {
    const { parts } = world(['libcublas.so']);
    await expect(buildCuda(parts)).rejects.toThrow(/cuda has no cuBLAS .*libcublas-dev/);
  });

  test('a compile error: its first line, the log, and nothing installed', async () => {
    const { folder, parts } = world();
    const environment = { ...parts.environment, FAKE_ERROR: 'unsupported gpu architecture' };
    await expect(buildCuda({ ...parts, environment })).rejects.toThrow(
      /^the compiler failed: fake\.cu\(1\): error: unsupported gpu architecture.* output: .*build\.log$/,
    );
    expect(builtLibrary(folder)).toBeUndefined();
  });

  test('an abort ends all programs, and the old library stays', async () => {
    const { place, folder, parts } = world();
    await buildCuda(parts);
    const stop = new AbortController();
    const environment = { ...parts.environment, FAKE_HANG: '1' };
    const running = buildCuda({ ...parts, environment, architectures: ['86'], signal: stop.signal });
    const ended = expect(running).rejects.toThrow('stopped by a person');
    const child = join(place, 'child');
    while (!existsSync(child) || readFileSync(child, 'utf8') === '') await wait(5);
    stop.abort(new Error('stopped by a person'));
    await ended;
    const pid = Number(readFileSync(child, 'utf8'));
    while (isAlive(pid)) await wait(5);
    expect(builtLibrary(folder)?.architectures).toEqual(['90']);
  });

  test('a source of another version is refused by its number', async () => {
    const { parts, source } = world();
    writeFileSync(join(source, 'CMakeLists.txt'), versionLines('LLAMA', '0.3.9'));
    await expect(buildCuda(parts)).rejects.toThrow('is llama.cpp 0.3.9 with ggml');
    writeFileSync(join(source, 'CMakeLists.txt'), '');
    await expect(buildCuda(parts)).rejects.toThrow('is not the source of llama.cpp');
  });

  test('a file that is not the package of the source is refused by its hash', async () => {
    const { parts, place } = world();
    const file = join(place, 'other.tgz');
    writeFileSync(file, 'something else');
    await expect(buildCuda({ ...parts, source: file })).rejects.toThrow('its SHA-512 differs');
    await expect(buildCuda({ ...parts, source: join(place, 'nothing') })).rejects.toThrow('cannot be read');
  });

  test('without a source and without a network: the reason', async () => {
    const { parts } = world();
    await expect(buildCuda({ ...parts, source: undefined })).rejects.toThrow('the npm registry could not be reached');
  });
});

/** Real drivers of this machine must not be found. */
function withoutSmi({ environment }: BuildDeps) {
  const bin = environment.PATH?.split(':')[0] ?? '';
  return { ...environment, PATH: existsSync('/usr/bin/nvidia-smi') ? bin : environment.PATH };
}

/** A process that has ended and was not collected yet counts as ended. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

test('checkTools: everything that is missing, with what to do', () => {
  const none = {
    nvcc: undefined,
    cmake: undefined,
    compiler: undefined,
    ninja: undefined,
    make: undefined,
    git: undefined,
  };
  expect(() => checkTools(none, false)).toThrow(
    /nvcc .*CUDA_HOME.*; cmake .*; a C\+\+ compiler .*; ninja or make .*; git /,
  );
  const all = { ...none, nvcc: '/n', cmake: '/c', compiler: '/g', make: '/m' };
  expect(() => checkTools(all, true)).not.toThrow();
  expect(() => checkTools(all, false)).toThrow('this is missing: git');
});

test.each([
  ['[12/154] Building CUDA object x.cu.o', { done: 12, total: 154 }],
  ['[ 12%] Building CUDA object x.cu.o', { done: 12, total: 100 }],
  ['[100%] Built target ggml-cuda', { done: 100, total: 100 }],
  ['-- Configuring done', undefined],
])('buildProgress: %j', (line, expected) => expect(buildProgress(line)).toEqual(expected));

test('cmakeVersion: three numbers, or nothing', () => {
  expect(cmakeVersion(versionLines('GGML', '0.23.0'), 'GGML')).toBe('0.23.0');
  expect(cmakeVersion('project(x)', 'LLAMA')).toBeUndefined();
});

test('failureOf: the first error and the line after it', () => {
  expect(failureOf(['a', 'CMake Error at x:1 (y):', '  no such target', 'z'])).toBe(
    'CMake Error at x:1 (y): no such target',
  );
  expect(failureOf(['only this'])).toBe('only this');
  expect(failureOf([])).toBe('it said nothing');
});

test.each([
  [['90'], '9.0', true],
  [['80'], '8.6', true],
  [['86'], '8.0', false],
  [['86'], '9.0', true],
  [['86-real'], '9.0', false],
  [['86-real'], '8.9', true],
  [['90a'], '9.0', true],
  [['90a'], '10.0', false],
  [['75-virtual'], '9.0', true],
  [['120a', '86'], '8.6', true],
  [['native'], '9.0', false],
])('runsOn: code for %j on a GPU of %s: %s', (architectures, capability, expected) =>
  expect(runsOn(architectures, capability)).toBe(expected),
);

test('builtProblem: another version or system, with what to do', () => {
  const wanted = { version: '3.21.1', system: 'linux-x64' };
  expect(builtProblem(wanted, wanted)).toBeUndefined();
  expect(builtProblem({ ...wanted, version: '3.0.0' }, wanted)).toContain(
    '(3.0.0, not 3.21.1). Run: parley pack build cuda',
  );
  expect(builtProblem({ ...wanted, system: 'linux-arm64' }, wanted)).toContain('another system');
});
