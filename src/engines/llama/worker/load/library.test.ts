import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import type { BuildFiles } from '../../gpu-builds.ts';
import type { GpuBuild } from '../../load-options.ts';
import { chosenBuild, cpuBuilds, mediaLibraryFolder } from './library.ts';

const installed = (...builds: GpuBuild[]): Map<GpuBuild, BuildFiles> =>
  new Map(builds.map((build) => [build, { folder: `/packages/${build}` }]));

describe('the build that is opened', () => {
  test('is the best that is installed', () => {
    expect(chosenBuild({ backend: 'auto', failedGpuBuilds: [] }, installed('none', 'vulkan'))).toEqual({
      build: 'vulkan',
      files: { folder: '/packages/vulkan' },
    });
  });

  test('is another one when that has failed', () => {
    expect(chosenBuild({ backend: 'auto', failedGpuBuilds: ['vulkan'] }, installed('none', 'vulkan')).build).toBe(
      'none',
    );
  });

  test.each([
    ['cuda', /-cuda\)\. Install one with: parley pack add cuda$/],
    ['vulkan', /-vulkan\)\. Install one with: npm install @node-llama-cpp\/\S+-vulkan@\d/],
    ['auto', /Install one with: npm install @node-llama-cpp\/[a-z]+-[a-z0-9]+@\d/],
    ['cpu', /Install one with: npm install @node-llama-cpp\/[a-z]+-[a-z0-9]+@\d/],
  ] as const)('with none for %s the package to install is named', (backend, sentence) => {
    expect(() => chosenBuild({ backend, failedGpuBuilds: [] }, installed())).toThrow(sentence);
  });
});

const runnable = ['sapphirerapids', 'icelake', 'haswell', 'sandybridge', 'sse42', 'x64'];

test('every build that runs here may be used', () =>
  expect(cpuBuilds(runnable, { cpuLevel: 'best', cpuBuild: undefined })).toEqual(runnable));

test.each([
  ['no-avx2', ['sandybridge', 'sse42', 'x64']],
  ['no-avx', ['sse42', 'x64']],
] as const)('%s leaves %j', (cpuLevel, left) =>
  expect(cpuBuilds(runnable, { cpuLevel, cpuBuild: undefined })).toEqual(left),
);

test('a named build comes first, with the lesser ones behind it in case it dies', () =>
  expect(cpuBuilds(runnable, { cpuLevel: 'best', cpuBuild: 'haswell' })).toEqual([
    'haswell',
    'sandybridge',
    'sse42',
    'x64',
  ]));

test('a build that cannot run here is refused with the names of those that can', () => {
  expect(() => cpuBuilds(runnable, { cpuLevel: 'best', cpuBuild: 'zen9' })).toThrow(/"zen9".*one of sapphirerapids/);
  expect(() => cpuBuilds([], { cpuLevel: 'best', cpuBuild: 'zen9' })).toThrow(/one build only/);
});

const packs = mkdtempSync(join(tmpdir(), 'packs-'));
const folder = join(packs, 'node_modules/@qvac/fabric');
const none = () => undefined;
afterAll(() => rmSync(packs, { recursive: true }));

function pack(version: string, system = `${process.platform}-${process.arch}`): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'prebuilds', system), { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ version }));
}

test('without the package the reason says what to run', () => {
  expect(() => mediaLibraryFolder({}, none)).toThrow('@qvac/fabric; fetch it with: parley pack add vision');
  expect(() => mediaLibraryFolder({ PARLEY_PACKS: join(packs, 'nowhere') }, none)).toThrow('parley pack add vision');
});

test('the folder that PARLEY_PACKS names is looked into', () => {
  pack('0.15.0');
  expect(mediaLibraryFolder({ PARLEY_PACKS: packs }, none)).toBe(
    join(folder, 'prebuilds', `${process.platform}-${process.arch}`),
  );
});

test('another version is named, and not loaded', () => {
  pack('0.16.1');
  expect(() => mediaLibraryFolder({ PARLEY_PACKS: packs }, none)).toThrow('0.16.1 is there');
});

test('a system that the package does not serve is named', () => {
  pack('0.15.0', 'plan9-mips');
  expect(() => mediaLibraryFolder({ PARLEY_PACKS: packs }, none)).toThrow('no library for this system');
});

test('an installed package comes first', () => {
  pack('0.15.0');
  expect(mediaLibraryFolder({ PARLEY_PACKS: '/nowhere' }, () => folder)).toContain(folder);
});
