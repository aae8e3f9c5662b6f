import { bitsOfF32, f32OfBits } from '../../primitives/ir/semantics.ts';
import { isWide, type NarrowSample, type Sample } from '../geometry/raster.ts';

/** An interval of f32 values, both ends included. */
export interface ValueRange {
  readonly low: number;
  readonly high: number;
}

/** The type of a band, and its nodata value. */
export interface NodataBand {
  readonly sample: Sample;
  readonly nodata: number | bigint | undefined;
}

/** The stored values of a band of up to 32 bits that mark cells without data. */
export function rangesOf({ sample, nodata }: NodataBand): readonly ValueRange[] {
  if (isWide(sample) || typeof nodata !== 'number' || !isValueOf(sample, nodata)) return [];
  return sample === 'f32' ? nodataRanges(nodata) : [{ low: nodata, high: nodata }];
}

/** The same for f64, too, in which only the nodata value itself is one. */
export function rangesOfAny({ sample, nodata }: NodataBand): readonly ValueRange[] {
  if (sample !== 'f64' || typeof nodata !== 'number') return rangesOf({ sample, nodata });
  return [{ low: nodata, high: nodata }];
}

/**
 * Whether a cell with this sample type can equal the given nodata value. False for NaN, because NaN cells lack data
 * whatever the nodata value is.
 */
function isValueOf(sample: NarrowSample, value: number): boolean {
  if (sample === 'f32') return value === Math.fround(value);
  return sample === 'u32' ? value === value >>> 0 : value === (value | 0);
}

const MAX_F32 = 2 ** 128 - 2 ** 104;
/** The distance of 1 from the next f32. */
const EPSILON = 2 ** -23;

/**
 * Whether an f32 cell has no data by GDAL's rule: it equals the nodata value, or |a − b| < 2 · (2⁻²³ · |a + b|), where
 * every operation is rounded to f32, and a sum may overflow to infinity.
 */
function matchesNodata(cell: number, nodata: number): boolean {
  if (cell === nodata) return true;
  const tolerance = 2 * Math.fround(EPSILON * Math.abs(Math.fround(cell + nodata)));
  return Math.abs(Math.fround(cell - nodata)) < Math.fround(tolerance);
}

/**
 * The f32 values that have no data by {@link matchesNodata}: one interval around the nodata value, and a second one,
 * which ends at the greatest magnitude, if the sum overflows only for values far from the nodata value (such as the
 * nodata value 9.96921e36 of NetCDF).
 *
 * @param nodata - An f32 number, not NaN.
 */
export function nodataRanges(nodata: number): readonly [ValueRange] | readonly [ValueRange, ValueRange] {
  const size = Math.abs(nodata);
  if (size === 0 || size === Infinity) return [{ low: nodata, high: nodata }];
  const [own, max] = [bitsOfF32(size), bitsOfF32(MAX_F32)];
  const matches = (bits: number): boolean => matchesNodata(f32OfBits(bits), size);
  const low = firstWith(0, own, matches);
  const overflow = firstWith(0, max + 1, (bits) => Math.fround(f32OfBits(bits) + size) === Infinity);
  if (overflow <= own) return [rangeOf(nodata, Math.min(low, overflow), max)];
  const high = firstWith(own, overflow, (bits) => !matches(bits)) - 1;
  if (overflow > max) return [rangeOf(nodata, low, high)];
  return high + 1 === overflow
    ? [rangeOf(nodata, low, max)]
    : [rangeOf(nodata, low, high), rangeOf(nodata, overflow, max)];
}

/** The first number from `from` for which `is` holds, at most `to`. From there on, `is` must hold for all numbers. */
function firstWith(from: number, to: number, is: (at: number) => boolean): number {
  let [low, high] = [from, to];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (is(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The interval of the magnitudes with the given bits, with the sign of the nodata value. */
function rangeOf(nodata: number, least: number, greatest: number): ValueRange {
  const [low, high] = [f32OfBits(least), f32OfBits(greatest)];
  return nodata < 0 ? { low: -high, high: -low } : { low, high };
}
