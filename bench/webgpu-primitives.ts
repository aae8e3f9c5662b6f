import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createWebGpuBackend } from '../backends/webgpu/index.ts';
import { defaultTuning } from '../backends/webgpu/tuning.ts';
import { openNodeGpu } from '../backends/webgpu-node/index.ts';
import { Context } from '../primitives/context.ts';
import * as q from '../primitives/index.ts';
import { chain } from './experiments/chain.ts';
import { openMemcpy, spread } from './webgpu-memcpy.ts';

/**
 * Primitives over resident columns by the device's own clock, beside the copy of such a column from one buffer to another,
 * beside the times of CUB and Thrust where the output of `bench/peers/primitives.cu` is given, and beside the time in which
 * a map could read and write what the primitive has to.
 *
 * Keys are a 32-bit hash of the index; reduceByKey has runs of 16; scatter and gather go by the peer's random permutation.
 * Up to 2^20 elements it also gives the time of a call where 100 of them are handed to the device together.
 *
 * node --import tsx bench/webgpu-primitives.ts [--adapter hardware|software] [--log2 20,24,28] [--rounds 11] [--peer file.csv]
 *   [--only name,…] [--tuning '{ "scan": { "items": 8 } }']
 */
const { values: options } = parseArgs({
  options: {
    adapter: { type: 'string', default: 'hardware' },
    log2: { type: 'string', default: '20,24,28' },
    rounds: { type: 'string', default: '11' },
    peer: { type: 'string' },
    only: { type: 'string', default: '' },
    tuning: { type: 'string', default: '{}' },
  },
});
const adapter = options.adapter === 'software' ? 'software' : 'hardware';
const rounds = Number(options.rounds);
const gpu = await openNodeGpu(adapter);
const tuning: Record<string, object | number> = { commandsPerSubmission: 2 ** 20 };
for (const [part, numbers] of Object.entries(JSON.parse(options.tuning) as Record<string, object>)) {
  tuning[part] = { ...(defaultTuning[part as keyof typeof defaultTuning] as object), ...numbers };
}
const backend = await createWebGpuBackend({ gpu, adapter, tuning });
const context = new Context(backend);
const { u32 } = q;

const hash = q.fn('hash', { x: u32 }, u32, ({ x }) => {
  const first = x.xor(x.shr(16)).mul(0x7feb352d);
  const second = first.xor(first.shr(15)).mul(0x846ca68b);
  return second.xor(second.shr(16));
});
const affine = q.fn('affine', { x: u32 }, u32, ({ x }) => x.mul(2654435761).add(1));
const unit = q.fn('unit', { x: u32 }, q.f32, ({ x }) => q.f32(x.shr(8)).mul(2 ** -24));
const odd = q.fn('odd', { x: u32 }, q.bool, ({ x }) => x.and(1).eq(1));
const sixteenth = q.fn('sixteenth', { x: u32 }, u32, ({ x }) => x.shr(4));
const double = q.fn('double', { x: u32 }, u32, ({ x }) => x.shl(1));
const around = q.fn('around', { x: q.neighbours(u32) }, u32, ({ x }) => x.at(-1).add(x.at(0)).add(x.at(1)));
const box = q.fn('box', { x: q.neighbours(u32) }, u32, ({ x }) =>
  [-1, 0, 1].map((dy) => x.at(-1, dy).add(x.at(0, dy)).add(x.at(1, dy))).reduce((sum, row) => sum.add(row)),
);
/** The random permutation of the numbers below a power of two that the peer has. */
function permutationOf(log2: number): q.Functor<{ x: typeof u32 }, typeof u32> {
  const half = (log2 + 1) >> 1;
  return q.fn('permuted', { x: u32 }, u32, ({ x }) =>
    [0x9e3779b1, 0x85ebca6b, 0xc2b2ae35].reduce((i, factor) => {
      const moved = i
        .mul(factor)
        .add(0x7f4a7c15)
        .and(2 ** log2 - 1);
      return moved.xor(moved.shr(half));
    }, x),
  );
}
const highByte = q.fn('highByte', { x: u32 }, u32, ({ x }) => x.shr(24));

