import type { Sample } from '../geometry/raster.ts';
import { type BinEdges, type Slots, valueOfOrderedWord } from './binning.ts';
import { digitsOf, roundSum } from './statistics.ts';
import type { Binning, ZonalBins, ZonalHistogram, ZoneStatistics } from './types.ts';
import { createUniqueTotals, type UniqueRows } from './unique-totals.ts';
import { ABSENT } from './window-plan.ts';

/** What a window adds, as the host reads it. */
export interface WindowTotals {
  readonly counts: Uint32Array;
  readonly statistics?: WindowStatistics;
  readonly unique?: UniqueRows;
}

interface WindowStatistics {
  /** {@link ABSENT} and 0 where no cell of the zone has data. */
  readonly least: Uint32Array;
  readonly greatest: Uint32Array;
  readonly digits: Uint32Array;
}

/** Sums over windows; exact as long as a count stays below 2⁵³. */
export interface Totals {
  /** Adds what was counted in a window, of its zones by their numbers in the job. */
  add(zones: Uint32Array, window: WindowTotals): void;
  /** What all windows add up to. */
  finish(): Pick<ZonalHistogram, 'bins' | 'cells' | 'nodata' | 'below' | 'above' | 'statistics'>;
}

/** What totals are of. */
export interface TotalsOptions {
  readonly zones: number;
  readonly sample: Sample;
  readonly binning: Binning;
  readonly slots: Slots;
  readonly edges: BinEdges;
  readonly statistics: boolean;
  /** Bytes that pairs of zone and value may take. */
  readonly budget: number;
}

/** Starts with nothing counted. */
export function createTotals({ zones, sample, binning, slots, edges, statistics, budget }: TotalsOptions): Totals {
  const counts = createCounts(zones, slots);
  const values = statistics ? createStatistics(zones, sample) : undefined;
  const unique = binning.kind === 'unique' ? createUniqueTotals(sample, budget) : undefined;
  return {
    add(members, window) {
      counts.add(members, window.counts);
      if (window.statistics !== undefined) values?.add(members, window.statistics);
      if (window.unique !== undefined) unique?.add(members, window.unique);
    },
    finish() {
      const { cells, nodata, below, above } = counts.columns();
      return {
        bins: unique?.finish() ?? counts.bins(edges),
        cells,
        nodata,
        below,
        above,
        statistics: values?.finish((zone) => cells[zone]! - nodata[zone]!),
      };
    },
  };
}

interface Counts {
  add(members: Uint32Array, window: Uint32Array): void;
  columns(): Record<'cells' | 'nodata' | 'below' | 'above', BigUint64Array>;
  bins(edges: BinEdges): ZonalBins;
}

function createCounts(zones: number, slots: Slots): Counts {
  const counts = new Float64Array(zones * slots.count);
  const column = (slot: number): BigUint64Array => {
    const values = createU64Column(zones);
    for (let zone = 0; zone < zones; zone++) values.set(zone, counts[zone * slots.count + slot]!);
    return values.column;
  };
  return {
    add(members, window) {
      for (let local = 0; local < members.length; local++) {
        const to = members[local]! * slots.count;
        const from = local * slots.count;
        for (let slot = 0; slot < slots.count; slot++) counts[to + slot]! += window[from + slot]!;
      }
    },
    columns: () => ({
      cells: addUp(counts, zones, slots.count),
      nodata: column(slots.nodata),
      below: column(slots.below),
      above: column(slots.above),
    }),
    bins: (edges) => collectBins(counts, zones, slots, edges),
  };
}

function addUp(counts: Float64Array, zones: number, slots: number): BigUint64Array {
  const sums = createU64Column(zones);
  for (let zone = 0; zone < zones; zone++) {
    let sum = 0;
    for (let at = zone * slots; at < (zone + 1) * slots; at++) sum += counts[at]!;
    sums.set(zone, sum);
  }
  return sums.column;
}

function collectBins(counts: Float64Array, zones: number, slots: Slots, edges: BinEdges): ZonalBins {
  const rows = countBins(counts, zones, slots);
  const zone = new Uint32Array(rows);
  const lower = new Float64Array(rows);
  const upper = new Float64Array(rows);
  const count = createU64Column(rows);
  let row = 0;
  for (let member = 0; member < zones; member++) {
    for (let bin = 0; bin < slots.bins; bin++) {
      const counted = counts[member * slots.count + bin]!;
      if (counted === 0) continue;
      zone[row] = member;
      lower[row] = edges.lower[bin]!;
      upper[row] = edges.upper[bin]!;
      count.set(row++, counted);
    }
  }
  return { zone, lower, upper, count: count.column };
}

/** Bins that are not empty. */
function countBins(counts: Float64Array, zones: number, slots: Slots): number {
  let filled = 0;
  for (let zone = 0; zone < zones; zone++) {
    const from = zone * slots.count;
    for (let at = from; at < from + slots.bins; at++) if (counts[at] !== 0) filled++;
  }
  return filled;
}

/** A column of u64 that is written by words: a bigint for every one of a million bins takes longer than counting them. */
function createU64Column(rows: number): { readonly column: BigUint64Array; set(row: number, value: number): void } {
  const column = new BigUint64Array(rows);
  const words = new Uint32Array(column.buffer);
  const [low, high] = LITTLE_ENDIAN ? [0, 1] : [1, 0];
  return {
    column,
    set(row, value) {
      words[2 * row + low] = value;
      words[2 * row + high] = value / 2 ** 32;
    },
  };
}

const LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

interface StatisticsTotals {
  add(members: Uint32Array, window: WindowStatistics): void;
  finish(dataOf: (zone: number) => bigint): ZoneStatistics;
}

function createStatistics(zones: number, sample: Sample): StatisticsTotals {
  const { counters } = digitsOf(sample);
  const digits = new Map<number, Float64Array>();
  const minimum = new Float64Array(zones).fill(Number.NaN);
  const maximum = new Float64Array(zones).fill(Number.NaN);
  const startZone = (zone: number): Float64Array => {
    const sums = new Float64Array(counters);
    digits.set(zone, sums);
    minimum[zone] = Infinity;
    maximum[zone] = -Infinity;
    return sums;
  };
  return {
    add(members, window) {
      members.forEach((zone, local) => {
        if (window.least[local] === ABSENT && window.greatest[local] === 0) return;
        const sums = digits.get(zone) ?? startZone(zone);
        minimum[zone] = Math.min(minimum[zone]!, valueOfOrderedWord(sample, window.least[local]!));
        maximum[zone] = Math.max(maximum[zone]!, valueOfOrderedWord(sample, window.greatest[local]!));
        for (let i = 0; i < counters; i++) sums[i]! += window.digits[local * counters + i]!;
      });
    },
    finish(dataOf) {
      const sum = new Float64Array(zones).fill(Number.NaN);
      const mean = new Float64Array(zones).fill(Number.NaN);
      for (const [zone, sums] of digits) {
        const rounded = roundSum(sample, sums, dataOf(zone));
        sum[zone] = rounded.sum;
        mean[zone] = rounded.mean;
      }
      return { minimum, maximum, sum, mean };
    },
  };
}
