import { spawnSync } from 'node:child_process';
import { existsSync, symlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { ensureInstalled, root } from './set-up.mjs';

// Measures Parley: all benches, or those that are named. `--server FILE` measures a server that is already built; the
// other words are described in docs/performance.md.
ensureInstalled({ tests: true });
const args = process.argv.slice(2);
const serverFlag = args.indexOf('--server');
const path = (name) => fileURLToPath(new URL(name, root));
const run = (file, ...rest) => {
  const { status } = spawnSync(process.execPath, [path(file), ...rest], { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
};
if (serverFlag < 0) {
  await build();
  args.push('--server', path('dist/main.js'));
}
run('node_modules/@typescript/native/bin/tsc', '-p', 'tsconfig.bench.json');
// The compiled modules look for the weights beside their own folder.
if (!existsSync(path('.cache/bench/weights'))) symlinkSync(path('weights'), path('.cache/bench/weights'), 'junction');
run('.cache/bench/bench/main.js', ...args);
