import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import {
  engineVersion,
  gpuBuilds,
  type InstalledBuilds,
  installedBuilds,
  nextGpuBuild,
  type OtherCuda,
  packagesFor,
} from './gpu-builds.ts';
import type { GpuBuild } from './load-options.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-builds-'));
afterAll(() => rmSync(root, { recursive: true }));

/** The builds found with these packages installed, each with its folder and an empty library in it. */
function buildsWith(names: readonly string[], system = { platform: 'linux', arch: 'x64' } as const): InstalledBuilds {
  const folder = mkdtempSync(join(root, 'packages-'));
  for (const name of names) {
    const extension = name.endsWith('-ext');
    const bins = join(folder, name, 'bins', 'some-system', extension ? 'fallback' : '');
    mkdirSync(bins, { recursive: true });
    if (extension) writeFileSync(join(bins, 'libggml-cuda.so'), '');
  }
  return installedBuilds(undefined, (name) => (names.includes(name) ? join(folder, name) : undefined), system, noOther);
}

const noOther: OtherCuda = { built: () => undefined, system: () => undefined };

describe('packagesFor', () => {
  test.each([
    ['none', 'linux', 'arm64', '@node-llama-cpp/linux-arm64'],
    ['vulkan', 'win32', 'x64', '@node-llama-cpp/win-x64-vulkan'],
    ['metal', 'darwin', 'arm64', '@node-llama-cpp/mac-arm64-metal'],
    ['cuda', 'linux', 'x64', '@node-llama-cpp/linux-x64-cuda'],
  ] as const)('%s on %s %s: %s first', (build, platform, arch, expected) => {
    expect(packagesFor(build, platform, arch)[0]).toBe(expected);
  });

  test('cpu: any package', () => {
    expect(packagesFor('none', 'linux', 'x64')).toHaveLength(4);
  });
});

