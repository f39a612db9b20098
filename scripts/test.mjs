import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { root } from './set-up.mjs';

// Everything that must hold before a change lands: types, lint, and all tests (or those whose paths are given).
await build();
const tool = (name) => fileURLToPath(new URL(`node_modules/${name}`, root));
const paths = process.argv.slice(2);
const steps = [
  { title: 'Types', command: [tool('@typescript/native/bin/tsc'), '--noEmit'] },
  // Components and plain files together, by the native compiler (a third of the time).
  {
    title: 'Types of the pages',
    command: [
      tool('svelte-check/bin/svelte-check'),
      ...['--workspace', 'web', '--tsconfig', 'tsconfig.json', '--tsgo', '--fail-on-warnings'],
    ],
  },
  { title: 'Lint and format', command: [tool('@biomejs/biome/bin/biome'), 'check', '.'] },
  { title: 'Tests', command: [tool('vitest/vitest.mjs'), 'run', ...paths] },
];
for (const { title, command } of steps) {
  console.log(`\n== ${title}`);
  const { status } = spawnSync(process.execPath, command, { cwd: root, stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}
