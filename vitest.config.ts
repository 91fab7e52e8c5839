import { defineConfig } from 'vitest/config';

/** Attempts at the boundary: one that succeeds once is one too many, so that none of them has a second try. */
const security = ['tests/security/**/*.test.ts'];
/** What is broken on purpose, under load: after the others, so that nobody's times suffer. */
const chaos = ['tests/chaos/**/*.test.ts'];
/** Tests that measure the machine as a whole: they run one at a time, and last. */
const alone = ['tests/load/**/*.test.ts'];

/** Times differ on a machine that others use too. The end of a run names who needed the second try. */
const retry = 1;

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
          include: ['packages/*/src/**/*.test.{ts,tsx}', 'tests/**/*.test.ts', 'examples/**/*.test.ts', 'bench/**/*.test.ts'],
          exclude: ['**/node_modules/**', ...security, ...chaos, ...alone],
          maxWorkers: 2,
          retry,
          sequence: { groupOrder: 0 },
        },
      },
      { extends: true, test: { name: 'security', include: security, maxWorkers: 2, sequence: { groupOrder: 0 } } },
      { extends: true, test: { name: 'chaos', include: chaos, maxWorkers: 2, sequence: { groupOrder: 1 } } },
      { extends: true, test: { name: 'alone', include: alone, maxWorkers: 1, retry, sequence: { groupOrder: 2 } } },
    ],
  },
});
