import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import type { Context } from '../../primitives/index.ts';
import {
  type BlockBits,
  type Cells,
  type EncodedCells,
  isOfWholeBlocks,
  type RasterSource,
} from '../geometry/raster.ts';
import { meetsZones, type WindowPlan } from './window-plan.ts';

/** Weights of cells, row by row. NaN stands for those that are not numbers. */
export type WeightCells = Float32Array | Float64Array;

/** The cells of a window, and where each tile is stored. */
export interface PlacedCells {
  readonly cells: Cells | EncodedCells;
  /** For each tile, the index of its first cell in `cells`, or in what is decoded of them. Tiles are numbered row by row. */
  readonly tileStarts: Uint32Array;
  /** Distance in cells from one row of a tile to the next. */
  readonly pitch: number;
  /** A bit for each cell without data, by tiles. Undefined if no cell is hidden. */
  readonly hidden?: BlockBits | undefined;
  /** The weights of the cells, in the same places. NaN stands for those that are not numbers. */
  readonly weights?: WeightCells | undefined;
}

/**
 * Reads the cells that the zones of a window need. Reads block by block if the raster can read single blocks and no
 * tile crosses a border of blocks. In this case, the cells of a tile are close together, and blocks without zones take
 * no memory. Leaves decoding to the device if the raster can be read without. Otherwise reads row by row.
 *
 * @param isAlike - Whether cells from a smallest to a largest stored value need not be told apart.
 * @param context - The context that will count the cells.
 */
export async function readCells(
  raster: RasterSource,
  plan: WindowPlan,
  signal: AbortSignal,
  isAlike?: (smallest: number, largest: number) => boolean,
  context?: Context,
): Promise<PlacedCells> {
  const isWanted = meetsZones(plan);
  const { blockColumns, blockRows } = raster;
  const place = (starts: Uint32Array): Uint32Array =>
    startsOfTiles(plan, raster, starts, plan.tile * blockColumns, plan.tile);
  if (readsEncoded(raster, plan)) {
    const cells = await raster.readEncoded!(plan.window, signal, isWanted, isAlike, context);
    const size = blockColumns * blockRows;
    const tileStarts = place(cells.places.map((place) => place * size));
    const hidden = cells.hidden && bitsOfTiles(plan, raster, cells.hidden);
    return { cells, tileStarts, pitch: blockColumns, hidden };
  }
  if (raster.readBlocks !== undefined && isCutAlongBlocks(raster, plan)) {
    const { cells, starts } = await raster.readBlocks(plan.window, signal, isWanted);
    return { cells, tileStarts: place(starts), pitch: blockColumns };
  }
  return readRows(raster, plan, signal);
}

/** Reads the cells that the zones of a window need, row by row. */
export async function readRows(raster: RasterSource, plan: WindowPlan, signal: AbortSignal): Promise<PlacedCells> {
  return placeRows(plan, await raster.read(plan.window, signal, meetsZones(plan)));
}

/** Whether {@link readCells} leaves decoding to the device. */
export function readsEncoded(raster: RasterSource, plan: WindowPlan): boolean {
  return raster.readEncoded !== undefined && isCutAlongBlocks(raster, plan);
}

function isCutAlongBlocks(raster: RasterSource, { window, tile }: WindowPlan): boolean {
  return raster.blockColumns % tile === 0 && raster.blockRows % tile === 0 && isOfWholeBlocks(window, raster);
}

export function isEncoded(cells: PlacedCells['cells']): cells is EncodedCells {
  return 'wordsOn' in cells;
}

export function bytesOf({ cells, hidden, weights }: PlacedCells): number {
  const others = (hidden?.bits.byteLength ?? 0) + (weights?.byteLength ?? 0);
  return (isEncoded(cells) ? cells.bytes : cells.byteLength) + others;
}

/** Finds where each tile of a window starts in `cells`, which are stored row by row. */
export function placeRows({ window, tile, tileColumns, tileRows }: WindowPlan, cells: Cells): PlacedCells {
  const pitch = window.columns;
  const tileStarts = new Uint32Array(tileColumns * tileRows);
  for (let down = 0, at = 0; down < tileRows; down++) {
    for (let right = 0; right < tileColumns; right++) tileStarts[at++] = (down * pitch + right) * tile;
  }
  return { cells, tileStarts, pitch };
}

/**
 * Where each tile of a window of whole blocks starts. `starts` says where blocks do, `rowSize` is the size of a row of
 * tiles in a block, and `size` that of a row of a tile. The tiles of a block that starts at `absent` start there too.
 */
function startsOfTiles(
  { window, tile, tileColumns, tileRows }: WindowPlan,
  { blockColumns, blockRows }: RasterSource,
  starts: Uint32Array,
  rowSize: number,
  size: number,
  absent?: number,
): Uint32Array {
  const [tilesAcross, tilesDown] = [blockColumns / tile, blockRows / tile];
  const blocksAcross = Math.ceil(window.columns / blockColumns);
  const tileStarts = new Uint32Array(tileColumns * tileRows);
  for (let down = 0, at = 0; down < tileRows; down++) {
    const block = Math.floor(down / tilesDown) * blocksAcross;
    const row = (down % tilesDown) * rowSize;
    for (let right = 0; right < tileColumns; right++, at++) {
      const start = starts[block + Math.floor(right / tilesAcross)]!;
      tileStarts[at] = start === absent ? absent : start + row + (right % tilesAcross) * size;
    }
  }
  return tileStarts;
}

/** The bits of a window of whole blocks by tiles, given by blocks. */
function bitsOfTiles(plan: WindowPlan, raster: RasterSource, { bits, starts, pitch }: BlockBits): BlockBits {
  const { tile } = plan;
  return { bits, starts: startsOfTiles(plan, raster, starts, tile * pitch, tile / 32, 0), pitch };
}
