import { type Column, type Context, decodeTiles } from '../../primitives/index.ts';
import { type RasterSource, SAMPLE_BYTES } from '../geometry/raster.ts';
import { cellColumn } from './binning.ts';
import { isEncoded, type PlacedCells } from './cell-places.ts';

/** Formats of decoded cells, by the bytes of a sample. */
const FORMATS = { 1: 'u8', 2: 'u16', 4: 'u32' } as const;

/** The cells of a window on the device. */
interface DeviceCells {
  readonly column: Column<'u32'>;
  /** What the device found of damage in encoded cells. Undefined for cells that the host has decoded. */
  readonly damage?: Column<'u32'>;
}

/** The stored bits of cells, which the device decodes and checks if need be. */
export function deviceCells(
  context: Context,
  { sample, blockColumns, blockRows }: RasterSource,
  { cells }: PlacedCells,
): DeviceCells {
  if (!isEncoded(cells)) return { column: cellColumn(context, cells) };
  const tiles = { start: context.column(cells.start), first: context.column(cells.first) };
  const as = FORMATS[SAMPLE_BYTES[sample]];
  const words = context.column(cells.words);
  const damage = cells.findDamage(context, words);
  return { column: decodeTiles(words, tiles, { columns: blockColumns, rows: blockRows, as }), damage };
}
