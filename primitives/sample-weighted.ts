import { aFlag, anything, type FieldKinds } from './checks/kinds.ts';
import {
  type Column,
  type ColumnOwner,
  type ColumnsOf,
  requireLength,
  requireType,
  viewColumn,
  viewColumns,
} from './columns/column.ts';
import { fuse, type Loader, storeWord } from './columns/program.ts';
import { computedColumn } from './columns/views.ts';
import { wordsOf } from './columns/words.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import { f32, u32, u64 } from './functors/functor.ts';
import { leafTypes } from './functors/shapes.ts';
import { bitsToF32, bitsToU32, clz } from './functors/standard/bits.ts';
import { select } from './functors/standard/choose.ts';
import { openUniform } from './functors/standard/distributions.ts';
import { log1p } from './functors/standard/logarithms.ts';
import { shl64, shrU64, type U64, u64OfU32 } from './functors/standard/wide.ts';
import { mulU64 } from './functors/standard/wide-products.ts';
import type { U32 } from './functors/value.ts';
import { maximum, plus } from './monoid.ts';
import { blocksOf, RANDOM_OPTIONS, type RandomOptions, requireSeed } from './random.ts';
import { reduce } from './reduce.ts';
import { foldResults } from './rows/row-results.ts';
import { countIn, inclusiveScan } from './scan.ts';
import { upperBound } from './search.ts';
import { requireSampled } from './shuffle.ts';
import { sortPermutation } from './sort.ts';

/** Options of {@link sampleWeighted}. */
export interface WeightedSampleOptions extends RandomOptions, ContextOption {
  /** Whether a row may be drawn several times; false by default. */
  readonly replacement?: boolean;
}

const OPTIONS: FieldKinds<WeightedSampleOptions> = { ...RANDOM_OPTIONS, replacement: aFlag, context: anything };

/**
 * The numbers of `k` rows, drawn at random: each draw takes one of the rows with a probability in proportion to their
 * weights, which are u32 or f32. Without replacement, which is the default, a row is drawn once at most: each draw takes
 * one of the rows that are left. The numbers are in the order of the draws, so the first of them are a smaller sample.
 * `gather(rows, numbers)` are the rows.
 *
 * A row whose weight is zero, negative, infinite or NaN is never drawn. Without replacement, if fewer than `k` rows can
 * be drawn, the result has the numbers of all of these. With replacement, it is empty if no row can be drawn. Only the
 * device knows the length of the result.
 *
 * With replacement, draw j takes the row at which the prefix sum of the weights exceeds ⌊t · x / 2⁶⁴⌋, where t is the sum
 * of the weights and x is `lo` of the {@link randomWords} of row j. Sums are exact: f32 count as whole multiples, rounded
 * down, of 2⁻³¹ to 2⁻⁶² of the power of 2 at or below the greatest weight, 2⁻⁴³ for a million rows. Without
 * replacement, each row arrives after −ln(1 − u) / weight, where (u · 2³² − ½) is the first word of {@link randomWords}
 * of the row, and the first `k` rows are taken. Of rows that arrive at the same time, the one with the lower second word
 * is first, and then the one with the lower number.
 *
 * - Work O(n + k log n) with replacement, a scan and a search for every draw; O(n) without, a sort of 64-bit keys. Span
 *   O(log n). Deterministic: the same bytes on every backend.
 * - No rows give an empty result. Accepts device counts (lengths that only the device knows).
 * - Equivalent loop, without replacement: `for (let j = 0; j < k; j++) { out.push(draw(weights)); weights[out[j]] = 0 }`.
 *
 * Source: Efraimidis and Spirakis, Weighted random sampling with a reservoir, 2006.
 *
 * @throws {@link ArgumentError} `random/sample` if, without replacement, the host knows that there are fewer than `k`
 * rows; `random/seed` if the seed is missing, or the seed or the stream is not a whole number of 64 bits.
 * @example
 * const weights = ctx.column(Float32Array.of(1, 0, 10, 100));
 * const often = sampleWeighted(weights, 8, { seed: 7, replacement: true });
 * await ctx.read({ once: sampleWeighted(weights, 4, { seed: 7 }), often });
 * // { once: Uint32Array [2, 3, 0], often: Uint32Array [3, 3, 0, 3, 3, 3, 3, 3] }
 */
export function sampleWeighted(
  weights: Column<'u32'> | Column<'f32'>,
  k: number,
  options: WeightedSampleOptions,
): Column<'u32'> {
  requireSeed('sampleWeighted', OPTIONS, options);
  requireType(weights, ['u32', 'f32'], 'weights', 'sampleWeighted');
  const { replacement = false } = options;
  if (replacement) requireLength(k, 'sampleWeighted', 'k');
  else requireSampled('sampleWeighted', k, weights.length);
  const context = inNamedContext('sampleWeighted', options, () => requireContext([weights], 'sampleWeighted'));
  const draw = replacement ? drawAgain : drawOnce;
  return context.scope(() => context.materialize(draw(context, weights, k, options)));
}

