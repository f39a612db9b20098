import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ensureInstalled, root } from './set-up.mjs';
import { runTools } from './tools.mjs';

const checks = [
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

/** The checks of the types of the server and of the pages. */
export function typeChecks() {
  ensureInstalled({ tests: true });
  // svelte-check keeps its output for components that no longer exist, and would report errors in it.
  rmSync(new URL('web/.svelte-check/', root), { recursive: true, force: true });
  return checks;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runTools(typeChecks());
