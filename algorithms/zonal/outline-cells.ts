import { Let } from '../../primitives/functors/control.ts';
import { type ArrayParameter, array, type Parameters, u32, uniform } from '../../primitives/functors/functor.ts';
import { bitsToU32 } from '../../primitives/functors/standard/bits.ts';
import type { ArrayValue, U32 } from '../../primitives/functors/value.ts';
import type { Column, Context } from '../../primitives/index.ts';
import type { Classifier } from './binning.ts';
import type { Coverage } from './coverage.ts';
import { ONE } from './fractions/line-numbers.ts';
import { type Outlines, shareOf } from './fractions/window-fractions.ts';

/** The cells of a window that outlines enter. */
export interface OutlineCells {
  readonly outlines: Outlines;
  /**
   * The bitmaps of the cells that no other raster holds, and of those of these that the raster's mask does not hide.
   * Undefined if these are all cells.
   */
  readonly limits?: { readonly masks: Column<'u32'>; readonly visible: Column<'u32'> } | undefined;
}

/** The fields of a row of 32 cells that a functor takes, each a word. */
export const OUTLINE_ROW: { readonly [field in RowField]: typeof u32 } = {
  row: u32,
  column: u32,
  word: u32,
  bits: u32,
  entries: u32,
  from: u32,
  height: u32,
};

type RowField = 'row' | 'column' | 'word' | 'bits' | 'entries' | 'from' | 'height';

/** The same of all rows, as arrays, with their zones. */
export const OUTLINE_ROWS: { readonly [field in RowField | 'zone']: ArrayParameter<'u32'> } = {
  zone: array(u32),
  row: array(u32),
  column: array(u32),
  word: array(u32),
  bits: array(u32),
  entries: array(u32),
  from: array(u32),
  height: array(u32),
};

const CAPTURES: Captures = {
  areas: array(u32),
  cells: array(u32),
  tileStarts: array(u32),
  tile: uniform(u32),
  tileColumns: uniform(u32),
  pitch: uniform(u32),
};
interface Captures extends Parameters {
  readonly areas: ArrayParameter<'u32'>;
  readonly cells: ArrayParameter<'u32'>;
  readonly tileStarts: ArrayParameter<'u32'>;
  readonly tile: ReturnType<typeof uniform<'u32'>>;
  readonly tileColumns: ReturnType<typeof uniform<'u32'>>;
  readonly pitch: ReturnType<typeof uniform<'u32'>>;
}

const LIMITS = { masks: array(u32), visible: array(u32) };

/** What functors of cells on outlines capture, with the parameters of a classifier. */
export function outlineCaptures({ parameters }: Classifier, isLimited: boolean): Captures {
  return { ...CAPTURES, ...(isLimited && LIMITS), ...parameters } as Captures;
}

/** The values of {@link outlineCaptures}. */
export function outlineGiven(
  context: Context,
  { outlines, limits }: OutlineCells,
  { plan, tileStarts, pitch }: Pick<Coverage, 'plan' | 'tileStarts' | 'pitch'>,
  cells: Column<'u32'>,
  { captures }: Classifier,
): { readonly [name: string]: Column | number } {
  const { tile, tileColumns } = plan;
  return {
    ...{ areas: outlines.areas, ...limits, cells, tileStarts: context.column(tileStarts) },
    ...{ tile, tileColumns, pitch },
    ...captures,
  };
}

type Row = { readonly [field in RowField]: U32 };

/** The captures, in the code of functors. */
export type OutlineGiven = { readonly [field in 'areas' | 'cells' | 'tileStarts']: ArrayValue<'u32'> } & {
  readonly [field in 'masks' | 'visible']?: ArrayValue<'u32'>;
} & {
  readonly [field in 'tile' | 'tileColumns' | 'pitch']: U32;
};

/** Where a raster stores the first cell of a row. */
export function firstCell({ row, column }: Row, { tile, tileColumns, tileStarts, pitch }: OutlineGiven): U32 {
  const [down, right] = [Let(row.div(tile)), Let(column.div(tile))];
  const start = tileStarts.at(down.mul(tileColumns).add(right));
  return start.add(row.sub(down.mul(tile)).mul(pitch)).add(column.sub(right.mul(tile)));
}

/** The bits of the cells of a row that no other raster holds. */
export function countedOf({ word, bits }: Row, { masks }: OutlineGiven): U32 {
  return masks ? bits.and(masks.at(word)) : bits;
}

/** What the share of a cell differs from a whole cell. */
export function weightOf(row: Row, rank: U32, { areas }: OutlineGiven): U32 {
  return bitsToU32(shareOf(row, rank, areas)).sub(ONE);
}
