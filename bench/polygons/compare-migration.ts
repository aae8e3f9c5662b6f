import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { aggregate } from '../../algorithms/cross-compare/aggregate.ts';
import { crossCompare } from '../../algorithms/cross-compare/cross-compare.ts';
import type { CrossComparison } from '../../algorithms/cross-compare/cross-comparison.ts';
import { filterPairs, indexBoxes } from '../../algorithms/cross-compare/filter.ts';
import type { PolygonSide, PolygonTask } from '../../algorithms/cross-compare/tile-comparison.ts';
import { parserOnDevice } from '../../formats/result-sets/device-parser.ts';
import type { ResultSet } from '../../formats/result-sets/result-set.ts';
import { openTileParser } from '../../formats/result-sets/tile-parser.ts';
import { open } from '../../on-node.ts';
import { Context } from '../../primitives/context/context.ts';
import type { Backend } from '../../primitives/contract/backend.ts';
import { openSetPair, requireSameAnswer } from '../shared/compare-input.ts';
import { machine, median, spread, timed, timesOf } from '../shared/measuring.ts';
import { programOptions } from '../shared/program-options.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';
import { writePolygonFiles } from './polygon-files.ts';

/**
 * Throughput of the cross-comparison from text files to J′ (the mean ratio of intersection to union), with and without
 * migration of tasks between a GPU and the CPU, in three cases:
 *
 * - (a) the GPU aggregates at half the rate of the CPU, and the parser keeps up with both;
 * - (b) the GPU aggregates at full speed and waits for the parser, which has few threads;
 * - (c) the GPU aggregates at the rate of the parser.
 *
 * In (a) and (c), the aggregation on the GPU is slowed down: its results are delayed, so that the host receives at most
 * a given number of words per second. Parsing on the GPU is not slowed down. First, the rates of the parser alone and
 * of the aggregator alone are measured on the same tiles and printed; they show whether the cases are as described.
 * Runs with and without migration take turns; every run must give the same result.
 *
 * With `--adapter workers`, threads take the place of a GPU. Tiles go through a run `--repeat` times, under different
 * names.
 *
 * node --import tsx bench/polygons/compare-migration.ts [--adapter hardware|software|workers] [--pairs 154902] [--repeat 4]
 *   [--tiles 100] [--cases a,b,c] [--rounds 5] [--workers N] [--threads N] [--few 1] [--balanced 2] [--share 0.5]
 *   [--batch 32768] [--parse-on-gpu on|off]
 */
const cores = availableParallelism();
const options = programOptions({
  ...{ adapter: 'software', pairs: 154902, tiles: 100, repeat: 4, cases: 'a,b,c', rounds: 5 },
  /**
   * Threads of the aggregator on the CPU; the options `threads`, `few` and `balanced` are the parser's threads in (a), (b)
   * and (c).
   */
  workers: Math.max(1, cores >> 1),
  ...{ threads: Math.max(1, cores - 2), few: 1, balanced: 2 },
  /** Rate of the GPU in case (a), as a fraction of the CPU's rate. */
  share: 0.5,
  ...{ batch: 2 ** 15, 'parse-on-gpu': 'on' },
});
const batchPairs = options.batch;
const matching = { minIou: 0.5, method: 'optimal' } as const;

await using scratch = await temporaryFolder('quadrille-migration-');
const folder = scratch.path;
await main();

interface Case {
  readonly name: string;
  readonly says: string;
  readonly threads: number;
  /** Maximum pairs per second that the GPU may aggregate; unlimited by default. */
  readonly limit?: number;
}

