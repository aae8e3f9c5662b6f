import { scaleLength } from '../../primitives/columns/length.ts';
import { array, bool, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import { type Column, type Context, map, rankHistogram, sequence } from '../../primitives/index.ts';
import type { NarrowSample } from '../geometry/raster.ts';
import { bySample, LEFT_OUT, type ValueRows } from './value-rows.ts';
import { orderedRaw } from './zone-cells.ts';

/** Values of zones of a job, in rows whose zones have numbers of their own. */
export interface MemberRows extends ValueRows {
  /** The zone of the job for each number. */
  readonly members: Uint32Array;
}

/** The stores that have values of any of the zones. */
export function withZones<S extends MemberRows>(
  stores: readonly S[],
  zones: readonly { readonly zone: number }[],
): S[] {
  const wanted = new Set(zones.map(({ zone }) => zone));
  return stores.filter(({ members }) => members.some((zone) => wanted.has(zone)));
}

/** For each number of a zone its place among zones that are sought, or {@link LEFT_OUT}. */
export function placesOf(
  { members }: MemberRows,
  sought: readonly { readonly zone: number }[],
): { readonly places: Uint32Array /** One more than the largest place. */; readonly end: number } {
  const placeOf = new Map(sought.map(({ zone }, place) => [zone, place]));
  let end = 0;
  const places = members.map((zone) => {
    const place = placeOf.get(zone) ?? LEFT_OUT;
    if (place !== LEFT_OUT) end = Math.max(end, place + 1);
    return place;
  });
  return { places, end };
}

/** Maximum number of counters that one pass adds to, which fit in the caches of processors; and of all counters. */
const COUNTERS = 2 ** 21;
const ALL_COUNTERS = 2 ** 22;

/** Maximum number of bits of a digit. */
const DIGIT_BITS = 11;

/** The number of bits of digits that are counted for some zones, and targets in these. */
export function digitBitsFor(zones: number, targets: number = zones): number {
  const counters = Math.min(COUNTERS / zones, ALL_COUNTERS / targets);
  return Math.min(DIGIT_BITS, Math.floor(Math.log2(counters)));
}

/**
 * What is sought among the values of zones. A zone has `2 ** perZone` prefixes, that is, numbers with the upper bits of
 * values; target t of zone z, if all are numbered zone by zone, is `t + z · 2 ** perZone`.
 */
export interface SoughtDigits {
  /** For each zone, the number of bits in which its values differ. */
  readonly bits: Column<'u32'>;
  /** For each target its prefix, as the smallest word that has it. */
  readonly low: Column<'u32'>;
  /** For each target the histogram in which values with its prefix are counted; targets with the same prefix share one. */
  readonly histogram: Column<'u32'>;
  readonly perZone: number;
  /** Histograms of a zone: `2 ** counted`, either one for all targets, or as many as there are targets. */
  readonly counted: number;
  /** The number of bits of prefixes. Zones whose values do not differ in further bits are not counted. */
  readonly used: number;
  readonly digitBits: number;
}

/**
 * Counts how many values of a store have each of the next digits: a histogram of `2 ** digitBits` counters for each of
 * the first `end` zones, or for each target of these.
 *
 * @param places - For each number of a zone its place among the zones.
 */
export function countDigits(
  context: Context,
  { rows, cells, sample }: ValueRows,
  places: Column<'u32'>,
  end: number,
  { bits, low, histogram, ...sizes }: SoughtDigits,
): Column<'u32'> {
  const { counted, digitBits } = sizes;
  return context.scope(() => {
    const { zone, cell, mask } = rows;
    const index = sequence(counted === 0 ? zone.length : scaleLength(context, zone.length, 2 ** counted));
    const row = map(soughtRow, { index, zone, cell, mask, places, bits, low, histogram, ...sizes });
    const histograms = end * 2 ** counted;
    return rankHistogram(row, digitOf(sample), { ranks: 32, bins: 2 ** digitBits, histograms, captures: { cells } });
  });
}

const soughtRow = fn(
  'soughtRow',
  {
    ...{ index: u32, zone: array(u32), cell: array(u32), mask: array(u32), places: array(u32) },
    ...{ bits: array(u32), low: array(u32), histogram: array(u32) },
    ...{ perZone: uniform(u32), counted: uniform(u32), used: uniform(u32), digitBits: uniform(u32) },
  },
  { active: bool, histogram: u32, cell: u32, mask: u32, low: u32, shift: u32 },
  ({ index, zone, cell, mask, places, bits, low, histogram, perZone, counted, used, digitBits }) => {
    const row = index.shr(counted);
    const place = places.at(zone.at(row));
    const lane = index.sub(row.shl(counted));
    const target = place.shl(perZone).add(lane);
    const own = place.shl(counted).add(lane);
    const open = bits.at(place);
    const isSought = place.ne(LEFT_OUT).and(open.gt(used)).and(histogram.at(target).eq(own));
    const shift = shiftOf(open, used, digitBits);
    return { active: isSought, histogram: own, cell: cell.at(row), mask: mask.at(row), low: low.at(target), shift };
  },
);

/** Number of bits below the next digit. */
export function shiftOf(bits: U32, used: U32, digitBits: U32): U32 {
  const next = used.add(digitBits);
  return bits.max(next).sub(next);
}

const digitOf = bySample(defineDigitOf);

/** The functor that gives the next digit of a value. Values without the prefix have no digit, or one past the last. */
function defineDigitOf(sample: NarrowSample) {
  const row = { histogram: u32, cell: u32, mask: u32, low: u32, shift: u32, rank: u32 };
  return fn(
    'digitOf',
    { ...row, cells: array(u32) },
    { bin: u32, histogram: u32 },
    ({ histogram, cell, mask, low, shift, rank, cells }) => {
      const word = orderedRaw(sample, [cells.at(cell.add(rank))])[0]!;
      const bin = select(u32(LEFT_OUT), word.sub(low).shr(shift), mask.shr(rank).and(1).eq(1));
      return { bin, histogram };
    },
  );
}
