import { parseArgs } from 'node:util';
import { open } from '../on-node.ts';
import type { OpenOptions } from '../open.ts';
import { machine } from './compare-input.ts';
import { prepareCall, primitiveCalls, primitiveInputs } from './primitive-calls.ts';
import { spread } from './webgpu-memcpy.ts';

/**
 * What calls of primitives cost the thread that makes them, before any backend computes: functors are recorded and fused,
 * kernels looked up, launches handed over; and what the same calls cost that were prepared. Columns are so short that computing is
 * next to nothing; calls are made forty at a time, and waited for between. Short launches on a fast device are bound by this.
 *
 * node --import tsx bench/host-time.ts [--backend webgpu|workers|reference] [--adapter hardware|software] [--rounds 30]
 *   [--only name,…]
 */
const { values: options } = parseArgs({
  options: {
    backend: { type: 'string', default: 'webgpu' },
    adapter: { type: 'string' },
    rounds: { type: 'string', default: '30' },
    only: { type: 'string', default: 'map,reduce,scan,copyIf,reduceByKey,sortByKey,merge,expand,selectKth' },
  },
});
const LOG2_ROWS = 10;
const AT_ONCE = 40;

const { backend, adapter } = options;
await using context = await open({ backend, adapter, spill: false } as OpenOptions);
const n = 2 ** LOG2_ROWS;
const inputs = primitiveInputs(context, LOG2_ROWS);
const calls = primitiveCalls(context, n, inputs);
console.log(`${machine()}; ${context.backend.name}, medians of ${options.rounds} rounds\n`);
console.log(
  '| primitive | launches | µs a call | least | µs a launch | prepared: launches | µs a call | least | µs a launch |',
);
console.log(`|${' --- |'.repeat(9)}`);
for (const name of options.only.split(',')) await measure(name);

async function measure(name: string): Promise<void> {
  const called = await cellsOf(calls[name]!);
  const prepared = prepareCall(context, n, inputs, name);
  const cells = prepared === undefined ? [] : await cellsOf(prepared.call);
  prepared?.dispose();
  console.log(`| ${[name, ...called, ...cells].join(' | ')} |`);
}

/** Launches, microseconds of a call, the least of these, and microseconds of a launch. */
async function cellsOf(call: () => unknown): Promise<string[]> {
  const { counters } = context.backend;
  const times: number[] = [];
  let launches = 0;
  for (let round = 0; round < Number(options.rounds); round++) {
    const [from, before] = [performance.now(), counters.dispatches];
    for (let i = 0; i < AT_ONCE; i++) context.dispose(call());
    times.push(((performance.now() - from) * 1e3) / AT_ONCE);
    launches = (counters.dispatches - before) / AT_ONCE;
    await context.sync();
  }
  const { median, least } = spread(times);
  return [String(launches), ...[median, least, median / launches].map((µs) => µs.toFixed(0))];
}