describe('installedBuilds', () => {
  test('a Vulkan package contains Vulkan and CPU', () => {
    const builds = buildsWith(['@node-llama-cpp/linux-x64-vulkan']);
    expect([...builds.keys()].sort()).toEqual(['none', 'vulkan']);
    expect(builds.get('none')).toEqual(builds.get('vulkan'));
  });

  test('the plain package is preferred for the CPU', () => {
    const builds = buildsWith(['@node-llama-cpp/linux-x64-vulkan', '@node-llama-cpp/linux-x64']);
    expect(builds.get('none')?.folder).toContain(join('linux-x64', 'bins'));
  });

  test('the older CUDA library replaces that of the package it extends', () => {
    const builds = buildsWith(['@node-llama-cpp/linux-x64-cuda', '@node-llama-cpp/linux-x64-cuda-ext']);
    expect(builds.get('cuda-ext')?.folder).toBe(builds.get('cuda')?.folder);
    expect(builds.get('cuda-ext')?.gpuLibrary).toContain(join('fallback', 'libggml-cuda.so'));
    expect(builds.get('cuda')?.gpuLibrary).toBeUndefined();
  });

  test('the extension needs its package, and an empty extension does not count', () => {
    expect(buildsWith(['@node-llama-cpp/linux-x64-cuda-ext']).has('cuda-ext')).toBe(false);
    expect(buildsWith(['@node-llama-cpp/linux-x64-cuda']).has('cuda-ext')).toBe(false);
  });

  test('packages of other systems do not count', () => {
    expect(buildsWith(['@node-llama-cpp/win-x64-vulkan']).size).toBe(0);
    expect(buildsWith(['@node-llama-cpp/mac-arm64-metal'], { platform: 'linux', arch: 'x64' }).size).toBe(0);
  });

  test('a pack of another version is not used, and named once', () => {
    const folder = mkdtempSync(join(root, 'packages-'));
    const name = '@node-llama-cpp/linux-x64-cuda';
    mkdirSync(join(folder, name, 'bins', 'some-system'), { recursive: true });
    const logged: string[] = [];
    const builds = (version: string) => {
      writeFileSync(join(folder, name, 'package.json'), JSON.stringify({ version }));
      const find = (asked: string) => (asked === name ? join(folder, name) : undefined);
      return installedBuilds((sentence) => logged.push(sentence), find, { platform: 'linux', arch: 'x64' }, noOther);
    };
    expect([...builds(engineVersion).keys()].sort()).toEqual(['cuda', 'none']);
    expect(logged).toEqual([]);
    expect(builds('3.0.0').size).toBe(0);
    expect(logged).toEqual([
      `the pack cuda is of another version (${name} 3.0.0, not ${engineVersion}). Run: parley pack add cuda`,
    ]);
  });

  const cpuPackage = '@node-llama-cpp/linux-x64';
  const built = {
    version: engineVersion,
    system: 'linux-x64',
    toolkit: '13.0.88',
    architectures: ['90'],
    libraries: ['/cuda/libcublas.so.13'],
    library: '/packs/libggml-cuda.so',
  };

  /** With the CPU package, and these other CUDA libraries. */
  function withOther(other: Partial<OtherCuda>) {
    const folder = mkdtempSync(join(root, 'packages-'));
    mkdirSync(join(folder, 'bins', 'some-system'), { recursive: true });
    const logged: string[] = [];
    const builds = installedBuilds(
      (sentence) => logged.push(sentence),
      (name) => (name === cpuPackage ? folder : undefined),
      { platform: 'linux', arch: 'x64' },
      { ...noOther, ...other },
    );
    return { builds, logged };
  }

  test('a library that was compiled here is used with any package', () => {
    const { builds, logged } = withOther({ built: () => built });
    expect([...builds.keys()].sort()).toEqual(['cuda-built', 'none']);
    expect(builds.get('cuda-built')).toMatchObject({ folder: builds.get('none')?.folder, gpuLibrary: built.library });
    expect(logged).toEqual([]);
  });

  test.each([
    [{ version: '3.0.0' }, 'for another version of the engine (3.0.0, not 3.21.1). Run: parley pack build cuda'],
    [{ system: 'linux-arm64' }, 'for another system (linux-arm64, not linux-x64). Run: parley pack build cuda'],
  ])('a compiled library with %j is not used, with the reason', (changes, sentence) => {
    const { builds, logged } = withOther({ built: () => ({ ...built, ...changes }) });
    expect([...builds.keys()]).toEqual(['none']);
    expect(logged).toEqual([expect.stringContaining(sentence)]);
  });

  test('a library of the system is used with any package; a wrong one is named only without another CUDA build', () => {
    const system = { library: '/usr/lib/libggml-cuda.so', base: '/usr/lib/libggml-base.so.0' };
    expect(withOther({ system: () => system }).builds.get('cuda-system')).toMatchObject({
      gpuLibrary: system.library,
      systemBase: system.base,
    });
    const refuse: OtherCuda['system'] = (tell) => {
      tell('it is of another version');
      return undefined;
    };
    expect(withOther({ system: refuse }).logged).toEqual(['it is of another version']);
    expect(withOther({ system: refuse, built: () => built }).logged).toEqual([]);
  });

  test('contains at least the CPU on this machine', () => {
    expect(installedBuilds().get('none')?.folder).toBeTruthy();
  });
});

describe('nextGpuBuild', () => {
  const all: GpuBuild[] = ['none', 'vulkan', 'cuda-system', 'cuda-ext', 'cuda', 'cuda-built'];

  test('without a flag: CUDA as compiled here, of the pack, for CUDA 12, of the system; then Vulkan and the CPU', () => {
    const order: GpuBuild[] = [];
    for (let next = nextGpuBuild('auto', all, order); next; next = nextGpuBuild('auto', all, order)) order.push(next);
    expect(order).toEqual(['cuda-built', 'cuda', 'cuda-ext', 'cuda-system', 'vulkan', 'none']);
  });

  test('a backend flag is never replaced', () => {
    expect(nextGpuBuild('cuda', all, [])).toBe('cuda-built');
    expect(nextGpuBuild('cuda', all, ['cuda-built', 'cuda'])).toBe('cuda-ext');
    expect(nextGpuBuild('cuda', all, ['cuda-built', 'cuda', 'cuda-ext', 'cuda-system'])).toBeUndefined();
    expect(nextGpuBuild('vulkan', all, ['vulkan'])).toBeUndefined();
    expect(nextGpuBuild('cpu', all, [])).toBe('none');
  });

  test('skips builds that are not installed', () => {
    expect(nextGpuBuild('auto', ['vulkan', 'none'], [])).toBe('vulkan');
    expect(nextGpuBuild('cuda', ['vulkan', 'none'], [])).toBeUndefined();
  });

  test('the CPU is last, and only without a GPU flag', () => {
    expect(gpuBuilds.auto.at(-1)).toBe('none');
    expect([...gpuBuilds.cuda, ...gpuBuilds.vulkan]).not.toContain('none');
  });
});
