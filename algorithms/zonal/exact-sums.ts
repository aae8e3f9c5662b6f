import type { Cells, Sample, Scaling } from '../geometry/raster.ts';
import { nodataRanges } from './nodata-ranges.ts';

/** Which powers of the values are summed: the values themselves, or their squares. */
export type Power = 1 | 2;

/**
 * How powers of f32 are summed exactly. They are divided into groups by their exponents, 32 exponents per group. Each
 * group has a unit in which all its powers are integers: the power of the 24-bit significand, shifted left by the
 * position of its exponent in the group. A sum of billions of powers fits two words more than the power of a
 * significand, rounded up to words. So the sum of each group is an integer: nothing is rounded, and order does not
 * matter.
 */
interface PowerLayout {
  /** The group of a power is ⌊(power · biased exponent + offset) / 32⌋. */
  readonly offset: number;
  readonly groups: number;
  /** Number of bytes of the power of a significand that is shifted left by up to 31 bits. */
  readonly bytes: number;
  /** Squares have one sign. */
  readonly signs: 1 | 2;
  /** The sum of group 0 is an integer in units of 2^−unitBits. */
  readonly unitBits: bigint;
  /**
   * Number of counters per zone for powers outside the home group (see {@link homeGroups}) and the next lower one. There
   * is one counter for each group, sign and byte of the shifted power. Even a window full of such powers cannot overflow
   * a counter.
   */
  readonly counters: number;
}

function layoutOf(power: Power, offset: number): PowerLayout {
  const groups = ((power * MAX_EXPONENT + offset) >> 5) + 1;
  const bytes = Math.ceil((24 * power + 31) / 8);
  const signs = power === 1 ? 2 : 1;
  return { offset, groups, bytes, signs, unitBits: BigInt(150 * power + offset), counters: groups * signs * bytes };
}

/** The largest biased exponent of a finite f32. */
const MAX_EXPONENT = 254;

/**
 * The layouts of both powers. With these offsets, one group has the values from 2⁻¹⁶ to 2¹⁶, and two groups have their
 * squares.
 */
export const LAYOUTS: { readonly [power in Power]: PowerLayout } = { 1: layoutOf(1, 17), 2: layoutOf(2, 2) };

/** For each power, the home group of a window. */
export type HomeGroups = { readonly [power in Power]: number };

/** The home groups of cells that are integers, or were not decoded on the host. */
export const NO_HOMES: HomeGroups = { 1: 0, 2: 0 };

/** Number of cells that {@link homeGroups} examines. */
const LOOKS = 4096;

/**
 * Picks the home groups of a window, that is, the group of exponents that is summed fastest. The home group and the next
 * lower group together have the most examined values. The choice does not change the sums; values of other groups only
 * take longer.
 */
export function homeGroups(cells: Cells, nodata: number | undefined): HomeGroups {
  const ignored = nodata === undefined || Number.isNaN(nodata) ? [] : nodataRanges(nodata);
  const met = new Uint32Array(MAX_EXPONENT + 1);
  const bits = new Uint32Array(cells.buffer, cells.byteOffset, cells.length);
  const step = Math.max(1, Math.floor(cells.length / LOOKS));
  for (let at = 0; at < cells.length; at += step) {
    const exponent = (bits[at]! >>> 23) & 0xff;
    if (exponent === 0 || exponent > MAX_EXPONENT) continue;
    if (ignored.some(({ low, high }) => cells[at]! >= low && cells[at]! <= high)) continue;
    met[exponent]!++;
  }
  return { 1: homeGroup(met, 1), 2: homeGroup(met, 2) };
}

function homeGroup(met: Uint32Array, power: Power): number {
  const { offset, groups } = LAYOUTS[power];
  const held = new Uint32Array(groups);
  met.forEach((cells, exponent) => {
    held[(power * exponent + offset) >> 5]! += cells;
  });
  let home = 1;
  const withBelow = (group: number): number => held[group]! + held[group - 1]!;
  for (let group = 2; group < groups; group++) if (withBelow(group) >= withBelow(home)) home = group;
  return home;
}

/** The unsigned integer with the given words, lowest first. */
export function integerOf(words: readonly number[]): bigint {
  return words.reduceRight((upper, word) => (upper << 32n) | BigInt(word), 0n);
}

/** The signed integer with the given words, lowest first, converted from units of `group` to units of group 0. */
export function groupSum(words: readonly number[], group: number): bigint {
  return BigInt.asIntN(32 * words.length, integerOf(words)) << BigInt(32 * group);
}

/**
 * The sum of a zone's powers outside the home group and the next lower one, in units of group 0. The counters of the
 * zone start at `digits[from]`.
 */
export function wideSum(power: Power, digits: Uint32Array, from: number): bigint {
  const { bytes, signs, counters } = LAYOUTS[power];
  let sum = 0n;
  for (let at = 0; at < counters; at++) {
    const digit = digits[from + at]!;
    if (digit === 0) continue;
    const byte = at % bytes;
    const signedGroup = (at - byte) / bytes;
    const value = BigInt(digit) << BigInt(32 * Math.floor(signedGroup / signs) + 8 * byte);
    sum += signedGroup % signs === 0 ? value : -value;
  }
  return sum;
}

/** A fraction of two integers. */
export interface Fraction {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/**
 * The exact sum of `count` stored values.
 *
 * @param sum - For integers in units of 1, for f32 in the unit of group 0. The minimum of a signed integer type was
 * subtracted from each value, so that no summand was negative.
 */
export function exactSum(sample: Sample, sum: bigint, count: bigint): Fraction {
  if (sample === 'f32') return { numerator: sum, denominator: 1n << LAYOUTS[1].unitBits };
  return { numerator: sum - count * biasOf(sample), denominator: 1n };
}

/** The exact sum of the squares of stored values, from sums of powers as those of {@link exactSum}. */
export function exactSquares(sample: Sample, squares: bigint, sum: bigint, count: bigint): Fraction {
  if (sample === 'f32') return { numerator: squares, denominator: 1n << LAYOUTS[2].unitBits };
  const bias = biasOf(sample);
  return { numerator: squares - 2n * bias * sum + count * bias * bias, denominator: 1n };
}

function biasOf(sample: Sample): bigint {
  // The name of a sample type ends with its number of bits.
  return sample.startsWith('i') ? 1n << (BigInt(sample.slice(1)) - 1n) : 0n;
}

/** The exact sum of `count` scaled values, from the exact sum of the stored values. */
export function scaledSum(sum: Fraction, count: bigint, scaling: Scaling | undefined): Fraction {
  if (scaling === undefined) return sum;
  const [scale, offset] = [fractionOf(scaling.scale), fractionOf(scaling.offset)];
  const products = sum.numerator * scale.numerator * offset.denominator;
  const offsets = count * offset.numerator * scale.denominator * sum.denominator;
  return { numerator: products + offsets, denominator: sum.denominator * scale.denominator * offset.denominator };
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
