import { input, type Table, u32 } from '../../primitives/index.ts';
import { chained } from '../experiments/chain.ts';
import { printHead } from '../shared/markdown-table.ts';
import { machine, spreadOf } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { prepareCall, primitiveCalls, primitiveInputs } from './primitive-calls.ts';

/**
 * Measures what calls of primitives cost the calling thread before any backend computes: recording and fusing functors,
 * looking up kernels, and submitting launches. This cost bounds the speed of short launches on a fast device. The same
 * calls are also measured as prepared pipelines. Columns are so short that computing takes almost no time; calls are
 * made in groups of forty, with a wait after each group. The last columns of the output show the cost of preparing a
 * pipeline whose structure is known from an earlier preparation: first the cost without any call, then the cost
 * including one call. Both are given in µs and as multiples of the cost of an ordinary call.
 *
 * node --import tsx bench/primitives/host-time.ts [--backend webgpu|workers|reference] [--adapter hardware|software] [--rounds 30]
 *   [--only name,…]
 */
const options = programOptions({
  ...{ backend: 'webgpu', adapter: undefined, rounds: 30 },
  only: 'map,reduce,scan,copyIf,reduceByKey,sortByKey,merge,expand,selectKth,chain',
});
const LOG2_ROWS = 10;
const AT_ONCE = 40;

await using context = await openNamed(options, { spill: false });
const n = 2 ** LOG2_ROWS;
const inputs = primitiveInputs(context, LOG2_ROWS);
const calls = { ...primitiveCalls(context, n, inputs), chain: () => context.scope(() => chained(inputs.x)) };
console.log(`${machine()}; ${context.backend.name}, medians of ${options.rounds} rounds\n`);
printHead(
  'primitive | launches | µs per call | min | µs per launch | prepared: launches | µs per call | min | µs per launch | preparing: µs | preparing ÷ call | preparing and one call: µs | preparing and one call ÷ call',
);
for (const name of options.only.split(',')) await measure(name);

async function measure(name: string): Promise<void> {
  const called = await timeOf(calls[name as keyof typeof calls]!);
  const prepare = () => (name === 'chain' ? prepareChain() : prepareCall(context, n, inputs, name));
  const prepared = prepare();
  const cells = cellsOf(called);
  if (prepared !== undefined) {
    cells.push(...cellsOf(await timeOf(prepared.call)));
    prepared.dispose();
    for (const callsEach of [0, 1]) {
      const { median } = await timeOf(() => prepareAndCall(prepare()!, callsEach));
      cells.push(median.toFixed(0), (median / called.median).toFixed(1));
    }
  }
  console.log(`| ${[name, ...cells].join(' | ')} |`);
}

function prepareChain(): { call(): Table; dispose(): void } {
  const prepared = context.prepare({ x: input(u32, n) }, ({ x }) => chained(x));
  return { call: () => prepared({ x: inputs.x }), dispose: () => prepared.dispose() };
}

function prepareAndCall(prepared: { call(): Table; dispose(): void }, count: number): undefined {
  for (let i = 0; i < count; i++) context.dispose(prepared.call());
  prepared.dispose();
}

interface HostTime {
  readonly launches: number;
  /** Microseconds per call: the median and the minimum of all rounds. */
  readonly median: number;
  readonly min: number;
}

function cellsOf({ launches, median, min }: HostTime): string[] {
  return [String(launches), ...[median, min, median / launches].map((µs) => µs.toFixed(0))];
}

async function timeOf(call: () => unknown): Promise<HostTime> {
  const { counters } = context.backend;
  const times: number[] = [];
  let launches = 0;
  for (let round = 0; round < options.rounds; round++) {
    const [from, before] = [performance.now(), counters.dispatches];
    for (let i = 0; i < AT_ONCE; i++) context.dispose(call());
    times.push(((performance.now() - from) * 1e3) / AT_ONCE);
    launches = (counters.dispatches - before) / AT_ONCE;
    await context.sync();
  }
  return { launches, ...spreadOf(times) };
}
