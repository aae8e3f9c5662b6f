import { OutOfMemoryError } from '../../primitives/index.ts';
import { bytesText } from '../bytes-text.ts';
import { exactArray, isWide, type Sample, type Scaling } from '../geometry/raster.ts';
import type { BinAreas } from './areas.ts';
import { valueOfOrderedWord } from './ordered-words.ts';
import { createPairRuns, type PairRows, type Pairs } from './pair-rows.ts';
import { isReversed, scaledValue } from './scaling.ts';
import {
  areasOf,
  BYTES_PER_SHARE,
  createShareRuns,
  type ShareRows,
  shareRows,
  type WindowShares,
} from './share-rows.ts';
import type { ValueCounts } from './statistic-kinds.ts';
import type { ZonalBins } from './types.ts';
import { valueOfOrderedWords } from './wide-words.ts';

/** Number of cells for each pair of zone and value. */
export type UniqueRows = PairRows<'count'>;

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
  /** By fractions: adds what the cells on outlines of a window differ from whole cells. Throws as `add` does. */
  addShares(members: Uint32Array, window: WindowShares): void;
  /** Adds pairs of zones of the job. Throws as `add` does. */
  addRows(rows: UniqueRows, shares?: ShareRows): void;
  /** All pairs. Nothing changes them later. */
  rows(): UniqueRows;
  shares(): ShareRows;
  /** All values, scaled. Values that are equal after rounding are one. */
  finish(scaling?: Scaling): ValueCounts;
}

/** Creates an empty collection. By fractions, cells have areas as well. */
export function createUniqueTotals(sample: Sample, memoryBytes: number, byArea = false): UniqueTotals {
  const pairBytes = isWide(sample) ? BYTES_PER_WIDE_PAIR : BYTES_PER_PAIR;
  const pairs = createPairRuns(['count']);
  const shares = createShareRuns();
  const bytes = (): number => pairs.kept() * pairBytes + shares.kept() * BYTES_PER_SHARE;
  const requireRoom = (): void => {
    if (bytes() <= memoryBytes) return;
    const [all] = [pairs.rows(), shares.rows()];
    if (bytes() > memoryBytes) throw tooMany(all, memoryBytes, pairBytes);
  };
  const addRows = (rows: UniqueRows, more?: ShareRows): void => {
    pairs.add(rows);
    if (more !== undefined) shares.add(more);
    requireRoom();
  };
  return {
    add: (members, { zone, ...others }) => addRows({ zone: zone.map((local) => members[local]!), ...others }),
    addShares(members, window) {
      shares.add(shareRows(members, window));
      requireRoom();
    },
    addRows,
    rows: pairs.rows,
    shares: shares.rows,
    finish(scaling) {
      const rows = pairs.rows();
      const { zone, value, count } = rows;
      const values = new Float64Array(value.length);
      const counts = new BigUint64Array(value.length);
      const exact = exactArray(sample, value.length);
      for (let i = 0; i < value.length; i++) {
        const stored = storedValue(sample, rows, i);
        values[i] = Number(stored);
        counts[i] = BigInt(count[i]!);
        if (exact !== undefined) exact[i] = stored as bigint;
      }
      const area = byArea ? areasOf(rows, shares.rows()) : undefined;
      const found = { zone, value: values, count: counts, area };
      return scaling === undefined ? { ...found, exact } : scaleValues(found, scaling);
    },
  };
}

/** The value of a pair. */
export function storedValue(sample: Sample, { value, high }: Pairs, row: number): number | bigint {
  return isWide(sample)
    ? valueOfOrderedWords(sample, value[row]!, high![row]!)
    : valueOfOrderedWord(sample, value[row]!);
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
function scaleValues({ zone, value, count, area }: ValueCounts, scaling: Scaling): ValueCounts {
  const order = Uint32Array.from(zone.keys());
  if (isReversed(scaling)) order.sort((a, b) => zone[a]! - zone[b]! || b - a);
  const kept = { zone: new Uint32Array(order.length), value: new Float64Array(order.length) };
  const counts = new BigUint64Array(order.length);
  const areas = area && new BigInt64Array(order.length);
  let rows = 0;
  for (const row of order) {
    const scaled = scaledValue(scaling, value[row]!);
    const isSame = rows > 0 && kept.zone[rows - 1] === zone[row] && kept.value[rows - 1] === scaled;
    if (!isSame) {
      kept.zone[rows] = zone[row]!;
      kept.value[rows++] = scaled;
    }
    counts[rows - 1]! += count[row]!;
    if (areas) areas[rows - 1]! += area[row]!;
  }
  return {
    ...{ zone: kept.zone.slice(0, rows), value: kept.value.slice(0, rows) },
    ...{ count: counts.slice(0, rows), area: areas?.slice(0, rows) },
  };
}

/** The bins of all finite values. Infinite ones are counted as below or above all bins. */
export function uniqueBins(values: ValueCounts): ZonalBins {
  const { zone, value, count } = finiteOf(values);
  return { zone, lower: value, upper: value, count };
}

/** By fractions: the areas of these bins, and of the cells below and above them. */
export function uniqueAreas(values: ValueCounts, zones: number): BinAreas {
  const [below, above] = [new BigInt64Array(zones), new BigInt64Array(zones)];
  values.value.forEach((value, row) => {
    const into = value === -Infinity ? below : value === Infinity ? above : undefined;
    if (into) into[values.zone[row]!]! += values.area![row]!;
  });
  return { bins: finiteOf(values).area!, below, above };
}

function finiteOf(values: ValueCounts): Pick<ValueCounts, 'zone' | 'value' | 'count' | 'area'> {
  const { zone, value, count, area } = values;
  if (value.every(Number.isFinite)) return values;
  const isBin = (_: unknown, row: number): boolean => Number.isFinite(value[row]);
  return {
    ...{ zone: zone.filter(isBin), value: value.filter(isBin), count: count.filter(isBin) },
    area: area?.filter(isBin),
  };
}
