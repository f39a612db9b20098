import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { type InstalledBuilds, installedBuilds, packagesFor } from './gpu-builds.ts';

const root = mkdtempSync(join(tmpdir(), 'parley-builds-'));
afterAll(() => rmSync(root, { recursive: true }));

/** What is found where these packages are installed, each with its folder and an empty library in it. */
function found(names: readonly string[], system = { platform: 'linux', arch: 'x64' } as const): InstalledBuilds {
  const folder = mkdtempSync(join(root, 'packages-'));
  for (const name of names) {
    const extension = name.endsWith('-ext');
    const bins = join(folder, name, 'bins', 'some-system', extension ? 'fallback' : '');
    mkdirSync(bins, { recursive: true });
    if (extension) writeFileSync(join(bins, 'libggml-cuda.so'), '');
  }
  return installedBuilds((name) => (names.includes(name) ? join(folder, name) : undefined), system);
}

describe('the packages of a build', () => {
  test.each([
    ['none', 'linux', 'arm64', '@node-llama-cpp/linux-arm64'],
    ['vulkan', 'win32', 'x64', '@node-llama-cpp/win-x64-vulkan'],
    ['metal', 'darwin', 'arm64', '@node-llama-cpp/mac-arm64-metal'],
    ['cuda', 'linux', 'x64', '@node-llama-cpp/linux-x64-cuda'],
  ] as const)('%s on %s %s is first of all %s', (build, platform, arch, expected) => {
    expect(packagesFor(build, platform, arch)[0]).toBe(expected);
  });

  test('any package can compute on the processor alone', () => {
    expect(packagesFor('none', 'linux', 'x64')).toHaveLength(4);
  });
});

describe('what is installed', () => {
  test('a Vulkan package serves Vulkan and the processor', () => {
    const builds = found(['@node-llama-cpp/linux-x64-vulkan']);
    expect([...builds.keys()].sort()).toEqual(['none', 'vulkan']);
    expect(builds.get('none')).toEqual(builds.get('vulkan'));
  });

  test('the plain package is preferred for the processor', () => {
    const builds = found(['@node-llama-cpp/linux-x64-vulkan', '@node-llama-cpp/linux-x64']);
    expect(builds.get('none')?.folder).toContain(join('linux-x64', 'bins'));
  });

  test('the older CUDA library replaces the one of the package that it extends', () => {
    const builds = found(['@node-llama-cpp/linux-x64-cuda', '@node-llama-cpp/linux-x64-cuda-ext']);
    expect(builds.get('cuda-ext')?.folder).toBe(builds.get('cuda')?.folder);
    expect(builds.get('cuda-ext')?.gpuLibrary).toContain(join('fallback', 'libggml-cuda.so'));
    expect(builds.get('cuda')?.gpuLibrary).toBeUndefined();
  });

  test('it is of no use without that package, nor the package with an empty extension', () => {
    expect(found(['@node-llama-cpp/linux-x64-cuda-ext']).has('cuda-ext')).toBe(false);
    expect(found(['@node-llama-cpp/linux-x64-cuda']).has('cuda-ext')).toBe(false);
  });

  test('packages of other systems do not count', () => {
    expect(found(['@node-llama-cpp/win-x64-vulkan']).size).toBe(0);
    expect(found(['@node-llama-cpp/mac-arm64-metal'], { platform: 'linux', arch: 'x64' }).size).toBe(0);
  });

  test('on this machine there is at least the processor', () => {
    expect(installedBuilds().get('none')?.folder).toBeTruthy();
  });
});
