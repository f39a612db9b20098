import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = new URL('..', import.meta.url);
const path = (name) => fileURLToPath(new URL(name, root));

/** Installs the packages of the lock file when they are missing or older than it. */
export function ensureInstalled() {
  const marker = path('node_modules/.package-lock.json');
  const lock = path('package-lock.json');
  if (existsSync(marker) && statSync(marker).mtimeMs >= statSync(lock).mtimeMs - 1000) return;
  if (existsSync(marker) && sameVersions(marker, lock)) return;
  console.log('Installing packages …');
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  const install = (words) =>
    spawnSync(npm, [...words, '--no-fund', '--no-audit', '--loglevel=error'], {
      cwd: root,
      stdio: 'inherit',
      shell: process.platform === 'win32',
    }).status;
  // Exactly what the lock file says. It names the parts of five systems; on another one `npm ci` may miss an optional part
  // that the lock file has never heard of, and a plain install of the same locked versions finds it.
  const status = install(['ci']) === 0 ? 0 : install(['install', '--no-save']);
  if (status !== 0) {
    console.error('The packages could not be installed: is the npm registry reachable?');
    process.exit(status ?? 1);
  }
}

/** Git does not keep file times, so a lock file may look new without being different. */
function sameVersions(marker, lock) {
  const installed = JSON.parse(readFileSync(marker, 'utf8')).packages;
  const wanted = JSON.parse(readFileSync(lock, 'utf8')).packages;
  return Object.entries(wanted).every(
    ([name, { version, optional }]) => name === '' || optional || installed[name]?.version === version,
  );
}

/** When a file under this folder was last written, in milliseconds. Folders of tools (`.svelte-check`) do not count. */
export function newestChange(folder) {
  const names = readdirSync(path(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((name) => !/[/\\]\./.test(name.slice(path(folder).length)));
  return Math.max(0, ...names.map((name) => statSync(name).mtimeMs));
}
