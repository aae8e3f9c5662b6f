import { scaleLength } from '../../primitives/columns/length.ts';
import { If, Let, Var } from '../../primitives/functors/control.ts';
import { array, fn, type Parameters, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { ArrayValue, U32 } from '../../primitives/functors/value.ts';
import { type Column, type Context, copyIf, map, reduceByKey, sequence } from '../../primitives/index.ts';
import { createVariants } from '../../primitives/ir/memo.ts';
import { isFloat, type Sample } from '../geometry/raster.ts';
import { forEachBit } from '../plain-functors.ts';
import type { Captured, Classifier } from './binning.ts';
import type { Coverage } from './coverage.ts';
import type { Float, HomeGroups } from './exact-sums.ts';
import { digitsName, namedWords, type Words, wordsIn, type ZoneFold } from './fold.ts';
import {
  countedOf,
  firstCell,
  OUTLINE_ROW,
  type OutlineCells,
  type OutlineGiven,
  outlineCaptures,
  outlineGiven,
  weightOf,
} from './outline-cells.ts';
import { shifted } from './power-sums.ts';
import { flawOf, foldsOfWeights, type ProductFold, productFolds, productsOf } from './product-sums.ts';
import { ABSENT, type WindowPlan } from './window-plan.ts';
import { orderedRaw, type ZoneRows, zoneRows } from './zone-cells.ts';
import { isWide, rowShape, type WindowFolds, wideDigits, wordsOfFolds, zoneFunctors } from './zone-folds.ts';

/** The weights of the cells of a window, on the device, in the same places as the values. */
interface WeightColumn {
  readonly cells: Column<'u32'>;
  readonly sample: Float;
}

/** What is needed of a window besides its rows. */
interface WeightedWindow {
  readonly sample: Sample;
  readonly cells: Column<'u32'>;
  readonly weights: WeightColumn;
  readonly classifier: Classifier;
  readonly homes: HomeGroups;
  /** How many of Σw, Σwx and Σwx² are wanted. */
  readonly powers: number;
}

/** Folds the cells of zones with their weights. */
export function weightedSums(context: Context, zones: Coverage, window: WeightedWindow): WindowFolds {
  return context.scope(() => {
    const rows = zoneRows(context, zones) as Pick<ZoneRows, 'zone' | 'cell' | 'mask'>;
    const { captures } = window.classifier;
    const given = { cells: window.cells, weightCells: window.weights.cells, ...captures };
    return foldProducts(context, window, 'rows', rows, given, zones.plan);
  });
}

/** Folds the cells on outlines with their weights and shares: what the sums differ from those of whole cells. */
export function weightedOutlineSums(
  context: Context,
  met: OutlineCells,
  coverage: Pick<Coverage, 'plan' | 'tileStarts' | 'pitch'>,
  window: WeightedWindow,
): WindowFolds {
  return context.scope(() => {
    const { areas: _, inside: __, ...rows } = met.outlines;
    const given = {
      ...outlineGiven(context, met, coverage, window.cells, window.classifier),
      weightCells: window.weights.cells,
    };
    return foldProducts(context, window, met.limits ? 'limited' : 'outlines', rows, given, coverage.plan);
  });
}

/** Number of words that the sums take. */
export function weightedSumWords({ words, zones }: WindowPlan, folds: readonly ZoneFold[]): number {
  return wordsOfFolds(folds, 8, words, zones.length);
}

type Columns = { readonly [name: string]: Column<'u32'> };

function foldProducts(
  context: Context,
  window: WeightedWindow,
  kind: RowKind,
  rows: Columns,
  given: { readonly [name: string]: Column | number },
  plan: WindowPlan,
): WindowFolds {
  const { sample, weights, classifier, homes, powers } = window;
  const folds = foldsOfWeights(sample, weights.sample, powers, kind !== 'rows');
  const { ofRow, ofCell } = functorsOf(classifier, sample, weights.sample, powers, kind);
  const ownHomes = { home0: homes.w0 ?? 0, home1: homes.w1 ?? 0, home2: homes.w2 ?? 0 };
  const words = context.materialize(map(ofRow, { ...rows, ...given, ...ownHomes } as never)) as Columns;
  const { widen, combine } = zoneFunctors(folds);
  const { keys, values } = reduceByKey(rows.zone!, widen ? map(widen, words as never) : words, combine);
  const products = productFolds(sample, weights.sample, powers, kind !== 'rows');
  const digits = products.map((fold, power) => {
    const wide = copyIf(rows, map(isWide, { wide: wordsIn(fold, words, fold.rowWords).at(-1)! }));
    const index = sequence(scaleLength(context, wide.zone!.length, 32));
    const place = { layout: fold.sums, zones: plan.zones.length, home: homes[fold.key] ?? 0 };
    const counters = wideDigits(context, ofCell[power]!, { index, ...wide, ...given } as never, place);
    return [digitsName(fold), counters] as const;
  });
  return { zone: keys, ...(values as Columns), ...Object.fromEntries(digits) };
}

/** Rows of cells of zones, or of cells on outlines: of all, or within limits. */
type RowKind = 'rows' | 'outlines' | 'limited';

const variantOf = createVariants<Classifier, ReturnType<typeof defineFunctors>>(4);

function functorsOf(classifier: Classifier, sample: Sample, weights: Float, powers: number, kind: RowKind) {
  const key = [weights, powers, kind].join();
  return variantOf(classifier, key, () => defineFunctors(classifier, sample, weights, powers, kind));
}

type Fields = { readonly [field: string]: U32 };
type Arrays = { readonly [field: string]: ArrayValue<'u32'> };

/** A row of cells, in the code of functors. */
interface WeightedRow {
  /** The bits of the cells that count and are visible. */
  readonly mask: U32;
  raw(rank: U32): Words;
  weight(rank: U32): Words;
  share(rank: U32): U32 | undefined;
}

const HOMES = { home0: uniform(u32), home1: uniform(u32), home2: uniform(u32) };

/** The functor that folds a row of cells, and for each power the one that gives a byte of cell `index % 32` of row `index / 32`. */
function defineFunctors(classifier: Classifier, sample: Sample, weights: Float, powers: number, kind: RowKind) {
  const folds = foldsOfWeights(sample, weights, powers, kind !== 'rows');
  const products = productFolds(sample, weights, powers, kind !== 'rows');
  const fields: { readonly [field: string]: typeof u32 } = kind === 'rows' ? { cell: u32, mask: u32 } : OUTLINE_ROW;
  const captures = {
    ...(kind === 'rows'
      ? { cells: array(u32), ...classifier.parameters }
      : outlineCaptures(classifier, kind === 'limited')),
    weightCells: array(u32),
  } as unknown as Parameters;
  const wordsAt = (cells: ArrayValue<'u32'>, at: U32): Words =>
    weights === 'f64' ? [cells.at(at.shl(1)), cells.at(at.shl(1).add(1))] : [cells.at(at)];
  const rowOf = (row: Fields, given: Arrays & Fields): WeightedRow => {
    if (kind === 'rows') {
      return {
        mask: row.mask!,
        raw: (rank) => classifier.cellAt(given.cells as never, row.cell!.add(rank)),
        weight: (rank) => wordsAt(given.weightCells as never, row.cell!.add(rank)),
        share: () => undefined,
      };
    }
    const [own, outline] = [row as never, given as unknown as OutlineGiven];
    const counted = countedOf(own, outline);
    const first = Let(firstCell(own, outline));
    return {
      mask: outline.visible ? counted.and(outline.visible.at(row.word!)) : counted,
      raw: (rank) => classifier.cellAt(outline.cells, first.add(rank)),
      weight: (rank) => wordsAt(given.weightCells as never, first.add(rank)),
      share: (rank) => weightOf(own, rank, outline),
    };
  };
  const wordsOf = (raw: Words): Words => (isFloat(sample) ? raw : orderedRaw(sample, raw));
  const ofRow = fn('productRow', { ...fields, ...HOMES, ...captures }, rowShape(folds), (all) => {
    const given = all as unknown as Fields & Arrays;
    const row = rowOf(given, given as never);
    const parts = products.map((fold, power) => fold.begin(given[`home${power}`] as never));
    const unweighted = Var(u32(0));
    const mask = Let(row.mask);
    forEachBit(mask, (rank) => {
      const raw = row.raw(rank).map((word) => Let(word));
      If(classifier.isData(raw, given as unknown as Captured), () => {
        const weight = row.weight(rank).map((word) => Let(word));
        const share = row.share(rank);
        const own = productsOf(products, sample, weights, wordsOf(raw), weight, share && Let(share));
        for (const [power, part] of parts.entries()) part.take(own[power]!);
        if (kind === 'rows') unweighted.set(unweighted.or(flawOf(weights, weight)));
      });
    });
    const words = [...(kind === 'rows' ? [[unweighted]] : []), ...parts.map((part) => part.words)];
    return namedWords(folds, (_, at) => words[at]!) as never;
  });
  const names = ['zone', ...Object.keys(fields)];
  const ofCell = products.map((fold: ProductFold, power) =>
    fn(
      'productDigit',
      {
        index: u32,
        ...Object.fromEntries(names.map((name) => [name, array(u32)])),
        ...captures,
        ...{ byte: uniform(u32), home: uniform(u32) },
      } as unknown as { index: typeof u32 },
      { counter: u32, value: u32 },
      (all) => {
        const given = all as unknown as Fields &
          Arrays & { readonly index: U32; readonly byte: U32; readonly home: U32 };
        const at = Let(given.index.shr(5));
        const rank = Let(given.index.and(31));
        const stored = Object.fromEntries(names.map((name) => [name, Let((given as Arrays)[name]!.at(at))]));
        const row = rowOf(stored, given as never);
        const raw = row.raw(rank).map((word) => Let(word));
        const isIn = row.mask
          .shr(rank)
          .and(1)
          .eq(1)
          .and(classifier.isData(raw, given as unknown as Captured));
        const own = products.slice(0, power + 1);
        const product = productsOf(own, sample, weights, wordsOf(raw), row.weight(rank), row.share(rank))[power]!;
        const place = Let(product.place);
        const words = shifted(product.magnitude, place.and(7));
        const word = words.reduce((found, next, i) => select(found, next, given.byte.shr(2).eq(i)));
        const { counters } = fold.sums;
        const counter = stored.zone!.mul(counters).add(place.shr(3)).add(given.byte);
        const isFar = given.home.sub(place.shr(5)).gt(1);
        return {
          counter: select(u32(ABSENT), counter.add(product.sign.mul(counters / 2)), isIn.and(isFar)),
          value: word.shr(given.byte.and(3).shl(3)).and(0xff),
        };
      },
    ),
  );
  return { ofRow, ofCell };
}
