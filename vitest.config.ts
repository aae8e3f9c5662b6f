import { availableParallelism } from 'node:os';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['property-tests/**/*.test.ts'],
    globalSetup: ['property-tests/compile-workers.mjs'],
    setupFiles: ['property-tests/setup.ts'],
    // The pool is vitest's default, processes, because a test of the workers backend or of Dawn must not share its
    // process with another test at the same time. It is not set here, because run.mjs sets its own form of it, which a
    // setting would override. Files that one process runs in sequence share their imports; loading these for each file
    // took a fifth of the time.
    isolate: false,
    // Test files start worker threads of their own, and a software GPU uses every core. One process more was tried and
    // gained nothing.
    maxWorkers: Math.min(4, availableParallelism()),
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
  },
});

export default config;
