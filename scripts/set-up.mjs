import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = new URL('..', import.meta.url);
const path = (name) => fileURLToPath(new URL(name, root));

/**
 * Installs the packages of the lock file that are missing or have another version. Clients, the browser driver, the linter
 * and the test runner are packages of the workspace `test`, which only tests and checks need.
 */
export function ensureInstalled({ tests = false } = {}) {
  const installed = packagesOf('node_modules/.package-lock.json');
  // Installing without tests would remove them.
  const all = tests || installed['node_modules/vitest'] !== undefined;
  if (isInstalled(installed, all)) return;
  console.log('Installing packages …');
  const options = [`--workspaces=${all}`, '--include-workspace-root', '--prefer-offline', '--loglevel=error'];
  const install = (...args) => npm([...args, ...options], { cwd: root, stdio: 'inherit' }).status;
  // Exactly what the lock file says. It names the parts of five systems; on another one `npm ci` may miss an optional part
  // that the lock file has never heard of, and a plain install of the same locked versions finds it.
  const status = install('ci') === 0 ? 0 : install('install', '--no-save');
  if (status !== 0) {
    console.error('The packages could not be installed: is the npm registry reachable?');
    process.exit(status ?? 1);
  }
}

/** Runs npm to its end. */
export function npm(args, options) {
  const windows = process.platform === 'win32';
  return spawnSync(windows ? 'npm.cmd' : 'npm', args, { ...options, shell: windows });
}

/** Whether all direct dependencies are there, and everything that is there has the version of the lock file. */
function isInstalled(installed, tests) {
  const locked = packagesOf('package-lock.json');
  const required = [locked[''], ...(tests ? [locked.test] : [])].flatMap(({ dependencies, devDependencies }) =>
    Object.keys({ ...dependencies, ...devDependencies }),
  );
  return (
    required.every((name) => installed[`node_modules/${name}`]) &&
    Object.entries(installed).every(([name, { version }]) => locked[name]?.version === version)
  );
}

function packagesOf(lockFile) {
  return existsSync(path(lockFile)) ? JSON.parse(readFileSync(path(lockFile), 'utf8')).packages : {};
}

/** When a file under this folder was last written, in milliseconds. Folders of tools (`.svelte-check`) do not count. */
export function newestChange(folder) {
  const names = readdirSync(path(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((name) => !/[/\\]\./.test(name.slice(path(folder).length)));
  return Math.max(0, ...names.map((name) => statSync(name).mtimeMs));
}
