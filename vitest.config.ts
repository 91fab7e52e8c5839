import { defineConfig } from 'vitest/config';

/** Tests that measure the machine as a whole, or fill it: they run one at a time, after the others. */
const alone = ['tests/load/**/*.test.ts', 'tests/chaos/**/*.test.ts'];

export default defineConfig({
  test: {
    reporters: ['default', './tests/support/plain-reporter.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: ['packages/*/src/**/*.test.ts', 'tests/**/*.test.ts', 'examples/**/*.test.ts', 'bench/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...alone],
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { name: 'alone', include: alone, maxWorkers: 1, sequence: { groupOrder: 1 } } },
    ],
  },
});
