import { createWebGpuBackend } from '../../../backends/webgpu/backend.ts';
import { testAdapter } from '../../../backends/webgpu-node/node-gpu.ts';
import { type TestBackend, testLaws } from '../../backends.ts';
import { costlyCaseCount, someOf } from '../../cases.ts';
import { axisLaws } from '../../laws/axis.ts';
import { openPooledGpu } from '../../support/pooled-gpu.ts';

/** Workgroups as GPUs have them, which hold small lines whole, and workgroups of which even small lines need many. */
const tunings = [
  { threads: 256, items: 16 },
  { threads: 8, items: 2 },
];

const backends = tunings.map(
  (lines): TestBackend => ({
    name: `webgpu, ${lines.threads} threads of ${lines.items} cells`,
    runs: costlyCaseCount(10),
    open: async (limits) =>
      createWebGpuBackend({ gpu: await openPooledGpu(), adapter: testAdapter(), tuning: { lines }, limits }),
  }),
);

testLaws(axisLaws, someOf(backends, 1));
