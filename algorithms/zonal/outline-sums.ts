import { scaleLength } from '../../primitives/columns/length.ts';
import { For, If, Let } from '../../primitives/functors/control.ts';
import { array, fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { bitsToU32, clz, ctz } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { ArrayValue, U32 } from '../../primitives/functors/value.ts';
import { type Column, type Context, copyIf, map, reduceByKey, sequence } from '../../primitives/index.ts';
import { createVariants } from '../../primitives/ir/memo.ts';
import { isFloat, type Sample } from '../geometry/raster.ts';
import type { Captured, Classifier } from './binning.ts';
import type { Coverage } from './coverage.ts';
import { WEIGHTED } from './exact-sums.ts';
import { digitsName, namedWords, type WeightedFold, type Words, wordsIn } from './fold.ts';
import { ONE } from './fractions/line-numbers.ts';
import { type Outlines, shareOf } from './fractions/window-fractions.ts';
import { WEIGHTED_DIGITS } from './power-sums.ts';
import { ABSENT, type WindowPlan } from './window-plan.ts';
import { orderedRaw } from './zone-cells.ts';
import { type FoldedCells, isWide, rowShape, type WindowFolds, wideDigits, zoneFunctors } from './zone-folds.ts';

/**
 * Folds the cells of a window that outlines enter, each with the weight by which its share differs from a whole cell. This
 * is what statistics by fractions differ from those of all cells that share area with a zone.
 *
 * - Work O(cells on outlines). Exact.
 *
 * @param limits - The bitmaps of the cells that no other raster holds, and of those of these that the raster's mask does not
 *   hide. Undefined if these are all cells.
 */
export function outlineSums(
  context: Context,
  folds: readonly WeightedFold[],
  { outlines: { areas, ...rows }, limits }: { readonly outlines: Outlines; readonly limits?: Limits | undefined },
  { plan, tileStarts, pitch }: Pick<Coverage, 'plan' | 'tileStarts' | 'pitch'>,
  { sample, cells, classifier, homes }: FoldedCells,
): WindowFolds {
  return context.scope(() => {
    const { tile, tileColumns } = plan;
    const given = {
      ...{ areas, ...limits, cells, tileStarts: context.column(tileStarts) },
      ...{ tile, tileColumns, pitch },
      ...classifier.captures,
    };
    const { ofRow, ofCell } = functorsOf(classifier, sample, folds, limits !== undefined);
    const ownHomes = isFloat(sample) ? { home1: homes[1], home2: homes[2] } : {};
    const words = context.materialize(map(ofRow, { ...rows, ...given, ...ownHomes } as never)) as Columns;
    const { widen, combine } = zoneFunctors(folds);
    const { keys, values } = reduceByKey(rows.zone, widen ? map(widen, words as never) : words, combine);
    const digits = folds.flatMap((fold) => {
      const { widePower: power } = fold;
      if (power === undefined || !isFloat(sample)) return [];
      const wide = copyIf(rows, map(isWide, { wide: wordsIn(fold, words, fold.rowWords).at(-1)! }));
      const index = sequence(scaleLength(context, wide.zone.length, 32));
      const found = map(ofCell, { index, ...wide, ...given } as never) as Columns;
      const place = { layout: WEIGHTED[sample][power], zones: plan.zones.length, home: homes[power] };
      return [[digitsName(fold), wideDigits(context, WEIGHTED_DIGITS[sample][power], found, place)] as const];
    });
    return { zone: keys, ...(values as Columns), ...Object.fromEntries(digits) };
  });
}

interface Limits {
  readonly masks: Column<'u32'>;
  readonly visible: Column<'u32'>;
}

type Columns = { readonly [name: string]: Column<'u32'> };

/** Number of words that {@link outlineSums} takes, for outlines of at most so many rows. */
export function outlineSumWords({ zones }: WindowPlan, rows: number, folds: readonly WeightedFold[]): number {
  const ofRows = folds.reduce((sum, { rowWords, neutral }) => sum + rowWords + neutral.length, 2);
  const counters = folds.reduce((sum, { layout }) => sum + (layout?.counters ?? 0), 0);
  return ofRows * rows + counters * zones.length;
}

const CAPTURES = {
  ...{ areas: array(u32), cells: array(u32), tileStarts: array(u32) },
  ...{ tile: uniform(u32), tileColumns: uniform(u32), pitch: uniform(u32) },
};
const LIMITS = { masks: array(u32), visible: array(u32) };
const ROW = {
  ...{ row: u32, column: u32, word: u32, bits: u32 },
  ...{ entries: u32, from: u32, height: u32 },
};
const ROWS = {
  ...{ zone: array(u32), row: array(u32), column: array(u32), word: array(u32), bits: array(u32) },
  ...{ entries: array(u32), from: array(u32), height: array(u32) },
};
const HOMES = { home1: uniform(u32), home2: uniform(u32) };

const variantOf = createVariants<Classifier, ReturnType<typeof defineFunctors>>(2);

function functorsOf(classifier: Classifier, sample: Sample, folds: readonly WeightedFold[], isLimited: boolean) {
  const key = [isLimited, ...folds.map(({ name }) => name)].join();
  return variantOf(classifier, key, () => defineFunctors(classifier, sample, folds, isLimited));
}

type Rows = { readonly [field in keyof typeof ROW]: U32 };
type Given = { readonly [field in 'areas' | 'cells' | 'tileStarts']: ArrayValue<'u32'> } & {
  readonly [field in 'masks' | 'visible']?: ArrayValue<'u32'>;
} & {
  readonly [field in 'tile' | 'tileColumns' | 'pitch']: U32;
};

/** The functor that folds a row of cells, and the one that gives cell `index % 32` of row `index / 32`. */
function defineFunctors(classifier: Classifier, sample: Sample, folds: readonly WeightedFold[], isLimited: boolean) {
  const captures = { ...CAPTURES, ...(isLimited && LIMITS), ...classifier.parameters } as typeof CAPTURES;
  const ordered = (raw: Words): Words => (isFloat(sample) ? raw : orderedRaw(sample, raw));
  const firstCell = ({ row, column }: Rows, { tile, tileColumns, tileStarts, pitch }: Given): U32 => {
    const [down, right] = [Let(row.div(tile)), Let(column.div(tile))];
    const start = tileStarts.at(down.mul(tileColumns).add(right));
    return start.add(row.sub(down.mul(tile)).mul(pitch)).add(column.sub(right.mul(tile)));
  };
  const countedOf = ({ word, bits }: Rows, { masks }: Given): U32 => (masks ? bits.and(masks.at(word)) : bits);
  const weightOf = (row: Rows, rank: U32, { areas }: Given): U32 => bitsToU32(shareOf(row, rank, areas)).sub(ONE);
  const ofRow = fn('outlineRow', { ...ROW, ...(isFloat(sample) && HOMES), ...captures }, rowShape(folds), (all) => {
    const { home1, home2, ...captured } = all as unknown as Rows & Given & { readonly home1: U32; readonly home2: U32 };
    const parts = folds.map((fold) => fold.begin({ 1: home1, 2: home2 }));
    const mask = Let(countedOf(captured, captured));
    const seen = Let(captured.visible?.at(all.word) ?? mask);
    const first = Let(firstCell(all, all));
    For(ctz(mask), u32(32).sub(clz(mask)), (rank) => {
      If(mask.shr(rank).and(1).eq(1), () => {
        const weight = Let(weightOf(all, rank, all));
        const raw = classifier.cellAt(all.cells, first.add(rank));
        const isSeen = seen.shr(rank).and(1).eq(1);
        If(isSeen.and(classifier.isData(raw, captured as unknown as Captured)), () => {
          for (const part of parts) part.take(ordered(raw), weight);
        }).Else(() => {
          for (const part of parts) part.lack?.(weight);
        });
      });
    });
    return namedWords(folds, (_, at) => parts[at]!.words) as never;
  });
  const ofCell = fn(
    'outlineCell',
    { index: u32, ...ROWS, ...captures },
    { zone: u32, raw: u32, high: u32, weight: u32 },
    ({ index, zone, row, column, word, bits, entries, from, height, ...given }) => {
      const at = index.shr(5);
      const rank = index.and(31);
      const own = {
        ...{ row: row.at(at), column: column.at(at), word: word.at(at), bits: bits.at(at) },
        ...{ entries: entries.at(at), from: from.at(at), height: height.at(at) },
      };
      const raw = classifier.cellAt(given.cells, firstCell(own, given).add(rank));
      const counted = countedOf(own, given);
      const seen = (given as Given).visible?.at(own.word) ?? counted;
      const isIn = counted.and(seen).shr(rank).and(1).eq(1);
      const isTaken = isIn.and(classifier.isData(raw, given as unknown as Captured));
      return {
        zone: select(u32(ABSENT), zone.at(at), isTaken),
        ...{ raw: raw[0]!, high: raw[1] ?? u32(0), weight: weightOf(own, rank, given) },
      };
    },
  );
  return { ofRow, ofCell };
}
