import { firstRegions } from './bands.ts';
import type { LabelPair } from './label-regions.ts';

/** Pairs of regions with common pixels, and the number of common pixels, as columns ordered by (p, q). */
export interface SharedPixels {
  readonly p: Uint32Array;
  readonly q: Uint32Array;
  readonly pixels: BigUint64Array;
}

/** For each side, the number of bits that a region index takes. */
export interface KeyBits {
  readonly p: number;
  readonly q: number;
}

/**
 * Pairs of regions with their numbers of common pixels in a band, ordered by (p, q). `hi` is the region of p, and `lo`
 * the region of q. Without `hi`, each element of `lo` packs both region indices.
 */
export interface BandPixels {
  readonly hi?: Uint32Array;
  readonly lo: Uint32Array;
  readonly pixels: Uint32Array;
}

/** Adds up the common pixels of bands, and returns the sums for each pair of images. */
export interface PixelTotals {
  readonly bits: KeyBits;
  add(band: BandPixels): void;
  byJob(): SharedPixels[];
}

/** Pairs of regions, ordered by (p, q), without duplicates. */
interface Rows {
  readonly p: Uint32Array;
  readonly q: Uint32Array;
  /** Numbers of common pixels, integers below 2⁵³. */
  readonly pixels: Float64Array;
}

/**
 * Sums the common pixels of all bands. Bands are merged pairwise as in a merge sort, so each pair of regions takes part
 * in O(log bands) merges.
 */
export function pixelTotals(jobs: readonly LabelPair[]): PixelTotals {
  const firsts = firstRegions(jobs);
  const bits = { p: bitsOf(firsts.p.at(-1)!), q: bitsOf(firsts.q.at(-1)!) };
  const stack: { rows: Rows; bands: number }[] = [];
  const mergeLast = (): void => {
    const [b, a] = [stack.pop()!, stack.pop()!];
    stack.push({ rows: merged(a.rows, b.rows), bands: a.bands + b.bands });
  };
  return {
    bits,
    add(band) {
      stack.push({ rows: rowsOf(band, bits), bands: 1 });
      while (stack.length > 1 && stack.at(-2)!.bands <= stack.at(-1)!.bands) mergeLast();
    },
    byJob() {
      while (stack.length > 1) mergeLast();
      const rows = stack[0]?.rows ?? NO_ROWS;
      let to = 0;
      return jobs.map((_, job) => {
        const from = to;
        while (to < rows.p.length && rows.p[to]! < firsts.p[job + 1]!) to++;
        return {
          p: rows.p.subarray(from, to).map((region) => region - firsts.p[job]!),
          q: rows.q.subarray(from, to).map((region) => region - firsts.q[job]!),
          pixels: BigUint64Array.from(rows.pixels.subarray(from, to), BigInt),
        };
      });
    },
  };
}

/** Number of bits that hold every integer from 0 to `count − 1`, at least 1. */
function bitsOf(count: number): number {
  return 32 - Math.clz32(Math.max(1, count - 1));
}

function rowsOf({ hi, lo, pixels }: BandPixels, bits: KeyBits): Rows {
  if (hi !== undefined) return { p: hi, q: lo, pixels: Float64Array.from(pixels) };
  const low = 2 ** bits.q - 1;
  return { p: lo.map((key) => key >>> bits.q), q: lo.map((key) => key & low), pixels: Float64Array.from(pixels) };
}

const NO_ROWS: Rows = { p: new Uint32Array(0), q: new Uint32Array(0), pixels: new Float64Array(0) };

function merged(a: Rows, b: Rows): Rows {
  const max = a.p.length + b.p.length;
  const rows = { p: new Uint32Array(max), q: new Uint32Array(max), pixels: new Float64Array(max) };
  let [i, j, length] = [0, 0, 0];
  for (; i < a.p.length || j < b.p.length; length++) {
    const order = i === a.p.length ? 1 : j === b.p.length ? -1 : a.p[i]! - b.p[j]! || a.q[i]! - b.q[j]!;
    const [from, at] = order <= 0 ? [a, i] : [b, j];
    rows.p[length] = from.p[at]!;
    rows.q[length] = from.q[at]!;
    rows.pixels[length] = (order <= 0 ? a.pixels[i]! : 0) + (order >= 0 ? b.pixels[j]! : 0);
    if (order <= 0) i++;
    if (order >= 0) j++;
  }
  return {
    p: rows.p.slice(0, length),
    q: rows.q.slice(0, length),
    pixels: rows.pixels.slice(0, length),
  };
}
