import { requireNumber, requireOptions, wrongArgument } from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { describeGiven } from './checks/given.ts';
import { anything } from './checks/kinds.ts';
import { type Column, type ColumnOwner, NUMBERS, requireType } from './columns/column.ts';
import { destination, extentOf, programOf } from './columns/program.ts';
import { computedColumn, fuseColumns } from './columns/views.ts';
import { sortableWords, wordsOf } from './columns/words.ts';
import {
  type ContextOption,
  inContext,
  inContextOf,
  inNamedContext,
  requireContext,
} from './context/context-option.ts';
import { fn, u32 } from './functors/functor.ts';
import { select } from './functors/standard/choose.ts';
import { f32BitsToSortable } from './functors/standard/sortable.ts';
import type { U32 } from './functors/value.ts';
import { bitsOfF32, f32OfBits } from './ir/semantics.ts';
import { map } from './map.ts';
import { upperBound } from './search.ts';

const signBit = 0x80000000;

export interface HistogramOptions extends ContextOption {
  /**
   * Number of rows in a segment. If given, the rows are split into segments, each with its own histogram, and the
   * histograms are stored one after another.
   */
  readonly segment?: number;
}

/**
 * Counts how often each bin `0 … count − 1` occurs; larger values are not counted. With the option `segment`, every
 * segment of rows has its own histogram: bin b of segment s is element `s · count + b` of the result. The number of
 * segments follows from the column's capacity.
 *
 * - Work O(n + count · segments), span O(log n). Deterministic: counts are integers.
 * - An empty input gives zeros. Accepts device counts (lengths that only the device knows).
 * - Equivalent loop: `for (let i = 0; i < n; i++) if (bins[i] < count) out[bins[i]]++`.
 *
 * @throws {@link ArgumentError} if `count` or `segment` is not a positive whole number.
 * @example
 * await ctx.read(histogram(ctx.column(Uint32Array.of(0, 2, 2, 9)), 3)); // Uint32Array [1, 0, 2]
 */
export function histogram(bins: Column<'u32'>, count: number, options: HistogramOptions = {}): Column<'u32'> {
  requireOptions<HistogramOptions>('histogram', { segment: anything, context: anything }, options);
  const { segment } = options;
  requireType(bins, ['u32'], 'bins', 'histogram');
  requirePositive('histogram', 'count', count);
  if (segment !== undefined) requirePositive('histogram', 'segment', segment);
  const context = inNamedContext('histogram', options, () => requireContext([bins], 'histogram'));
  const runs = segment === undefined ? 1 : Math.ceil(bins.capacity / segment);
  const program = fuseColumns('histogram', [bins]);
  return context.scope(() => {
    const counts = context.stored('u32', runs * count);
    const { buffer, offset } = destination(counts);
    context.backend.run({
      kind: 'histogram',
      extent: extentOf(bins.length),
      program: programOf(program, context, bins.length),
      bins: count,
      segment,
      into: { buffer, word: offset },
    });
    return counts;
  });
}

/** Requires a whole number from 1 to 2³² − 1, for example a number of bins, segments or ranks. */
export function requirePositive(call: string, name: string, value: number): void {
  if (Number.isInteger(value) && value > 0 && value < 2 ** 32) return;
  throw wrongArgument(call, name, value, 'a whole number from 1 to 2^32 - 1', { code: 'histogram/size' });
}

type Numbers = Column<'u32'> | Column<'i32'> | Column<'f32'>;
type Edges = readonly number[] | Float64Array;

