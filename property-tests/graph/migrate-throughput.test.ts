import { lastValueFrom, toArray } from 'rxjs';
import { describe, expect } from 'vitest';
import { type ItemFunction, migrator, pull } from '../../graph/index.ts';
import { caseCount } from '../cases.ts';
import { fc, test } from '../law-test.ts';
import { sorted } from './graph-harness.ts';
import { machines, VirtualTime } from './virtual-time.ts';

interface Workload {
  /** The sizes of the tiles, in order. The time for a tile is proportional to its size. */
  readonly sizes: readonly number[];
  /** Milliseconds per unit of size, on one core or on the GPU. */
  readonly parse: { readonly cpu: number; readonly gpu: number };
  readonly aggregate: { readonly cpu: number; readonly gpu: number };
}

/**
 * Simulates a workload in virtual time, on two cores and a GPU. Each of the three processes one tile at a time. Returns
 * the total time.
 */
async function simulate({ sizes, parse, aggregate }: Workload, enabled: boolean) {
  const time = new VirtualTime();
  const cores = machines(time, 2);
  const device = machines(time, 1);
  const on =
    (machine: (ms: number) => Promise<void>, perSize: number): ItemFunction<number, number> =>
    async (size) => {
      await machine(size * perSize);
      return size;
    };
  const balance = migrator({ enabled });
  const shared = { cpuLanes: 2, gpuLanes: 1, sizeOf: (size: number) => size, capacity: 6, now: () => time.now };
  const parser = balance.upstream('parse', { cpu: on(cores, parse.cpu), gpu: on(device, parse.gpu), ...shared });
  const aggregator = balance.downstream('aggregate', {
    cpu: on(cores, aggregate.cpu),
    gpu: on(device, aggregate.gpu),
    ...shared,
  });
  const results = lastValueFrom(pull(sizes).pipe(parser, aggregator, toArray()));
  const makespan = await time.run(results);
  expect(sorted(await results)).toEqual(sorted(sizes));
  return { makespan, parsed: parser.counters().migrated, aggregated: aggregator.counters().migrated };
}

/** Sizes of 200 tiles, from about a tenth of the mean size to twice the mean size. */
const tiles = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 200, maxLength: 200 });

async function gain(workload: Workload): Promise<{ gain: number; parsed: number; aggregated: number }> {
  const off = await simulate(workload, false);
  const on = await simulate(workload, true);
  expect(off).toMatchObject({ parsed: 0, aggregated: 0 });
  return { ...on, gain: off.makespan / on.makespan };
}

describe('throughput in virtual time with migration, relative to none', () => {
  const runs = { numRuns: caseCount(20) };

  test.prop({ sizes: tiles }, runs)('a GPU at half the rate of the CPU: at least 1.15', async ({ sizes }) => {
    const result = await gain({ sizes, parse: { cpu: 0.5, gpu: 5 }, aggregate: { cpu: 2, gpu: 2 } });
    expect(result.gain).toBeGreaterThanOrEqual(1.15);
    expect(result.aggregated).toBeGreaterThan(0);
  });

  test.prop({ sizes: tiles }, runs)('a GPU that starves behind the parser: at least 1.15', async ({ sizes }) => {
    const result = await gain({ sizes, parse: { cpu: 2, gpu: 2 }, aggregate: { cpu: 2, gpu: 0.1 } });
    expect(result.gain).toBeGreaterThanOrEqual(1.15);
    expect(result.parsed).toBeGreaterThan(0);
  });

  // On their own processors, both stages have the same throughput. On the other processor, a stage takes 2 · `slower`
  // milliseconds per unit of size.
  test.prop({ sizes: tiles, slower: fc.constantFrom(0.5, 1, 2) }, runs)(
    'a balanced load: at least 0.97',
    async ({ sizes, slower }) => {
      const parse = { cpu: 2, gpu: 2 * slower };
      const aggregate = { cpu: 2 * slower, gpu: 1 };
      const result = await gain({ sizes, parse, aggregate });
      expect(result.gain).toBeGreaterThanOrEqual(0.97);
    },
  );
});
