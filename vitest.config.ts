import { defineConfig } from 'vitest/config';

const patience = { testTimeout: 60_000, hookTimeout: 60_000 };

/** Tests that start servers want the machine for themselves: one file after another, when the fast ones are done. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/architecture.test.ts', 'test/lock-file.test.ts', 'bench/**/*.test.ts'],
          sequence: { groupOrder: 0 },
          ...patience,
        },
      },
      {
        test: {
          name: 'live',
          include: ['test/**/*.test.ts'],
          exclude: ['test/architecture.test.ts', 'test/lock-file.test.ts'],
          sequence: { groupOrder: 1 },
          maxWorkers: 1,
          ...patience,
          testTimeout: 120_000,
        },
      },
    ],
  },
});
