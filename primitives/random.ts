import { requireOptions, wrongArgument } from './checks/arguments.ts';
import { type FieldKinds, type Kind, where } from './checks/kinds.ts';
import { type Column, type ColumnsOf, requireLength, viewColumns } from './columns/column.ts';
import { fuse, type Loader, type UniformValue } from './columns/program.ts';
import { SymbolicUniform } from './columns/symbolic.ts';
import { computedColumn } from './columns/views.ts';
import { Let, Var, While } from './functors/control.ts';
import { bool, u32 } from './functors/functor.ts';
import { leafTypes } from './functors/shapes.ts';
import { mulhi } from './functors/standard/bits.ts';
import { select } from './functors/standard/choose.ts';
import { normalsOfWords, uniformOfWord } from './functors/standard/distributions.ts';
import { philox4x32 } from './functors/standard/philox.ts';
import { type U128Shape, u128 } from './functors/standard/wide-products.ts';
import type { U32 } from './functors/value.ts';

type Length = Column['length'];

/** What random numbers are a function of, besides the row. */
export interface RandomOptions {
  /**
   * The seed: a whole number from 0 to 2⁶⁴ − 1, as a safe integer or a bigint. There is no default, because results are
   * repeatable. While a pipeline is prepared, the seed may be a uniform of u32.
   */
  readonly seed: number | bigint;
  /**
   * Which of 2⁶⁴ independent streams of the seed to take, by default stream 0. Calls that need other numbers, such as
   * those for another purpose or another round, take a stream each. It has the types of a seed.
   */
  readonly stream?: number | bigint;
}

const LIMIT = 2n ** 64n;

const aSeed: Kind = where(
  'a whole number from 0 to 2^64 - 1, as a safe integer or a bigint',
  (given) =>
    typeof given === 'bigint'
      ? given >= 0n && given < LIMIT
      : (Number.isSafeInteger(given) && (given as number) >= 0) ||
        (given instanceof SymbolicUniform && given.type === 'u32'),
  { code: 'random/seed' },
);

/** The kinds of the options that random numbers share. */
export const RANDOM_OPTIONS: FieldKinds<RandomOptions> = { seed: aSeed, stream: aSeed };

/** Requires options with a seed; options of other calls may have further fields. */
export function requireSeed<O extends RandomOptions>(call: string, kinds: FieldKinds<O>, options: O): void {
  requireOptions(call, kinds, options);
  if (options?.seed !== undefined) return;
  throw wrongArgument(call, 'options.seed', undefined, 'a whole number from 0 to 2^64 - 1', {
    code: 'random/seed',
    remedy: 'Pass a seed, such as { seed: 1 }: the same seed gives the same numbers.',
  });
}

/** The words of the seed and of the stream, the low ones first. */
function wordsOfOptions({ seed, stream = 0 }: RandomOptions): UniformValue[] {
  return [seed, stream].flatMap((number): UniformValue[] => {
    if (typeof number === 'object') return [number as SymbolicUniform, 0];
    const [low, high] = [BigInt.asUintN(32, BigInt(number)), BigInt(number) >> 32n];
    return [Number(low), Number(high)];
  });
}

/** The four random words of a row at some attempt. The uniforms are those of {@link wordsOfOptions}. */
function blockAt(loader: Loader, values: readonly UniformValue[]): (row: U32, attempt: U32) => readonly U32[] {
  const [seedLow, seedHigh, low, high] = values.map((value) => loader.uniform('u32', value)) as [U32, U32, U32, U32];
  return (row, attempt) => {
    const counter = { lo: { lo: row, hi: attempt }, hi: { lo: low, hi: high } };
    const block = philox4x32({ counter, key: { lo: seedLow, hi: seedHigh } });
    return [block.lo.lo, block.lo.hi, block.hi.lo, block.hi.hi];
  };
}

/**
 * Four random words for every row, as a table of 128-bit integers `{ lo: { lo, hi }, hi: { lo, hi } }`: row i has the
 * block of {@link philox4x32} for the counter of the words i, 0 and the two of the stream, under the seed as the key. So
 * a row depends on its number, the seed and the stream, not on the number of rows, on the order of work or on the
 * device. Returns a view that belongs to no context and takes no memory. Another seed or stream needs no new
 * compilation. `words.lo` are 64-bit keys that can be sorted.
 *
 * - Work O(n), span O(1), per use of the view: about 100 operations a row. Deterministic: the same bytes on every
 *   backend. The length may be a device count (a length that only the device knows).
 * - Equivalent loop: `for (let i = 0; i < n; i++) out[i] = philox4x32([i, 0, streamLow, streamHigh], [seedLow,
 *   seedHigh])`.
 *
 * @throws {@link ArgumentError} `random/seed` if the seed is missing, or the seed or the stream is not a whole number of
 * 64 bits.
 * @example
 * await ctx.read(randomWords(2, { seed: 0 }).lo); // { lo: Uint32Array [1713891541, 4175744164], hi: Uint32Array [3781805453, 1555169499] }
 */
export function randomWords(length: Length, options: RandomOptions): ColumnsOf<U128Shape> {
  return checkedBlocks('randomWords', length, options);
}

function checkedBlocks(call: string, length: Length, options: RandomOptions): ColumnsOf<U128Shape> {
  requireLength(length, call);
  requireSeed(call, RANDOM_OPTIONS, options);
  return blocksOf(call, length, options);
}

