import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { ensureInstalled, root } from './set-up.mjs';
import { checkTypes } from './types.mjs';

// Everything that must hold before a change lands: types, lint, and all tests (or those whose paths are given).
ensureInstalled({ tests: true });
await build();
checkTypes();
const tool = (name) => fileURLToPath(new URL(`node_modules/${name}`, root));
const paths = process.argv.slice(2);
// The others take minutes to an hour, and have commands of their own.
const projects = ['unit', 'engines', 'native', 'live', 'alone'].map((name) => `--project=${name}`);
const steps = [
  { title: 'Lint and format', command: [tool('@biomejs/biome/bin/biome'), 'check', '.'] },
  { title: 'Tests', command: [tool('vitest/vitest.mjs'), 'run', ...projects, ...paths] },
];
for (const { title, command } of steps) {
  console.log(`\n== ${title}`);
  const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
