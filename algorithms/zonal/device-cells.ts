import { type Column, type Context, decodeTiles } from '../../primitives/index.ts';
import {
  type EncodedCells,
  type NarrowSample,
  type RasterSource,
  SAMPLE_BYTES,
  type Sample,
} from '../geometry/raster.ts';
import { cellColumn } from './binning.ts';
import { isEncoded, type PlacedCells } from './cell-places.ts';

type CellFormat = 'u8' | 'u16' | 'u32';

const FORMATS = { 1: 'u8', 2: 'u16', 4: 'u32' } as const;

/** The format of the stored bits of a cell. */
export function cellFormat(sample: Sample): CellFormat {
  // Cells of 64 bits are never encoded.
  return FORMATS[SAMPLE_BYTES[sample as NarrowSample]];
}

/** Encoded cells on the device. */
export interface EncodedColumns {
  readonly words: Column<'u32'>;
  readonly start: Column<'u32'>;
  readonly first: Column<'u32'>;
  /** What the device found of damage. */
  readonly damage: Column<'u32'>;
}

/** Encoded cells on the device, which checks them. */
export function encodedColumns(context: Context, cells: EncodedCells): EncodedColumns {
  const words = cells.wordsOn(context);
  const damage = cells.findDamage(context, words);
  return { words, start: context.column(cells.start), first: context.column(cells.first), damage };
}

/** The stored bits of the cells of a window on the device, which decodes them if need be. */
export function deviceCells(
  context: Context,
  { sample, blockColumns, blockRows }: RasterSource,
  { cells }: PlacedCells,
): { readonly column: Column<'u32'>; readonly damage?: Column<'u32'> } {
  if (!isEncoded(cells)) return { column: cellColumn(context, cells) };
  const { words, start, first, damage } = encodedColumns(context, cells);
  const options = { columns: blockColumns, rows: blockRows, as: cellFormat(sample) };
  return { column: decodeTiles(words, { start, first }, options), damage };
}