async function main(): Promise<void> {
  console.log(`machine   ${machine()}`);
  await writePolygonFiles(folder, { pairs: options.pairs, tiles: options.tiles });
  const { bytes, ...once } = await openSetPair(join(folder, 'first'), join(folder, 'second'));
  const sets = { p: repeated(once.p), q: repeated(once.q) };
  await using gpu = closing(await openGpu());
  await using cpu = closing(await open({ backend: 'workers', workers: options.workers }));
  const text = `${((bytes * options.repeat) / 1e6).toFixed(0)} MB, ${sets.p.tiles.length} tiles a side`;
  console.log(`input     ${text}, batches of ${batchPairs} pairs, ${options.workers} workers on the CPU`);

  const tasks = await tasksOf(once);
  const pairs = tasks.reduce((sum, { candidates }) => sum + candidates.p.length, 0);
  const onCpu = await rateOfAggregate(cpu.context, tasks);
  const onGpu = await rateOfAggregate(gpu.context, tasks);
  console.log(`aggregate ${rate(onCpu)} on the CPU, ${rate(onGpu)} on the GPU, alone`);
  const parsed = new Map<number, number>();
  const { threads, few, balanced } = options;
  for (const count of new Set([threads, few, balanced])) {
    parsed.set(count, pairs / (await secondsOfParse(once, count)));
    console.log(`parse     ${rate(parsed.get(count)!)} on ${count} threads, alone`);
  }
  const seconds = await secondsOfDeviceParse(once, gpu.context);
  console.log(
    `parse     ${rate(pairs / seconds.later)} on the GPU, alone; first tiles after ${seconds.first.toFixed(2)} s`,
  );

  if (parsed.get(threads)! < 1.5 * onCpu * options.share) {
    console.log('(a)       is bound by the parser here: give it more --threads, or the GPU a smaller --share');
  }
  if (parsed.get(few)! > 0.8 * onGpu) console.log('(b)       is not bound by the parser here');
  if (parsed.get(balanced)! > onGpu) console.log('(c)       is bound by the GPU here: give the parser fewer threads');
  const cases: Record<string, Case> = {
    a: {
      name: '(a)',
      says: `GPU at ${options.share} of the rate of the CPU`,
      threads,
      limit: onCpu * options.share,
    },
    b: { name: '(b)', says: 'GPU waits for the parser', threads: few },
    c: { name: '(c)', says: 'GPU at the rate of the parser', threads: balanced, limit: parsed.get(balanced)! },
  };
  for (const key of options.cases.split(',')) await measureCase(cases[key]!, sets, gpu.context, cpu.context, tasks);
}

function rate(pairsPerSecond: number): string {
  return `${(pairsPerSecond / 1000).toFixed(0)}k pairs/s`;
}

function closing(context: Context) {
  return { context, [Symbol.asyncDispose]: () => context.close() };
}

/**
 * A new signal that is never aborted. Each tile gets its own signal, because Node warns about many listeners on one
 * signal.
 */
function unaborted(): AbortSignal {
  return new AbortController().signal;
}

function openGpu(): Promise<Context> {
  const { adapter } = options;
  if (adapter === 'workers') return open({ backend: 'workers', workers: 1 });
  return open({ backend: 'webgpu', adapter: adapter as 'hardware' | 'software' });
}

interface Sets {
  readonly p: ResultSet;
  readonly q: ResultSet;
}

function repeated(set: ResultSet): ResultSet {
  const rounds = Array.from({ length: options.repeat }, (_, i) => i);
  return { ...set, tiles: rounds.flatMap((i) => set.tiles.map((tile) => ({ ...tile, name: `${i}/${tile.name}` }))) };
}

/** A context whose device returns at most a given number of words per second. */
function throttled({ backend }: Context, wordsPerSecond: number): Context {
  let free = 0;
  const read: Backend['read'] = async (buffer, word, words) => {
    const asked = performance.now();
    const result = await backend.read(buffer, word, words);
    free = Math.max(free, asked) + (1000 * words) / wordsPerSecond;
    const wait = free - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    return result;
  };
  return withRead(backend, read);
}

/** A context on a backend that reads in another way. */
function withRead(backend: Backend, read: Backend['read']): Context {
  return new Context(new Proxy(backend, { get: (of, key) => (key === 'read' ? read : Reflect.get(of, key)) }));
}

/** Parses all tiles, and makes one task for the aggregator per tile. */
async function tasksOf({ p, q }: Sets): Promise<PolygonTask[]> {
  const parser = openTileParser({ workers: undefined, pixelSize: 1 });
  const tasks = p.tiles.map(async (tile, i) => {
    const sides = await Promise.all([parser.parse(tile, unaborted()), parser.parse(q.tiles[i]!, unaborted())]);
    const [ofP, ofQ] = sides as [PolygonSide, PolygonSide];
    const candidates = filterPairs(ofP.regions, indexBoxes(ofQ.regions));
    return { tile: tile.name, p: ofP, q: ofQ, candidates };
  });
  const all = await Promise.all(tasks);
  await parser.close();
  return all;
}

function batchesOf(tasks: readonly PolygonTask[]): PolygonTask[][] {
  const batches: PolygonTask[][] = [[]];
  let pairs = 0;
  for (const task of tasks) {
    if (pairs + task.candidates.p.length > batchPairs && pairs > 0) {
      batches.push([]);
      pairs = 0;
    }
    batches.at(-1)!.push(task);
    pairs += task.candidates.p.length;
  }
  return batches;
}

/** Pairs per second that the aggregator processes if nothing else runs. */
async function rateOfAggregate(context: Context, tasks: readonly PolygonTask[]): Promise<number> {
  const batches = batchesOf(tasks);
  const pairs = tasks.reduce((sum, { candidates }) => sum + candidates.p.length, 0);
  const all = async (): Promise<void> => {
    for (const batch of batches) await aggregate(context, batch, matching);
  };
  return (1000 * pairs) / median(await timesOf(all, { rounds: 3 }));
}

