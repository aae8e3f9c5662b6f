import type { WebGpuBackend } from '../../backends/webgpu/index.ts';
import type { Limits } from '../../index.ts';
import type { Context } from '../../primitives/context/context.ts';
import * as q from '../../primitives/index.ts';
import { highByte } from '../experiments/primitives.ts';
import { type Spread, spreadOf } from '../shared/measuring.ts';
import { openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { affine, odd, sixteenth } from './primitive-calls.ts';

/**
 * Measures how much primitives over columns of u32 slow down if a column is longer than a buffer binding, or if all
 * columns together exceed the available memory.
 *
 * - Bindings, only on a GPU and by the GPU's clock: each column in one binding, compared with bindings of a quarter of
 *   a column. With `--longer`, columns of 1 GiB in one binding are also compared with columns of 2.5 GiB, longer than a
 *   binding of 2 GiB.
 * - Memory, by the host's clock from a call until the host knows that the call is done: memory for all columns,
 *   compared with memory for half of a column. With little memory, commands run in windows (ranges of their indices),
 *   and columns move between host and device. The moved bytes come from `counters.spilling`. If the device has room,
 *   the columns are on the device before and after a call.
 *
 * node --import tsx bench/primitives/beyond-memory.ts [--backend webgpu|workers] [--adapter hardware|software] [--workers 2]
 *   [--log2 26] [--rounds 5] [--longer]
 */
const options = programOptions({
  ...{ backend: 'webgpu', adapter: 'hardware', workers: 2 },
  ...{ log2: 26, rounds: 5, longer: false },
});
const { rounds } = options;
const n = 2 ** options.log2;
const { u32 } = q;

interface Inputs {
  readonly x: q.Column<'u32'>;
  readonly runs: q.Column<'u32'>;
}

const calls: Readonly<Record<string, (inputs: Inputs) => q.Table>> = {
  map: ({ x }) => x.context!.materialize(q.map(affine, { x })),
  reduce: ({ x }) => q.reduce(x, q.plus(u32)),
  scan: ({ x }) => q.exclusiveScan(x, q.plus(u32)),
  copyIf: ({ x }) => q.copyIf(x, odd),
  reduceByKey: ({ x, runs }) => q.reduceByKey(runs, x, q.plus(u32)),
  histogram: ({ x }) => q.histogram(q.map(highByte, { x }), 256),
  sort: ({ x }) => q.sort(x),
};

interface Cost {
  readonly milliseconds: Spread;
  /** Bytes that a call moves between host and device. */
  readonly moved: number;
}

type Costs = ReadonlyMap<string, Cost>;
type Clock = (context: Context, call: () => q.Table) => Promise<Cost>;

if (options.backend === 'webgpu') {
  const quarter = { bindingBytes: n };
  show(
    ['in one binding', n, await costs(n, onDevice)],
    [`in bindings of ${n} bytes`, n, await costs(n, onDevice, quarter)],
  );
  const [some, more] = [2 ** 28, 5 * 2 ** 27];
  if (options.longer) {
    show(['in one binding', some, await costs(some, onDevice)], ['longer', more, await costs(more, onDevice)]);
  }
}
const half = { memoryBytes: 2 * n };
show(['in memory', n, await costs(n, onHost)], [`in ${2 * n} bytes`, n, await costs(n, onHost, half)]);

async function costs(rows: number, clock: Clock, limits?: Partial<Limits>): Promise<Costs> {
  const adapter = options.backend === 'webgpu' ? options.adapter : undefined;
  await using context = await openNamed({ ...options, adapter }, { limits, spill: clock === onHost });
  const x = context.materialize(q.map(affine, { x: q.sequence(rows) }));
  const runs = context.materialize(q.map(sixteenth, { x: q.sequence(rows) }));
  const found = new Map<string, Cost>();
  for (const [name, call] of Object.entries(calls)) found.set(name, await clock(context, () => call({ x, runs })));
  return found;
}

/**
 * Times a call by the device's clock. First, the same call is repeated untimed for about half a second, because an idle
 * GPU needs that long to raise its clock frequency.
 */
async function onDevice(context: Context, call: () => q.Table): Promise<Cost> {
  const { time } = context.backend as WebGpuBackend;
  const once = (): void => context.dispose(call());
  const first = await time(once);
  const again = Array.from({ length: rounds + Math.min(1000, Math.ceil(500 / first)) }, () => once);
  const times = (await time(again)).slice(-rounds);
  return { milliseconds: spreadOf(times), moved: 0 };
}

async function onHost(context: Context, call: () => q.Table): Promise<Cost> {
  const times: number[] = [];
  let moved = 0;
  for (let round = -2; round < rounds; round++) {
    await context.sync();
    const before = movedBy(context);
    const from = performance.now();
    const result = call();
    await context.sync();
    if (round >= 0) times.push(performance.now() - from);
    moved = movedBy(context) - before;
    context.dispose(result);
  }
  return { milliseconds: spreadOf(times), moved };
}

function movedBy({ backend }: Context): number {
  const { spilledBytes = 0, restoredBytes = 0 } = backend.counters.spilling ?? {};
  return spilledBytes + restoredBytes;
}

type Side = readonly [what: string, rows: number, costs: Costs];

function show(one: Side, other: Side): void {
  const titles = [one, other].flatMap(([what, rows]) => [`${rows} rows ${what}, ms`, 'min … max', 'G rows/s']);
  const columns = ['primitive', ...titles, 'GB moved', 'GB moved/s'];
  console.log(`\n| ${columns.join(' | ')} |\n|${' --- |'.repeat(columns.length)}`);
  for (const name of Object.keys(calls)) {
    const { moved, milliseconds } = other[2].get(name)!;
    const bytes = moved === 0 ? ['', ''] : [moved / 1e9, moved / milliseconds.median / 1e6].map((x) => x.toFixed(2));
    console.log(`| ${[name, ...timesOf(name, one), ...timesOf(name, other), ...bytes].join(' | ')} |`);
  }
}

function timesOf(name: string, [, rows, costs]: Side): string[] {
  const { median, min, max } = costs.get(name)!.milliseconds;
  return [median.toFixed(3), `${min.toFixed(3)} … ${max.toFixed(3)}`, (rows / median / 1e6).toFixed(2)];
}
