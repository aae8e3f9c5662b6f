import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { createWorkersBackend } from '../backends/workers/index.ts';
import { Context } from '../primitives/context.ts';
import * as q from '../primitives/index.ts';
import { plainComposed, WIDTH } from './plain-composed.ts';
import { plainPrimitives } from './plain-primitives.ts';
import { openPeer } from './primitives-peer.ts';

/**
 * Primitives over columns in memory on worker threads, beside plain JavaScript on one thread and, where g++ is there, C++
 * with as many threads: all in one run, in rounds of a few calls of each one after the other, so that what disturbs the
 * machine disturbs all of them. Results are compared by their checksum with those of the
 * C++, and of primitives that it has not, with those of JavaScript.
 *
 * Keys are a 32-bit hash of the index; reduceByKey has runs of 16; gather and scatter go by a random permutation.
 *
 * node --import tsx bench/workers-primitives.ts [--workers 2] [--log2 24] [--rounds 15] [--only name,…] [--no-plain] [--no-peer]
 */
const { values: options } = parseArgs({
  allowNegative: true,
  options: {
    workers: { type: 'string', default: '2' },
    log2: { type: 'string', default: '24' },
    rounds: { type: 'string', default: '15' },
    only: { type: 'string', default: '' },
    plain: { type: 'boolean', default: true },
    peer: { type: 'boolean', default: true },
  },
});
const n = 2 ** Number(options.log2);
const workers = Number(options.workers);
const rounds = Number(options.rounds);
/** Milliseconds that the calls of one side in one round take together, about. */
const TURN = 40;

const context = new Context(await createWorkersBackend({ workers }));
const peer = options.peer ? openPeer() : undefined;
const { u32 } = q;

const hash = q.fn('hash', { x: u32 }, u32, ({ x }) => {
  const first = x.xor(x.shr(16)).mul(0x7feb352d);
  const second = first.xor(first.shr(15)).mul(0x846ca68b);
  return second.xor(second.shr(16));
});
const identity = q.fn('identity', { x: u32 }, u32, ({ x }) => x);
/** The permutation of the peer, where n is a power of two. */
const permuted = q.fn('permuted', { i: u32 }, u32, ({ i }) =>
  [0x9e3779b1, 0x85ebca6b, 0xc2b2ae35].reduce((last, factor) => {
    const next = last
      .mul(factor)
      .add(0x7f4a7c15)
      .and(n - 1);
    return next.xor(next.shr(Math.ceil(Number(options.log2) / 2)));
  }, i),
);
const affine = q.fn('affine', { x: u32 }, u32, ({ x }) => x.mul(2654435761).add(1));
const unit = q.fn('unit', { x: u32 }, q.f32, ({ x }) => q.f32(x.shr(8)).mul(2 ** -24));
const polynomial = q.fn('polynomial', { x: q.f32 }, q.f32, ({ x }) => x.mul(x).mul(0.5).add(x).sub(1.25));
const mixed = q.fn('mixed', { x: u32 }, u32, ({ x }) => x.xor(x.shr(7)));
const odd = q.fn('odd', { x: u32 }, q.bool, ({ x }) => x.and(1).eq(1));
const sixteenth = q.fn('sixteenth', { x: u32 }, u32, ({ x }) => x.shr(4));
const highByte = q.fn('highByte', { x: u32 }, u32, ({ x }) => x.shr(24));
const below8 = q.fn('below8', { x: u32 }, u32, ({ x }) => x.shr(29));
const around = q.fn('around', { x: q.neighbours(u32) }, u32, ({ x }) => x.at(-1).add(x.at(0)).add(x.at(1)));
const box = q.fn('box', { x: q.neighbours(u32) }, u32, ({ x }) =>
  [-1, 0, 1].map((dy) => x.at(-1, dy).add(x.at(0, dy)).add(x.at(1, dy))).reduce((sum, row) => sum.add(row)),
);
const isHead = q.fn('isHead', { x: u32 }, q.bool, ({ x }) => x.and(15).eq(0));
const moved = q.fn('moved', { x: u32, rank: u32 }, u32, ({ x, rank }) => x.add(rank));
/** Keys that are searched among. */
const SEARCHED = 2 ** 16;
const high13 = q.fn('high13', { x: u32 }, u32, ({ x }) => x.shr(19));

const x = context.materialize(q.map(hash, { x: q.sequence(n) }));
const floats = context.materialize(q.map(unit, { x }));
const index = context.materialize(q.sequence(n));
const runs = context.materialize(q.map(sixteenth, { x: q.sequence(n) }));
const order = context.materialize(q.map(permuted, { i: q.sequence(n) }));

