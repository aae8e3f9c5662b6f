import { existsSync, readFileSync } from 'node:fs';
import type { TuningChoice } from '../../backends/webgpu/index.ts';
import * as q from '../../primitives/index.ts';
import { chain } from '../experiments/chain.ts';
import { type Device, openDevice } from '../shared/device.ts';
import { printHead } from '../shared/markdown-table.ts';
import { type Spread, spreadOf, timesUntilDone } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { openMemcpy } from '../shared/webgpu-memcpy.ts';
import { reduceAgain } from '../shared/webgpu-timing.ts';
import { primitiveCalls, primitiveInputs } from './primitive-calls.ts';

/**
 * Times primitives on columns in device memory, by the device's own clock. Most times are compared with a lower bound:
 * the time that a map needs to move the minimum number of bytes that the primitive must move. If `--peer` names the
 * output of `bench/peers/primitives.cu`, the times are also compared with those of CUB and Thrust. The first row for
 * each size is the time to copy a column from one buffer to another.
 *
 * Keys are 32-bit hashes of the index. For reduceByKey, 16 consecutive keys are equal. Scatter and gather use the same
 * random permutation as CUB and Thrust. Up to 2^20 elements, two more times are reported: the time per call when 100
 * calls are submitted together, and the time by the host's clock from a single call until the host knows that the call
 * is done.
 *
 * node --import tsx bench/primitives/webgpu-primitives.ts [--adapter hardware|software] [--log2 20,24,28] [--rounds 11] [--peer file.csv]
 *   [--only name,…] [--launches] [--tuning '{ "scan": { "items": 8 } }']
 *
 * With `--launches`, the time of every launch is printed, too. Launches that are timed alone wait for each other, so the
 * sum of their times exceeds the time of the call. `--tuning` may be a list, of which each is measured.
 */
const options = programOptions({
  ...{ adapter: 'hardware', log2: [20, 24, 28], rounds: 11 },
  ...{ peer: undefined, only: '', launches: false, tuning: '{}' },
});
const { rounds } = options;
const tunings: readonly TuningChoice[] = [JSON.parse(options.tuning)].flat();
let device: Device;
let heater: q.Column<'u32'>;

/**
 * What a primitive is compared with: a primitive of CUB or Thrust, and the time to move the minimum number of bytes.
 */
interface Beside {
  /** The primitive's name and library, as in the `--peer` file. */
  readonly peer?: string;
  /** Minimum bytes to read and write per element. */
  readonly bytes?: number;
}

/** The measured primitives. Sorts have no `bytes`, because memory traffic is not what limits their speed. */
const measured: Readonly<Record<string, Beside>> = {
  map: { peer: 'map thrust', bytes: 8 },
  reduce: { peer: 'reduce cub', bytes: 4 },
  scan: { peer: 'scan cub', bytes: 8 },
  'scan f32': { bytes: 8 },
  'scan of 2 × 2': { bytes: 32 },
  copyIf: { peer: 'copyIf cub', bytes: 6 },
  'copyIf of 3': { bytes: 18 },
  gather: { peer: 'gather thrust', bytes: 12 },
  scatter: { peer: 'scatter thrust', bytes: 12 },
  sort: { peer: 'sort cub' },
  sortByKey: { peer: 'sortByKey cub' },
  reduceByKey: { peer: 'reduceByKey cub', bytes: 8.5 },
  histogram: { peer: 'histogram cub', bytes: 4 },
  reverse: { peer: 'reverse thrust', bytes: 8 },
  count: { peer: 'count cub', bytes: 4 },
  minElement: { peer: 'minElement cub', bytes: 4 },
  adjacentDifference: { peer: 'adjacentDifference cub', bytes: 8 },
  'stencil of 3': { bytes: 8 },
  'stencil of 3 × 3': { bytes: 8 },
  partition: { peer: 'partition cub', bytes: 8 },
  unique: { peer: 'unique cub', bytes: 4.25 },
  runLengthEncode: { peer: 'runLengthEncode cub', bytes: 4.5 },
  segmentedScan: { peer: 'segmentedScan cub', bytes: 8 },
  expand: { bytes: 5.5 },
  merge: { peer: 'merge cub', bytes: 8 },
  setUnion: { peer: 'setUnion thrust' },
  setIntersection: { peer: 'setIntersection thrust' },
  setDifference: { peer: 'setDifference thrust' },
  setSymmetricDifference: { peer: 'setSymmetricDifference thrust' },
  lowerBound: { peer: 'lowerBound thrust', bytes: 8 },
  selectKth: { bytes: 4 },
  'scatterReduce add': { bytes: 16 },
  chain: { peer: 'chain thrust' },
};

function isWanted(name: string): boolean {
  return options.only.split(',').some((part) => name.includes(part));
}

/** Number of calls that are submitted together. Only columns of up to `MAX_TOGETHER` elements are timed in this way. */
const TOGETHER = 100;
const MAX_TOGETHER = 2 ** 20;