const matrix = { a: u32, b: u32, c: u32, d: u32 };
const product = q.monoid({
  of: matrix,
  identity: { a: 1, b: 0, c: 0, d: 1 },
  combine: ({ a: l, b: r }) => ({
    a: l.a.mul(r.a).add(l.b.mul(r.c)),
    b: l.a.mul(r.b).add(l.b.mul(r.d)),
    c: l.c.mul(r.a).add(l.d.mul(r.c)),
    d: l.c.mul(r.b).add(l.d.mul(r.d)),
  }),
  exact: true,
});
const oddOfThree = q.fn('oddOfThree', { x: u32, y: u32, z: u32 }, q.bool, ({ x }) => x.and(1).eq(1));

interface Primitive {
  readonly run: () => unknown;
  /** Its name and library in the peer's file. */
  readonly peer?: string;
  /** Bytes that it has to read and write for an element. */
  readonly bytes?: number;
}

interface Inputs {
  readonly x: q.Column<'u32'>;
  readonly floats: q.Column<'f32'>;
  readonly index: q.Column<'u32'>;
  readonly runs: q.Column<'u32'>;
  readonly order: q.Column<'u32'>;
  readonly evens: q.Column<'u32'>;
}

function isWanted(name: string): boolean {
  return options.only.split(',').some((part) => name.includes(part));
}

function inputsOf(n: number): Inputs {
  const x = context.materialize(q.map(hash, { x: q.sequence(n) }));
  return {
    x,
    floats: context.materialize(q.map(unit, { x })),
    index: context.materialize(q.sequence(n)),
    runs: context.materialize(q.map(sixteenth, { x: q.sequence(n) })),
    order: context.materialize(q.map(permutationOf(Math.log2(n)), { x: q.sequence(n) })),
    evens: context.materialize(q.map(double, { x: q.sequence(n / 2) })),
  };
}

function primitives(n: number, { x, floats, index, runs, order, evens }: Inputs): Readonly<Record<string, Primitive>> {
  const stored = (view: q.Column): unknown => context.materialize(view);
  return {
    map: { peer: 'map thrust', bytes: 8, run: () => stored(q.map(affine, { x })) },
    reduce: { peer: 'reduce cub', bytes: 4, run: () => q.reduce(x, q.plus(u32)) },
    'scan u32': { peer: 'scan cub', bytes: 8, run: () => q.exclusiveScan(x, q.plus(u32)) },
    'scan f32 (canonical order)': { bytes: 8, run: () => q.exclusiveScan(floats, q.plus(q.f32)) },
    'scan 2 × 2': { bytes: 32, run: () => q.inclusiveScan({ a: x, b: index, c: runs, d: order }, product) },
    copyIf: { peer: 'copyIf cub', bytes: 6, run: () => q.copyIf(x, odd) },
    'copyIf of 3': { bytes: 18, run: () => q.copyIf({ x, y: index, z: runs }, oddOfThree) },
    gather: { peer: 'gather thrust', bytes: 12, run: () => stored(q.gather(index, order)) },
    scatter: { peer: 'scatter thrust', bytes: 12, run: () => q.scatter(index, order, n) },
    'sort keys': { peer: 'sort cub', run: () => q.sort(x) },
    'sort pairs': { peer: 'sortByKey cub', run: () => q.sortByKey(x, index) },
    reduceByKey: { peer: 'reduceByKey cub', bytes: 8.5, run: () => q.reduceByKey(runs, index, q.plus(u32)) },
    merge: { bytes: 8, run: () => q.merge(evens, q.slice(index, 0, n / 2)) },
    selectKth: { bytes: 4, run: () => q.selectKth(x, n / 2) },
    'stencil of 3': { bytes: 8, run: () => stored(q.stencil(around, { x })) },
    'stencil of 3 × 3': { bytes: 8, run: () => stored(q.stencil(box, { x }, { width: 1024 })) },
    'histogram 256': { peer: 'histogram cub', bytes: 4, run: () => q.histogram(q.map(highByte, { x }), 256) },
    chain: { peer: 'chain thrust', run: () => context.scope(() => void chain.run({ x }, { n } as never)) },
  };
}