/** Number of words per pair that the aggregator reads back from the device. */
async function wordsPerPair({ backend }: Context, tasks: readonly PolygonTask[]): Promise<number> {
  let words = 0;
  const read: Backend['read'] = (buffer, word, count) => {
    words += count;
    return backend.read(buffer, word, count);
  };
  const [batch] = batchesOf(tasks);
  await aggregate(withRead(backend, read), batch!, matching);
  return words / batch!.reduce((sum, { candidates }) => sum + candidates.p.length, 0);
}

/** Returns the seconds that the parser's threads take to parse all tiles. Starting the threads is not timed. */
async function secondsOfParse({ p, q }: Sets, threads: number): Promise<number> {
  const parser = openTileParser({ workers: threads, pixelSize: 1 });
  const parseAll = async (): Promise<void> => {
    await Promise.all([...p.tiles, ...q.tiles].map((tile) => parser.parse(tile, unaborted())));
  };
  await parseAll();
  const { wall } = await timed(parseAll);
  await parser.close();
  return wall;
}

async function secondsOfDeviceParse({ p, q }: Sets, gpu: Context): Promise<{ first: number; later: number }> {
  const parse = parserOnDevice(gpu, 1);
  const { wall: first } = await timed(() => parse(p.tiles[0]!, unaborted()));
  const tiles = p.tiles.slice(0, 20).flatMap((tile, i) => [tile, q.tiles[i]!]);
  const { wall } = await timed(async () => {
    for (const tile of tiles) await parse(tile, unaborted());
  });
  return { first, later: (wall * 2 * p.tiles.length) / tiles.length };
}

interface Run {
  readonly wall: number;
  readonly comparison: CrossComparison;
  /** Numbers of tasks that migrated between the GPU and the CPU. */
  readonly moved: { readonly parse: number; readonly aggregate: number };
}

async function measureCase(
  { name, says, threads, limit }: Case,
  sets: Sets,
  gpu: Context,
  cpu: Context,
  tasks: readonly PolygonTask[],
): Promise<void> {
  const place = limit === undefined ? gpu : throttled(gpu, limit * (await wordsPerPair(gpu, tasks)));
  if (limit !== undefined) console.log(`${name}       ${rate(await rateOfAggregate(place, tasks))} on the GPU, alone`);
  const ratios: number[] = [];
  const [off, on]: [Run[], Run[]] = [[], []];
  let expected: CrossComparison | undefined;
  for (let round = -1; round < options.rounds; round++) {
    const pair = [await run(sets, place, gpu, undefined, threads), await run(sets, place, gpu, cpu, threads)] as const;
    expected ??= pair[0].comparison;
    for (const each of pair) requireSameAnswer(each.comparison, expected, name);
    if (round < 0) continue;
    off.push(pair[0]);
    on.push(pair[1]);
    ratios.push(pair[0].wall / pair[1].wall);
  }
  const wallOf = (runs: readonly Run[]): string => spread(runs.map(({ wall }) => wall));
  const movedOf = (stage: keyof Run['moved']): number => median(on.map(({ moved }) => moved[stage]));
  const { candidates } = expected!;
  console.log(`${name}       ${says}, ${threads} threads parse: time off ÷ time on ${spread(ratios)}`);
  console.log(`${name}       off ${wallOf(off)} s, ${rate(candidates / median(off.map(({ wall }) => wall)))}`);
  console.log(
    `${name}       on  ${wallOf(on)} s, ${rate(candidates / median(on.map(({ wall }) => wall)))}; ` +
      `moved: ${movedOf('parse')} of ${sets.p.tiles.length} tiles, ${movedOf('aggregate')} batches`,
  );
}

/**
 * Runs and times one comparison. Tasks may migrate if `cpu` is given. The parser's threads are started before the
 * timing begins.
 */
async function run(sets: Sets, place: Context, gpu: Context, cpu: Context | undefined, threads: number): Promise<Run> {
  const parser = openTileParser({ workers: threads, pixelSize: 1 });
  const parseOnGpu = options['parse-on-gpu'] === 'on' ? parserOnDevice(gpu, 1) : undefined;
  try {
    await Promise.all(sets.p.tiles.slice(0, threads).map((tile) => parser.parse(tile, unaborted())));
    const job = { ...sets, parse: parser.parse, parseLanes: parser.lanes, batchPairs };
    const running = crossCompare(place, { ...job, migrate: cpu && { cpu, parseOnGpu } });
    const { wall, result: comparison } = await timed(() => running.result);
    const moved = (node: string): number => running.counters().find(({ name }) => name === node)?.migrated ?? 0;
    return { wall, comparison, moved: { parse: moved('parse'), aggregate: moved('aggregate') } };
  } finally {
    await parser.close();
  }
}
