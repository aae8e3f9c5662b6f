import { type Fraction, fractionOf } from '../exact-ratio.ts';
import { type Cells, isFloat, SAMPLE_BYTES, type Sample, type Scaling } from '../geometry/raster.ts';
import { rangesOfAny } from './nodata-ranges.ts';

/** Which powers of the values are summed: the values themselves, or their squares. */
export type Power = 1 | 2;

/** The floating-point types. */
export type Float = 'f32' | 'f64';

/** The bits of a floating-point number. */
interface FloatForm {
  /** Words of a stored number. */
  readonly words: 1 | 2;
  /** Bits of the significand, with the implicit bit, which follow sign and exponent. */
  readonly significandBits: number;
  readonly exponentBits: number;
}

export const FLOATS: { readonly [sample in Float]: FloatForm } = {
  f32: { words: 1, significandBits: 24, exponentBits: 8 },
  f64: { words: 2, significandBits: 53, exponentBits: 11 },
};

/** The largest biased exponent of a finite number. That of infinity is one more. */
export function maxExponent({ exponentBits }: FloatForm): number {
  return 2 ** exponentBits - 2;
}

/**
 * How powers of floats are summed exactly. They are divided into groups by their exponents, 32 exponents per group. Each
 * group has a unit in which all its powers are integers: the power of the significand, shifted left by the position of
 * its exponent in the group. A sum of billions of powers fits two words more than the power of a significand, rounded up
 * to words. So the sum of each group is an integer: nothing is rounded, and order does not matter.
 */
export interface PowerLayout {
  readonly form: FloatForm;
  /** The group of a power is ⌊(power · biased exponent + offset) / 32⌋. */
  readonly offset: number;
  readonly groups: number;
  /** Number of bytes of a summand, which is an integer that is shifted left by up to 7 bits. */
  readonly bytes: number;
  /** Squares have one sign; with weights, they have two. */
  readonly signs: 1 | 2;
  /** The sum of group 0 is an integer in units of 2^−unitBits. */
  readonly unitBits: bigint;
  /**
   * Number of counters per zone for powers outside the home group (see {@link homeGroups}) and the next lower one. There
   * is one counter for each sign and each byte that such a power may have in the unit of group 0. Even a window full of
   * such powers cannot overflow a counter.
   */
  readonly counters: number;
}

/** What the counters of a layout need. */
export type GroupLayout = Pick<PowerLayout, 'signs' | 'counters'>;

function layoutOf(form: FloatForm, power: Power, offset: number, weightBits = 0): PowerLayout {
  const { significandBits, exponentBits } = form;
  const last = power * maxExponent(form) + offset;
  const bytes = Math.ceil((significandBits * power + weightBits + 7) / 8);
  const signs = power === 2 && weightBits === 0 ? 1 : 2;
  const bias = 2 ** (exponentBits - 1) - 1;
  const unitBits = BigInt(power * (bias + significandBits - 1) + offset);
  return { form, offset, groups: (last >> 5) + 1, bytes, signs, unitBits, counters: signs * ((last >> 3) + bytes) };
}

type Layouts = { readonly [sample in Float]: { readonly [power in Power]: PowerLayout } };

/**
 * The layouts of both powers. With these offsets, one group has the values from 2⁻¹⁶ to 2¹⁶, and two groups have their
 * squares.
 */
export const LAYOUTS: Layouts = layoutsOf(0);

/** Bits of the magnitude of a weight in {@link WEIGHTED}. */
export const WEIGHT_BITS = 31;

/** The same layouts for powers times whole weights. */
export const WEIGHTED: Layouts = layoutsOf(WEIGHT_BITS);

function layoutsOf(weightBits: number): Layouts {
  const { f32, f64 } = FLOATS;
  return {
    f32: { 1: layoutOf(f32, 1, 17, weightBits), 2: layoutOf(f32, 2, 2, weightBits) },
    f64: { 1: layoutOf(f64, 1, 17, weightBits), 2: layoutOf(f64, 2, 2, weightBits) },
  };
}

/** Products of weights and powers of values: the power of the values. */
export type ProductKey = 'w0' | 'w1' | 'w2';

