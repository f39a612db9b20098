import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from './build.mjs';
import { ensureInstalled, root } from './set-up.mjs';

// The load tests at full size: `npm run test:load -- [--minutes 60] [--seed NUMBER]`. The minutes bound the day of work, which ends
// earlier when all its tasks are done.
const { values } = parseArgs({ options: { minutes: { type: 'string', default: '60' }, seed: { type: 'string' } } });
for (const [name, value] of Object.entries(values)) {
  if (Number(value) > 0) continue;
  console.error(`--${name} must be a number above 0.`);
  process.exit(2);
}
ensureInstalled({ tests: true });
await build();
const vitest = fileURLToPath(new URL('node_modules/vitest/vitest.mjs', root));
const { status } = spawnSync(process.execPath, [vitest, 'run', '--project', 'load'], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    PARLEY_TEST_LOAD_MINUTES: values.minutes,
    ...(values.seed === undefined ? {} : { PARLEY_TEST_LOAD_SEED: values.seed }),
  },
});
process.exit(status ?? 1);