/** As {@link randomWords}, for another primitive, which has checked the options. */
export function blocksOf(call: string, length: Length, options: RandomOptions): ColumnsOf<U128Shape> {
  const values = wordsOfOptions(options);
  const view = fuse(call, [], leafTypes(u128), (index, _, loader) => blockAt(loader, values)(index, u32(0)), {
    by: [blocksOf],
    columns: [],
    values,
  });
  return viewColumns(u128, undefined, length, view);
}

/**
 * A random number from 0 to below 1 for every row, as f32: {@link uniformOfWord} of the first of the row's
 * {@link randomWords}, a multiple of 2⁻²⁴. Returns a view. Cost, determinism and errors are those of
 * {@link randomWords}.
 *
 * - Equivalent loop: `for (let i = 0; i < n; i++) out[i] = (words[i].lo.lo >>> 8) * 2 ** -24`.
 *
 * @example
 * await ctx.read(randomUniform(3, { seed: 1 })); // Float32Array [0.8902591466903687, 0.6719982624053955, 0.2474014163017273]
 */
export function randomUniform(length: Length, options: RandomOptions): Column<'f32'> {
  const word = checkedBlocks('randomUniform', length, options).lo.lo;
  const key = { by: [randomUniform], columns: [word] };
  return computedColumn('randomUniform', 'f32', word, key, (index, loader) =>
    uniformOfWord({ word: loader.load([word], index)[0] as U32 }),
  );
}

/**
 * A random number of the standard normal distribution (mean 0, standard deviation 1) for every row, as f32: the first
 * of the {@link normalsOfWords} of the first two of the row's {@link randomWords}. Magnitudes are at most 6.764. Returns
 * a view. Determinism and errors are those of {@link randomWords}; a row takes about 180 operations.
 *
 * - Equivalent loop: `for (let i = 0; i < n; i++) out[i] = normalsOfWords(words[i].lo.lo, words[i].lo.hi).a`.
 *
 * @example
 * await ctx.read(randomNormal(3, { seed: 1 })); // Float32Array [0.38040077686309814, 0.6269478797912598, -1.5671555995941162]
 */
export function randomNormal(length: Length, options: RandomOptions): Column<'f32'> {
  const { lo, hi } = checkedBlocks('randomNormal', length, options).lo;
  const key = { by: [randomNormal], columns: [lo, hi] };
  return computedColumn('randomNormal', 'f32', lo, key, (index, loader) => {
    const [a, b] = loader.load([lo, hi], index) as [U32, U32];
    return normalsOfWords({ a, b }).a;
  });
}

/**
 * A random whole number from 0 to below `below` for every row, all equally probable: without bias for every `below` from
 * 1 to 2³². Returns a view. Another seed, stream or `below` needs no new compilation.
 *
 * A word w gives the upper word of the product w · `below`, unless the lower word is less than 2³² modulo `below`: then
 * the next word is tried. A row tries the four words of its {@link randomWords} in order, then those of the block whose
 * counter has 1 as its second word, then 2, and so on. Less than half of the words are rejected, none if `below` is a
 * power of 2.
 *
 * - Work O(n), span O(1), per use of the view, on average: about 130 operations a row. Deterministic: the same bytes on
 *   every backend. The length may be a device count (a length that only the device knows).
 * - Equivalent loop: `for (let i = 0; i < n; i++) out[i] = words(i).find((w) => (w * below) % 2 ** 32 >= 2 ** 32 % below)
 *   * below / 2 ** 32`, rounded down.
 *
 * Source: Lemire, Fast Random Integer Generation in an Interval, 2019.
 *
 * @throws {@link ArgumentError} `random/below` if `below` is not a whole number from 1 to 2³², `random/seed` as
 * {@link randomWords}.
 * @example
 * await ctx.read(randomIntegers(8, 6, { seed: 1 })); // Uint32Array [5, 4, 1, 4, 1, 0, 2, 2]
 */
export function randomIntegers(length: Length, below: number, options: RandomOptions): Column<'u32'> {
  requireLength(length, 'randomIntegers');
  if (!(Number.isInteger(below) && below >= 1 && below <= 2 ** 32))
    throw wrongArgument('randomIntegers', 'below', below, 'a whole number from 1 to 2^32', { code: 'random/below' });
  requireSeed('randomIntegers', RANDOM_OPTIONS, options);
  // With no bound, every word is a number.
  if (below === 2 ** 32) return blocksOf('randomIntegers', length, options).lo.lo;
  const values = wordsOfOptions(options);
  const bounds = [below, 2 ** 32 % below];
  const key = { by: [randomIntegers], columns: [], values: [...values, ...bounds] };
  return computedColumn('randomIntegers', 'u32', { context: undefined, length }, key, (index, loader) => {
    const block = blockAt(loader, values);
    const [bound, rejected] = bounds.map((value) => loader.uniform('u32', value)) as [U32, U32];
    const [number, attempt, isFound] = [Var(u32(0)), Var(u32(0)), Var(bool(false))];
    While(
      () => isFound.not(),
      () => {
        for (const word of block(index, attempt)) {
          number.set(select(mulhi(word, bound), number, isFound));
          isFound.set(isFound.or(word.mul(bound).ge(rejected)));
        }
        attempt.set(attempt.add(1));
      },
    );
    return Let(number);
  });
}
