import { FormatError } from '../../primitives/checks/errors.ts';
import { isRecord } from '../../primitives/checks/given.ts';
import { isWide } from '../geometry/raster.ts';
import type { ZoneCounters } from './count-totals.ts';
import {
  type Wanted,
  wantedFolds,
  wantedWeighted,
  wantsBinShares,
  wantsValueShares,
  wantsValues,
} from './counting-way.ts';
import type { ZoneFold } from './fold.ts';
import { areFolded, type PartialStatistics } from './fold-totals.ts';
import type { Pairs } from './pair-rows.ts';
import type { ShareRows } from './share-rows.ts';
import type { PartCounts } from './surface-parts.ts';
import type { TotalsOptions } from './totals.ts';
import type { UniqueRows } from './unique-totals.ts';

type Counted = Pick<TotalsOptions, 'zones' | 'sample' | 'slots' | 'grids' | keyof Wanted>;

/**
 * Checks counts that come from another process or from a file, so that no wrong number enters a sum without a word.
 *
 * @throws FormatError `zonal/part-counts` if they cannot be counts of this job.
 */
export function checkPartCounts(given: unknown, counted: Counted): PartCounts {
  const { zones, sample, slots, grids } = counted;
  const { leftOut, counts, statistics: found, weighted, unique, valueShares, slotShares } = fieldsOf<PartCounts>(given);
  const [folds, weightedFolds] = [wantedFolds(counted, sample), wantedWeighted(counted, sample)];
  const areFolds = (sums: unknown, wanted: readonly ZoneFold[]): boolean =>
    wanted.length > 0 ? areStatistics(sums, wanted, zones, grids) : sums === undefined;
  const isGood =
    isWhole(leftOut) &&
    areCounters(counts, zones, slots.count) &&
    areFolds(found, folds) &&
    areFolds(weighted, weightedFolds) &&
    (wantsValues(counted) ? arePairs(unique, zones, isWide(sample)) : unique === undefined) &&
    (wantsValueShares(counted)
      ? areShares(valueShares, zones, isWide(sample), unique as UniqueRows)
      : valueShares === undefined) &&
    (wantsBinShares(counted)
      ? areShares(slotShares, zones, false, pairsOf(counts as ZoneCounters))
      : slotShares === undefined);
  if (isGood) return given as PartCounts;
  throw new FormatError('zonal/part-counts', 'The counts of a part of the rasters are damaged.', {
    remedy: 'Run the same version of the package in all processes.',
  });
}

function areCounters(given: unknown, zones: number, slots: number): boolean {
  const { members, starts, slot, count } = fieldsOf<PartCounts['counts']>(given);
  if (!(members instanceof Uint32Array && starts instanceof Uint32Array && slot instanceof Uint32Array)) return false;
  if (!areNumbers(count) || starts.length !== members.length + 1 || starts[0] !== 0) return false;
  if (starts.at(-1) !== slot.length || count.length !== slot.length || !areAscending(members, zones)) return false;
  for (let member = 0; member < members.length; member++) {
    if (!(starts[member]! < starts[member + 1]!)) return false;
    if (!areAscending(slot.subarray(starts[member], starts[member + 1]), slots)) return false;
  }
  return count.every((cells) => isWhole(cells) && cells > 0);
}

function areStatistics(given: unknown, folds: readonly ZoneFold[], zones: number, grids: Counted['grids']): boolean {
  const { zone } = fieldsOf<NonNullable<PartCounts['statistics']>>(given);
  return (
    zone instanceof Uint32Array && areAscending(zone, zones) && areFolded(folds, given as PartialStatistics, grids)
  );
}

function arePairs(given: unknown, zones: number, areWide: boolean): boolean {
  const { count } = fieldsOf<UniqueRows>(given);
  if (!areSorted(given, zones, areWide) || !areNumbers(count) || count.length !== given.zone.length) return false;
  return count.every((cells) => isWhole(cells) && cells > 0);
}

/** Whether shares can be those of cells of some pairs. */
function areShares(given: unknown, zones: number, areWide: boolean, pairs: Pairs): boolean {
  const { low, up, over } = fieldsOf<ShareRows>(given);
  if (!areSorted(given, zones, areWide)) return false;
  const areSums = [low, up, over].every(
    (sums) => (areNumbers(sums) || sums instanceof Int32Array) && sums.length === given.zone.length,
  );
  if (!areSums || !isEvery(up, Number.isSafeInteger) || !isEvery(low, isWhole) || !isEvery(over, isWhole)) return false;
  let row = 0;
  return given.zone.every((zone, at) => {
    const isOwn = (): boolean =>
      pairs.zone[row] === zone && pairs.value[row] === given.value[at] && pairs.high?.[row] === given.high?.[at];
    while (row < pairs.zone.length && !isOwn()) row++;
    return row < pairs.zone.length;
  });
}

function isEvery(numbers: unknown, is: (number: number) => boolean): boolean {
  return (numbers as Float64Array).every((each) => is(each));
}

/** The pairs of a zone and a slot that have cells. */
function pairsOf({ members, starts, slot }: ZoneCounters): Pairs {
  const zone = new Uint32Array(slot.length);
  for (const [at, member] of members.entries()) zone.fill(member, starts[at], starts[at + 1]);
  return { zone, value: slot };
}

function areSorted(given: unknown, zones: number, areWide: boolean): given is Pairs {
  const { zone, value, high } = fieldsOf<Pairs>(given);
  if (!(zone instanceof Uint32Array && value instanceof Uint32Array) || value.length !== zone.length) return false;
  const uppers = high instanceof Uint32Array && high.length === zone.length ? high : undefined;
  if (zone.length > 0 && (areWide !== (high !== undefined) || areWide !== (uppers !== undefined))) return false;
  return zone.every((own, row) => {
    const before = row === 0 ? -1 : zone[row - 1]!;
    const upper = uppers === undefined || row === 0 ? 0 : uppers[row]! - uppers[row - 1]!;
    const isNext = own > before || (own === before && (upper > 0 || (upper === 0 && value[row]! > value[row - 1]!)));
    return own < zones && isNext;
  });
}

function fieldsOf<T>(given: unknown): { readonly [K in keyof T]?: unknown } {
  return isRecord(given) ? (given as { readonly [K in keyof T]?: unknown }) : {};
}

function areNumbers(given: unknown): given is Uint32Array | Float64Array {
  return given instanceof Uint32Array || given instanceof Float64Array;
}

function isWhole(given: unknown): given is number {
  return Number.isSafeInteger(given) && (given as number) >= 0;
}

function areAscending(numbers: Uint32Array, end: number): boolean {
  return numbers.every((each, i) => each < end && (i === 0 || each > numbers[i - 1]!));
}