/**
 * The bin of every value: bin i if `edges[i] ≤ value < edges[i + 1]`, compared exactly. A value below the first edge
 * gives 2³² − 1; a value at or above the last edge gives `edges.length − 1`. {@link histogram} with `edges.length − 1`
 * bins does not count these two results. −0 equals 0, and NaN is treated as a value above the last edge. Edges are f64;
 * the column's type need not be able to represent them. Returns a view.
 *
 * - Work and span O(log edges) for each value, per use of the view. Deterministic, even if the device flushes subnormal
 *   f32 values to zero in arithmetic.
 * - Equivalent loop: `for (let i = 0; i < n; i++) out[i] = edges.filter((edge) => edge <= values[i]).length - 1`.
 *
 * @throws {@link ArgumentError} if the edges are not finite or not strictly increasing.
 * @example
 * await ctx.read(binOf(ctx.column(Int32Array.of(-1, 0, 1, 2)), [0, 0.5, 2])); // Uint32Array [4294967295, 0, 1, 2]
 */
export function binOf(
  values: Numbers,
  edges: readonly number[] | Float64Array,
  options?: ContextOption,
): Column<'u32'> {
  requireType(values, NUMBERS, 'values', 'binOf');
  requireIncreasing('binOf', edges);
  return binsOf(
    values,
    edges,
    inContext('binOf', options, () => requireContext([values], 'binOf')),
  );
}

/** As {@link binOf}, for edges that were checked. */
function binsOf(values: Numbers, edges: Edges, context: ColumnOwner): Column<'u32'> {
  return context.scope(() => {
    const thresholds = context.column(thresholdsOf(values.type, edges));
    const reached = upperBound(thresholds, orderedNumbers(values));
    const rows = { context, length: values.length };
    return computedColumn('binOf', 'u32', rows, undefined, (index, loader) => {
      const [position] = loader.load([reached], index) as [U32];
      return position.sub(1);
    });
  });
}

/**
 * Counts the values in each bin, where the bins are given by their edges. There are `edges.length − 1` bins.
 * {@link binOf} defines which bin a value belongs to.
 *
 * - Work O(n · log edges), span O(log n). Deterministic. An empty input gives zeros. Accepts device counts (lengths
 *   that only the device knows).
 * - Equivalent loop: `for (const v of values) edges.forEach((_, i) => (out[i] += +(edges[i] <= v && v < edges[i +
 *   1])))`.
 *
 * @throws {@link ArgumentError} as {@link binOf} and {@link histogram}.
 * @example
 * await ctx.read(histogramEdges(ctx.column(Float32Array.of(0.5, 1, 7)), [0, 1, 10])); // Uint32Array [1, 2]
 */
export function histogramEdges(
  values: Numbers,
  edges: readonly number[] | Float64Array,
  options?: HistogramOptions,
): Column<'u32'> {
  requireType(values, NUMBERS, 'values', 'histogramEdges');
  requireIncreasing('histogramEdges', edges);
  const context = inNamedContext('histogramEdges', options, () => requireContext([values], 'histogramEdges'));
  return context.scope(() => histogram(binsOf(values, edges, context), edges.length - 1, options));
}

/**
 * Counts the values in each of `bins` bins of equal width between `low` and `high`. Edge i is `low + i · (high − low) /
 * bins` in f64, and the last edge is exactly `high`. Cost, edge cases and errors are those of {@link histogramEdges}.
 *
 * @example
 * await ctx.read(histogramEven(ctx.column(Float32Array.of(0, 0.5, 1)), 0, 1, 2)); // Uint32Array [1, 1]
 */
export function histogramEven(
  values: Numbers,
  low: number,
  high: number,
  bins: number,
  options?: HistogramOptions,
): Column<'u32'> {
  requireType(values, NUMBERS, 'values', 'histogramEven');
  requireNumber('histogramEven', 'low', low);
  requireNumber('histogramEven', 'high', high);
  if (!(low < high))
    throw wrongArgument('histogramEven', 'high', high, `a number above low, which is ${low}`, {
      code: 'histogram/edges',
    });
  const edges = evenEdges(low, high, bins);
  return inNamedContext('histogramEven', options, () =>
    inContextOf('histogramEven', [values], () => histogramEdges(values, edges, options)),
  );
}

