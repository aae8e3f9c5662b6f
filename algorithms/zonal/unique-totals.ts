import { OutOfMemoryError } from '../../primitives/index.ts';
import { bytesText } from '../bytes-text.ts';
import { isWide, type Sample, type Scaling } from '../geometry/raster.ts';
import { valueOfOrderedWord } from './ordered-words.ts';
import { isReversed, scaledValue } from './scaling.ts';
import type { ValueCounts } from './statistic-kinds.ts';
import type { ZonalBins } from './types.ts';
import { valueOfOrderedWords } from './wide-words.ts';

/** Number of cells for each pair of zone and value, as columns sorted by zone and then by value, without duplicates. */
export interface UniqueRows {
  readonly zone: Uint32Array;
  /** The values as ordered words (u32 with the order of the values). */
  readonly value: Uint32Array;
  /** The upper words of values of 64 bits. Undefined for other sample types. */
  readonly high?: Uint32Array | undefined;
  readonly count: Uint32Array | Float64Array;
}

/** Bytes of a row of {@link UniqueRows}: 64 bits for zone and value, and 64 bits for the final count. */
export const BYTES_PER_PAIR = 16;

/** Bytes of a row with a value of 64 bits. */
const BYTES_PER_WIDE_PAIR = 20;

/** Collects pairs of zone and value over all windows, with their numbers of cells. */
export interface UniqueTotals {
  /**
   * Adds the pairs of a window. Zone `i` of the window is zone `members[i]` of the job.
   *
   * @throws OutOfMemoryError `zonal/unique-memory-bytes` if all pairs together take more than `memoryBytes`.
   */
  add(members: Uint32Array, window: UniqueRows): void;
  /** Adds pairs of zones of the job. Throws as `add` does. */
  addRows(rows: UniqueRows): void;
  /** All pairs. Nothing changes them later. */
  rows(): UniqueRows;
  /** All values, scaled. Values that are equal after rounding are one. */
  finish(scaling?: Scaling): ValueCounts;
}

/**
 * Creates an empty collection. The collection keeps sorted runs of pairs. While the last run is at least half as long
 * as the run before it, these two runs are merged. Merging n pairs from w windows thus takes O(n log w).
 */
export function createUniqueTotals(sample: Sample, memoryBytes: number): UniqueTotals {
  const pairBytes = isWide(sample) ? BYTES_PER_WIDE_PAIR : BYTES_PER_PAIR;
  const runs: UniqueRows[] = [];
  const pairs = (): number => runs.reduce((sum, { zone }) => sum + zone.length, 0);
  const mergeLast = (): void => {
    const last = runs.pop()!;
    runs.push(mergeRows(runs.pop()!, last));
  };
  const rows = (): UniqueRows => {
    while (runs.length > 1) mergeLast();
    return runs[0] ?? NONE;
  };
  const addRows = (more: UniqueRows): void => {
    runs.push(more);
    while (runs.length > 1 && runs.at(-2)!.zone.length <= 2 * runs.at(-1)!.zone.length) mergeLast();
    if (pairs() * pairBytes <= memoryBytes) return;
    const all = rows();
    if (pairs() * pairBytes > memoryBytes) throw tooMany(all, memoryBytes, pairBytes);
  };
  return {
    add: (members, { zone, ...others }) => addRows({ zone: zone.map((local) => members[local]!), ...others }),
    addRows,
    rows,
    finish(scaling) {
      const { zone, value, high, count } = rows();
      const values = new Float64Array(value.length);
      const counts = new BigUint64Array(value.length);
      const exact = exactArray(sample, value.length);
      for (let i = 0; i < value.length; i++) {
        const stored = isWide(sample)
          ? valueOfOrderedWords(sample, value[i]!, high![i]!)
          : valueOfOrderedWord(sample, value[i]!);
        values[i] = Number(stored);
        counts[i] = BigInt(count[i]!);
        if (exact !== undefined) exact[i] = stored as bigint;
      }
      const found = { zone, value: values, count: counts };
      return scaling === undefined ? { ...found, exact } : scaleValues(found, scaling);
    },
  };
}

