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
  const column = (slot: number): BigUint64Array =>
    BigUint64Array.from({ length: zones }, (_, zone) => BigInt(counts[zone * slots.count + slot]!));
  const cellsOf = (zone: number): bigint =>
    BigInt(counts.subarray(zone * slots.count, (zone + 1) * slots.count).reduce((sum, count) => sum + count, 0));
  return {
    add(members, window) {
      members.forEach((zone, local) => {
        const [to, from] = [zone * slots.count, local * slots.count];
        for (let slot = 0; slot < slots.count; slot++) counts[to + slot]! += window[from + slot]!;
      });
    },
    columns: () => ({
      cells: BigUint64Array.from({ length: zones }, (_, zone) => cellsOf(zone)),
      nodata: column(slots.nodata),
      below: column(slots.below),
      above: column(slots.above),
    }),
    bins: (edges) => collectBins(counts, zones, slots, edges),
  };
}

function collectBins(counts: Float64Array, zones: number, slots: Slots, { lower, upper }: BinEdges): ZonalBins {
  const filled: number[] = [];
  for (let zone = 0; zone < zones; zone++) {
    const from = zone * slots.count;
    for (let at = from; at < from + slots.bins; at++) if (counts[at] !== 0) filled.push(at);
  }
  return {
    zone: Uint32Array.from(filled, (at) => Math.floor(at / slots.count)),
    lower: Float64Array.from(filled, (at) => lower[at % slots.count]!),
    upper: Float64Array.from(filled, (at) => upper[at % slots.count]!),
    count: BigUint64Array.from(filled, (at) => BigInt(counts[at]!)),
  };
}

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