/** The edges of `bins` bins of equal width, as f64. */
function evenEdges(low: number, high: number, bins: number): Float64Array {
  requirePositive('histogramEven', 'bins', bins);
  const width = (high - low) / bins;
  const edges = new Float64Array(bins + 1);
  for (let i = 0; i < bins; i++) edges[i] = low + i * width;
  edges[bins] = high;
  return edges;
}

function requireIncreasing(call: string, edges: Edges): void {
  if (!Array.isArray(edges) && !ArrayBuffer.isView(edges)) {
    throw wrongArgument(call, 'edges', edges, 'an array of finite, increasing numbers', { code: 'histogram/edges' });
  }
  const wrong = firstNotIncreasing(edges);
  if (edges.length >= 2 && wrong === -1) return;
  throw new ArgumentError('histogram/edges', `The edges given to ${call} must increase strictly.`, {
    expected: 'at least two finite, increasing edges',
    got: edges.length < 2 ? `${edges.length} of them` : `${describeGiven(edges[wrong])} as edge ${wrong}`,
  });
}

/** The first edge that is not finite or not greater than the edge before it, or −1. */
function firstNotIncreasing(edges: Edges): number {
  for (let i = 0; i < edges.length; i++) {
    const edge = edges[i]!;
    if (!Number.isFinite(edge) || (i > 0 && edge <= edges[i - 1]!)) return i;
  }
  return -1;
}

/**
 * Maps numbers to u32 words that have the same order as the numbers. −0 equals 0, and every NaN is above all numbers.
 */
function orderedNumbers(values: Numbers): Column<'u32'> {
  if (values.type !== 'f32') return sortableWords(values);
  return map(numberBits, { bits: wordsOf(values) });
}

const numberBits = fn('numberBits', { bits: u32 }, u32, ({ bits }) => {
  const magnitude = bits.and(0x7fffffff);
  const missing = magnitude.gt(0x7f800000);
  return select(f32BitsToSortable({ bits: select(bits, 0, magnitude.eq(0)) }), 0xffffffff, missing);
});

/**
 * For every edge, the smallest value of the type that is at least the edge, mapped to u32 as by {@link orderedNumbers}.
 * Comparing a value with this threshold gives the same result as comparing the value with the edge in f64. Edges above
 * all values of the type are left out, because no value reaches them.
 */
function thresholdsOf(type: 'u32' | 'i32' | 'f32', edges: Edges): Uint32Array {
  const thresholds = new Uint32Array(edges.length);
  if (type === 'f32') {
    const reached = new Float32Array(edges.length);
    for (let i = 0; i < edges.length; i++) reached[i] = minF32From(edges[i]!);
    const bits = new Int32Array(reached.buffer);
    for (let i = 0; i < edges.length; i++) thresholds[i] = sortableBits(bits[i]!);
    return thresholds;
  }
  const [min, max] = type === 'u32' ? [0, 2 ** 32 - 1] : [-(2 ** 31), 2 ** 31 - 1];
  let count = 0;
  for (; count < edges.length; count++) {
    const reached = Math.max(min, Math.ceil(edges[count]!));
    if (reached > max) break;
    thresholds[count] = reached - min;
  }
  return thresholds.subarray(0, count);
}

/** Maps the bits of an f32 to a u32 with the same order. −0 equals 0. */
function sortableBits(bits: number): number {
  if (bits === -signBit) return signBit;
  return bits < 0 ? ~bits >>> 0 : (bits | signBit) >>> 0;
}

/** The smallest f32 that is at least a given f64. */
export function minF32From(edge: number): number {
  const near = Math.fround(edge);
  return near >= edge ? near : nextUp(near);
}

function nextUp(value: number): number {
  if (value === 0) return f32OfBits(1);
  return f32OfBits(value > 0 ? bitsOfF32(value) + 1 : bitsOfF32(value) - 1);
}
