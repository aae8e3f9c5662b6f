import { memoized } from '../../primitives/ir/memo.ts';
import type { RasterGrid, Window } from '../geometry/raster.ts';

/** Boxes around parts of the zones, in cells of the raster. `endColumn` and `endRow` are exclusive. */
export interface ZoneBoxes {
  readonly firstColumn: Float64Array;
  readonly endColumn: Float64Array;
  readonly firstRow: Float64Array;
  readonly endRow: Float64Array;
  /**
   * The zone or the further sheet to which each box belongs. A sheet is a group of parts that do not overlap. The first
   * sheet of a zone has the zone's number; further sheets are numbered after all zones. Several boxes may belong to the
   * same zone or sheet: if its parts lie far apart, or if longitudes wrap around.
   */
  readonly zone: Uint32Array;
  /** The zone of each further sheet (see `zone`). Undefined if there are no further sheets. */
  readonly furtherOf?: Uint32Array | undefined;
}

/** Positions of the words in a row of the table of zones; see {@link WindowPlan.table}. */
export const ZONE_FIELDS = {
  /** Index of the first word of the zone's bitmap. */
  word: 0,
  firstTileRow: 1,
  firstTileColumn: 2,
  tileColumns: 3,
  tiles: 4,
} as const;
export const ZONE_STRIDE = 5;

/** Number that stands for a zone that is not in the window. */
export const ABSENT: number = 2 ** 32 - 1;

/**
 * The zones in a window, each with the rectangle of tiles around it. The tiles serve as the spatial index that Zhang
 * and Wang 2014 call a grid file.
 */
export interface WindowPlan {
  readonly window: Window;
  readonly tile: number;
  readonly tileColumns: number;
  readonly tileRows: number;
  /** Rectangles of tiles that the boxes of the zones overlap. All other tiles have no cell of a zone. */
  readonly rectangles: readonly TileRectangle[];
  /** The zones in the window, given by their numbers in the job, ascending. */
  readonly zones: Uint32Array;
  /**
   * For each zone and each further sheet (see {@link ZoneBoxes.zone}) of the job, the row in `table`, or {@link ABSENT}
   * for a zone or sheet that is not in the window. The row of a zone is also the zone's index in the window.
   */
  readonly local: Uint32Array;
  /**
   * The table of zones: {@link ZONE_STRIDE} words for each zone of the window, then as many words for each further
   * sheet (group of parts that do not overlap).
   */
  readonly table: Uint32Array;
  /** For each further sheet (see {@link ZoneBoxes.zone}) in the window, the index of its zone in the window. */
  readonly furtherOf: Uint32Array;
  /** Number of pairs of a zone and a tile in the rectangle of tiles around it. */
  readonly pairs: number;
  /** Number of words of the bitmaps of all zones. A bitmap has one bit for each cell of each pair. */
  readonly words: number;
  /** At most so many words of the bitmaps of zones have bits that are set: a row of 32 cells each. */
  readonly rows: number;
  /** Number of words of the bitmaps of further sheets (see {@link ZoneBoxes.zone}), stored after those of the zones. */
  readonly furtherWords: number;
}

const NO_SHEETS = new Uint32Array();

/** Plans a window: pairs its tiles with the zones whose boxes overlap them. */
export function planWindow(window: Window, boxes: ZoneBoxes, zoneCount: number, tile: number): WindowPlan {
  const { furtherOf = NO_SHEETS } = boxes;
  const { rectangles, bySheet, rows } = tilesOfBoxes(window, boxes, tile);
  const byZone = furtherOf.length === 0 ? bySheet : tilesByZone(bySheet, zoneCount, furtherOf);
  const zones = Uint32Array.from(byZone.keys()).sort();
  const sheets = furtherOf.length === 0 ? NO_SHEETS : furtherSheets(bySheet, zoneCount);
  const local = new Uint32Array(zoneCount + furtherOf.length).fill(ABSENT);
  const table = new Uint32Array((zones.length + sheets.length) * ZONE_STRIDE);
  let tiles = 0;
  const addRow = (row: number, [firstRow, endRow, firstColumn, endColumn]: TileRectangle): void => {
    const columns = endColumn - firstColumn;
    const count = (endRow - firstRow) * columns;
    table.set([(tiles * tile * tile) / 32, firstRow, firstColumn, columns, count], row * ZONE_STRIDE);
    tiles += count;
  };
  zones.forEach((zone, row) => {
    local[zone] = row;
    addRow(row, byZone.get(zone)!);
  });
  const pairs = tiles;
  sheets.forEach((sheet, at) => {
    local[sheet] = zones.length + at;
    addRow(zones.length + at, bySheet.get(sheet)!);
  });
  return {
    window,
    tile,
    tileColumns: Math.ceil(window.columns / tile),
    tileRows: Math.ceil(window.rows / tile),
    rectangles,
    zones,
    local,
    table,
    furtherOf: sheets.map((sheet) => local[furtherOf[sheet - zoneCount]!]!),
    pairs,
    words: (pairs * tile * tile) / 32,
    rows,
    furtherWords: ((tiles - pairs) * tile * tile) / 32,
  };
}

