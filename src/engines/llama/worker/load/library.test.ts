import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import type { Watch } from '../../../host/heartbeat.ts';
import { packageFolders } from '../../../package-folder.ts';
import type { BuildFiles } from '../../gpu-builds.ts';
import type { GpuBuild } from '../../load-options.ts';
import { chosenBuild, cpuBuilds, type Engine, mediaLibraryFolder, StepPace, watchedEngine } from './library.ts';

const installed = (...builds: GpuBuild[]): Map<GpuBuild, BuildFiles> =>
  new Map(builds.map((build) => [build, { folder: `/packages/${build}` }]));

describe('chosenBuild', () => {
  test('is the best installed build', () => {
    expect(chosenBuild({ backend: 'auto', failedGpuBuilds: [] }, installed('none', 'vulkan'))).toEqual({
      build: 'vulkan',
      files: { folder: '/packages/vulkan' },
    });
  });

  test('is another build after a failure', () => {
    expect(chosenBuild({ backend: 'auto', failedGpuBuilds: ['vulkan'] }, installed('none', 'vulkan')).build).toBe(
      'none',
    );
  });

  test.each([
    ['cuda', /-cuda\)\. Install one with: parley pack (add|build) cuda/],
    ['vulkan', /-vulkan\)\. Install one with: npm install @node-llama-cpp\/\S+-vulkan@\d/],
    ['auto', /Install one with: npm install @node-llama-cpp\/[a-z]+-[a-z0-9]+@\d/],
    ['cpu', /Install one with: npm install @node-llama-cpp\/[a-z]+-[a-z0-9]+@\d/],
  ] as const)('without a build for %s: names the package to install', (backend, sentence) => {
    expect(() => chosenBuild({ backend, failedGpuBuilds: [] }, installed())).toThrow(sentence);
  });
});

const runnable = ['sapphirerapids', 'icelake', 'haswell', 'sandybridge', 'sse42', 'x64'];

test('chosenBuild: a CUDA pack of another version is named, unless another build is there', () => {
  const outdated = ['the pack cuda is of another version'];
  const cuda = { backend: 'cuda', failedGpuBuilds: [] } as const;
  expect(() => chosenBuild(cuda, installed('vulkan', 'none'), outdated)).toThrow('cuda is of another version');
  const auto = { backend: 'auto', failedGpuBuilds: [] } as const;
  expect(chosenBuild(auto, installed('none'), outdated).build).toBe('none');
});

test('cpuBuilds: every runnable build by default', () =>
  expect(cpuBuilds(runnable, { cpuLevel: 'best', cpuBuild: undefined })).toEqual(runnable));

test.each([
  ['no-avx2', ['sandybridge', 'sse42', 'x64']],
  ['no-avx', ['sse42', 'x64']],
] as const)('cpuBuilds: %s leaves %j', (cpuLevel, left) =>
  expect(cpuBuilds(runnable, { cpuLevel, cpuBuild: undefined })).toEqual(left),
);

test('cpuBuilds: a named build first, then lower ones as fallbacks', () =>
  expect(cpuBuilds(runnable, { cpuLevel: 'best', cpuBuild: 'haswell' })).toEqual([
    'haswell',
    'sandybridge',
    'sse42',
    'x64',
  ]));

test('cpuBuilds: rejects a build that cannot run, and names those that can', () => {
  expect(() => cpuBuilds(runnable, { cpuLevel: 'best', cpuBuild: 'zen9' })).toThrow(/"zen9".*one of sapphirerapids/);
  expect(() => cpuBuilds([], { cpuLevel: 'best', cpuBuild: 'zen9' })).toThrow(/one build only/);
});

const packs = mkdtempSync(join(tmpdir(), 'packs-'));
const folder = join(packs, 'node_modules/@qvac/fabric');
afterAll(() => rmSync(packs, { recursive: true }));

function pack(version: string, system = `${process.platform}-${process.arch}`): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'prebuilds', system), { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ version }));
}

test('mediaLibraryFolder: without the package, the error names the command', () => {
  expect(() => mediaLibraryFolder([])).toThrow('@qvac/fabric; fetch it with: parley pack add vision');
  expect(() => mediaLibraryFolder(packageFolders('@qvac/fabric', join(packs, 'nowhere')))).toThrow(
    'parley pack add vision',
  );
});

test('mediaLibraryFolder: finds the package in PARLEY_PACKS', () => {
  pack('0.15.0');
  expect(mediaLibraryFolder(packageFolders('@qvac/fabric', packs))).toBe(
    join(folder, 'prebuilds', `${process.platform}-${process.arch}`),
  );
});

