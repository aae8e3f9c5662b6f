import { cpus } from 'node:os';
import { createWorkersBackend } from '../../backends/workers/index.ts';
import { Context } from '../../primitives/context/context.ts';
import { smallestOf } from '../../primitives/host/extremes.ts';
import * as q from '../../primitives/index.ts';
import { plainComposed } from '../experiments/plain-composed.ts';
import { plainPrimitives } from '../experiments/plain-primitives.ts';
import { checksum } from '../harness/job.ts';
import { CPP_PRIMITIVES, startCpp } from '../peers/cpp.ts';
import type { PeerProgram } from '../peers/program.ts';
import { printHead, printRow } from '../shared/markdown-table.ts';
import { inTurns, spreadOf } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { affine, odd, primitiveCalls, primitiveInputs } from './primitive-calls.ts';

/**
 * Times primitives on worker threads, and compares them with plain JavaScript on one thread. If g++ is installed, also
 * compares them with C++ on the same number of threads. The three implementations take turns, a few calls per round, so
 * that disturbances of the machine affect all of them alike. The checksums of most results must equal those of C++ or,
 * for primitives that the C++ program lacks, those of plain JavaScript.
 *
 * Keys are 32-bit hashes of the index. For reduceByKey, 16 consecutive keys are equal. Gather and scatter use a random
 * permutation as indices.
 *
 * node --import tsx bench/primitives/workers-primitives.ts [--workers 2] [--log2 24] [--rounds 15] [--only name,…] [--no-plain] [--no-peer]
 */
const options = programOptions({ workers: 2, log2: 24, rounds: 15, only: '', plain: true, peer: true });
const n = 2 ** options.log2;
const { workers, rounds } = options;
/** Approximate milliseconds of our calls in one round. The C++ program makes equally many calls in a round. */
const TURN = 40;

const context = new Context(await createWorkersBackend({ workers }));
const peer = options.peer ? await startCpp() : undefined;
const { u32 } = q;
const inputs = primitiveInputs(context, options.log2);

const mixed = q.fn('mixed', { x: u32 }, u32, ({ x }) => x.xor(x.shr(7)));

/**
 * Plain JavaScript needs the inputs in host memory. `plainPrimitives` takes only `others`; `plainComposed` takes all.
 */
const { low, high, lowSet, highSet, counts, keys, ...others } = inputs;
const host = await context.read(others);
const composed = plainComposed(n, { ...host, ...(await context.read({ low, high, lowSet, highSet, counts, keys })) });
const plain = options.plain ? { ...plainPrimitives(n, host), ...composed } : undefined;

/** Functions that each call one of our primitives, by name. */
const ours = primitiveCalls(context, n, inputs);
/** For each of our primitives, the name of the peer's primitive with which it is compared. */
const peerNames: { readonly [name: string]: string } = {
  ...Object.fromEntries([...CPP_PRIMITIVES].map((name) => [name, name])),
  ...{ fill: 'copy', sequence: 'copy' },
};

console.log(
  `${cpus()[0]!.model}, Node ${process.version}, ${peer?.version ?? 'no C++'}; n = 2^${options.log2}, ` +
    `${workers} workers, ${workers} threads of C++, one of JavaScript; ${rounds} rounds\n`,
);
const [theirs, plainJs] = ['C++', 'JS'].map((who) => [`${who} ms`, 'min', `${who} ÷ ours`, 'min ÷ min']);
printHead(['primitive', 'ours ms', 'min', ...theirs!, ...plainJs!].join(' | '));
for (const name of Object.keys(ours)) if (isWanted(name)) await measure(name);
await peer?.program.close();
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
    if (peerName !== undefined) times.peer.push((await askPeer(peerName, calls)).nanoseconds / 1e6);
    if (plain !== undefined) times.plain.push(timePlain(plain[name]!));
  }
  printRow([
    name,
    ...sideOf(times.ours),
    ...sideOf(times.peer),
    ...ratiosOf(times.peer, times.ours),
    ...sideOf(times.plain),
    ...ratiosOf(times.plain, times.ours),
  ]);
}

function askPeer(name: string, calls: number): ReturnType<PeerProgram['ask']> {
  return peer!.program.ask({ name, n, variant: String(workers), calls, warm: false });
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
 * Times a chain of a map, an exclusive scan, a map and a compaction in two ways: as a pipeline, which fuses the maps
 * and computes the other steps tile by tile; and step by step, with a wait after every step until its result is stored.
 */
async function measureChain(): Promise<void> {
  const { x } = inputs;
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
  const took = await inTurns({ fused, unfused }, { rounds: 3 * rounds, warmUps: 2 });
  const [one, other] = [...took.values()].map((each) => each.map(({ wall }) => 1000 * wall)) as [number[], number[]];
  console.log('');
  printHead('map, scan, map, copyIf | fused ms | min | step by step ms | min | steps ÷ fused | min ÷ min');
  printRow(['', ...sideOf(one), ...sideOf(other), ...ratiosOf(other, one)]);
}

/** Throws if our result differs from the peer's, or from that of plain JavaScript. */
async function checkResult(name: string, peerName: string | undefined): Promise<void> {
  const result = ours[name]!();
  const alone = composed[name]?.();
  if (alone !== undefined && checksumOf({ ...alone }) !== checksumOf(await context.read(result))) {
    throw new Error(`${name} and its plain JavaScript differ`);
  }
  const peers = peerName === name && (await askPeer(peerName, 1));
  if (peers && peers.checksum !== checksumOf(await context.read(result))) {
    throw new Error(`${name} and its peer differ`);
  }
  context.dispose(result);
}

/** The checksum of a column or of a record of columns; the same as the peer's. */
function checksumOf(result: unknown): number {
  return checksum(result instanceof Uint32Array ? [result] : (Object.values(result as object) as Uint32Array[]));
}

function sorted(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b);
}

/** The median and the minimum of some times, as text. */
function sideOf(times: readonly number[]): string[] {
  if (times.length === 0) return ['', ''];
  const { median, min } = spreadOf(times);
  return [median, min].map((time) => time.toFixed(2));
}

/** `others` ÷ `own` as text: the median ratio of all rounds with quartiles, and the ratio of the minimum times. */
function ratiosOf(others: readonly number[], own: readonly number[]): string[] {
  if (others.length === 0) return ['', ''];
  const ratios = sorted(others.map((time, round) => time / own[round]!));
  const [low, median, high] = [0.25, 0.5, 0.75].map((part) => ratios[Math.floor(part * ratios.length)]!.toFixed(2));
  return [`${median} (${low} … ${high})`, (smallestOf(others) / smallestOf(own)).toFixed(2)];
}
