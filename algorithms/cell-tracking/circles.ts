/** Samples of circles, made by the host. Angles are indices into tables, so devices need no trigonometry. */

/** Sines and cosines are fixed-point numbers with this many fractional bits. */
export const WEIGHT_BITS = 14;

/**
 * Pairs of opposite samples, circle after circle. The second sample of a pair has the opposite offset and the opposite
 * direction. For each circle, every other pair comes first.
 */
export interface CircleTables {
  /** Offset of the first sample of a pair, in elements of the frame, modulo 2^32. */
  readonly offsets: Uint32Array<ArrayBuffer>;
  /** Cosine (low half) and sine (high half) of its angle, as i16. */
  readonly weights: Uint32Array<ArrayBuffer>;
  readonly radii: Float32Array<ArrayBuffer>;
  /** Number of pairs of a circle, and how many of them come first. */
  readonly pairs: number;
  readonly firstPairs: number;
}

/**
 * The tables of circles in frames of a given width. Positions of samples are rounded towards the centre, to whole
 * pixels.
 */
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
 * The whole pixels of a step. A step that is an integer except for rounding of a sine, such as 8 · cos 120°, is not cut
 * below it.
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