test('mediaLibraryFolder: refuses another version by its number', () => {
  pack('0.16.1');
  expect(() => mediaLibraryFolder(packageFolders('@qvac/fabric', packs))).toThrow(
    'the pack vision is of another version (@qvac/fabric 0.16.1, not 0.15.0). Run: parley pack add vision',
  );
});

test('mediaLibraryFolder: names an unsupported system', () => {
  pack('0.15.0', 'plan9-mips');
  expect(() => mediaLibraryFolder(packageFolders('@qvac/fabric', packs))).toThrow('no library for this system');
});

test('mediaLibraryFolder: an installed package comes first', () => {
  pack('0.15.0');
  expect(mediaLibraryFolder([folder, '/nowhere'])).toContain(folder);
});

/** An engine of a few calls that take the given time, and a watch that records its arguments. */
function world(milliseconds: number) {
  const calls: string[] = [];
  let now = 0;
  const take = <Result>(result: Result): Result => {
    now += milliseconds;
    return result;
  };
  const watch: Watch = {
    here: (boundMs, work) => {
      calls.push(`here ${boundMs}`);
      return work();
    },
    aside: (boundMs, work) => {
      calls.push(`aside ${boundMs}`);
      return work();
    },
    serving: () => {},
  };
  const native = {
    decodeNow: () => take(0),
    decode: async () => take(0),
    stateGet: (...parameters: unknown[]) => parameters.length,
    stateSet: (...parameters: unknown[]) => parameters.length,
    tokenBos: () => 7,
  };
  const media = { encode: async () => 3, decode: async () => 4, marker: 'x' };
  const engine = { native, media, cpuVariant: 'x' } as unknown as Engine;
  return { engine, watched: watchedEngine(engine, watch, () => now), calls };
}

const batch = (rows: number) => ({ n_tokens: rows }) as never;

test('watchedEngine: decodeNow is watched with a bound from earlier steps', () => {
  const { watched, calls } = world(2000);
  expect(watched.native.decodeNow(0n as never, batch(1))).toBe(0);
  watched.native.decodeNow(0n as never, batch(3));
  expect(calls).toEqual(['here 8000', 'here 60000']);
});

test('watchedEngine: decode is watched as asynchronous', async () => {
  const { watched, calls } = world(20_000);
  expect(await watched.native.decode(0n as never, batch(4))).toBe(0);
  await watched.native.decode(0n as never, batch(8));
  expect(calls).toEqual(['aside 8000', 'aside 400000']);
});

test('watchedEngine: own bounds for states and media, all arguments passed on', async () => {
  const { watched, calls } = world(1);
  expect(watched.native.stateGet(0n as never, new Uint8Array(1), 1, 0, 0)).toBe(5);
  expect(watched.native.stateSet(0n as never, new Uint8Array(1), 1, 0, 0)).toBe(5);
  expect(await watched.media?.encode(0n as never, 0n as never)).toBe(3);
  expect(calls).toEqual(['here 60000', 'here 60000', 'aside 600000']);
});

test('watchedEngine: leaves other calls unchanged, and no media without media', () => {
  const { watched, engine } = world(1);
  expect(watched.native.tokenBos).toBe(engine.native.tokenBos);
  expect(watched.cpuVariant).toBe('x');
  const without = watchedEngine({ ...engine, media: undefined }, {} as Watch, () => 0);
  expect(without.media).toBeUndefined();
});

test('StepPace: at least eight seconds for a token', () => {
  const pace = new StepPace();
  expect(pace.boundMs(1)).toBe(8000);
  pace.took(1, 50);
  expect(pace.boundMs(1)).toBe(8000);
});

test('StepPace: ten times the time of a slow token', () => {
  const pace = new StepPace();
  pace.took(1, 20_000);
  expect(pace.boundMs(1)).toBe(200_000);
});

test('StepPace: bound in proportion to the tokens of a prompt', () => {
  const pace = new StepPace();
  pace.took(1, 100);
  expect(pace.boundMs(512)).toBe(512_000);
});

test('StepPace: forgets a slow step after some hundred others', () => {
  const pace = new StepPace();
  pace.took(1, 60_000);
  for (let step = 0; step < 600; step += 1) pace.took(1, 50);
  expect(pace.boundMs(1)).toBe(8000);
});

test('StepPace: never below ten times the last step of the same size', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2048 }), fc.double({ min: 0, max: 1e6, noNaN: true }), (rows, ms) => {
      const pace = new StepPace();
      pace.took(rows, ms);
      expect(pace.boundMs(rows)).toBeGreaterThanOrEqual(Math.max(8000, 9.99 * ms));
    }),
  );
});
