import type { WebGpuBackend } from '../../backends/webgpu/index.ts';
import type { Context } from '../../primitives/context/context.ts';
import { input, u32 } from '../../primitives/index.ts';
import { chain, chained } from '../experiments/chain.ts';
import { printHead } from '../shared/markdown-table.ts';
import { spreadOf } from '../shared/measuring.ts';
import type { Bench } from './bench.ts';

const PROFILES = 11;
const TOGETHER = 50;
const COUNTED = ['dispatches', 'submissions', 'bindGroups', 'allocations', 'compilations'] as const;

/**
 * Prints the device's time for each command of a chain, timed alone, and the mean time of a chain if 50 chains are
 * submitted together. A command may take several launches. Commands that are timed alone wait for each other, so the
 * sum of their times exceeds the time of a chain.
 */
export async function printLaunches({ context, sizes, heat }: Bench): Promise<void> {
  const { counters } = context.backend;
  console.log('\n## A chain by its launches\n');
  console.log(
    'Medians of milliseconds by the device’s clock, if it has one. Counts are those of one chain after a warm-up.',
  );
  for (const n of sizes) {
    const x = context.column(chain.inputs({ n, type: 'u32' }).x);
    const prepared = context.prepare({ x: input(u32, n) }, (given) => chained(given.x));
    const calls = { called: () => context.scope(() => chained(x)), prepared: () => prepared({ x }) };
    for (const [name, make] of Object.entries(calls)) {
      const call = (): void => context.dispose(make());
      for (let i = 0; i < 3; i++) call();
      await context.sync();
      const before = { ...counters };
      call();
      await context.sync();
      const counted = COUNTED.map((counter) => `${counter} ${counters[counter] - before[counter]}`);
      console.log(`\nn = 2^${Math.log2(n)}, ${name}: ${counted.join(', ')}`);
      if (hasClock(context)) await printTimes(context.backend, heat, call);
    }
    prepared.dispose();
    context.dispose(x);
  }
}

function hasClock(context: Context): context is Context & { readonly backend: WebGpuBackend } {
  return context.backend.name === 'webgpu' && (context.backend as WebGpuBackend).features.has('timestamp-query');
}

async function printTimes(backend: WebGpuBackend, heat: () => Promise<void>, call: () => void): Promise<void> {
  const times = new Map<string, number[]>();
  await heat();
  for (let i = 0; i < PROFILES; i++) {
    for (const [at, { command, milliseconds }] of (await backend.profile(call)).entries()) {
      const name = `${at + 1} | ${command}`;
      times.set(name, [...(times.get(name) ?? []), milliseconds]);
    }
  }
  console.log();
  printHead('number | command | ms');
  const medians = [...times].map(([name, taken]) => [name, spreadOf(taken).median] as const);
  for (const [name, median] of medians) console.log(`| ${name} | ${median.toFixed(4)} |`);
  const sum = medians.reduce((so, [, median]) => so + median, 0);
  console.log(`| | sum of all commands | ${sum.toFixed(4)} |`);
  const chains = (): void => {
    for (let i = 0; i < TOGETHER; i++) call();
  };
  await heat();
  const together = spreadOf(await backend.time([chains, chains, chains]).then((all) => [...all]));
  console.log(`| | one of ${TOGETHER} chains submitted together | ${(together.median / TOGETHER).toFixed(4)} |`);
}