const low = q.sort(context.materialize(q.slice(x, 0, n / 2)));
const high = q.sort(context.materialize(q.slice(x, n / 2, n)));
const counts = context.materialize(q.map(below8, { x: q.slice(x, 0, n / 4) }));
const keys = q.sort(context.materialize(q.slice(x, 0, Math.min(n, SEARCHED))));

/** The same numbers on the host. */
const host = await context.read({ x, floats, index, runs, order });
const composed = plainComposed(n, { ...host, ...(await context.read({ low, high, counts, keys })) });
const plain = options.plain ? { ...plainPrimitives(n, host), ...composed } : undefined;

/** Ours, by the names that the peer has for them where it has them. */
const ours: { readonly [name: string]: () => q.Table } = {
  copy: () => context.materialize(q.map(identity, { x })),
  fill: () => q.fill(context, u32, 7, n),
  sequence: () => context.materialize(q.sequence(n)),
  map: () => context.materialize(q.map(affine, { x })),
  'map f32': () => context.materialize(q.map(polynomial, { x: floats })),
  reduce: () => q.reduce(x, q.plus(u32)),
  'reduce f32': () => q.reduce(floats, q.plus(q.f32)),
  scan: () => q.exclusiveScan(x, q.plus(u32)),
  'scan f32': () => q.exclusiveScan(floats, q.plus(q.f32)),
  copyIf: () => q.copyIf(x, odd),
  gather: () => context.materialize(q.gather(index, order)),
  scatter: () => q.scatter(index, order, n),
  reduceByKey: () => q.reduceByKey(runs, index, q.plus(u32)),
  histogram: () => q.histogram(q.map(highByte, { x }), 256),
  'histogram 8192': () => q.histogram(q.map(high13, { x }), 8192),
  sort: () => q.sort(x),
  sortByKey: () => q.sortByKey(x, index),
  reverse: () => context.materialize(q.reverse(x)),
  count: () => q.count(x, odd),
  minElement: () => q.minElement(x),
  adjacentDifference: () => context.materialize(q.adjacentDifference(x)),
  'stencil of 3': () => context.materialize(q.stencil(around, { x })),
  'stencil of 3 × 3': () => context.materialize(q.stencil(box, { x }, { width: WIDTH })),
  partition: () => q.partition(x, odd),
  unique: () => q.unique(runs),
  runLengthEncode: () => q.runLengthEncode(runs),
  segmentedScan: () => q.segmentedScan(x, q.map(isHead, { x: q.sequence(n) }), q.plus(u32)),
  expand: () => q.expand({ x: q.slice(index, 0, n / 4) }, counts, moved, { capacity: n }),
  merge: () => q.merge(low, high),
  lowerBound: () => context.materialize(q.lowerBound(keys, x)),
  selectKth: () => q.selectKth(x, n / 2),
  'scatterReduce add': () => {
    const onto = q.fill(context, u32, 0, n);
    q.scatterReduce(index, order, 'add', onto);
    return onto;
  },
};
/** What the peer has for each. */
const peerNames: { readonly [name: string]: string } = {
  ...Object.fromEntries(
    [
      'copy',
      'map',
      'reduce',
      'scan',
      'copyIf',
      'gather',
      'scatter',
      'reduceByKey',
      'histogram',
      'sort',
      'sortByKey',
    ].map((name) => [name, name]),
  ),
  fill: 'copy',
  sequence: 'copy',
};

console.log(
  `${cpus()[0]!.model}, Node ${process.version}, ${peer?.compiler ?? 'no C++'}; n = 2^${options.log2}, ` +
    `${workers} workers, ${workers} threads of C++, one of JavaScript; ${rounds} rounds\n`,
);
line(
  'primitive',
  'ours ms',
  'least',
  'C++ ms',
  'least',
  'C++ ÷ ours',
  'of leasts',
  'JS ms',
  'least',
  'JS ÷ ours',
  'of leasts',
);
line(...Array.from({ length: 11 }, () => '---'));
for (const name of Object.keys(ours)) if (isWanted(name)) await measure(name);
peer?.close();
if (isWanted('chain')) await measureChain();
await context.close();

function isWanted(name: string): boolean {
  return options.only.split(',').some((part) => name.includes(part));
}

