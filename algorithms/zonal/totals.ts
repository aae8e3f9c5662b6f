import type { Sample, Scaling } from '../geometry/raster.ts';
import type { BinEdges, Slots } from './binning.ts';
import { type CountedSlots, createCountTotals, type ZoneCounters } from './count-totals.ts';
import { groupSum, roundSum, WIDE_COUNTERS, wideSum } from './exact-sums.ts';
import { valueOfOrderedWord } from './ordered-words.ts';
import { isReversed, scaledValue, scaleUnique } from './scaling.ts';
import type { Binning, ZonalBins, ZonalHistogram, ZoneStatistics } from './types.ts';
import { createUniqueTotals, type UniqueRows } from './unique-totals.ts';
import { ABSENT } from './window-plan.ts';

/** Results of one window, read to the host. */
export interface WindowTotals {
  readonly counts: CountedSlots;
  readonly statistics?: WindowStatistics;
  /** The home group of exponents that the f32 sums use; see {@link homeGroup}. */
  readonly home?: number;
  readonly unique?: UniqueRows;
}

/** Statistics with a row for every zone that has cells in the window. */
interface WindowStatistics {
  readonly zone: Uint32Array;
  /**
   * Minimum and maximum as ordered words (u32 with the order of the values). If no cell has data, they are {@link
   * ABSENT} and 0.
   */
  readonly min: Uint32Array;
  readonly max: Uint32Array;
  readonly lo: Uint32Array;
  readonly hi: Uint32Array;
  /** Only for f32: the words of the exact sums; see {@link groupSum} and {@link wideSum}. */
  readonly floats?: FloatSums;
}

interface FloatSums {
  readonly top: Uint32Array;
  readonly belowLo: Uint32Array;
  readonly belowHi: Uint32Array;
  readonly belowTop: Uint32Array;
  /** Counters of every zone in the window for values outside the home group and the next lower one. */
  readonly digits: Uint32Array;
}

/**
 * Sums over some windows, as plain values that other totals of the same job add exactly, in any order. Only zones with
 * cells have rows.
 */
export interface PartialTotals {
  readonly counts: ZoneCounters;
  readonly statistics?: PartialStatistics;
  readonly unique?: UniqueRows;
}

/** Statistics of stored values, with a row for each zone that has cells with data. */
export interface PartialStatistics {
  readonly zone: Uint32Array;
  readonly minimum: Float64Array;
  readonly maximum: Float64Array;
  /** The exact sums, in the unit of {@link ExactSum.sum}. */
  readonly sum: readonly bigint[];
}

/** Sums over all windows. They are exact while counts are below 2⁵³. */
export interface Totals {
  /** Adds the results of a window. `zones[i]` is the number that zone i of the window has in the job. */
  add(zones: Uint32Array, window: WindowTotals): void;
  addPartial(totals: PartialTotals): void;
  /** What was added so far. Nothing changes it later. */
  partial(): PartialTotals;
  /** Returns the result of the job: the sums over all windows. */
  finish(): Pick<ZonalHistogram, 'bins' | 'cells' | 'nodata' | 'below' | 'above' | 'statistics'> & {
    /** For each zone, the number of cells without data that match the nodata value without being equal to it. */
    readonly near: BigUint64Array;
  };
}

/** What the totals count, and the limits of their memory. */
export interface TotalsOptions {
  readonly zones: number;
  readonly sample: Sample;
  /** Scaling of the stored values. Undefined if the values are stored unscaled. */
  readonly scaling?: Scaling | undefined;
  readonly binning: Binning;
  readonly slots: Slots;
  readonly edges: BinEdges;
  readonly statistics: boolean;
  /** Maximum bytes of memory for pairs of zone and unique value. */
  readonly memoryBytes: number;
}

