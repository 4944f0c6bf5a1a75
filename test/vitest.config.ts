import { defineConfig } from 'vitest/config';

/** Kinds of test: pure code; real servers through the adapters; the built program; and, apart, the long ones. */
export default defineConfig({
  test: {
    root: new URL('..', import.meta.url).pathname,
    globalSetup: ['test/helpers/global-setup.ts'],
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    projects: [
      { extends: true, test: { name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      { extends: true, test: { name: 'contract', include: ['test/contract/**/*.test.ts'] } },
      {
        extends: true,
        // On a busy machine a run of a scenario is inconclusive, and is made again.
        test: { name: 'e2e', include: ['test/e2e/**/*.test.ts'], testTimeout: 240_000 },
      },
      {
        extends: true,
        test: { name: 'soak', include: ['test/soak/**/*.test.ts'], testTimeout: 1_800_000 },
      },
    ],
  },
});
