import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

/** Tests of the repository itself, which start no server. */
const serverless = ['test/architecture.test.ts', 'test/bundle.test.ts', 'test/lock-file.test.ts'];
const patience = { testTimeout: 60_000, hookTimeout: 60_000 };

/** Those that load native libraries, whose types can be named only once in a process. */
const native = [
  'src/engines/**/*.test.ts',
  'bench/**/*.test.ts',
  ...['src/chat', 'src/grammar']
    .flatMap(testsIn)
    .filter((path) => readFileSync(path, 'utf8').includes('openNativeGrammar')),
];

function testsIn(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith('.test.ts')).map((name) => join(folder, name));
}

/** Tests that start servers want the machine for themselves: one file after another, when the fast ones are done. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'web/**/*.test.ts', ...serverless],
          exclude: native,
          sequence: { groupOrder: 0 },
          // A process for each file takes longer than its tests; they share nothing that they change.
          isolate: false,
          ...patience,
        },
      },
      {
        test: { name: 'native', include: native, sequence: { groupOrder: 1 }, ...patience },
      },
      {
        test: {
          name: 'live',
          include: ['test/**/*.test.ts'],
          exclude: serverless,
          sequence: { groupOrder: 2 },
          maxWorkers: 1,
          ...patience,
          testTimeout: 120_000,
        },
      },
    ],
  },
});
