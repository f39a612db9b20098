import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { npmEnvironment } from '../npm-environment.ts';

/** Where the pack for pictures and sound is kept between runs; git does not see it. */
export const packs = fileURLToPath(new URL('../../.cache/packs', import.meta.url));

/** Installs the pack when it is not there. Tells why not, where that was not possible. */
export async function ensurePack(): Promise<string | undefined> {
  if (existsSync(join(packs, 'node_modules/@qvac/fabric/package.json'))) return undefined;
  mkdirSync(packs, { recursive: true });
  // Without a file of its own npm would look for one above, and install into this repository.
  writeFileSync(join(packs, 'package.json'), '{ "private": true }\n');
  console.log('Installing @qvac/fabric into .cache/packs (198 MB, once) …');
  const args = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '@qvac/fabric@0.15.0'];
  const windows = process.platform === 'win32';
  const npm = spawn(windows ? 'npm.cmd' : 'npm', args, {
    cwd: packs,
    env: npmEnvironment,
    shell: windows,
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 600_000,
  });
  let output = '';
  npm.stderr.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const [code] = await once(npm, 'close').catch(() => [1]);
  if (code === 0) return undefined;
  const [reason] = output.split('\n').filter((line) => line.includes('error'));
  return `@qvac/fabric could not be installed: ${reason ?? 'is the npm registry reachable?'}`;
}