/** The numbers of rows that are drawn independently of each other: those at which the sum of the weights exceeds a number. */
function drawAgain(context: ColumnOwner, weights: Column, k: number, options: RandomOptions): Column<'u32'> {
  const upTo = inclusiveScan<typeof u64>(wholeWeights(weights), plus(u64));
  const sumOf = (loader: Loader): U64 => {
    const [lo, hi] = loader.load([upTo.lo, upTo.hi], loader.length(weights.length).sub(1)) as [U32, U32];
    return { lo, hi };
  };
  const drawn = context.allocate(1);
  const number = fuse('drawn', [], ['u32'], (_index, _, loader) => {
    const { lo, hi } = sumOf(loader);
    return [select(u32(0), loader.uniform('u32', k), lo.or(hi).ne(0))];
  });
  storeWord(context, number, drawn);
  const length = countIn(drawn, 0, k);
  const { lo, hi } = blocksOf('sampleWeighted', length, options).lo;
  const places = fuse('places', [], leafTypes(u64), (index, _, loader) => {
    const [low, high] = loader.load([lo, hi], index) as [U32, U32];
    const place = mulU64({ a: { lo: low, hi: high }, b: sumOf(loader) }).hi;
    return [place.lo, place.hi];
  });
  return upperBound(upTo, viewColumns(u64, context, length, places));
}

/** The weights as whole numbers, in proportion, whose sum has 64 bits. */
function wholeWeights(weights: Column): ColumnsOf<typeof u64> {
  const { context, length, type } = weights;
  const bits = drawableBits(weights);
  const most = type === 'f32' ? [reduce<typeof u32>(bits, maximum(u32))] : [];
  const whole = fuse('wholeWeights', [], leafTypes(u64), (index, _, loader) => {
    const [own] = loader.load([bits], index) as [U32];
    const [greatest] = loader.load(most, u32(0)) as [U32?];
    if (greatest === undefined) return [own, u32(0)];
    // Every number has at most `room` bits, 24 of which are the digits of the greatest weight.
    const room = clz(loader.length(length)).add(32);
    const { digits, exponent } = partsOf(own);
    const a = shl64({ a: u64OfU32(digits), count: room.sub(24) });
    const { lo, hi } = shrU64({ a, count: partsOf(greatest).exponent.sub(exponent).min(63) });
    return [lo, hi];
  });
  return viewColumns(u64, context, length, whole);
}

/** The numbers of rows in the order in which they arrive, after a time with the exponential distribution of the weight. */
function drawOnce(context: ColumnOwner, weights: Column, k: number, options: RandomOptions): Column<'u32'> {
  const { length } = weights;
  const bits = drawableBits(weights);
  const isWhole = weights.type === 'u32';
  const drawable = context.allocate(1);
  const row = (index: U32, loader: Loader): U32[] => [u32((loader.load([bits], index)[0] as U32).ne(0))];
  foldResults('drawable', { context, length, row }, plus(u32), drawable, 0);
  const words = blocksOf('sampleWeighted', length, options).lo;
  const times = fuse('arrivals', [], ['u32'], (index, _, loader) => {
    const [own, word] = loader.load([bits, words.lo], index) as [U32, U32];
    return [arrival(isWhole ? bitsToU32(f32(own)) : own, word)];
  });
  const order = sortPermutation({ lo: words.hi, hi: viewColumn(context, 'u32', length, times) });
  const taken = { context, length: countIn(drawable, 0, Math.min(k, order.capacity)) };
  return computedColumn('sampleWeighted', 'u32', taken, undefined, (index, loader) => {
    return loader.load([order], index)[0] as U32;
  });
}

/**
 * When a row arrives, as a word with the order of times. Weights and times differ by more powers of 2 than f32 has, so
 * their exponents are subtracted as whole numbers.
 */
function arrival(bits: U32, word: U32): U32 {
  const { digits, exponent } = partsOf(bits);
  const shift = clz(digits).sub(8);
  const significand = bitsToF32(digits.shl(shift).and(0x7fffff).or(0x3f800000));
  const time = bitsToU32(log1p(openUniform(word).neg()).neg().div(significand));
  // Times have exponents from 93 to 131, and weights from −22 to 254.
  const ordered = time.add(u32(192).sub(exponent.sub(shift)).shl(23));
  return select(ordered, u32(2 ** 32 - 1), bits.eq(0));
}

/** The digits of a positive f32, a whole number below 2²⁴, and the exponent of which 150 means 2⁰. */
function partsOf(bits: U32): { readonly digits: U32; readonly exponent: U32 } {
  const fraction = bits.and(0x7fffff);
  return { digits: select(fraction, fraction.or(0x800000), bits.ge(0x800000)), exponent: bits.shr(23).max(1) };
}

/** Weights of u32, or the bits of weights of f32; 0 for rows that are never drawn. */
function drawableBits(weights: Column): Column<'u32'> {
  if (weights.type === 'u32') return weights as Column<'u32'>;
  const words = wordsOf(weights);
  return computedColumn('drawable', 'u32', weights, { by: [drawableBits], columns: [words] }, (index, loader) => {
    const [bits] = loader.load([words], index) as [U32];
    return select(u32(0), bits, bits.lt(INFINITE));
  });
}

/** The bits of infinity. Those of NaN and of negative numbers are greater. */
const INFINITE = 0x7f800000;
