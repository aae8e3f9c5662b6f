import fc from 'fast-check';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createWebGpuBackend } from '../../../backends/webgpu/backend.ts';
import type { Tuning } from '../../../backends/webgpu/tuning/tuning.ts';
import { testAdapter } from '../../../backends/webgpu-node/node-gpu.ts';
import { Context } from '../../../primitives/context/context.ts';
import { costlyCaseCount, dealLaws, someOf } from '../../cases.ts';
import { allLaws, createRun } from '../../index.ts';
import { openPooledGpu } from '../../support/pooled-gpu.ts';
import { lookingBack, slow } from '../../support/webgpu-support.ts';

/**
 * Subgroup sizes that a wrapped device reports: minimum and maximum, like devices of several vendors. Kernels query the
 * actual size at run time, and have room for lane sets of the maximum size.
 */
const claims: readonly (readonly [min: number, max: number, variant: number])[] = [
  // The software adapter has subgroups of 4 lanes; other adapters have 32 or 64 lanes.
  testAdapter() === 'software' ? [4, 8, 0] : [8, 64, 0],
  [4, testAdapter() === 'software' ? 32 : 64, 1],
  [4, 128, 2],
];

const isOfKernels = /^(reductions|scans|segmented scans|copyIf|partition|reduceByKey|sortByKey|histogram counts)/;
const laws = allLaws.filter(({ name }) => isOfKernels.test(name));
/** By default, three random laws, because a software GPU takes seconds to compile the kernels of each. */
const dealt = dealLaws(someOf(laws, 3), [1, 1, 1]);

describe.each(claims)('subgroups of %i to %i lanes', (min, max, variant) => {
  const reference = new Context(createReferenceBackend());
  let context: Context;
  beforeAll(async () => {
    const gpu = claiming(await openPooledGpu(), { subgroupMinSize: min, subgroupMaxSize: max });
    context = new Context(await createWebGpuBackend({ gpu, adapter: testAdapter(), tuning: tuningFor(max) }));
  }, slow);
  afterAll(async () => {
    await context.close();
    await reference.close();
  });

  test.each(dealt[variant]!)(
    '$name',
    async ({ property }) => {
      await fc.assert(property(createRun(context, reference)), { numRuns: costlyCaseCount(2) });
    },
    slow,
  );
});

/**
 * A tuning for single-pass kernels in workgroups of at least `max` threads. The counts of a sort fit in workgroup
 * memory only if there are 64 threads.
 */
function tuningFor(max: number): Tuning {
  const { reduce, scan, sort, ...others } = lookingBack({ threads: Math.max(64, max) });
  const { threads } = scan;
  const sweep = { ...sort.sweep, threads, on: threads === 64 };
  return { ...others, reduce: { ...reduce, threads }, scan, sort: { ...sort, sweep } };
}

/** Wraps a GPU so that it reports other subgroup sizes. */
function claiming(gpu: GPU, sizes: Partial<GPUAdapterInfo>): GPU {
  return {
    wgslLanguageFeatures: gpu.wgslLanguageFeatures,
    async requestAdapter(options) {
      const adapter = (await gpu.requestAdapter(options))!;
      const reportedInfo = new Proxy(adapter.info, {
        get: (info, key) => Reflect.get(sizes, key) ?? Reflect.get(info, key, info),
      });
      return new Proxy(adapter, {
        get(_, key) {
          if (key === 'info') return reportedInfo;
          const value: unknown = Reflect.get(adapter, key, adapter);
          return typeof value === 'function' ? value.bind(adapter) : value;
        },
      });
    },
  } as GPU;
}
