import { requireArguments } from '../../primitives/arguments.ts';
import { type PairAreas, somePairAreas } from '../pixelbox/pair-areas.ts';

/**
 * ‖p ∩ q‖ ÷ ‖p ∪ q‖ of every pair, by ‖p ∪ q‖ = ‖p‖ + ‖q‖ − ‖p ∩ q‖; 0 where both polygons have no pixel.
 *
 * The nearest f64 for areas below 2⁵¹ pixels, within 2⁻⁵¹ of the ratio beyond; from 0 to 1, and 1 only where both have
 * the same pixels, as far as an f64 can tell. The same areas give the same bytes everywhere.
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

/** The nearest f64, without a BigInt. */
function numberAt(words: Uint32Array, i: number): number {
  return words[2 * i + 1]! * 2 ** 32 + words[2 * i]!;
}

const UNIT = 2 ** 52;
const HALF = 2 ** 26;

/**
 * A sum of numbers from 0 to 1 that does not depend on their order or on how they are grouped: every one is rounded to a
 * multiple of 2⁻⁵², and those are added as integers. The sum of n numbers is within n · 2⁻⁵³ of the exact one.
 */
export function exactSum(ratios: Float64Array): bigint {
  let [high, low, total] = [0, 0, 0n];
  for (let i = 0; i < ratios.length; i++) {
    const units = Math.round(ratios[i]! * UNIT);
    const above = Math.floor(units / HALF);
    high += above;
    low += units - above * HALF;
    // Both stay whole numbers below 2⁵³.
    if (i % HALF === HALF - 1) [high, low, total] = [0, 0, total + fold(high, low)];
  }
  return total + fold(high, low);
}

function fold(high: number, low: number): bigint {
  return BigInt(high) * BigInt(HALF) + BigInt(low);
}

/** The mean of `count` numbers whose {@link exactSum} is `sum`; NaN of none. */
export function meanOf(sum: bigint, count: number): number {
  return Number(sum) / UNIT / count;
}
