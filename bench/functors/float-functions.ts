import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import type { Context } from '../../primitives/context/context.ts';
import { bitsToF32, bitsToU32 } from '../../primitives/functors/standard/bits.ts';
import { FLOAT_FUNCTIONS } from '../../primitives/functors/standard/float-functions.ts';
import { type Column, f32, fn, map, plus, reduce, select, sequence, u32, uniform } from '../../primitives/index.ts';
import { openNamed } from '../shared/options.ts';
import { programOptions } from '../shared/program-options.ts';
import { EXACT_FLOATS } from './exact-floats.ts';

/**
 * Measures the functions of f32 against f64: the largest error, in units in the last place of the exact result, over all
 * 2³² arguments, and over pairs of special values and of a sequence for functions of several arguments; and where it is. Results that are
 * subnormal may be zero. `fma`, `fract`, `mix`, `remainder` and `sign` must be exact.
 *
 * With `--webgpu`, the device computes the same, and sums of hashes of all results are compared with those of workers:
 * where arguments and results are normal, every bit must be equal.
 *
 * node --import tsx bench/functors/float-functions.ts [--only FUNCTION,…] [--arguments 4294967296] [--pairs 1073741824]
 *   [--processes N] [--webgpu] [--adapter hardware|software]
 */
const options = programOptions({
  ...{ arguments: 2 ** 32, pairs: 2 ** 30, processes: availableParallelism(), only: '', part: -1 },
  ...{ webgpu: false, adapter: 'hardware' },
});

/** Number of results that one launch computes. */
const CHUNK = 2 ** 22;

interface Found {
  readonly name: string;
  worst: number;
  at: readonly number[];
  wrong: number;
  wrongAt: readonly number[];
  readonly hashes: number[];
}

const names = Object.keys(EXACT_FLOATS).filter((name) => options.only === '' || options.only.split(',').includes(name));

/** The number of chunks of a function. Of several arguments, the first chunk holds all combinations of {@link SPECIAL}. */
function chunksOf(name: string): number {
  const { length } = FLOAT_FUNCTIONS[name]!;
  return length === 1 ? Math.ceil(options.arguments / CHUNK) : Math.ceil(options.pairs / CHUNK) + 1;
}

async function measureAll(): Promise<void> {
  const parts = Array.from({ length: options.processes }, (_, part) => part);
  const device = options.webgpu ? hashesOnDevice() : undefined;
  const all = await Promise.all(parts.map(foundBy));
  const hashes = await device;
  console.log('| function | arguments | largest error, ulp | at | not as IEEE 754 says | equal bytes on the device |');
  console.log('| --- | --- | --- | --- | --- | --- |');
  for (const name of names) {
    const found = all.map((part) => part.find((each) => each.name === name)!);
    const worst = found.reduce((a, b) => (b.worst > a.worst ? b : a));
    const wrong = found.reduce((sum, each) => sum + each.wrong, 0);
    const where = found.find((each) => each.wrong > 0)?.wrongAt.join(', ') ?? '';
    const own = found.flatMap((each) => each.hashes);
    const equal = hashes === undefined ? '' : hashes.get(name)!.every((hash) => own.includes(hash)) ? 'all' : 'NO';
    const count = chunksOf(name) * CHUNK;
    console.log(
      `| ${name} | ${count} | ${worst.worst.toFixed(3)} | ${worst.at.join(', ')} | ${wrong} ${where} | ${equal} |`,
    );
  }
}

async function foundBy(part: number): Promise<readonly Found[]> {
  const args = process.argv.slice(2).concat('--part', String(part), '--processes', String(options.processes));
  const child = fork(new URL(import.meta.url), args, { execArgv: process.execArgv });
  const [found] = (await once(child, 'message')) as [readonly Found[]];
  return found;
}

async function measurePart(part: number): Promise<void> {
  const all: Found[] = [];
  await using context = await openNamed({ backend: 'workers', adapter: undefined, workers: 1 });
  for (const name of names) {
    const found: Found = { name, worst: 0.5, at: [], wrong: 0, wrongAt: [], hashes: [] };
    for (let chunk = part; chunk < chunksOf(name); chunk += options.processes)
      await measureChunk(context, found, chunk);
    all.push(found);
  }
  process.send!(all);
  process.disconnect();
}