const NONE: UniqueRows = { zone: new Uint32Array(0), value: new Uint32Array(0), count: new Uint32Array(0) };

/** An array for integers of 64 bits; undefined for other sample types. */
export function exactArray(sample: Sample, length: number): BigInt64Array | BigUint64Array | undefined {
  if (sample === 'i64') return new BigInt64Array(length);
  return sample === 'u64' ? new BigUint64Array(length) : undefined;
}

/** Merges two sorted tables of pairs. The counts of equal pairs are added. */
function mergeRows(a: UniqueRows, b: UniqueRows): UniqueRows {
  const max = a.zone.length + b.zone.length;
  const zone = new Uint32Array(max);
  const value = new Uint32Array(max);
  const high = a.high || b.high ? new Uint32Array(max) : undefined;
  const count = new Float64Array(max);
  let [i, j, out] = [0, 0, 0];
  while (i < a.zone.length || j < b.zone.length) {
    const order = i === a.zone.length ? 1 : j === b.zone.length ? -1 : compare(a, i, b, j);
    const [from, at] = order <= 0 ? [a, i] : [b, j];
    zone[out] = from.zone[at]!;
    value[out] = from.value[at]!;
    if (high !== undefined) high[out] = from.high![at]!;
    count[out] = (order <= 0 ? a.count[i++]! : 0) + (order >= 0 ? b.count[j++]! : 0);
    out++;
  }
  if (out === max) return { zone, value, high, count };
  return {
    zone: zone.slice(0, out),
    value: value.slice(0, out),
    high: high?.slice(0, out),
    count: count.slice(0, out),
  };
}

function compare(a: UniqueRows, i: number, b: UniqueRows, j: number): number {
  const upper = a.high === undefined || b.high === undefined ? 0 : a.high[i]! - b.high[j]!;
  return a.zone[i]! - b.zone[j]! || upper || a.value[i]! - b.value[j]!;
}

function tooMany({ zone }: UniqueRows, memoryBytes: number, pairBytes: number): OutOfMemoryError {
  const zones = zone.reduce((met, member, at) => met + (at > 0 && zone[at - 1] === member ? 0 : 1), 0);
  return new OutOfMemoryError('zonal/unique-memory-bytes', 'The zones contain more unique values than fit in memory.', {
    expected: `at most ${Math.floor(memoryBytes / pairBytes)} pairs of zone and value (${bytesText(memoryBytes)})`,
    got: `${zone.length} pairs in ${zones} zones so far`,
    remedy:
      'Count in bins and without statistics of values, count fewer zones at a time, or raise the limit (--memory; a quarter of it is used for this).',
  });
}

/** Scales values. They are ascending again, and those that are equal after rounding are merged. */
function scaleValues({ zone, value, count }: ValueCounts, scaling: Scaling): ValueCounts {
  const order = Uint32Array.from(zone.keys());
  if (isReversed(scaling)) order.sort((a, b) => zone[a]! - zone[b]! || b - a);
  const kept = { zone: new Uint32Array(order.length), value: new Float64Array(order.length) };
  const counts = new BigUint64Array(order.length);
  let rows = 0;
  for (const row of order) {
    const scaled = scaledValue(scaling, value[row]!);
    const isSame = rows > 0 && kept.zone[rows - 1] === zone[row] && kept.value[rows - 1] === scaled;
    if (!isSame) {
      kept.zone[rows] = zone[row]!;
      kept.value[rows++] = scaled;
    }
    counts[rows - 1]! += count[row]!;
  }
  return { zone: kept.zone.slice(0, rows), value: kept.value.slice(0, rows), count: counts.slice(0, rows) };
}

/** The bins of all finite values. Infinite ones are counted as below or above all bins. */
export function uniqueBins({ zone, value, count }: ValueCounts): ZonalBins {
  if (value.every(Number.isFinite)) return { zone, lower: value, upper: value, count };
  const isBin = (_: unknown, row: number): boolean => Number.isFinite(value[row]);
  const values = value.filter(isBin);
  return { zone: zone.filter(isBin), lower: values, upper: values, count: count.filter(isBin) };
}
