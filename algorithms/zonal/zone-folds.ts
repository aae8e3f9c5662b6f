import { For, If, Let, Var } from '../../primitives/functors/control.ts';
import { array, bool, type Functor, fn, type Parameters, u32, uniform } from '../../primitives/functors/functor.ts';
import { clz, ctz } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { ArrayValue, U32 } from '../../primitives/functors/value.ts';
import {
  type Column,
  type Context,
  constant,
  copyIf,
  type Monoid,
  map,
  monoid,
  reduceByKey,
  scatterReduce,
} from '../../primitives/index.ts';
import { createVariants, memoized } from '../../primitives/ir/memo.ts';
import { isFloat, type Sample } from '../geometry/raster.ts';
import type { Captured, Classifier } from './binning.ts';
import { FLOATS, type Float, type HomeGroups, LAYOUTS, type PowerLayout } from './exact-sums.ts';
import { digitsName, type Fold, namedWords, type RowFold, type Words, wordsIn, type ZoneFold } from './fold.ts';
import { WIDE_DIGITS } from './power-sums.ts';
import type { WindowPlan } from './window-plan.ts';
import { orderedRaw, type ZoneRows, zoneCells } from './zone-cells.ts';

/** Columns of u32 words, by name. */
type Columns = { readonly [name: string]: Column<'u32'> };

/**
 * What was folded in a window: a row for every zone that has cells in it, with the words of all folds; and for floats,
 * counters of every zone in the window.
 */
export type WindowFolds = Columns & { readonly zone: Column<'u32'> };

/**
 * Rows of 32 cells after folding: the zone, a mask of the cells in the zone, and the number of these cells that have
 * data, with the number of those that are near the nodata value above {@link NEAR_SHIFT}.
 */
export type CountedRows = {
  readonly zone: Column<'u32'>;
  readonly mask: Column<'u32'>;
  readonly data: Column<'u32'>;
};

/** Cells of a window that are folded. */
export interface FoldedCells {
  readonly sample: Sample;
  readonly cells: Column<'u32'>;
  readonly classifier: Classifier;
  readonly homes: HomeGroups;
}

/**
 * Folds the cells of zones in rows of 32 cells, which are ordered by zone: first those of each row, then the adjacent
 * rows of each zone. Also returns the rows of cells, because `countCells` needs them.
 *
 * @param zones - The number of zones in the window.
 */
export function foldRows(
  context: Context,
  folds: readonly Fold[],
  rows: ZoneRows,
  zones: number,
  { sample, cells, classifier, homes }: FoldedCells,
): { readonly folded?: WindowFolds; readonly counted: CountedRows } {
  const { zone, cell, mask, place } = rows;
  const captures = { ...classifier.captures, ...(isFloat(sample) && { home1: homes[1], home2: homes[2] }) };
  const row = map(rowFunctor(classifier, sample, folds), { cell, mask, cells, ...captures } as never);
  // Materialized, because the reduction reads every row several times.
  const { data, ...words } = context.materialize(row as unknown as Columns);
  const counted = { zone, mask, data: data! };
  if (folds.length === 0) return { counted };
  const { widen, combine } = zoneFunctors(folds);
  const ofRows = place === undefined ? words : { ...words, place };
  const { keys, values } = reduceByKey(zone, widen ? map(widen, ofRows as never) : words, combine);
  const digits = folds.flatMap((fold) => {
    if (fold.widePower === undefined || !isFloat(sample)) return [];
    const wide = map(isWide, { wide: wordsIn(fold, words, fold.rowWords).at(-1)! });
    const power = fold.widePower;
    const place = { layout: LAYOUTS[sample][power], zones, home: homes[power] };
    const wideCells = zoneCells(context, copyIf({ zone, cell, mask }, wide), cells, classifier);
    return [[digitsName(fold), wideDigits(context, WIDE_DIGITS[sample][power], wideCells, place)] as const];
  });
  return { folded: { zone: keys, ...(values as Columns), ...Object.fromEntries(digits) }, counted };
}

/**
 * Number of words for folding a window: for the rows of 32 cells, the words of each row, and those of each zone. There
 * are no more zones than rows, so the multiples of the maximum number of rows include the zones. Only the
 * counters of wide powers are added per zone.
 */
export function foldWords({ rows, zones }: WindowPlan, folds: readonly Fold[]): number {
  return wordsOfFolds(folds, usePlaces(folds) ? 6 : 4, rows, zones.length);
}

