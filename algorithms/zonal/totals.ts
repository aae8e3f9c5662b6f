import type { Sample } from '../geometry/raster.ts';
import { type BinEdges, type Slots, valueOfOrderedWord } from './binning.ts';
import { digitsOf, roundSum } from './statistics.ts';
import type { Binning, ZonalBins, ZonalHistogram, ZoneStatistics } from './types.ts';
import { ABSENT } from './window-plan.ts';

/** What a window adds to the statistics, as the host reads it. */
interface WindowStatistics {
  readonly least: Uint32Array;
  readonly greatest: Uint32Array;
  readonly digits: Uint32Array;
}

interface WindowUnique {
  readonly zone: Uint32Array;
  readonly value: Uint32Array;
  readonly count: Uint32Array;
}

/** Sums over windows; exact as long as a count stays below 2⁵³. */
export interface Totals {
  addCounts(zones: Uint32Array, counts: Uint32Array): void;
  addStatistics(zones: Uint32Array, window: WindowStatistics): void;
  addUnique(zones: Uint32Array, window: WindowUnique): void;
  zonesWithoutCells(): number[];
  finish(gridStep: readonly [number, number], notes: readonly string[]): ZonalHistogram;
}

export function createTotals(
  names: readonly string[],
  binning: Binning,
  sample: Sample,
  slots: Slots,
  edges: BinEdges,
  withStatistics: boolean,
): Totals {
  const zones = names.length;
  const { counters } = digitsOf(sample);
  const counts = new Float64Array(zones * slots.count);
  const digits = new Map<number, Float64Array>();
  const least = new Float64Array(zones).fill(Infinity);
  const greatest = new Float64Array(zones).fill(-Infinity);
  const unique = new Map<number, Map<number, number>>();

  const countOf = (zone: number, slot: number): number => counts[zone * slots.count + slot]!;
  const cellsOf = (zone: number): number => {
    let cells = 0;
    for (let slot = 0; slot < slots.count; slot++) cells += countOf(zone, slot);
    return cells;
  };
  const cellsColumn = (): BigUint64Array => BigUint64Array.from({ length: zones }, (_, zone) => BigInt(cellsOf(zone)));
  const column = (slot: number): BigUint64Array =>
    BigUint64Array.from({ length: zones }, (_, zone) => BigInt(countOf(zone, slot)));

  return {
    addCounts(members, window) {
      members.forEach((zone, local) => {
        const [to, from] = [zone * slots.count, local * slots.count];
        for (let slot = 0; slot < slots.count; slot++) counts[to + slot]! += window[from + slot]!;
      });
    },
    addStatistics(members, window) {
      members.forEach((zone, local) => {
        if (window.least[local] === ABSENT && window.greatest[local] === 0) return;
        least[zone] = Math.min(least[zone]!, valueOfOrderedWord(sample, window.least[local]!));
        greatest[zone] = Math.max(greatest[zone]!, valueOfOrderedWord(sample, window.greatest[local]!));
        let sums = digits.get(zone);
        if (sums === undefined) {
          sums = new Float64Array(counters);
          digits.set(zone, sums);
        }
        for (let i = 0; i < counters; i++) sums[i]! += window.digits[local * counters + i]!;
      });
    },
    addUnique(members, { zone, value, count }) {
      for (let i = 0; i < zone.length; i++) {
        const member = members[zone[i]!]!;
        let values = unique.get(member);
        if (values === undefined) {
          values = new Map();
          unique.set(member, values);
        }
        values.set(value[i]!, (values.get(value[i]!) ?? 0) + count[i]!);
      }
    },
    zonesWithoutCells: () => Array.from({ length: zones }, (_, zone) => zone).filter((zone) => cellsOf(zone) === 0),
    finish(gridStep, notes) {
      const uniqueBins = (): ZonalBins => collectUnique(unique, sample);
      const isUnique = binning.kind === 'unique';
      return {
        names,
        binning,
        sample,
        bins: isUnique ? uniqueBins() : collectBins(counts, zones, slots, edges),
        cells: cellsColumn(),
        nodata: column(slots.nodata),
        below: isUnique ? new BigUint64Array(zones) : column(slots.below),
        above: isUnique ? new BigUint64Array(zones) : column(slots.above),
        statistics: withStatistics ? collectStatistics() : undefined,
        gridStep,
        notes,
      };
    },
  };

  function collectStatistics(): ZoneStatistics {
    const dataOf = (zone: number): bigint => BigInt(cellsOf(zone) - countOf(zone, slots.nodata));
    const sum = new Float64Array(zones).fill(Number.NaN);
    const mean = new Float64Array(zones).fill(Number.NaN);
    for (const [zone, sums] of digits) {
      const rounded = roundSum(sample, sums, dataOf(zone));
      sum[zone] = rounded.sum;
      mean[zone] = rounded.mean;
    }
    const known = (extremes: Float64Array): Float64Array =>
      extremes.map((value, zone) => (digits.has(zone) ? value : Number.NaN));
    return { minimum: known(least), maximum: known(greatest), sum, mean };
  }
}

function collectBins(counts: Float64Array, zones: number, slots: Slots, { lower, upper }: BinEdges): ZonalBins {
  const zone: number[] = [];
  const bin: number[] = [];
  for (let z = 0; z < zones; z++) {
    for (let b = 0; b < slots.bins; b++) {
      if (counts[z * slots.count + b] === 0) continue;
      zone.push(z);
      bin.push(b);
    }
  }
  return {
    zone: Uint32Array.from(zone),
    lower: Float64Array.from(bin, (b) => lower[b]!),
    upper: Float64Array.from(bin, (b) => upper[b]!),
    count: BigUint64Array.from(bin, (b, i) => BigInt(counts[zone[i]! * slots.count + b]!)),
  };
}

function collectUnique(unique: ReadonlyMap<number, ReadonlyMap<number, number>>, sample: Sample): ZonalBins {
  const rows = [...unique]
    .sort(([a], [b]) => a - b)
    .flatMap(([zone, values]) => [...values].sort(([a], [b]) => a - b).map(([word, count]) => ({ zone, word, count })));
  const value = Float64Array.from(rows, ({ word }) => valueOfOrderedWord(sample, word));
  return {
    zone: Uint32Array.from(rows, ({ zone }) => zone),
    lower: value,
    upper: value.slice(),
    count: BigUint64Array.from(rows, ({ count }) => BigInt(count)),
  };
}
