import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where the pack for pictures and sound is kept between runs; git does not see it. */
export const packs = fileURLToPath(new URL('../../.cache/packs', import.meta.url));

/** Installs the pack when it is not there. Returns why not, where that was not possible. */
export function ensurePack(): string | undefined {
  if (existsSync(join(packs, 'node_modules/@qvac/fabric/package.json'))) return undefined;
  mkdirSync(packs, { recursive: true });
  // Without a file of its own npm would look for one above, and install into this repository.
  writeFileSync(join(packs, 'package.json'), '{ "private": true }\n');
  const words = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '@qvac/fabric@0.15.0'];
  const windows = process.platform === 'win32';
  const { status, stderr } = spawnSync(windows ? 'npm.cmd' : 'npm', words, {
    cwd: packs,
    encoding: 'utf8',
    shell: windows,
    timeout: 600_000,
  });
  if (status === 0) return undefined;
  const lines = (stderr ?? '').split('\n').filter((line) => line.includes('error'));
  return `@qvac/fabric could not be installed: ${lines[0] ?? 'is the npm registry reachable?'}`;
}
