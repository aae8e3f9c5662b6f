import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import Flatbush from 'flatbush';
import KDBush from 'kdbush';
import { buildPointTree, nearest, nearestInTree, withinRadius } from '../../algorithms/neighbours/index.ts';
import { printHead, printRow } from '../shared/markdown-table.ts';
import { inTurns, keepBusy, machine, median, type Took } from '../shared/measuring.ts';
import { BACKEND_OPTIONS, openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { congruential } from '../shared/random.ts';
import { temporaryFolder } from '../shared/temporary-folder.ts';

/**
 * Times searches for nearest neighbours.
 *
 * - Brute force in many dimensions, in GFLOP/s (two operations per dimension and pair). If the Python packages are
 *   installed, brute force is compared with faiss's flat index and with torch's cdist and topk, which run on
 *   `--workers` threads. The share of equal neighbours is reported too. Debian's packages are python3-faiss and
 *   python3-torch; both libraries are five times faster with libopenblas0-pthread than with the plain BLAS.
 * - Trees of points in the plane; building a tree and searching it are timed separately. The trees are compared with
 *   kdbush, flatbush and nanoflann on one thread. nanoflann needs a C++ compiler and Debian's libnanoflann-dev.
 *
 * Milliseconds are medians of wall-clock time and of processor time; processor time is more reliable on shared
 * machines. Only kdbush, flatbush and nanoflann are timed once, by wall-clock time.
 *
 * node --import tsx bench/neighbours/neighbours.ts [--backend workers|webgpu] [--adapter hardware|software] [--workers 2] [--rounds 5]
 *   [--points 100000] [--queries 1000] [--dimensions 128] [--k 10] [--plane 1000000]
 *   [--only brute,python,tree,clouds,peers] [--python /usr/bin/python3]
 */
const options = programOptions({
  ...BACKEND_OPTIONS,
  ...{ rounds: 5, points: 100000, queries: 1000, dimensions: 128, k: 10, plane: 1000000 },
  ...{ only: 'brute,python,tree,clouds,peers', python: '/usr/bin/python3' },
});
const { k, rounds, plane } = options;
const parts = options.only.split(',');
/** JavaScript peers answer only one in `PART` queries; their time is multiplied by `PART`. */
const PART = 20;

/** Pseudo-random numbers from 0 to 1, the same in every run. */
function numbers(length: number, seed: number): Float32Array {
  const random = congruential(seed);
  return Float32Array.from({ length }, () => Math.floor(random() * 2 ** 24) / 2 ** 24);
}

/**
 * Milliseconds of warm-up: an idle GPU runs at a fifth of its clock frequency and needs some tenths of a second to
 * raise it.
 */
const HEAT_MS = options.backend === 'webgpu' && options.adapter === 'hardware' ? 600 : 0;

/** Median milliseconds of some work. The first round includes compilation, so it is not counted. */
async function timeOf(run: () => unknown): Promise<Took> {
  await keepBusy(run, HEAT_MS);
  const [took] = (await inTurns({ run }, { rounds })).values();
  const of = (field: keyof Took): number => 1000 * median(took!.map((each) => each[field]));
  return { wall: of('wall'), processor: of('processor') };
}

await using context = await openNamed(options);
console.log(`${machine()}; ${context.backend.name}, medians of ${rounds}\n`);
const ms = (value: number): string => value.toFixed(value < 10 ? 2 : 0);

/** Runs a search, waits for its result, and frees it. */
async function searched(search: () => object | Promise<object>): Promise<void> {
  const found = await search();
  await context.sync();
  context.dispose(found);
}

if (parts.includes('brute') || parts.includes('python')) {
  const { points: n, queries: m, dimensions } = options;
  const host = { points: numbers(n * dimensions, 1), queries: numbers(m * dimensions, 2) };
  const points = { elements: context.column(host.points), dimensions };
  const queries = { elements: context.column(host.queries), dimensions };
  printHead('brute force | ms | processor, ms | GFLOP/s');
  const gigaflops = (wall: number): string => ((2 * n * m * dimensions) / wall / 1e6).toFixed(1);
  for (const metric of parts.includes('brute') ? (['l2', 'l1', 'cosine', 'inner'] as const) : (['l2'] as const)) {
    const { wall, processor } = await timeOf(() => searched(() => nearest(context, points, queries, { k, metric })));
    printRow([`${n} × ${m} × ${dimensions}, k ${k}, ${metric}`, ms(wall), ms(processor), gigaflops(wall)]);
  }
  if (parts.includes('python')) {
    const { ids } = await context.read({ ids: nearest(context, points, queries, { k }).ids });
    await pythonPeers(host, dimensions, ids, gigaflops);
  }
  console.log();
}

/** One line printed by a Python peer, parsed. */
interface PeerLine {
  readonly name: string;
  readonly missing?: string;
  readonly version: string;
  readonly built: number;
  readonly searched: number;
  readonly processor: number;
}

async function pythonPeers(
  { points, queries }: { readonly points: Float32Array; readonly queries: Float32Array },
  dimensions: number,
  ids: Uint32Array,
  gigaflops: (wall: number) => string,
): Promise<void> {
  await using scratch = await temporaryFolder('quadrille-nearest-');
  const folder = scratch.path;
  try {
    const [from, to] = [join(folder, 'points'), join(folder, 'queries')];
    await writeFile(from, points);
    await writeFile(to, queries);
    const script = new URL('../peers/nearest.py', import.meta.url).pathname;
    const words = [script, from, to, ...[dimensions, k, rounds, options.workers].map(String), folder];
    const { stdout } = await promisify(execFile)(options.python, words);
    for (const line of stdout.trim().split('\n')) {
      const { name, missing, version, built, searched, processor } = JSON.parse(line) as PeerLine;
      if (missing !== undefined) {
        console.log(`${name} was left out: ${missing}`);
        continue;
      }
      const found = new Int32Array((await readFile(join(folder, name))).buffer);
      const same = ids.reduce((sum, id, i) => sum + (found[i] === id ? 1 : 0), 0) / ids.length;
      const what = `${name} ${version}, built in ${ms(built)} ms, ${(100 * same).toFixed(2)} % of the ids the same`;
      printRow([what, ms(searched), ms(processor), gigaflops(searched)]);
    }
  } catch (error) {
    console.log(`faiss and torch were left out: ${(error as Error).message.split('\n')[0]}`);
  }
}

/**
 * Distributions of points in the plane. Each function makes coordinate `i` from a random number `u` between 0 and 1.
 * The first distribution is even; the others are so uneven that a regular grid would be slow.
 */
const clouds: { readonly [name: string]: (u: number, i: number) => number } = {
  uniform: (u) => u,
  'all equal': () => 3,
  'on a line': (u, i) => (i % 2 === 0 ? u : 0.5),
  'far outliers': (u, i) => (i < 20 ? (u - 0.5) * 1e30 : 1000 + u),
  'half in a millionth': (u, i) => (i % 4 < 2 ? u : 0.3 + u * 1e-6),
};

if (parts.includes('tree') || parts.includes('clouds')) {
  printHead(
    `points in the plane | build, ms (processor) | ${k} nearest to as many queries, ms | ${k} nearest to all points, ms | queries per second | all within the k-th distance, ms`,
  );
  for (const [name, cloud] of Object.entries(clouds)) {
    if (!parts.includes(name === 'uniform' ? 'tree' : 'clouds')) continue;
    const points = { elements: context.column(numbers(2 * plane, 3).map(cloud)), dimensions: 2 };
    const queries = { elements: context.column(numbers(2 * plane, 4).map(cloud)), dimensions: 2 };
    const build = await timeOf(() => searched(() => buildPointTree(context, points)));
    const tree = buildPointTree(context, points);
    const others = await timeOf(() => searched(() => nearestInTree(context, tree, queries, { k })));
    const own = await timeOf(() => searched(() => nearestInTree(context, tree, 'points', { k })));
    const radius = Math.sqrt(k / Math.PI / plane);
    const within =
      name === 'uniform'
        ? await timeOf(() => searched(() => withinRadius(context, tree, 'points', { radius })))
        : undefined;
    const perSecond = `${(plane / Math.min(others.wall, own.wall) / 1000).toFixed(2)} M`;
    const cells = [build, others, own].map(({ wall, processor }) => `${ms(wall)} (${ms(processor)})`);
    printRow([`${plane}, ${name}`, ...cells, perSecond, within === undefined ? '' : ms(within.wall)]);
    context.dispose(tree, points, queries);
  }
  console.log();
}

if (parts.includes('peers')) {
  printHead(`peer, one thread | build, ms | ${k} nearest to as many queries, ms`);
  const [points, queries] = [numbers(2 * plane, 3), numbers(2 * plane, 4)];
  await nanoflann(points, queries);
  flatbush(points, queries);
  kdbush(points, queries);
}

async function nanoflann(points: Float32Array, queries: Float32Array): Promise<void> {
  const run = promisify(execFile);
  await using scratch = await temporaryFolder('quadrille-nanoflann-');
  const folder = scratch.path;
  try {
    const [program, from, to] = ['nanoflann', 'points', 'queries'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const source = new URL('../peers/nanoflann.cpp', import.meta.url).pathname;
    await run(process.env.CXX ?? 'g++', ['-O3', '-march=native', '-std=c++17', '-o', program, source]);
    await writeFile(from, points);
    await writeFile(to, queries);
    const { stdout } = await run(program, [from, to, String(k)]);
    const [built, searched] = stdout.split(' ').map(Number) as [number, number];
    printRow(['nanoflann, -O3 -march=native', ms(built), ms(searched)]);
  } catch (error) {
    console.log(`nanoflann was left out: ${(error as Error).message.split('\n')[0]}`);
  }
}

function flatbush(points: Float32Array, queries: Float32Array): void {
  const start = performance.now();
  const index = new Flatbush(plane, 16, Float32Array);
  for (let i = 0; i < plane; i++) index.add(points[2 * i]!, points[2 * i + 1]!);
  index.finish();
  const built = performance.now();
  for (let i = 0; i < plane; i += PART) index.neighbors(queries[2 * i]!, queries[2 * i + 1]!, k);
  printRow(['flatbush', ms(built - start), ms(PART * (performance.now() - built))]);
}

/**
 * Answers queries by kdbush, which has no search for nearest points. Searches a circle that contains 1.5 k points on
 * average, and widens the circle until it contains at least k points.
 */
function kdbush(points: Float32Array, queries: Float32Array): void {
  const start = performance.now();
  const index = new KDBush(plane, 64, Float32Array);
  for (let i = 0; i < plane; i++) index.add(points[2 * i]!, points[2 * i + 1]!);
  index.finish();
  const built = performance.now();
  for (let i = 0; i < plane; i += PART) {
    const [x, y] = [queries[2 * i]!, queries[2 * i + 1]!];
    const distance = (id: number): number => (points[2 * id]! - x) ** 2 + (points[2 * id + 1]! - y) ** 2;
    let [radius, found] = [Math.sqrt((1.5 * k) / Math.PI / plane), [] as number[]];
    for (; found.length < k && radius < 2; radius *= 1.5) found = index.within(x, y, radius);
    found.sort((a, b) => distance(a) - distance(b) || a - b).splice(k);
  }
  printRow(['kdbush, widening circles', ms(built - start), ms(PART * (performance.now() - built))]);
}
