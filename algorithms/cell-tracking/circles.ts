/** Sample points on circles, tabulated by the host, so that devices need no trigonometry. */

/** Number of fractional bits of sines and cosines, which are fixed-point numbers. */
export const WEIGHT_BITS = 14;

/**
 * Sample points on circles, circle after circle. The samples of a circle form pairs on opposite sides of the centre.
 * Tables store the first sample of each pair; the second sample has the negative offset and direction. `gicov` samples
 * the pairs with even numbers first, so the tables list these pairs before the pairs with odd numbers.
 */
export interface CircleTables {
  /** Offset of a pair's first sample from the centre, in elements of the frame, modulo 2^32. */
  readonly offsets: Uint32Array<ArrayBuffer>;
  /** Cosine (low half) and sine (high half) of the first sample's angle, as i16 in fixed point. */
  readonly weights: Uint32Array<ArrayBuffer>;
  readonly radii: Float32Array<ArrayBuffer>;
  /** Number of pairs of a circle. `firstPairs` is the number of pairs with even numbers, which come first. */
  readonly pairs: number;
  readonly firstPairs: number;
}

/** Builds the tables of circles for frames of a given width. Samples are rounded to whole pixels towards the centre. */
export function circleTables(radii: readonly number[], points: number, width: number): CircleTables {
  const pairs = points / 2;
  const order = Array.from({ length: pairs }, (_, i) => i);
  const places = [...order.filter((i) => i % 2 === 0), ...order.filter((i) => i % 2 === 1)];
  const angles = places.map((place) => (place * 2 * Math.PI) / points);
  const offsets = radii.flatMap((radius) =>
    angles.map((angle) => cut(Math.sin(angle) * radius) * width + cut(Math.cos(angle) * radius)),
  );
  const weights = radii.flatMap(() => angles.map((angle) => packed(fixed(Math.cos(angle)), fixed(Math.sin(angle)))));
  return {
    offsets: Uint32Array.from(offsets, (offset) => offset >>> 0),
    weights: Uint32Array.from(weights),
    radii: Float32Array.from(radii),
    pairs,
    firstPairs: Math.ceil(pairs / 2),
  };
}

/**
 * Rounds an offset along an axis towards 0 to whole pixels. The factor compensates for rounding errors of sines and
 * cosines: the result for 8 · cos 120° must be −4, not −3.
 */
function cut(step: number): number {
  return Math.trunc(step * (1 + 1e-12));
}

function fixed(value: number): number {
  return Math.round(value * 2 ** WEIGHT_BITS);
}

function packed(low: number, high: number): number {
  return ((low & 0xffff) | (high << 16)) >>> 0;
}
