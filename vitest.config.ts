import { defineConfig } from 'vitest/config';

/** Tests of the repository itself, which start no server. */
const serverless = ['test/architecture.test.ts', 'test/bundle.test.ts', 'test/lock-file.test.ts'];
const patience = { testTimeout: 60_000, hookTimeout: 60_000 };

/** Tests that start servers want the machine for themselves: one file after another, when the fast ones are done. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'web/**/*.test.ts', 'bench/**/*.test.ts', ...serverless],
          sequence: { groupOrder: 0 },
          ...patience,
        },
      },
      {
        test: {
          name: 'live',
          include: ['test/**/*.test.ts'],
          exclude: serverless,
          sequence: { groupOrder: 1 },
          maxWorkers: 1,
          ...patience,
          testTimeout: 120_000,
        },
      },
    ],
  },
});
