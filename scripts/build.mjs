import { spawnSync } from 'node:child_process';
import { chmodSync, rmSync } from 'node:fs';
import { ensureInstalled, root } from './set-up.mjs';

/** Compiles src/ to dist/. */
export function build() {
  ensureInstalled();
  rmSync(new URL('dist', root), { recursive: true, force: true });
  const compiler = new URL('node_modules/typescript/bin/tsc', root).pathname;
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) process.exit(status ?? 1);
  chmodSync(new URL('dist/main.js', root), 0o755);
}

if (process.argv[1] === new URL(import.meta.url).pathname) build();
