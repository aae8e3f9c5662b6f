import { scaleLength } from '../../primitives/columns/length.ts';
import { If, Let } from '../../primitives/functors/control.ts';
import { fn, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { U32 } from '../../primitives/functors/value.ts';
import { type Column, type Context, copyIf, map, reduceByKey, sequence } from '../../primitives/index.ts';
import { createVariants } from '../../primitives/ir/memo.ts';
import { isFloat, type Sample } from '../geometry/raster.ts';
import { forEachBit } from '../plain-functors.ts';
import type { Captured, Classifier } from './binning.ts';
import type { Coverage } from './coverage.ts';
import { WEIGHTED } from './exact-sums.ts';
import { digitsName, namedWords, type WeightedFold, type Words, wordsIn } from './fold.ts';
import {
  countedOf,
  firstCell,
  OUTLINE_ROW,
  OUTLINE_ROWS,
  type OutlineCells,
  type OutlineGiven,
  outlineCaptures,
  outlineGiven,
  weightOf,
} from './outline-cells.ts';
import { WEIGHTED_DIGITS } from './power-sums.ts';
import { ABSENT, type WindowPlan } from './window-plan.ts';
import { orderedRaw } from './zone-cells.ts';
import {
  type FoldedCells,
  isWide,
  rowShape,
  type WindowFolds,
  wideDigits,
  wordsOfFolds,
  zoneFunctors,
} from './zone-folds.ts';

/**
 * Folds the cells of a window that outlines enter, each with the weight by which its share differs from a whole cell. This
 * is what statistics by fractions differ from those of all cells that share area with a zone.
 *
 * - Work O(cells on outlines). Exact.
 */
export function outlineSums(
  context: Context,
  folds: readonly WeightedFold[],
  met: OutlineCells,
  coverage: Pick<Coverage, 'plan' | 'tileStarts' | 'pitch'>,
  { sample, cells, classifier, homes }: FoldedCells,
): WindowFolds {
  return context.scope(() => {
    const { areas: _, ...rows } = met.outlines;
    const given = outlineGiven(context, met, coverage, cells, classifier);
    const { ofRow, ofCell } = functorsOf(classifier, sample, folds, met.limits !== undefined);
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
      const place = { layout: WEIGHTED[sample][power], zones: coverage.plan.zones.length, home: homes[power] };
      return [[digitsName(fold), wideDigits(context, WEIGHTED_DIGITS[sample][power], found, place)] as const];
    });
    return { zone: keys, ...(values as Columns), ...Object.fromEntries(digits) };
  });
}

type Columns = { readonly [name: string]: Column<'u32'> };

/** Number of words that {@link outlineSums} takes, for outlines of at most so many rows. */
export function outlineSumWords({ zones }: WindowPlan, rows: number, folds: readonly WeightedFold[]): number {
  return wordsOfFolds(folds, 2, rows, zones.length);
}

const HOMES = { home1: uniform(u32), home2: uniform(u32) };

const variantOf = createVariants<Classifier, ReturnType<typeof defineFunctors>>(2);

function functorsOf(classifier: Classifier, sample: Sample, folds: readonly WeightedFold[], isLimited: boolean) {
  const key = [isLimited, ...folds.map(({ name }) => name)].join();
  return variantOf(classifier, key, () => defineFunctors(classifier, sample, folds, isLimited));
}

type Given = Parameters<typeof firstCell>[0] & OutlineGiven;

/** The functor that folds a row of cells, and the one that gives cell `index % 32` of row `index / 32`. */
function defineFunctors(classifier: Classifier, sample: Sample, folds: readonly WeightedFold[], isLimited: boolean) {
  const captures = outlineCaptures(classifier, isLimited);
  const ordered = (raw: Words): Words => (isFloat(sample) ? raw : orderedRaw(sample, raw));
  const ofRow = fn(
    'outlineRow',
    { ...OUTLINE_ROW, ...(isFloat(sample) && HOMES), ...captures },
    rowShape(folds),
    (all) => {
      const { home1, home2, ...captured } = all as unknown as Given & { readonly home1: U32; readonly home2: U32 };
      const parts = folds.map((fold) => fold.begin({ 1: home1, 2: home2 }));
      const mask = Let(countedOf(captured, captured));
      const seen = Let(captured.visible?.at(all.word) ?? mask);
      const first = Let(firstCell(all, all));
      forEachBit(mask, (rank) => {
        const weight = Let(weightOf(all, rank, all));
        const raw = classifier.cellAt(all.cells, first.add(rank));
        const isSeen = seen.shr(rank).and(1).eq(1);
        If(isSeen.and(classifier.isData(raw, captured as unknown as Captured)), () => {
          for (const part of parts) part.take(ordered(raw), weight);
        }).Else(() => {
          for (const part of parts) part.lack?.(weight);
        });
      });
      return namedWords(folds, (_, at) => parts[at]!.words) as never;
    },
  );
  const ofCell = fn(
    'outlineCell',
    { index: u32, ...OUTLINE_ROWS, ...captures },
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
      const seen = (given as OutlineGiven).visible?.at(own.word) ?? counted;
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
