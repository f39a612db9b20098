import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { ensureInstalled, root } from './set-up.mjs';
import { runTools } from './tools.mjs';
import { typeChecks } from './types.mjs';

// Everything that must hold before a change lands: types, lint, and all tests (or those whose paths are given).
ensureInstalled({ tests: true });
await build();
await runTools([...typeChecks(), { title: 'Lint and format', command: ['@biomejs/biome/bin/biome', 'check', '.'] }]);
const paths = process.argv.slice(2);
// The others take minutes to an hour, and have commands of their own.
const projects = ['unit', 'engines', 'native', 'live', 'live-native', 'hangs', 'alone'].map(
  (name) => `--project=${name}`,
);
console.log('\n== Tests');
const vitest = fileURLToPath(new URL('node_modules/vitest/vitest.mjs', root));
// Node reads these certificates in each process of tests. Those that need them have them by the other name (test/npm-environment.ts).
const { NODE_EXTRA_CA_CERTS: certificates, ...environment } = process.env;
const { status } = spawnSync(process.execPath, [vitest, 'run', ...projects, ...paths], {
  cwd: root,
  env: { ...environment, ...(certificates && { PARLEY_TEST_CERTIFICATES: certificates }) },
  stdio: 'inherit',
});
process.exit(status ?? 1);
