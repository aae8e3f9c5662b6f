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
  /** For each tile of the window, 1 if the box of any zone overlaps it, else 0. All other tiles have no cell of a zone. */
  readonly met: Uint8Array;
  /** Mean number of boxes of zones that overlap a tile, over the tiles that any box overlaps; 0 without any. */
  readonly boxesPerTile: number;
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
  /** The boxes that lie in the window, by their numbers. */
  readonly boxes: Uint32Array;
}

const NO_SHEETS = new Uint32Array();

/**
 * Plans a window: pairs its tiles with the zones whose boxes overlap them.
 *
 * @param within - The plan of a window of which this is a part, so that only its boxes are looked at.
 */
export function planWindow(
  window: Window,
  boxes: ZoneBoxes,
  zoneCount: number,
  tile: number,
  within?: WindowPlan,
): WindowPlan {
  const { furtherOf = NO_SHEETS } = boxes;
  const [tileColumns, tileRows] = [Math.ceil(window.columns / tile), Math.ceil(window.rows / tile)];
  const { met: ownBoxes, sheet, rectangles, rows } = tilesOfBoxes(window, boxes, tile, within?.boxes);
  const local = new Uint32Array(zoneCount + furtherOf.length).fill(ABSENT);
  const zoneOf = (of: number): number => (of < zoneCount ? of : furtherOf[of - zoneCount]!);
  for (const of of sheet) local[zoneOf(of)] = local[of] = 0;
  let [present, zones] = [0, 0];
  for (let of = 0; of < local.length; of++) if (local[of] !== ABSENT) present++;
  const members = new Uint32Array(present);
  for (let of = 0, row = 0; of < local.length; of++) {
    if (local[of] === ABSENT) continue;
    members[row] = of;
    local[of] = row++;
    if (of < zoneCount) zones = row;
  }
  const around = new Uint32Array(4 * present);
  for (let row = 0; row < present; row++) around.set(NO_TILES, 4 * row);
  const met = new Uint8Array(tileColumns * tileRows);
  let boxTiles = 0;
  for (let at = 0; at < sheet.length; at++) {
    const [top, bottom] = [rectangles[4 * at]!, rectangles[4 * at + 1]!];
    const [left, right] = [rectangles[4 * at + 2]!, rectangles[4 * at + 3]!];
    boxTiles += (bottom - top) * (right - left);
    for (let row = top; row < bottom; row++) met.fill(1, row * tileColumns + left, row * tileColumns + right);
    const of = sheet[at]!;
    extend(around, 4 * local[of]!, top, bottom, left, right);
    if (of >= zoneCount) extend(around, 4 * local[zoneOf(of)]!, top, bottom, left, right);
  }
  const table = new Uint32Array(present * ZONE_STRIDE);
  let [tiles, pairs] = [0, 0];
  for (let row = 0; row < present; row++) {
    const at = row * ZONE_STRIDE;
    const [top, left] = [around[4 * row]!, around[4 * row + 2]!];
    const columns = around[4 * row + 3]! - left;
    const count = (around[4 * row + 1]! - top) * columns;
    table[at + ZONE_FIELDS.word] = (tiles * tile * tile) / 32;
    table[at + ZONE_FIELDS.firstTileRow] = top;
    table[at + ZONE_FIELDS.firstTileColumn] = left;
    table[at + ZONE_FIELDS.tileColumns] = columns;
    table[at + ZONE_FIELDS.tiles] = count;
    tiles += count;
    if (row < zones) pairs = tiles;
  }
  const words = (pairs * tile * tile) / 32;
  return {
    ...{ window, tile, tileColumns, tileRows, met, local, table, pairs, words, boxes: ownBoxes },
    rows: Math.min(rows, words),
    boxesPerTile:
      boxTiles /
      Math.max(
        1,
        met.reduce((sum, is) => sum + is, 0),
      ),
    zones: members.slice(0, zones),
    furtherOf: members.slice(zones).map((of) => local[zoneOf(of)]!),
    furtherWords: ((tiles - pairs) * tile * tile) / 32,
  };
}

/** The first and the end of rows and columns of no tiles. */
const NO_TILES = [ABSENT, 0, ABSENT, 0];

/** Extends a rectangle of tiles by another. */
function extend(around: Uint32Array, at: number, top: number, bottom: number, left: number, right: number): void {
  if (top < around[at]!) around[at] = top;
  if (bottom > around[at + 1]!) around[at + 1] = bottom;
  if (left < around[at + 2]!) around[at + 2] = left;
  if (right > around[at + 3]!) around[at + 3] = right;
}

/**
 * The boxes that lie in a window: their zones or sheets; the first row of tiles that each overlaps, the end of its rows,
 * and the same of columns; and the rows of cells in them.
 */
function tilesOfBoxes(
  window: Window,
  boxes: ZoneBoxes,
  tile: number,
  among: Uint32Array | undefined,
): Record<'met' | 'sheet' | 'rectangles', Uint32Array> & { readonly rows: number } {
  const count = among?.length ?? boxes.zone.length;
  const [met, sheet, rectangles] = [new Uint32Array(count), new Uint32Array(count), new Uint32Array(4 * count)];
  let rows = 0;
  let at = 0;
  for (let i = 0; i < count; i++) {
    const box = among === undefined ? i : among[i]!;
    const firstRow = Math.max(0, boxes.firstRow[box]! - window.row);
    const endRow = Math.min(window.rows, boxes.endRow[box]! - window.row);
    if (firstRow >= endRow) continue;
    const firstColumn = Math.max(0, boxes.firstColumn[box]! - window.column);
    const endColumn = Math.min(window.columns, boxes.endColumn[box]! - window.column);
    if (firstColumn >= endColumn) continue;
    met[at] = box;
    sheet[at] = boxes.zone[box]!;
    rectangles[4 * at] = Math.floor(firstRow / tile);
    rectangles[4 * at + 1] = Math.ceil(endRow / tile);
    rectangles[4 * at + 2] = Math.floor(firstColumn / tile);
    rectangles[4 * at + 3] = Math.ceil(endColumn / tile);
    rows += (endRow - firstRow) * (Math.ceil(endColumn / 32) - Math.floor(firstColumn / 32));
    at++;
  }
  return { met: met.slice(0, at), sheet: sheet.subarray(0, at), rectangles: rectangles.subarray(0, 4 * at), rows };
}

/**
 * Returns a function that tells whether a part of the raster overlaps a tile that the box of any zone overlaps. Cells
 * outside these tiles are never read.
 */
export function meetsZones(plan: WindowPlan): (part: Window) => boolean {
  const { window, tile, tileColumns, tileRows, met } = plan;
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
