import { type Column, viewColumn } from '../../primitives/columns/column.ts';
import { fuse } from '../../primitives/columns/program.ts';
import { computedColumn } from '../../primitives/columns/views.ts';
import type { Context } from '../../primitives/context/context.ts';
import { array, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { Bool, U32 } from '../../primitives/functors/value.ts';
import { histogram } from '../../primitives/histogram.ts';
import { map } from '../../primitives/map.ts';
import { minimum, plus, product } from '../../primitives/monoid.ts';
import { reduce } from '../../primitives/reduce.ts';
import { inclusiveScan } from '../../primitives/scan.ts';
import { upperBound } from '../../primitives/search.ts';
import { constant, sequence } from '../../primitives/sequence.ts';
import { slice } from '../../primitives/slice.ts';
import type { DeviceTable } from './device-table.ts';
import type { CellValue } from './host-table.ts';
import type { IntegerPart, IntegerValue } from './integers.ts';
import { lowWord } from './order-statistics.ts';
import { combineParts, emitPart, type QuestionPart } from './part.ts';

/** The plan of an order statistic that the device finds without waiting for the host. */
export interface SoughtPlan {
  readonly integers: IntegerPart;
  readonly counts: QuestionPart<Bool>;
  readonly place: Place;
  readonly finish: (found: readonly bigint[]) => CellValue;
}

/** The place to find among the sorted values: the median (one or two values), or the k-th smallest or largest value. */
export type Place =
  | { readonly kind: 'median'; readonly k?: undefined }
  | { readonly kind: 'smallest' | 'largest'; readonly k: number };

/** Maximum number of bits that one pass finds. */
const MAX_BITS = 11;
/** Number of bins for excluded rows. With a single bin, additions would wait for each other. */
const SPARE = 16;
const NONE = 2 ** 32 - 1;

/**
 * Whether the device can find a place among these integers without the host. The maximum minus the minimum must fit in
 * 32 bits.
 */
export function isFoundOnDevice({ bounds: { min, max } }: IntegerPart): boolean {
  return max - min < 2n ** 32n;
}

/**
 * Finds an integer digit by digit from the top, as `integersAt` does, but keeps the digits on the device, so that the
 * host need not wait. The result has one row: `count` is the number of included rows, and `found` is the integer at the
 * place (for a median, the lower of the middle two). The minimum is subtracted from `found` and `above`.
 */
export function placeOnDevice(table: DeviceTable, { integers, counts, place }: SoughtPlan): FoundPlace {
  const { context, rows } = table;
  const { min, max } = integers.bounds;
  const bits = Math.max(1, (max - min).toString(2).length);
  const passes = Math.ceil(bits / MAX_BITS);
  const row = rowOf(integers, counts);
  let left = bits;
  let known: Known | undefined;
  let count: Column<'u32'> | undefined;
  for (let pass = 0; pass < passes; pass++) {
    const digits = Math.ceil(left / (passes - pass));
    left -= digits;
    const upTo = countsUpTo(context, rows, row, { known: known?.prefix, digits, left });
    if (known === undefined) {
      const start = map(startRank, { row: sequence(1), upTo, last: 2 ** digits - 1, ...rankUniforms(place) });
      count = context.materialize(start.count);
      known = { rank: start.rank, prefix: constant(u32, 0, 1) };
    }
    const digit = upperBound(upTo, known.rank);
    known = context.materialize(map(learn, { ...known, digit, upTo, digits, last: 2 ** digits - 1 }));
  }
  return { count: count!, found: known!.prefix, ...neighbourhood(context, rows, row, known!.prefix) };
}

/** Result of the search, in columns of one row each. */
export interface FoundPlace {
  readonly [name: string]: Column<'u32'>;
  readonly count: Column<'u32'>;
  readonly found: Column<'u32'>;
  /** Number of integers that are not above the found integer. */
  readonly upTo: Column<'u32'>;
  /** The smallest integer above the found integer. */
  readonly above: Column<'u32'>;
}

/**
 * Computes the integers at a place from the result of {@link placeOnDevice}, after it was read. The median of an even
 * number of rows has two integers.
 */
export function integersFound(
  { integers, place }: SoughtPlan,
  { count, found, upTo, above }: { readonly [K in 'count' | 'found' | 'upTo' | 'above']: number },
): readonly bigint[] {
  if (place.kind !== 'median') return place.k > count ? [] : [integers.bounds.min + BigInt(found)];
  if (count === 0) return [];
  const both = count % 2 === 1 ? [found] : [found, count >> 1 < upTo ? found : above];
  return both.map((offset) => integers.bounds.min + BigInt(offset));
}

/** State of the search: the leading bits found so far, and the rank of the place among integers with these bits. */
interface Known {
  readonly rank: Column<'u32'>;
  readonly prefix: Column<'u32'>;
}

const MODES = { median: 0, smallest: 1, largest: 2 } as const;

function rankUniforms({ kind, k = 0 }: Place): { readonly mode: number; readonly k: number } {
  // If k exceeds the number of rows, the result is meaningless. The host detects this from `count`.
  return { mode: MODES[kind], k: Math.min(k, NONE) };
}

const startRank = fn(
  'startRank',
  { row: u32, upTo: array(u32), last: uniform(u32), mode: uniform(u32), k: uniform(u32) },
  { count: u32, rank: u32 },
  ({ upTo, last, mode, k }) => {
    const count = upTo.at(last);
    const middle = count.max(1).sub(1).shr(1);
    return { count, rank: select(select(count.sub(k), k.sub(1), mode.eq(1)), middle, mode.eq(0)) };
  },
);

const learn = fn(
  'learnPlace',
  { rank: u32, prefix: u32, digit: u32, upTo: array(u32), digits: uniform(u32), last: uniform(u32) },
  { rank: u32, prefix: u32 },
  ({ rank, prefix, digit, upTo, digits, last }) => {
    const own = digit.min(last);
    const before = select(u32(0), upTo.at(own.max(1).sub(1)), own.gt(0));
    return { rank: rank.sub(before), prefix: prefix.shl(digits).or(own) };
  },
);

/** The part of a query that computes for a row its integer minus the minimum, and whether the row is included. */
function rowOf(
  { part, bounds }: IntegerPart,
  counts: QuestionPart<Bool>,
): QuestionPart<{ readonly offset: U32; readonly holds: Bool }> {
  const base = Number(bounds.min & 0xffffffffn);
  return combineParts<unknown, { readonly offset: U32; readonly holds: Bool }>('place', [part, counts], (made) => {
    const [value, holds] = made as [IntegerValue, Bool];
    return { offset: lowWord(value).sub(base), holds };
  });
}

/**
 * Returns a column with a row for each value of the next digit: the number of included integers that have the known
 * leading bits and a digit of at most this value.
 */
function countsUpTo(
  context: Context,
  rows: number,
  row: ReturnType<typeof rowOf>,
  {
    known,
    digits,
    left,
  }: { readonly known: Column<'u32'> | undefined; readonly digits: number; readonly left: number },
): Column<'u32'> {
  const bins = 2 ** digits;
  const digit = computedColumn('placeDigits', 'u32', { context, length: rows }, undefined, (index, loader) => {
    const { offset, holds } = emitPart(row, index, loader);
    const above = offset.shr(left);
    if (known === undefined) return select(index.and(SPARE - 1).add(bins), above, holds);
    const [prefix] = loader.load([known], u32(0)) as [U32];
    return select(u32(NONE), above.sub(prefix.shl(digits)), holds.and(above.shr(digits).eq(prefix)));
  });
  return inclusiveScan(slice(histogram(digit, bins + (known === undefined ? SPARE : 0)), 0, bins), plus(u32));
}

const around = product({ upTo: plus(u32), above: minimum(u32) });

/** Counts the integers that are not above the found integer, and finds the smallest integer above it. */
function neighbourhood(
  context: Context,
  rows: number,
  row: ReturnType<typeof rowOf>,
  found: Column<'u32'>,
): { readonly upTo: Column<'u32'>; readonly above: Column<'u32'> } {
  const view = fuse('placeNeighbours', [], ['u32', 'u32'], (index, _, loader) => {
    const { offset, holds } = emitPart(row, index, loader);
    const [own] = loader.load([found], u32(0)) as [U32];
    return [u32(holds.and(offset.le(own))), select(u32(NONE), offset, holds.and(offset.gt(own)))];
  });
  const [upTo, above] = [0, 1].map((result) => viewColumn(context, 'u32', rows, view, result)) as [
    Column<'u32'>,
    Column<'u32'>,
  ];
  return reduce({ upTo, above }, around);
}