type TileRectangle = readonly [firstRow: number, endRow: number, firstColumn: number, endColumn: number];

function furtherSheets(bySheet: ReadonlyMap<number, unknown>, zoneCount: number): Uint32Array {
  return Uint32Array.from([...bySheet.keys()].filter((sheet) => sheet >= zoneCount)).sort();
}

/** For each zone, the rectangle of tiles around all its sheets (groups of parts that do not overlap). */
function tilesByZone(
  bySheet: ReadonlyMap<number, TileRectangle>,
  zoneCount: number,
  furtherOf: Uint32Array,
): Map<number, TileRectangle> {
  const byZone = new Map<number, TileRectangle>();
  for (const [sheet, tiles] of bySheet) {
    const zone = sheet < zoneCount ? sheet : furtherOf[sheet - zoneCount]!;
    const others = byZone.get(zone);
    byZone.set(zone, others === undefined ? tiles : uniteTiles(others, tiles));
  }
  return byZone;
}

/** The rectangles of tiles of all boxes, for each sheet the rectangle around those of its boxes, and the rows in boxes. */
function tilesOfBoxes(
  window: Window,
  boxes: ZoneBoxes,
  tile: number,
): {
  readonly rectangles: TileRectangle[];
  readonly bySheet: Map<number, TileRectangle>;
  readonly rows: number;
} {
  let rows = 0;
  const rectangles: TileRectangle[] = [];
  const bySheet = new Map<number, TileRectangle>();
  for (let box = 0; box < boxes.zone.length; box++) {
    const firstRow = Math.max(0, boxes.firstRow[box]! - window.row);
    const endRow = Math.min(window.rows, boxes.endRow[box]! - window.row);
    const firstColumn = Math.max(0, boxes.firstColumn[box]! - window.column);
    const endColumn = Math.min(window.columns, boxes.endColumn[box]! - window.column);
    if (firstRow >= endRow || firstColumn >= endColumn) continue;
    const tiles: TileRectangle = [
      Math.floor(firstRow / tile),
      Math.ceil(endRow / tile),
      Math.floor(firstColumn / tile),
      Math.ceil(endColumn / tile),
    ];
    rectangles.push(tiles);
    rows += (endRow - firstRow) * (Math.ceil(endColumn / 32) - Math.floor(firstColumn / 32));
    const sheet = boxes.zone[box]!;
    const other = bySheet.get(sheet);
    bySheet.set(sheet, other === undefined ? tiles : uniteTiles(other, tiles));
  }
  return { rectangles, bySheet, rows };
}

function uniteTiles(a: TileRectangle, b: TileRectangle): TileRectangle {
  return [Math.min(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]), Math.max(a[3], b[3])];
}

/** For each tile of a window, 1 if the box of any zone overlaps it, else 0. */
const metTiles = memoized(({ tileColumns, tileRows, rectangles }: WindowPlan): Uint8Array => {
  const met = new Uint8Array(tileColumns * tileRows);
  for (const [firstRow, endRow, firstColumn, endColumn] of rectangles) {
    for (let row = firstRow; row < endRow; row++)
      met.fill(1, row * tileColumns + firstColumn, row * tileColumns + endColumn);
  }
  return met;
});

/** Mean number of boxes of zones that overlap a tile, over the tiles that any box overlaps. */
export const zonesPerTile: (plan: WindowPlan) => number = memoized((plan) => {
  const tiles = metTiles(plan).reduce((sum, met) => sum + met, 0);
  const pairs = plan.rectangles.reduce((sum, [top, bottom, left, right]) => sum + (bottom - top) * (right - left), 0);
  return tiles === 0 ? 0 : pairs / tiles;
});

/**
 * Returns a function that tells whether a part of the raster overlaps a tile that the box of any zone overlaps. Cells
 * outside these tiles are never read.
 */
export function meetsZones(plan: WindowPlan): (part: Window) => boolean {
  const { window, tile, tileColumns, tileRows } = plan;
  const met = metTiles(plan);
  return ({ column, row, columns, rows }) => {
    const left = Math.floor(Math.max(0, column - window.column) / tile);
    const top = Math.floor(Math.max(0, row - window.row) / tile);
    const right = Math.min(tileColumns, Math.ceil((column - window.column + columns) / tile));
    const bottom = Math.min(tileRows, Math.ceil((row - window.row + rows) / tile));
    for (let down = top; down < bottom; down++) {
      const end = down * tileColumns + right;
      for (let at = down * tileColumns + left; at < end; at++) if (met[at] === 1) return true;
    }
    return false;
  };
}

export interface WindowSize {
  readonly rows: number;
  readonly columns: number;
}

/** Cuts a raster into windows of at most the given size, from left to right and then from top to bottom. */
export function* windowsOf({ width, height }: RasterGrid, size: WindowSize): Generator<Window> {
  for (let row = 0; row < height; row += size.rows) {
    for (let column = 0; column < width; column += size.columns) {
      yield {
        row,
        column,
        rows: Math.min(size.rows, height - row),
        columns: Math.min(size.columns, width - column),
      };
    }
  }
}
