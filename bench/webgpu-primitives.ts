import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createWebGpuBackend } from '../backends/webgpu/index.ts';
import { defaultTuning } from '../backends/webgpu/tuning.ts';
import { openNodeGpu } from '../backends/webgpu-node/index.ts';
import { Context } from '../primitives/context.ts';
import * as q from '../primitives/index.ts';
import { openMemcpy, spread } from './webgpu-memcpy.ts';

/**
 * Primitives over resident columns by the device's own clock, beside the copy of such a column from one buffer to another,
 * and beside the milliseconds of CUB and Thrust where a file of them is given: lines `primitive,log2n,library,milliseconds`.
 *
 * Keys are a 32-bit hash of the index; reduceByKey has runs of 16; scatter and gather go by the permutation that sorts them.
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
const highByte = q.fn('highByte', { x: u32 }, u32, ({ x }) => x.shr(24));

/** Primitives by name, and the names that the peer's file has for them. */
type Primitives = { readonly [name: string]: readonly [peer: string | undefined, run: () => unknown] };

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
    order: q.sortPermutation(x),
    evens: context.materialize(q.map(double, { x: q.sequence(n / 2) })),
  };
}

function primitives(n: number, { x, floats, index, runs, order, evens }: Inputs): Primitives {
  return {
    map: ['transform thrust', () => context.materialize(q.map(affine, { x }))],
    reduce: ['reduce cub', () => q.reduce(x, q.plus(u32))],
    'scan u32': ['exclusive_scan cub', () => q.exclusiveScan(x, q.plus(u32))],
    'scan f32 (canonical order)': [undefined, () => q.exclusiveScan(floats, q.plus(q.f32))],
    copyIf: ['copy_if cub', () => q.copyIf(x, odd)],
    gather: ['gather thrust', () => context.materialize(q.gather(index, order))],
    scatter: ['scatter thrust', () => q.scatter(index, order, n)],
    'sort keys': ['sort cub', () => q.sort(x)],
    'sort pairs': ['sort_by_key cub', () => q.sortByKey(x, index)],
    reduceByKey: ['reduce_by_key cub', () => q.reduceByKey(runs, index, q.plus(u32))],
    merge: [undefined, () => q.merge(evens, q.slice(index, 0, n / 2))],
    selectKth: [undefined, () => q.selectKth(x, n / 2)],
    'stencil of 3': [undefined, () => context.materialize(q.stencil(around, { x }))],
    'stencil of 3 × 3': [undefined, () => context.materialize(q.stencil(box, { x }, { width: 1024 }))],
    'histogram 256': ['histogram_256 cub', () => q.histogram(q.map(highByte, { x }), 256)],
  };
}

const heater = context.materialize(q.sequence(adapter === 'hardware' ? 2 ** 26 : 2 ** 10));

const peers = new Map<string, number>();
if (options.peer !== undefined && existsSync(options.peer)) {
  for (const line of readFileSync(options.peer, 'utf8').trim().split('\n')) {
    const [primitive, log2, library, milliseconds] = line.split(',');
    peers.set(`${primitive} ${library} ${log2}`, Number(milliseconds));
  }
}

const { description, device, vendor, architecture } = backend.info;
console.log(`${device || vendor} ${architecture} ${description}; medians of ${rounds}\n`);
console.log('| primitive | log2 n | ms | G/s | times memcpy | peer, ms | peer ÷ ours |');
console.log('| --- | --- | --- | --- | --- | --- | --- |');
for (const log2 of options.log2.split(',').map(Number)) await measure(log2);
await context.close();

async function measure(log2: number): Promise<void> {
  const n = 2 ** log2;
  const memcpy = await openMemcpy(gpu, adapter, n * 4);
  const copy = spread(await memcpy.times(rounds)).median;
  memcpy.close();
  line('memcpy', log2, copy, copy, peers.get(`copy memcpy ${log2}`));
  const inputs = inputsOf(n);
  for (const [name, [peer, run]] of Object.entries(primitives(n, inputs))) {
    if (!isWanted(name)) continue;
    const once = (): void => context.dispose(run());
    const repeated = Array.from({ length: rounds }, () => once);
    await backend.time(repeated);
    const [, ...times] = await backend.time([warmUp, ...repeated]);
    line(name, log2, spread(times).median, copy, peers.get(`${peer} ${log2}`));
  }
  context.dispose(inputs);
}

/** Some tenths of a second of work: an idle GPU takes as long to raise its clocks. */
function warmUp(): void {
  for (let pass = 0; pass < (adapter === 'hardware' ? 4000 : 1); pass++) {
    context.dispose(q.reduce(heater, q.plus(u32)));
  }
}

function line(name: string, log2: number, median: number, copy: number, peer: number | undefined): void {
  const beside = peer === undefined ? ['', ''] : [peer.toFixed(4), (peer / median).toFixed(2)];
  const rate = (2 ** log2 / median / 1e6).toFixed(1);
  console.log(`| ${[name, log2, median.toFixed(4), rate, (median / copy).toFixed(2), ...beside].join(' | ')} |`);
}