/** Number of words for folds of rows, each with `others` words besides, and for the counters of zones. */
export function wordsOfFolds(folds: readonly ZoneFold[], others: number, rows: number, zones: number): number {
  const ofRow = folds.reduce((sum, { rowWords, neutral }) => sum + rowWords + neutral.length, others);
  const counters = folds.reduce((sum, { layout }) => sum + (layout?.counters ?? 0), 0);
  return ofRow * rows + counters * zones;
}

/**
 * Position, in the word `data` of a row, of the number of cells that match the nodata value without being equal to it.
 * The bits below hold the number of cells with data.
 */
export const NEAR_SHIFT = 8;

const variantOf = createVariants<Classifier, ReturnType<typeof defineRowFunctor>>(2);

/** Whether any fold needs the places of rows. */
export function usePlaces(folds: readonly ZoneFold[]): boolean {
  return folds.some((fold) => fold.usesPlaces);
}

/** The functor that folds a row of up to 32 cells, and counts its cells with data. */
function rowFunctor(classifier: Classifier, sample: Sample, folds: readonly Fold[]) {
  const key = folds.map(({ name }) => name).join();
  return variantOf(classifier, key, () => defineRowFunctor(classifier, sample, folds));
}

const rowParameters = { cell: u32, mask: u32, cells: array(u32) };
const homeParameters = { home1: uniform(u32), home2: uniform(u32) };

function defineRowFunctor(classifier: Classifier, sample: Sample, folds: readonly Fold[]) {
  const parameters = { ...rowParameters, ...(isFloat(sample) && homeParameters), ...classifier.parameters };
  const words = rowShape(folds);
  return fn('foldRow', parameters as typeof rowParameters, { data: u32, ...words }, (given) => {
    const { cell, mask, cells, ...rest } = given as typeof given & { readonly home1: U32; readonly home2: U32 };
    const captured = rest as unknown as Captured;
    const parts = folds.map((fold) => fold.begin({ 1: rest.home1, 2: rest.home2 }));
    const row: CellRow = { cell, mask, cells };
    const data = isFloat(sample)
      ? foldFloats(classifier, sample, captured, row, parts)
      : foldIntegers(classifier, sample, captured, row, parts);
    return { data, ...namedWords(folds, (_, at) => parts[at]!.words) } as never;
  });
}

/** A row of 32 cells: the index of its first cell, and a mask of the cells that are in the zone. */
interface CellRow {
  readonly cell: U32;
  readonly mask: U32;
  readonly cells: ArrayValue<'u32'>;
}

/** Takes the cells of a row that have data. Returns their number. */
function foldIntegers(
  classifier: Classifier,
  sample: Sample,
  captured: Captured,
  row: CellRow,
  parts: readonly RowFold[],
): U32 {
  const data = Var(u32(0));
  forEachCell(classifier, row, (raw, rank) => {
    If(classifier.isData(raw, captured), () => {
      const words = orderedRaw(sample, raw);
      for (const part of parts) part.take(words, rank);
      data.set(data.add(1));
    });
  });
  return data;
}

/** Initial `head` (sign and exponent) of a run. No float has this sign and exponent. */
const NO_HEAD = 0x1000;

/**
 * Takes the cells of a row that have data, in runs of the same sign and exponent. Returns their number, and above
 * {@link NEAR_SHIFT} the number of cells near the nodata value.
 */
function foldFloats(
  classifier: Classifier,
  sample: Float,
  captured: Captured,
  row: CellRow,
  parts: readonly RowFold[],
): U32 {
  const fractionBits = (FLOATS[sample].significandBits - 1) & 31;
  const [head, count, data, near] = [Var(u32(NO_HEAD)), Var(u32(0)), Var(u32(0)), Var(u32(0))];
  const isMixed = Var(bool(false));
  const countsNear = classifier.slots.near !== classifier.slots.nodata;
  const endRun = (): void => {
    If(count.ne(0), () => {
      data.set(data.add(count));
      for (const part of parts) part.endRun!(head, count);
    });
  };
  const take = (raw: Words, rank: U32): void => {
    count.set(count.add(1));
    for (const part of parts) part.take(raw, rank);
  };
  forEachCell(classifier, row, (raw, rank) => {
    const own = raw.at(-1)!.shr(fractionBits);
    If(own.ne(head), () => {
      endRun();
      head.set(own);
      count.set(0);
      for (const part of parts) part.beginRun!(own);
      isMixed.set(classifier.mayLackData(own, captured));
    });
    If(isMixed, () => {
      If(classifier.isData(raw, captured), () => take(raw, rank)).Else(() => {
        if (countsNear) near.set(near.add(select(u32(0), u32(1), classifier.isNear(raw, captured))));
      });
    }).Else(() => take(raw, rank));
  });
  endRun();
  return data.or(near.shl(NEAR_SHIFT));
}