async function hashesOnDevice(): Promise<ReadonlyMap<string, readonly number[]>> {
  await using context = await openNamed({ backend: 'webgpu', adapter: options.adapter, workers: undefined });
  const hashes = new Map<string, number[]>();
  for (const name of names) {
    const own: number[] = [];
    for (let chunk = 0; chunk < chunksOf(name); chunk++) own.push(await hashOf(context, name, chunk));
    hashes.set(name, own);
  }
  return hashes;
}

const TINY = 2 ** -126;

async function measureChunk(context: Context, found: Found, chunk: number): Promise<void> {
  const { name } = found;
  const exact = EXACT_FLOATS[name]!;
  const { given, results } = columnsOf(context, name, chunk);
  const numbers = await Promise.all(given.map((column) => context.read(column)));
  const got = await context.read(results);
  found.hashes.push(await hashOf(context, name, chunk));
  const [x, y, z] = numbers as [Float32Array, Float32Array, Float32Array];
  const mustBeExact = ['fma', 'fract', 'mix', 'remainder', 'sign'].includes(name);
  const args = (at: number): number[] => numbers.map((column) => column[at]!);
  for (let at = 0; at < got.length; at++) {
    const expected = exact(x[at]!, y?.[at] ?? 0, z?.[at] ?? 0);
    const result = got[at]!;
    // Results that are rounded as the exact ones have an error of at most a half.
    if (Object.is(Math.fround(expected), result)) continue;
    if (mustBeExact || !isAlike(result, expected)) {
      if (found.wrong++ === 0) found.wrongAt = args(at);
    } else if (Math.abs(expected) >= TINY && Number.isFinite(result)) {
      note(found, Math.abs(result - expected) / unitOf(expected), at, args);
    }
  }
  for (const column of [results, ...given]) context.dispose(column);
}

/** Whether a result is of the kind of the exact one: a number of the same sign, or zero or near for subnormal ones. */
function isAlike(result: number, expected: number): boolean {
  if (Number.isNaN(result) || Number.isNaN(expected) || expected === 0) return false;
  if (!Number.isFinite(result) || Math.abs(expected) > LARGEST) return Math.abs(expected / LARGEST - 1) < 2 ** -22;
  if (Math.abs(expected) >= TINY) return result / expected > 0;
  return result === 0 || Math.abs(result - expected) <= 2 * SMALLEST;
}

const SMALLEST = 2 ** -149;
const LARGEST = 3.4028234663852886e38;

function note(found: Found, error: number, at: number, args: (at: number) => number[]): void {
  if (error <= found.worst) return;
  found.worst = error;
  found.at = args(at);
}

const number = new Float32Array(1);
const word = new Uint32Array(number.buffer);

/** The unit in the last place of f32 at a number. */
function unitOf(x: number): number {
  number[0] = Math.abs(x);
  const exponent = word[0]! >>> 23;
  return 2 ** (Math.max(exponent, 1) - 150);
}

/** Arguments as bits: every word at most once; for several arguments, words of a sequence that mixes well. */
const argument = fn(
  'argument',
  { index: u32, chunk: uniform(u32), salt: uniform(u32), isPlain: uniform(u32) },
  f32,
  ({ index, chunk, salt, isPlain }) => {
    const at = chunk.mul(CHUNK).add(index);
    const mixed = [0x7feb352d, 0x846ca68b].reduce((x, by) => x.xor(x.shr(16)).mul(by), at.add(salt).mul(0x9e3779b9));
    return bitsToF32(select(mixed.xor(mixed.shr(15)), at.mul(0x9e3779b1), isPlain.ne(0)));
  },
);