/** Creates totals in which all counts are 0. */
export function createTotals(options: TotalsOptions): Totals {
  const { zones, sample, scaling, binning, slots, edges, statistics, memoryBytes } = options;
  const counts = createCountTotals(zones, slots);
  const values = statistics ? createStatistics(zones, sample, scaling) : undefined;
  const unique = binning.kind === 'unique' ? createUniqueTotals(sample, memoryBytes) : undefined;
  return {
    add(members, window) {
      counts.add(members, window.counts);
      if (window.statistics !== undefined) values?.add(members, window.statistics, window.home ?? 0);
      if (window.unique !== undefined) unique?.add(members, window.unique);
    },
    addPartial(other) {
      counts.addPart(other.counts);
      if (other.statistics !== undefined) values?.addPartial(other.statistics);
      if (other.unique !== undefined) unique?.addRows(other.unique);
    },
    partial: () => ({
      counts: counts.part(),
      ...(values && { statistics: values.partial() }),
      ...(unique && { unique: unique.rows() }),
    }),
    finish() {
      const { bins, ...found } = counts.finish(edges);
      const { cells, nodata } = found;
      return {
        ...found,
        bins: binning.kind === 'none' ? NO_BINS : unique === undefined ? bins : scaledBins(unique.finish(), scaling),
        statistics: values?.finish((zone) => cells[zone]! - nodata[zone]!),
      };
    },
  };
}

const NO_BINS: ZonalBins = {
  zone: new Uint32Array(),
  lower: new Float64Array(),
  upper: new Float64Array(),
  count: new BigUint64Array(),
};

function scaledBins(bins: ZonalBins, scaling: Scaling | undefined): ZonalBins {
  return scaling === undefined ? bins : scaleUnique(bins, scaling);
}

interface StatisticsTotals {
  add(members: Uint32Array, window: WindowStatistics, home: number): void;
  addPartial(others: PartialStatistics): void;
  partial(): PartialStatistics;
  finish(dataOf: (zone: number) => bigint): ZoneStatistics;
}

function createStatistics(zones: number, sample: Sample, scaling: Scaling | undefined): StatisticsTotals {
  const sums = new Map<number, bigint>();
  const minimum = new Float64Array(zones).fill(Number.NaN);
  const maximum = new Float64Array(zones).fill(Number.NaN);
  const min = (a: number, b: number): number => (Number.isNaN(a) ? b : Math.min(a, b));
  const max = (a: number, b: number): number => (Number.isNaN(a) ? b : Math.max(a, b));
  const addZone = (zone: number, low: number, high: number, sum: bigint): void => {
    minimum[zone] = min(minimum[zone]!, low);
    maximum[zone] = max(maximum[zone]!, high);
    sums.set(zone, (sums.get(zone) ?? 0n) + sum);
  };
  return {
    add(members, window, home) {
      window.zone.forEach((local, row) => {
        if (window.min[row] === ABSENT && window.max[row] === 0) return;
        const [low, high] = [window.min[row]!, window.max[row]!].map((word) => valueOfOrderedWord(sample, word));
        addZone(members[local]!, low!, high!, sumOfRow(window, home, row));
      });
    },
    addPartial(others) {
      others.zone.forEach((zone, row) => {
        addZone(zone, others.minimum[row]!, others.maximum[row]!, others.sum[row]!);
      });
    },
    partial() {
      const zone = Uint32Array.from(sums.keys()).sort();
      const rowsOf = (values: Float64Array): Float64Array => Float64Array.from(zone, (each) => values[each]!);
      const sum = Array.from(zone, (each) => sums.get(each)!);
      return { zone, minimum: rowsOf(minimum), maximum: rowsOf(maximum), sum };
    },
    finish(dataOf) {
      const sum = new Float64Array(zones).fill(Number.NaN);
      const mean = new Float64Array(zones).fill(Number.NaN);
      for (const [zone, exact] of sums) {
        const values = { sum: exact, count: dataOf(zone), minimum: minimum[zone]!, maximum: maximum[zone]! };
        const rounded = roundSum(sample, values, scaling);
        sum[zone] = rounded.sum;
        mean[zone] = rounded.mean;
      }
      const [low, high] = isReversed(scaling) ? [maximum, minimum] : [minimum, maximum];
      const scaled = (values: Float64Array): Float64Array => values.map((value) => scaledValue(scaling, value));
      return { minimum: scaled(low), maximum: scaled(high), sum, mean };
    },
  };
}

function sumOfRow({ zone, lo, hi, floats }: WindowStatistics, home: number, row: number): bigint {
  if (floats === undefined) return (BigInt(hi[row]!) << 32n) | BigInt(lo[row]!);
  const { top, belowLo, belowHi, belowTop, digits } = floats;
  const atHome = groupSum(lo[row]!, hi[row]!, top[row]!, home);
  const below = groupSum(belowLo[row]!, belowHi[row]!, belowTop[row]!, home - 1);
  return atHome + below + wideSum(digits, zone[row]! * WIDE_COUNTERS);
}
