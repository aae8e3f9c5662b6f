import { type Box, boxesMeet, turnedCopies } from '../geometry/boxes.ts';
import { STEPS_PER_CELL } from '../geometry/grid.ts';
import type { RasterGrid } from '../geometry/raster.ts';
import { stepsOfTurn } from './placement.ts';

/** The place of a raster of a surface: its grid, and which of its cells a raster named before it holds. */
export interface PlacedRaster {
  /**
   * The grid to which zones are snapped. Rasters whose cells lie on one grid share it. Its origin is the first corner of
   * all of them together.
   */
  readonly grid: RasterGrid;
  /** The raster's first cell on that grid. */
  readonly column: number;
  readonly row: number;
  /** The cells, in columns and rows of this raster, whose centres lie inside rasters named before. */
  readonly taken: readonly Box[];
}

/**
 * Rasters lie on one grid if their corners differ from those of its cells by at most this part of a cell: a step of the
 * grid to which zones are snapped.
 */
const TOLERANCE = 1 / STEPS_PER_CELL;

/** Maximum distance in cells of rasters that share a grid, so that steps from its origin stay exact. */
const MAX_DISTANCE = 2 ** 28;

/** A grid, given by one of the rasters on it, and its rasters by their numbers, with the cells where they begin. */
interface SharedGrid {
  readonly first: RasterGrid;
  readonly rasters: Map<number, { readonly column: number; readonly row: number }>;
}

/** Places rasters on the grids of their cells, and finds the cells that lie in two of them. */
export function placeRasters(rasters: readonly RasterGrid[]): PlacedRaster[] {
  const placed: Omit<PlacedRaster, 'taken'>[] = [];
  for (const shared of sharedGrids(rasters)) {
    const grid = withFirstCorner(shared, rasters);
    const [left, top] = firstCell(shared);
    for (const [raster, { column, row }] of shared.rasters) {
      placed[raster] = { grid, column: column - left, row: row - top };
    }
  }
  return placed.map((place, at) => ({ ...place, taken: takenBefore(at, placed, rasters) }));
}

/** The extent of a raster, in steps of a grid. Rasters on that grid have whole cells. */
export function extentOn(grid: RasterGrid, place: Omit<PlacedRaster, 'taken'>, raster: RasterGrid): Box {
  if (place.grid === grid) {
    const [left, top] = [place.column * STEPS_PER_CELL, place.row * STEPS_PER_CELL];
    const [right, bottom] = [left + raster.width * STEPS_PER_CELL, top + raster.height * STEPS_PER_CELL];
    return { left, top, right, bottom };
  }
  const { originX, originY, stepX, stepY, width, height } = raster;
  const columns = [originX, originX + width * stepX].map((x) => stepsFrom(grid.originX, grid.stepX, x));
  const rows = [originY, originY + height * stepY].map((y) => stepsFrom(grid.originY, grid.stepY, y));
  return {
    left: Math.min(columns[0]!, columns[1]!),
    top: Math.min(rows[0]!, rows[1]!),
    right: Math.max(columns[0]!, columns[1]!),
    bottom: Math.max(rows[0]!, rows[1]!),
  };
}

function stepsFrom(origin: number, step: number, coordinate: number): number {
  return Math.round(((coordinate - origin) / step) * STEPS_PER_CELL);
}

function sharedGrids(rasters: readonly RasterGrid[]): SharedGrid[] {
  const grids: SharedGrid[] = [];
  for (const [number, raster] of rasters.entries()) {
    const home = grids.find(({ first }) => cellOf(first, raster) !== undefined);
    if (home !== undefined) home.rasters.set(number, cellOf(home.first, raster)!);
    else grids.push({ first: raster, rasters: new Map([[number, { column: 0, row: 0 }]]) });
  }
  return grids;
}

/** The cell of a grid where a raster begins; undefined if its cells are not those of the grid. */
function cellOf(grid: RasterGrid, raster: RasterGrid): { readonly column: number; readonly row: number } | undefined {
  const [column, row] = [cellAlong('X', grid, raster), cellAlong('Y', grid, raster)];
  return column === undefined || row === undefined ? undefined : { column, row };
}

/** The column or row of a grid where a raster begins; undefined if its cells are not those of the grid. */
function cellAlong(axis: 'X' | 'Y', grid: RasterGrid, raster: RasterGrid): number | undefined {
  const [origin, step] = [`origin${axis}`, `step${axis}`] as const;
  const cells = (raster[origin] - grid[origin]) / grid[step];
  const cell = Math.round(cells);
  const growth = Math.abs(raster[step] / grid[step] - 1) * (axis === 'X' ? raster.width : raster.height);
  return Math.abs(cells - cell) + growth <= TOLERANCE && Math.abs(cell) <= MAX_DISTANCE ? cell : undefined;
}

function firstCell({ rasters }: SharedGrid): [column: number, row: number] {
  let [left, top] = [Infinity, Infinity];
  for (const { column, row } of rasters.values()) [left, top] = [Math.min(left, column), Math.min(top, row)];
  return [left, top];
}

/** The origin is that of the rasters that begin in the first column and row, so that the parts of a raster have its grid. */
function withFirstCorner(shared: SharedGrid, rasters: readonly RasterGrid[]): RasterGrid {
  const [left, top] = firstCell(shared);
  const places = [...shared.rasters];
  const inFirstColumn = places.find(([, { column }]) => column === left)!;
  const inFirstRow = places.find(([, { row }]) => row === top)!;
  const { originX } = rasters[inFirstColumn[0]]!;
  const { originY } = rasters[inFirstRow[0]]!;
  return { ...shared.first, originX, originY };
}

function takenBefore(
  at: number,
  placed: readonly Omit<PlacedRaster, 'taken'>[],
  rasters: readonly RasterGrid[],
): readonly Box[] {
  const { grid, column, row } = placed[at]!;
  const raster = rasters[at]!;
  const own = { left: 0, top: 0, right: raster.width, bottom: raster.height };
  const [before, above] = [column * STEPS_PER_CELL, row * STEPS_PER_CELL];
  return placed.slice(0, at).flatMap((place, other) => {
    const extent = extentOn(grid, place, rasters[other]!);
    const moved = {
      left: extent.left - before,
      top: extent.top - above,
      right: extent.right - before,
      bottom: extent.bottom - above,
    };
    return turnedCopies(moved, 0, raster.width * STEPS_PER_CELL, stepsOfTurn(raster))
      .map((copy) => centresIn(copy, raster))
      .filter((cells) => boxesMeet(cells, own) && cells.left < cells.right && cells.top < cells.bottom)
      .map((cells) => ({
        left: Math.max(0, cells.left),
        top: Math.max(0, cells.top),
        right: Math.min(raster.width, cells.right),
        bottom: Math.min(raster.height, cells.bottom),
      }));
  });
}

/**
 * The cells whose centres lie in an extent, which is given in steps from the raster's first corner. The left and bottom
 * edges of an extent belong to it, as those of zones do. So a centre on the edge between two rasters lies in one.
 */
function centresIn({ left, top, right, bottom }: Box, { stepX, stepY }: RasterGrid): Box {
  const from = (edge: number, belongs: boolean): number => {
    const cell = edge / STEPS_PER_CELL - 0.5;
    return belongs ? Math.ceil(cell) : Math.floor(cell) + 1;
  };
  return {
    left: from(left, stepX > 0),
    right: from(right, stepX > 0),
    top: from(top, stepY > 0),
    bottom: from(bottom, stepY > 0),
  };
}
