import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { findBarePack } from './pack.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-bare-pack-'));
afterAll(() => rmSync(folder, { recursive: true }));
for (const file of [
  'bare-sidecar/prebuilds/linux-x64/bare',
  'bare-sidecar/prebuilds/win32-x64/bare.exe',
  '@qvac/diffusion-cpp/index.js',
  '@qvac/diffusion-cpp/prebuilds/linux-x64/driver.bare',
  '@qvac/audiogen-ggml-linux-x64/index.js',
  '@qvac/audiogen-ggml-linux-x64/addon/prebuilds/driver.bare',
]) {
  mkdirSync(join(folder, dirname(file)), { recursive: true });
  writeFileSync(join(folder, file), '');
}

const find = (name: string) => join(folder, name);
const linux = { platform: 'linux', arch: 'x64' } as const;

test('findBarePack: the program of the runtime, the libraries and the module of the driver', () => {
  const runtime = join(folder, 'bare-sidecar/prebuilds/linux-x64/bare');
  const diffusion = join(folder, '@qvac/diffusion-cpp');
  expect(findBarePack('diffusion', find, linux)).toEqual({
    runtime,
    libraries: join(diffusion, 'prebuilds/linux-x64'),
    module: pathToFileURL(join(diffusion, 'index.js')).href,
  });
  const music = join(folder, '@qvac/audiogen-ggml-linux-x64');
  expect(findBarePack('music', find, linux)).toEqual({
    runtime,
    libraries: join(music, 'addon/prebuilds'),
    module: pathToFileURL(join(music, 'index.js')).href,
  });
});

test('findBarePack: a missing package gives the command that installs the pack', () => {
  expect(() => findBarePack('music', () => undefined, linux)).toThrow(
    'the pack music is not installed (bare-sidecar is missing). Run: parley pack add music',
  );
  const half = (name: string) => (name === 'bare-sidecar' ? find(name) : undefined);
  expect(() => findBarePack('diffusion', half, linux)).toThrow(
    'the pack diffusion is not installed (@qvac/diffusion-cpp is missing). Run: parley pack add diffusion',
  );
});

test('findBarePack: names the package without a build for this system', () => {
  expect(() => findBarePack('diffusion', find, { platform: 'freebsd', arch: 'x64' })).toThrow(
    'bare-sidecar has no part for this system (freebsd-x64)',
  );
  expect(() => findBarePack('diffusion', find, { platform: 'win32', arch: 'x64' })).toThrow(
    '@qvac/diffusion-cpp has no part for this system (win32-x64)',
  );
});

test('findBarePack: a package of another version gives the command that updates the pack', () => {
  const old = (name: string) => {
    const place = join(folder, 'old', name);
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'package.json'), '{"version": "0.1.0"}');
    return place;
  };
  expect(() => findBarePack('music', old, linux)).toThrow(
    /^the pack music is of another version \(bare-sidecar 0\.1\.0, not [\d.]+\)\. Run: parley pack add music$/,
  );
});