/** The power of the values in a product. */
export type Exponent = 0 | 1 | 2;

/** How the products of weights and a power of values are summed. */
export interface ProductLayout extends GroupLayout {
  /** Words of the magnitude of a product, and of the sum of a row of 32 cells in a group. */
  readonly words: number;
  readonly rowWords: number;
  /** Number of bytes of a magnitude after a shift of up to 7 bits. */
  readonly bytes: number;
}

/**
 * How Σw, Σwx or Σwx² is summed, for `power` 0, 1 or 2.
 *
 * @param hasShares - Whether shares of cells are factors, too.
 */
export function productLayout(sample: Sample, weights: Float, power: Exponent, hasShares: boolean): ProductLayout {
  const [form, own] = [FLOATS[weights], isFloat(sample) ? FLOATS[sample] : undefined];
  const ofValue = own?.significandBits ?? 8 * SAMPLE_BYTES[sample];
  const bits = form.significandBits + power * ofValue + (hasShares ? WEIGHT_BITS : 0);
  const last = maxExponent(form) + (own ? power * maxExponent(own) : 0);
  const bytes = Math.ceil((bits + 7) / 8);
  // The shift in a group takes 31 bits more, the cells of a row five, and the sign one.
  const rowWords = Math.ceil((bits + 37) / 32);
  return { words: Math.ceil(bits / 32), rowWords, bytes, signs: 2, counters: 2 * ((last >> 3) + bytes) };
}

/** The sums of {@link productLayout} are integers in units of 2^−unitBits. */
export function productUnitBits(sample: Sample, weights: Float, power: Exponent): bigint {
  const unitOf = ({ significandBits, exponentBits }: FloatForm): number =>
    2 ** (exponentBits - 1) - 1 + significandBits - 1;
  return BigInt(unitOf(FLOATS[weights]) + (isFloat(sample) ? power * unitOf(FLOATS[sample]) : 0));
}

/** What may be wrong with weights, as bits: one is not a number, or negative. */
export const FLAWS = { missing: 1, negative: 2 } as const;

/** The type in which weights of a sample type are held exactly. Undefined if there is none. */
export function weightFloat(sample: Sample): Float | undefined {
  if (sample === 'i64' || sample === 'u64') return undefined;
  return sample === 'f64' || sample === 'u32' || sample === 'i32' ? 'f64' : 'f32';
}

/** For each power, the home group of a window; and those of products with weights, if there are weights. */
export type HomeGroups = { readonly [power in Power]: number } & { readonly [key in ProductKey]?: number };

/** The home groups of cells that are integers, or were not decoded on the host. */
export const NO_HOMES: HomeGroups = { 1: 0, 2: 0 };

/** Number of cells that {@link homeGroups} examines. */
const LOOKS = 4096;

/**
 * Picks the home groups of a window, that is, the group of exponents that is summed fastest. The home group and the next
 * lower group together have the most examined values. The choice does not change the sums; values of other groups only
 * take longer.
 */
export function homeGroups(cells: Cells, nodata: number | bigint | undefined): HomeGroups {
  const sample = cells instanceof Float64Array ? 'f64' : 'f32';
  const met = new Uint32Array(2 ** FLOATS[sample].exponentBits);
  const exponentAt = exponentsOf(cells, nodata);
  const step = Math.max(1, Math.floor(cells.length / LOOKS));
  for (let at = 0; at < cells.length; at += step) {
    const exponent = exponentAt(at);
    if (exponent !== undefined) met[exponent]!++;
  }
  return { 1: homeGroup(met, 1, LAYOUTS[sample][1]), 2: homeGroup(met, 2, LAYOUTS[sample][2]) };
}

