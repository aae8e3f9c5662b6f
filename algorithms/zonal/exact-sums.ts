import { ratio } from '../exact-ratio.ts';
import { type Cells, SAMPLE_BYTES, type Sample, type Scaling } from '../geometry/raster.ts';
import { nodataRanges } from './nodata-ranges.ts';
import { scaledValue } from './scaling.ts';

/**
 * Number of groups for exact sums of f32 values. Values are divided into groups by their exponents, 32 exponents per
 * group. Each group has a unit in which all its values are 64-bit integers: the 24-bit significand of a value, shifted
 * left by the position of its exponent in the group. A sum of billions of values fits 96 bits. So the sum of each group
 * is an integer: nothing is rounded, and order does not matter.
 */
const GROUPS = 9;

/**
 * The group of an f32 is ⌊(biased exponent + GROUP_OFFSET) / 32⌋. With this offset, one group has the magnitudes from
 * 2⁻¹⁶ to 2¹⁶.
 */
export const GROUP_OFFSET = 17;

/** The sum of group 0 is an integer in units of 2^−UNIT_BITS. */
const UNIT_BITS = 149n + 1n + BigInt(GROUP_OFFSET);

/** Number of cells that {@link homeGroup} examines. */
const LOOKS = 4096;

/**
 * Picks the home group of a window, that is, the group of exponents that is summed fastest. The home group and the next
 * lower group together have the most examined values. The choice does not change the sums; values of other groups only
 * take longer.
 */
export function homeGroup(cells: Cells, nodata: number | undefined): number {
  const ignored = nodata === undefined || Number.isNaN(nodata) ? [] : nodataRanges(nodata);
  const met = new Uint32Array(GROUPS);
  const bits = new Uint32Array(cells.buffer, cells.byteOffset, cells.length);
  const step = Math.max(1, Math.floor(cells.length / LOOKS));
  for (let at = 0; at < cells.length; at += step) {
    const exponent = (bits[at]! >>> 23) & 0xff;
    if (exponent === 0 || exponent === 0xff) continue;
    if (ignored.some(({ low, high }) => cells[at]! >= low && cells[at]! <= high)) continue;
    met[(exponent + GROUP_OFFSET) >> 5]!++;
  }
  let home = 1;
  const held = (group: number): number => met[group]! + met[group - 1]!;
  for (let group = 2; group < GROUPS; group++) if (held(group) >= held(home)) home = group;
  return home;
}

/** The signed integer with the given three words, converted from units of `group` to units of group 0. */
export function groupSum(low: number, middle: number, high: number, group: number): bigint {
  const words = (BigInt(high | 0) << 64n) | (BigInt(middle) << 32n) | BigInt(low);
  return words << BigInt(32 * group);
}

/**
 * The sum of a zone's values outside the home group (see {@link homeGroup}) and the next lower one, in units of group
 * 0. The {@link WIDE_COUNTERS} counters of the zone start at `digits[from]`.
 */
export function wideSum(digits: Uint32Array, from: number): bigint {
  let sum = 0n;
  for (let at = 0; at < WIDE_COUNTERS; at++) {
    const digit = digits[from + at]!;
    if (digit === 0) continue;
    const byte = at % WIDE_BYTES;
    const signedGroup = (at - byte) / WIDE_BYTES;
    const value = BigInt(digit) << BigInt(32 * (signedGroup >> 1) + 8 * byte);
    sum += signedGroup % 2 === 0 ? value : -value;
  }
  return sum;
}

/** Number of bytes of a 24-bit significand that is shifted left by up to 31 bits. */
export const WIDE_BYTES = 7;

/**
 * Number of counters per zone for values outside the home group (see {@link homeGroup}) and the next lower one. There
 * is one counter for each group, sign and byte of the shifted significand. Even a window full of such values cannot
 * overflow a counter.
 */
export const WIDE_COUNTERS: number = GROUPS * 2 * WIDE_BYTES;

/** Sum, count, minimum and maximum of a zone's values, accumulated over windows. */
export interface ExactSum {
  /**
   * The exact sum, for integers in units of 1, for f32 in the unit of group 0 (2^−UNIT_BITS). The minimum of a signed
   * integer type is first subtracted from each value, so that no summand is negative.
   */
  readonly sum: bigint;
  /** Number of values in the sum. */
  readonly count: bigint;
  readonly minimum: number;
  readonly maximum: number;
}

/** Sum and mean of values, each rounded once to f64. Scaled values, `stored · scale + offset`, are summed exactly. */
export function roundSum(sample: Sample, { sum, count, minimum, maximum }: ExactSum, scaling?: Scaling): RoundedSum {
  if (sample === 'f32') {
    if (minimum === -Infinity || maximum === Infinity) return infinite(scaledValue(scaling, minimum + maximum));
    return roundScaled({ numerator: sum, denominator: 1n << UNIT_BITS }, count, scaling);
  }
  const bias = sample.startsWith('i') ? 1n << BigInt(8 * SAMPLE_BYTES[sample] - 1) : 0n;
  return roundScaled({ numerator: sum - count * bias, denominator: 1n }, count, scaling);
}

/** A sum and a mean, rounded to f64. */
interface RoundedSum {
  readonly sum: number;
  readonly mean: number;
}

/** A fraction of two integers. */
interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/**
 * Sum and mean of `count` scaled values, computed from the exact sum of the stored values. Sum and mean are each
 * rounded once to f64.
 */
function roundScaled({ numerator, denominator }: Fraction, count: bigint, scaling: Scaling | undefined): RoundedSum {
  if (scaling === undefined) return { sum: ratio(numerator, denominator), mean: ratio(numerator, denominator * count) };
  const [scale, offset] = [fractionOf(scaling.scale), fractionOf(scaling.offset)];
  const products = numerator * scale.numerator * offset.denominator;
  const offsets = count * offset.numerator * scale.denominator * denominator;
  const below = denominator * scale.denominator * offset.denominator;
  return { sum: ratio(products + offsets, below), mean: ratio(products + offsets, below * count) };
}

/** Converts a finite f64 to an exact fraction. */
function fractionOf(value: number): Fraction {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const significand = (bits & (2n ** 52n - 1n)) | (exponent === 0 ? 0n : 2n ** 52n);
  const power = Math.max(1, exponent) - 1075;
  const signed = value < 0 ? -significand : significand;
  return power >= 0
    ? { numerator: signed << BigInt(power), denominator: 1n }
    : { numerator: signed, denominator: 1n << BigInt(-power) };
}

/** The result if a value is infinite. `sum` is NaN if both infinities occurred. */
function infinite(sum: number): RoundedSum {
  return { sum, mean: sum };
}