async function measure(name: string): Promise<void> {
  const peerName = peer && peerNames[name];
  await checkResult(name, peerName);
  const once = await timeOurs(name, 2);
  const calls = Math.max(1, Math.round(TURN / once));
  const times = { ours: [] as number[], peer: [] as number[], plain: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    times.ours.push(await timeOurs(name, calls));
    if (peerName !== undefined) times.peer.push((await peer!.time(peerName, n, workers, calls)).milliseconds);
    if (plain !== undefined) times.plain.push(timePlain(plain[name]!));
  }
  line(
    name,
    ...sideOf(times.ours),
    ...sideOf(times.peer),
    ...ratiosOf(times.peer, times.ours),
    ...sideOf(times.plain),
    ...ratiosOf(times.plain, times.ours),
  );
}

async function timeOurs(name: string, calls: number): Promise<number> {
  const start = performance.now();
  for (let call = 0; call < calls; call++) context.dispose(ours[name]!());
  await context.sync();
  return (performance.now() - start) / calls;
}

function timePlain(run: () => void): number {
  const start = performance.now();
  run();
  return performance.now() - start;
}

/**
 * A map, an exclusive scan, a map and a compaction: as a pipeline, which fuses the maps and runs the rest tile by tile; and
 * step by step, each stored and waited for before the next.
 */
async function measureChain(): Promise<void> {
  const compaction = (from: q.Column<'u32'>): q.Column<'u32'> => q.copyIf(from, odd);
  const pipeline = (): q.Column<'u32'> =>
    context.scope(() => {
      const sums = q.exclusiveScan(q.map(affine, { x }), q.plus(u32));
      return compaction(q.map(mixed, { x: sums }));
    });
  const waited = async <C extends q.Table>(column: C): Promise<C> => {
    await context.sync();
    return column;
  };
  const fused = async (): Promise<void> => context.dispose(await waited(pipeline()));
  const unfused = async (): Promise<void> => {
    const first = await waited(context.materialize(q.map(affine, { x })));
    const sums = await waited(q.exclusiveScan(first, q.plus(u32)));
    const second = await waited(context.materialize(q.map(mixed, { x: sums })));
    context.dispose(first, sums, second, await waited(compaction(second)));
  };
  const times = { fused: [] as number[], unfused: [] as number[] };
  for (let round = -2; round < 3 * rounds; round++) {
    const [one, other] = [await timeAsync(fused), await timeAsync(unfused)];
    if (round < 0) continue;
    times.fused.push(one);
    times.unfused.push(other);
  }
  console.log('');
  line('map, scan, map, copyIf', 'fused ms', 'least', 'step by step ms', 'least', 'ratio', 'of leasts');
  line(...Array.from({ length: 7 }, () => '---'));
  line('', ...sideOf(times.fused), ...sideOf(times.unfused), ...ratiosOf(times.unfused, times.fused));
}

async function timeAsync(run: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

/** Ends the run where ours has other words than the peer. */
async function checkResult(name: string, peerName: string | undefined): Promise<void> {
  const result = ours[name]!();
  const alone = composed[name]?.();
  if (alone !== undefined && checksumOf({ ...alone }) !== checksumOf(await context.read(result))) {
    throw new Error(`${name} and its plain JavaScript differ`);
  }
  const { checksum } = (peerName === name && (await peer!.time(peerName, n, workers, 1))) || {};
  if (checksum !== undefined && checksum !== checksumOf(await context.read(result))) {
    throw new Error(`${name} and its peer differ`);
  }
  context.dispose(result);
}

/** FNV-1a over the words of a column or of a record of columns, as the peer has it. */
function checksumOf(result: unknown): number {
  const columns = result instanceof Uint32Array ? [result] : (Object.values(result as object) as Uint32Array[]);
  let sum = 2166136261;
  for (const words of columns) for (const word of words) sum = Math.imul(sum ^ word, 16777619);
  return sum >>> 0;
}

function sorted(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b);
}

/** The median and the least of some times. */
function sideOf(times: readonly number[]): string[] {
  if (times.length === 0) return ['', ''];
  const ordered = sorted(times);
  return [ordered[ordered.length >> 1]!, ordered[0]!].map((time) => time.toFixed(2));
}

/** The median of the ratios of the rounds with its quartiles, and the ratio of the least times. */
function ratiosOf(others: readonly number[], own: readonly number[]): string[] {
  if (others.length === 0) return ['', ''];
  const ratios = sorted(others.map((time, round) => time / own[round]!));
  const [low, median, high] = [0.25, 0.5, 0.75].map((part) => ratios[Math.floor(part * ratios.length)]!.toFixed(2));
  return [`${median} (${low} … ${high})`, (Math.min(...others) / Math.min(...own)).toFixed(2)];
}

function line(...cells: readonly string[]): void {
  console.log(`| ${cells.join(' | ')} |`);
}