/** Number of cells that {@link forEachCell} reads at once. */
const AT_ONCE = 4;

/**
 * Calls `body` for each cell of a row that is in the zone. Cells are read some at a time: lanes of a GPU have rows of their
 * own, of which so many together do not stay in the cache from one cell to the next.
 */
function forEachCell(
  classifier: Classifier,
  { cell, mask, cells }: CellRow,
  body: (raw: Words, rank: U32) => void,
): void {
  const end = u32(32 + AT_ONCE - 1).sub(clz(mask));
  For(ctz(mask).div(AT_ONCE), end.div(AT_ONCE), (part) => {
    const first = Let(part.mul(AT_ONCE));
    const start = Let(cell.add(first));
    const read = Array.from({ length: AT_ONCE }, (_, i) =>
      classifier.cellAt(cells, start.add(i)).map((word) => Var(word)),
    );
    For(0, AT_ONCE, (i) => {
      const rank = first.add(i);
      If(mask.shr(rank).and(1).eq(1), () => body(read[0]!, rank));
      for (const [at, next] of read.slice(1).entries()) {
        for (const [w, word] of next.entries()) read[at]![w]!.set(word);
      }
    });
  });
}

/** The words of a row. */
export function rowShape(folds: readonly ZoneFold[]): { readonly [name: string]: typeof u32 } {
  return namedWords(folds, ({ rowWords }) => Array<typeof u32>(rowWords).fill(u32));
}

interface ZoneFunctors {
  readonly combine: Monoid<{ readonly [name: string]: typeof u32 }>;
  readonly widen: Functor<{ readonly [name: string]: typeof u32 }, { readonly [name: string]: typeof u32 }> | undefined;
}

/** The monoid of zones, and the functor that widens rows to zones, if any fold needs one. */
export const zoneFunctors: (folds: readonly ZoneFold[]) => ZoneFunctors = memoized((folds: readonly ZoneFold[]) => {
  const shape = namedWords(folds, ({ neutral }) => neutral.map(() => u32));
  const combine = monoid({
    of: shape,
    identity: namedWords(folds, ({ neutral }) => neutral),
    combine: ({ a, b }) =>
      namedWords(folds, (fold) => {
        const { length } = fold.neutral;
        return fold.combine(wordsIn(fold, a, length), wordsIn(fold, b, length));
      }),
    commutative: true,
    name: 'addFolds',
  });
  const parameters = { ...rowShape(folds), ...(usePlaces(folds) && { place: u32 }) };
  const widen = fn('widenRow', parameters, shape, (row) =>
    namedWords(folds, (fold) => {
      const words = wordsIn(fold, row as { readonly [name: string]: U32 }, fold.rowWords);
      return fold.widen?.(words, row.place) ?? words;
    }),
  );
  return { combine, widen: folds.some((fold) => fold.widen) ? widen : undefined };
});

/** Whether a row has summands outside the home group and the next lower one; see {@link Fold.widePower}. */
export const isWide: Functor<{ readonly wide: typeof u32 }, typeof bool> = fn(
  'isWide',
  { wide: u32 },
  bool,
  ({ wide }) => wide.ne(0),
);

/**
 * Sums the summands outside the home group and the next lower one, byte by byte.
 *
 * @param digit - Gives a byte of a cell, and its counter.
 */
export function wideDigits<P extends Parameters>(
  context: Context,
  digit: Functor<P, { readonly counter: typeof u32; readonly value: typeof u32 }>,
  cells: { readonly [field: string]: Column<'u32'> },
  {
    layout,
    zones,
    home,
  }: { readonly layout: Pick<PowerLayout, 'bytes' | 'counters'>; readonly zones: number; readonly home: number },
): Column<'u32'> {
  const digits = context.materialize(constant(u32, 0, zones * layout.counters));
  for (let byte = 0; byte < layout.bytes; byte++) {
    const { value, counter } = map(digit, { ...cells, byte, home } as never) as Columns;
    scatterReduce(value!, counter!, 'add', digits);
  }
  return digits;
}
