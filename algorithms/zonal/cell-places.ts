import type { BlockCells, Cells, EncodedCells, RasterSource } from '../geometry/raster.ts';
import { meetsZones, type WindowPlan } from './window-plan.ts';

/** The cells of a window, and where each tile is stored. */
export interface PlacedCells {
  readonly cells: Cells | EncodedCells;
  /** For each tile, the index of its first cell in `cells`, or in what is decoded of them. Tiles are numbered row by row. */
  readonly tileStarts: Uint32Array;
  /** Distance in cells from one row of a tile to the next. */
  readonly pitch: number;
}

/**
 * Reads the cells that the zones of a window need. Reads block by block if the raster can read single blocks and no
 * tile crosses a border of blocks. In this case, the cells of a tile are close together, and blocks without zones take
 * no memory. Leaves decoding to the device if the raster can be read without. Otherwise reads row by row.
 */
export async function readCells(raster: RasterSource, plan: WindowPlan, signal: AbortSignal): Promise<PlacedCells> {
  const isWanted = meetsZones(plan);
  const { blockColumns, blockRows } = raster;
  if (readsEncoded(raster, plan)) {
    const cells = await raster.readEncoded!(plan.window, signal, isWanted);
    const starts = cells.places.map((place) => place * blockColumns * blockRows);
    return { ...placeBlocks(plan, blockColumns, blockRows, { cells: NONE, starts }), cells };
  }
  if (raster.readBlocks !== undefined && isCutAlongBlocks(raster, plan)) {
    return placeBlocks(plan, blockColumns, blockRows, await raster.readBlocks(plan.window, signal, isWanted));
  }
  return placeRows(plan, await raster.read(plan.window, signal, isWanted));
}

const NONE: Cells = new Uint8Array();

/** Whether {@link readCells} leaves decoding to the device. */
export function readsEncoded(raster: RasterSource, plan: WindowPlan): boolean {
  return raster.readEncoded !== undefined && isCutAlongBlocks(raster, plan);
}

function isCutAlongBlocks(
  { width, height, blockColumns, blockRows }: RasterSource,
  { window, tile }: WindowPlan,
): boolean {
  const right = window.column + window.columns;
  const bottom = window.row + window.rows;
  return (
    blockColumns % tile === 0 &&
    blockRows % tile === 0 &&
    window.column % blockColumns === 0 &&
    window.row % blockRows === 0 &&
    (right % blockColumns === 0 || right === width) &&
    (bottom % blockRows === 0 || bottom === height)
  );
}

export function isEncoded(cells: PlacedCells['cells']): cells is EncodedCells {
  return 'words' in cells;
}

export function bytesOf(cells: PlacedCells['cells']): number {
  if (!isEncoded(cells)) return cells.byteLength;
  return cells.words.byteLength + (cells.hidden?.bits.byteLength ?? 0);
}

/** Finds where each tile of a window starts in `cells`, which are stored row by row. */
export function placeRows({ window, tile, tileColumns, tileRows }: WindowPlan, cells: Cells): PlacedCells {
  const pitch = window.columns;
  const tileStarts = Uint32Array.from({ length: tileColumns * tileRows }, (_, at) => {
    const down = Math.floor(at / tileColumns);
    return (down * pitch + at - down * tileColumns) * tile;
  });
  return { cells, tileStarts, pitch };
}

function placeBlocks(
  { window, tile, tileColumns, tileRows }: WindowPlan,
  blockColumns: number,
  blockRows: number,
  { cells, starts }: BlockCells,
): PlacedCells {
  const [tilesAcross, tilesDown] = [blockColumns / tile, blockRows / tile];
  const blocksAcross = Math.ceil(window.columns / blockColumns);
  const tileStarts = Uint32Array.from({ length: tileColumns * tileRows }, (_, at) => {
    const down = Math.floor(at / tileColumns);
    const right = at - down * tileColumns;
    const block = Math.floor(down / tilesDown) * blocksAcross + Math.floor(right / tilesAcross);
    return starts[block]! + ((down % tilesDown) * blockColumns + (right % tilesAcross)) * tile;
  });
  return { cells, tileStarts, pitch: blockColumns };
}
