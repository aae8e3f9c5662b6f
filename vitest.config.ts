import { availableParallelism } from 'node:os';
import { defineConfig, type ViteUserConfig } from 'vitest/config';

const config: ViteUserConfig = defineConfig({
  test: {
    include: ['property-tests/**/*.test.ts'],
    globalSetup: ['property-tests/compile-workers.mjs'],
    setupFiles: ['property-tests/setup.ts'],
    // Vitest's default pool runs tests in processes. The tests need processes: a test of the workers backend or of Dawn
    // must not share its process with another test at the same time. property-tests/run.mjs sets `pool` to an extension
    // of the default pool, so this file must not set `pool`. Test files that run one after another in a process
    // share their imports, because loading the imports for each file took a fifth of the time.
    isolate: false,
    // The number of processes is limited, because test files start worker threads and a software GPU uses every core.
    // With one more process, the tests were no faster.
    maxWorkers: Math.min(4, availableParallelism()),
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
  },
});

export default config;
