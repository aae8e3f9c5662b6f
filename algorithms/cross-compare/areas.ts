import { requireArguments } from '../../primitives/checks/arguments.ts';
import { type PairAreas, somePairAreas } from '../pixelbox/pair-areas.ts';

/**
 * The ratio ‖p ∩ q‖ ÷ ‖p ∪ q‖ of every pair, with ‖p ∪ q‖ = ‖p‖ + ‖q‖ − ‖p ∩ q‖. It is 0 if neither polygon has a
 * pixel.
 *
 * For areas below 2⁵¹ pixels the result is the nearest f64; for larger areas it is within 2⁻⁵¹ of the ratio. Results
 * are from 0 to 1. Within the precision of f64, 1 means that both polygons have the same pixels. The same areas give
 * the same bytes on every platform.
 *
 * @example
 * const areas = { intersection: BigUint64Array.of(1n), p: BigUint64Array.of(2n), q: BigUint64Array.of(3n) };
 * ratiosOf(areas); // Float64Array [0.25]
 */
export function ratiosOf(areas: PairAreas): Float64Array {
  requireArguments('ratiosOf', { areas }, { areas: somePairAreas });
  const { intersection, p, q } = areas;
  const [common, first, second] = [wordsOf(intersection), wordsOf(p), wordsOf(q)];
  const ratios = new Float64Array(intersection.length);
  for (let i = 0; i < ratios.length; i++) {
    const shared = numberAt(common, i);
    const all = numberAt(first, i) + numberAt(second, i) - shared;
    ratios[i] = all === 0 ? 0 : shared / all;
  }
  return ratios;
}

const wordsOf = (column: BigUint64Array): Uint32Array =>
  new Uint32Array(column.buffer, column.byteOffset, 2 * column.length);

/** The f64 nearest to element `i` of a column of u64, given as u32 words. Avoids a BigInt, which is slower. */
function numberAt(words: Uint32Array, i: number): number {
  return words[2 * i + 1]! * 2 ** 32 + words[2 * i]!;
}

const UNIT = 2 ** 52;
const HALF = 2 ** 26;

/**
 * The sum of numbers from 0 to 1, in units of 2⁻⁵². Each number is rounded to a whole number of units, and these
 * integers are added exactly, so the result does not depend on the order or grouping of the numbers. Rounding changes
 * the sum of n numbers by at most n · 2⁻⁵³.
 */
export function exactSum(ratios: Float64Array): bigint {
  let [high, low, total] = [0, 0, 0n];
  for (let i = 0; i < ratios.length; i++) {
    const units = Math.round(ratios[i]! * UNIT);
    const above = Math.floor(units / HALF);
    high += above;
    low += units - above * HALF;
    // `high` and `low` are emptied into `total` every 2²⁶ numbers, so that both stay integers below 2⁵³, which f64
    // holds exactly.
    if (i % HALF === HALF - 1) [high, low, total] = [0, 0, total + fold(high, low)];
  }
  return total + fold(high, low);
}

function fold(high: number, low: number): bigint {
  return BigInt(high) * BigInt(HALF) + BigInt(low);
}

/** The mean of `count` numbers whose {@link exactSum} is `sum`; NaN if `count` is 0. */
export function meanOf(sum: bigint, count: number): number {
  return Number(sum) / UNIT / count;
}