/** Gives the stored exponents of cells, and 0 for integers. Undefined for cells that add nothing. */
export function exponentsOf(cells: Cells, nodata: number | bigint | undefined): (at: number) => number | undefined {
  const sample = cells instanceof Float64Array ? 'f64' : cells instanceof Float32Array ? 'f32' : undefined;
  if (sample === undefined) return () => 0;
  const { words, significandBits, exponentBits } = FLOATS[sample];
  const bits = new Uint32Array(cells.buffer, cells.byteOffset, words * cells.length);
  const ignored = rangesOfAny({ sample, nodata });
  return (at) => {
    const exponent = (bits[words * (at + 1) - 1]! >>> ((significandBits - 1) & 31)) & (2 ** exponentBits - 1);
    const isIgnored = ignored.some(({ low, high }) => cells[at]! >= low && cells[at]! <= high);
    return exponent === 0 || exponent > 2 ** exponentBits - 2 || isIgnored ? undefined : exponent;
  };
}

function homeGroup(met: Uint32Array, power: Power, { offset, groups }: PowerLayout): number {
  const held = new Uint32Array(groups);
  met.subarray(0, -1).forEach((cells, exponent) => {
    held[(power * exponent + offset) >> 5]! += cells;
  });
  let home = 1;
  const withBelow = (group: number): number => held[group]! + held[group - 1]!;
  for (let group = 2; group < groups; group++) if (withBelow(group) >= withBelow(home)) home = group;
  return home;
}

/** The unsigned integer with the given words, lowest first. */
function integerOf(words: readonly number[]): bigint {
  return words.reduceRight((upper, word) => (upper << 32n) | BigInt(word), 0n);
}

/** The same, as a number if that is exact. */
export function wholeOf(words: readonly number[]): number | bigint {
  const isSmall = (words[1] ?? 0) < 2 ** 21 && words.every((word, at) => at < 2 || word === 0);
  return isSmall ? words[0]! + 2 ** 32 * (words[1] ?? 0) : integerOf(words);
}

/** The signed integer with the given words, lowest first, as a number if that is exact. */
export function signedWholeOf(words: readonly number[]): number | bigint {
  const upper = words[1]! | 0;
  // Further words repeat the sign.
  const isSmall = Math.abs(upper) < 2 ** 20 && words.every((word, at) => at < 2 || (word | 0) === upper >> 31);
  return isSmall ? words[0]! + 2 ** 32 * upper : BigInt.asIntN(32 * words.length, integerOf(words));
}

/** The sum of whole numbers, as a number if all are exact. */
export function exactlyAdded(a: number | bigint, b: number | bigint): number | bigint {
  if (typeof a === 'number' && typeof b === 'number' && Number.isSafeInteger(a + b)) return a + b;
  return BigInt(a) + BigInt(b);
}

/** The signed integer with the given words, lowest first, converted from units of `group` to units of group 0. */
export function groupSum(words: readonly number[], group: number): bigint {
  return BigInt.asIntN(32 * words.length, integerOf(words)) << BigInt(32 * group);
}

/**
 * The sum of a zone's powers outside the home group and the next lower one, in units of group 0. The counters of the
 * zone start at `digits[from]`.
 */
export function wideSum({ signs, counters }: GroupLayout, digits: Uint32Array, from: number): bigint {
  const places = counters / signs;
  let sum = 0n;
  for (let at = 0; at < counters; at++) {
    const digit = digits[from + at]!;
    if (digit === 0) continue;
    const value = BigInt(digit) << BigInt(8 * (at % places));
    sum += at < places ? value : -value;
  }
  return sum;
}

/**
 * The exact sum of `count` stored values.
 *
 * @param sum - For integers in units of 1, for f32 in the unit of group 0. The minimum of a signed integer type was
 * subtracted from each value, so that no summand was negative.
 */
export function exactSum(sample: Sample, sum: bigint, count: bigint): Fraction {
  if (isFloat(sample)) return { numerator: sum, denominator: 1n << LAYOUTS[sample][1].unitBits };
  return { numerator: sum - count * biasOf(sample), denominator: 1n };
}

/** The exact sum of the squares of stored values, from sums of powers as those of {@link exactSum}. */
export function exactSquares(sample: Sample, squares: bigint, sum: bigint, count: bigint): Fraction {
  if (isFloat(sample)) return { numerator: squares, denominator: 1n << LAYOUTS[sample][2].unitBits };
  const bias = biasOf(sample);
  return { numerator: squares - 2n * bias * sum + count * bias * bias, denominator: 1n };
}

export function biasOf(sample: Sample): bigint {
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
