import { availableParallelism } from 'node:os';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['property-tests/**/*.test.ts'],
    globalSetup: ['property-tests/compile-workers.mjs'],
    setupFiles: ['property-tests/setup.ts'],
    // The pool is vitest's default, processes: a test of the workers backend or of Dawn must not share its process with another
    // one at the same time. It is not named here, as run.mjs has its own form of it, which a name would take precedence over.
    // Files that one process runs, one after the other, share what they import: loading it for each took a fifth of the time.
    isolate: false,
    // Test files start worker threads of their own, and a software GPU takes every core that there is: one process more was tried,
    // and gained nothing.
    maxWorkers: Math.min(4, availableParallelism()),
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
  },
});

export default config;