const peers = new Map<string, number>();
if (options.peer !== undefined && existsSync(options.peer)) {
  for (const line of readFileSync(options.peer, 'utf8').trim().split('\n')) {
    const [primitive, n, library, nanoseconds] = line.split(',');
    peers.set(`${primitive} ${library} ${n}`, Number(nanoseconds) / 1e6);
  }
}

for (const tuning of tunings) {
  device = await openDevice(options.adapter, tuning);
  heater = device.context.materialize(q.sequence(device.adapter === 'hardware' ? 2 ** 26 : 2 ** 10));
  console.log(`\n${device.name}; medians of ${rounds}; tuning ${JSON.stringify(tuning)}\n`);
  printHead(
    'primitive | log2 n | ms | min … max | G elements/s | peer, ms | peer ÷ ours | floor ÷ ours | one of 100 calls together, ms | peer ÷ one of 100 | latency, ms | latency: min … max',
  );
  for (const log2 of options.log2) await measure(log2);
  await device.context.close();
}

async function measure(log2: number): Promise<void> {
  const n = 2 ** log2;
  const { adapter, gpu, context } = device;
  const memcpy = await openMemcpy(gpu, adapter, n * 4);
  line('memcpy', log2, spreadOf(await memcpy.times(rounds)), peers.get(`copy thrust ${n}`));
  memcpy.close();
  const inputs = primitiveInputs(context, log2);
  const calls: Readonly<Record<string, () => unknown>> = {
    ...primitiveCalls(context, n, inputs),
    chain: () => context.scope(() => void chain.run({ x: inputs.x }, { n } as never)),
  };
  const { median } = await time(calls.map!);
  const perByte = median / (8 * n);
  for (const [name, { peer, bytes }] of Object.entries(measured)) {
    if (!isWanted(name)) continue;
    const run = calls[name]!;
    const small = n <= MAX_TOGETHER ? { together: await timeTogether(run), toDone: await timeToDone(run) } : undefined;
    line(name, log2, await time(run), peers.get(`${peer} ${n}`), bytes && bytes * n * perByte, small);
    if (options.launches) await printLaunches(run);
  }
  context.dispose(inputs);
}

async function time(run: () => unknown): Promise<Spread> {
  const { backend, context } = device;
  const repeated = Array.from({ length: rounds }, () => () => context.dispose(run()));
  await backend.time(repeated);
  const [, ...times] = await backend.time([warmUp, ...repeated]);
  return spreadOf(times);
}

/** Prints the median time of every launch of a call. */
async function printLaunches(run: () => unknown): Promise<void> {
  const { backend, context } = device;
  await backend.time([warmUp]);
  const profile = await backend.profile(() => {
    for (let round = 0; round < rounds; round++) context.dispose(run());
  });
  const perRound = profile.length / rounds;
  for (let at = 0; at < perRound; at++) {
    const times = profile.filter((_, i) => i % perRound === at);
    const medians = times[0]!.launches.map((_, k) => spreadOf(times.map(({ launches }) => launches[k]!)).median);
    console.log(`|   ${times[0]!.command} | | ${medians.map((each) => each.toFixed(4)).join(' + ')} |`);
  }
}

async function timeTogether(run: () => unknown): Promise<number> {
  const { backend, context } = device;
  const calls = (): void => {
    for (let call = 0; call < TOGETHER; call++) context.dispose(run());
  };
  const [, ...times] = await backend.time([warmUp, calls, calls, calls]);
  return spreadOf(times).median / TOGETHER;
}

/** Times single calls, with a wait after each, on a device that was just kept busy. */
async function timeToDone(run: () => unknown): Promise<Spread> {
  warmUp();
  await device.context.sync();
  return spreadOf(await timesUntilDone(device.context, run, { rounds, warmUps: 0 }));
}

interface Small {
  /** Milliseconds per call when {@link TOGETHER} calls are submitted together. */
  readonly together: number;
  readonly toDone: Spread;
}

function warmUp(): void {
  reduceAgain(device.context, heater, device.adapter === 'hardware' ? 4000 : 1);
}

function line(name: string, log2: number, times: Spread, peer?: number, floor?: number, small?: Small): void {
  const ratio = (other: number | undefined): string => (other === undefined ? '' : (other / times.median).toFixed(2));
  const shown = (of: Spread): string[] => [of.median.toFixed(4), `${of.min.toFixed(4)} … ${of.max.toFixed(4)}`];
  const rate = (2 ** log2 / times.median / 1e6).toFixed(1);
  const together = [small?.together.toFixed(4) ?? '', small && peer ? (peer / small.together).toFixed(2) : ''];
  const toDone = small === undefined ? ['', ''] : shown(small.toDone);
  const cells = [name, log2, ...shown(times), rate, peer?.toFixed(4) ?? '', ratio(peer), ratio(floor), ...together];
  console.log(`| ${[...cells, ...toDone].join(' | ')} |`);
}
