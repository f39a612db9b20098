import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findBarePack } from './pack.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-bare-pack-'));
afterAll(() => rmSync(folder, { recursive: true }));
mkdirSync(join(folder, 'bare-sidecar/prebuilds/linux-x64'), { recursive: true });
writeFileSync(join(folder, 'bare-sidecar/prebuilds/linux-x64/bare'), '');

const find = (name: string) => join(folder, name);
const linux = { platform: 'linux', arch: 'x64' } as const;

test('findBarePack: the program of the runtime and the folder of the driver', () => {
  expect(findBarePack('music', 'driver', find, linux)).toEqual({
    runtime: join(folder, 'bare-sidecar/prebuilds/linux-x64/bare'),
    driver: join(folder, 'driver'),
  });
});

test('findBarePack: a missing package gives the command that installs the pack', () => {
  const half = (name: string) => (name === 'driver' ? undefined : find(name));
  expect(() => findBarePack('music', 'driver', half, linux)).toThrow(
    'the pack music is not installed (driver is missing). Type: parley pack add music',
  );
});

test('findBarePack: a system without a runtime is named', () => {
  expect(() => findBarePack('music', 'driver', find, { platform: 'freebsd', arch: 'x64' })).toThrow(
    'bare-sidecar has no part for this system (freebsd-x64)',
  );
});
