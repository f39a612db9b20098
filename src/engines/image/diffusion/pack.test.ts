import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findPack } from './pack.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-diffusion-pack-'));
afterAll(() => rmSync(folder, { recursive: true }));
for (const part of ['bare-sidecar/prebuilds/linux-x64', 'bare-sidecar/prebuilds/win32-x64']) {
  mkdirSync(join(folder, part), { recursive: true });
}
writeFileSync(join(folder, 'bare-sidecar/prebuilds/linux-x64/bare'), '');
writeFileSync(join(folder, 'bare-sidecar/prebuilds/win32-x64/bare.exe'), '');
mkdirSync(join(folder, '@qvac/diffusion-cpp/prebuilds/linux-x64'), { recursive: true });

const find = (name: string) => join(folder, name);
const linux = { platform: 'linux', arch: 'x64' } as const;

test('findPack: returns runtime and driver for this system', () => {
  const { runtime, driver } = findPack(find, linux);
  expect(runtime).toBe(join(folder, 'bare-sidecar/prebuilds/linux-x64/bare'));
  expect(driver).toMatch(/^file:.*diffusion-cpp\/index\.js$/);
});

test('findPack: a missing pack is named with the command to install it', () => {
  expect(() => findPack(() => undefined, linux)).toThrow(
    'the pack diffusion is not installed (bare-sidecar is missing). Type: parley pack add diffusion',
  );
  const half = (name: string) => (name === 'bare-sidecar' ? find(name) : undefined);
  expect(() => findPack(half, linux)).toThrow('(@qvac/diffusion-cpp is missing)');
});

test('findPack: names the package without a build for this system', () => {
  expect(() => findPack(find, { platform: 'freebsd', arch: 'x64' })).toThrow(
    'bare-sidecar has no part for this system (freebsd-x64)',
  );
  expect(() => findPack(find, { platform: 'win32', arch: 'x64' })).toThrow(
    '@qvac/diffusion-cpp has no part for this system (win32-x64)',
  );
});
