import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';
import { ensureInstalled, root } from './set-up.mjs';

// Random requests and random files, in large numbers. A seed makes the same ones again.
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(randomInt(1, 2 ** 31)) },
    requests: { type: 'string', default: '20000' },
    inputs: { type: 'string', default: '3000' },
    // Words of a test name: requests, gguf, templates, …
    only: { type: 'string' },
  },
});
ensureInstalled({ tests: true });
await build();
console.log(`Seed ${values.seed}: ${values.requests} requests, ${values.inputs} inputs for each parser.`);
const only = values.only === undefined ? [] : ['--testNamePattern', values.only];
const vitest = fileURLToPath(new URL('node_modules/vitest/vitest.mjs', root));
const { status } = spawnSync(process.execPath, [vitest, 'run', '--project', 'live', 'test/fuzz', ...only], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, FUZZ_SEED: values.seed, FUZZ_REQUESTS: values.requests, FUZZ_INPUTS: values.inputs },
});
process.exit(status ?? 1);