/** 160, so that a chunk holds all triples: zeros, ends of ranges, halves, whole numbers and powers of 2 with their neighbours, infinity and NaN, of both signs. */
const SPECIAL = [0, 2 ** -149, 2 ** -148, 2 ** -126 - 2 ** -149, 2 ** -126, 2 ** -126 + 2 ** -149, 2 ** -102]
  .concat([
    2 ** -75,
    2 ** -64,
    2 ** -63,
    2 ** -25,
    2 ** -24,
    2 ** -23,
    2 ** -12,
    1e-3,
    0.1,
    0.25,
    1 / 3,
    0.5 - 2 ** -25,
  ])
  .concat([0.5, 0.5 + 2 ** -24, Math.SQRT1_2, 0.75, 1 - 2 ** -24, 1, 1 + 2 ** -23, 1.25, Math.SQRT2, 1.5])
  .concat([2 - 2 ** -23, 2, 2 + 2 ** -22, 2.5, Math.E, 3, Math.PI / 4, Math.PI / 2, Math.PI, 3.5, 4, 5, 6, 7, 8, 9, 10])
  .concat([
    16,
    25,
    32,
    64,

    100,
    126,
    127,
    127.5,
    128,
    129,
    149,
    150,
    255,
    2 ** 11 - 1,
    2 ** 12,
    2 ** 12 + 1,
  ])
  .concat([
    2 ** 16,
    2 ** 22 + 0.5,
    2 ** 23 - 0.5,
    2 ** 23,
    2 ** 23 + 1,
    2 ** 24 - 1,
    2 ** 24,
    2 ** 24 + 2,
    2 ** 25,
    2 ** 31,
  ])
  .concat([2 ** 63, 2 ** 64, 2 ** 96, 2 ** 126, 2 ** 127, 2 ** 128 - 2 ** 104, Number.POSITIVE_INFINITY, Number.NaN])
  .flatMap((x) => [x, -x]);

/** In row i, the argument at `place` of combination i of special values. */
function specialArguments(place: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: CHUNK }, (_, i) => {
    return SPECIAL[Math.floor(i / SPECIAL.length ** place) % SPECIAL.length]!;
  });
}

function columnsOf(context: Context, name: string, chunk: number): { given: Column<'f32'>[]; results: Column<'f32'> } {
  const { length } = FLOAT_FUNCTIONS[name]!;
  const index = sequence(CHUNK);
  const given = ['x', 'y', 'z'].slice(0, length).map((_, place) => {
    if (length > 1 && chunk === 0) return context.column(specialArguments(place));
    return map(argument, { index, chunk, salt: (0x51ed270b * (place + 1)) >>> 0, isPlain: Number(length === 1) });
  });
  return { given, results: context.materialize(applied(name, given)) };
}

function applied(name: string, given: readonly Column<'f32'>[]): Column<'f32'> {
  const own = FLOAT_FUNCTIONS[name]!;
  const fields = Object.fromEntries(given.map((_, place) => [`x${place}`, f32]));
  const functor = fn(name, fields, f32, (values) => own(...(Object.values(values) as never[])));
  return map(
    functor,
    Object.fromEntries(given.map((column, place) => [`x${place}`, column])) as never,
  ) as Column<'f32'>;
}

const hashed = fn('hashed', { index: u32, x: f32, y: f32, z: f32, result: f32 }, u32, ({ index, x, y, z, result }) => {
  const isNormal = [x, y, z, result].map((number) => {
    const exponent = bitsToU32(number).shr(23).and(0xff);
    return exponent.ne(0).and(exponent.ne(255));
  });
  const all = isNormal.reduce((so, next) => so.and(next));
  return select(u32(0), bitsToU32(result).mul(0x9e3779b1).xor(index).mul(0x85ebca6b), all);
});

/** The sum of hashes of the results of a chunk, of those where arguments and result are normal. */
async function hashOf(context: Context, name: string, chunk: number): Promise<number> {
  const sum = context.scope(() => {
    const { given, results } = columnsOf(context, name, chunk);
    const [x, y = x, z = x] = given as [Column<'f32'>, Column<'f32'>?, Column<'f32'>?];
    return reduce(
      map(hashed, { index: sequence(CHUNK), x, y, z, result: results } as never) as Column<'u32'>,
      plus(u32),
    );
  });
  const [hash] = await context.read(sum);
  context.dispose(sum);
  return hash!;
}

if (options.part >= 0) await measurePart(options.part);
else await measureAll();
