import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, root } from './set-up.mjs';

const steps = [
  { title: 'Types', command: ['@typescript/native/bin/tsc', '--noEmit'] },
  // Components and plain files together. `--tsgo` uses the native compiler, which takes a third of the time.
  {
    title: 'Types of the pages',
    command: [
      'svelte-check/bin/svelte-check',
      ...['--workspace', 'web', '--tsconfig', 'tsconfig.json', '--tsgo', '--fail-on-warnings'],
    ],
  },
];

/** Checks the types of the server and of the pages; ends the process if one of them has errors. */
export function checkTypes() {
  ensureInstalled({ tests: true });
  // svelte-check keeps its output for components that no longer exist, and would report errors in it.
  rmSync(new URL('web/.svelte-check/', root), { recursive: true, force: true });
  for (const { title, command } of steps) {
    console.log(`\n== ${title}`);
    const [tool, ...words] = command;
    const program = fileURLToPath(new URL(`node_modules/${tool}`, root));
    const { status } = spawnSync(process.execPath, [program, ...words], { cwd: root, stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) checkTypes();