/** Calls that are handed to the device together, of columns up to a length. */
const TOGETHER = 100;
const MOST_TOGETHER = 2 ** 20;

const heater = context.materialize(q.sequence(adapter === 'hardware' ? 2 ** 26 : 2 ** 10));

const peers = new Map<string, number>();
if (options.peer !== undefined && existsSync(options.peer)) {
  for (const line of readFileSync(options.peer, 'utf8').trim().split('\n')) {
    const [primitive, n, library, nanoseconds] = line.split(',');
    peers.set(`${primitive} ${library} ${n}`, Number(nanoseconds) / 1e6);
  }
}

const { description, device, vendor, architecture } = backend.info;
console.log(`${device || vendor} ${architecture} ${description}; medians of ${rounds}\n`);
console.log(
  '| primitive | log2 n | ms | least … greatest | G/s | peer, ms | peer ÷ ours | floor ÷ ours | ms, of 100 | peer ÷ that |',
);
console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |');
for (const log2 of options.log2.split(',').map(Number)) await measure(log2);
await context.close();

async function measure(log2: number): Promise<void> {
  const n = 2 ** log2;
  const memcpy = await openMemcpy(gpu, adapter, n * 4);
  line('memcpy', log2, spread(await memcpy.times(rounds)), peers.get(`copy thrust ${n}`));
  memcpy.close();
  const inputs = inputsOf(n);
  const all = primitives(n, inputs);
  const { median } = await time(all.map!.run);
  const perByte = median / (8 * n);
  for (const [name, { run, peer, bytes }] of Object.entries(all)) {
    if (!isWanted(name)) continue;
    const together = n <= MOST_TOGETHER ? await timeTogether(run) : undefined;
    line(name, log2, await time(run), peers.get(`${peer} ${n}`), bytes && bytes * n * perByte, together);
  }
  context.dispose(inputs);
}

async function time(run: () => unknown): Promise<Spread> {
  const repeated = Array.from({ length: rounds }, () => () => context.dispose(run()));
  await backend.time(repeated);
  const [, ...times] = await backend.time([warmUp, ...repeated]);
  return spread(times);
}

async function timeTogether(run: () => unknown): Promise<number> {
  const calls = (): void => {
    for (let call = 0; call < TOGETHER; call++) context.dispose(run());
  };
  const [, ...times] = await backend.time([warmUp, calls, calls, calls]);
  return spread(times).median / TOGETHER;
}

type Spread = ReturnType<typeof spread>;

/** Some tenths of a second of work: an idle GPU takes as long to raise its clocks. */
function warmUp(): void {
  for (let pass = 0; pass < (adapter === 'hardware' ? 4000 : 1); pass++) {
    context.dispose(q.reduce(heater, q.plus(u32)));
  }
}

function line(
  name: string,
  log2: number,
  { median, least, greatest }: Spread,
  peer?: number,
  floor?: number,
  together?: number,
): void {
  const ratio = (other: number | undefined): string => (other === undefined ? '' : (other / median).toFixed(2));
  const times = [median.toFixed(4), `${least.toFixed(4)} … ${greatest.toFixed(4)}`];
  const rate = (2 ** log2 / median / 1e6).toFixed(1);
  const batch = [together?.toFixed(4) ?? '', together && peer ? (peer / together).toFixed(2) : ''];
  console.log(
    `| ${[name, log2, ...times, rate, peer?.toFixed(4) ?? '', ratio(peer), ratio(floor), ...batch].join(' | ')} |`,
  );
}
