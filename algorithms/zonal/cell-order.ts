import { fractionOf, ratio } from '../exact-ratio.ts';
import type { RasterGrid } from '../geometry/raster.ts';

/** Where the first cell of a window lies, and how many columns the window has. */
export interface WindowPlace {
  /** The number of the raster in its surface. */
  readonly raster: number;
  readonly row: number;
  readonly column: number;
  readonly columns: number;
}

/**
 * The place of a cell of a window among all cells of a surface, as an integer that has their order: by raster, then by
 * row, then by column.
 */
export function placeOfCell({ raster, row, column, columns }: WindowPlace, cell: number): bigint {
  const [down, right] = [Math.floor(cell / columns), cell % columns];
  return (BigInt(raster) << 64n) | (BigInt(row + down) << 32n) | BigInt(column + right);
}

/** Whether something is the place of a cell of rasters with these grids. */
export function isPlaceOn(place: unknown, grids: readonly RasterGrid[]): boolean {
  if (typeof place !== 'bigint' || place < 0n) return false;
  const grid = grids[Number(place >> 64n)];
  return grid !== undefined && rowOf(place) < grid.height && columnOf(place) < grid.width;
}

function rowOf(place: bigint): number {
  return Number(BigInt.asUintN(32, place >> 32n));
}

function columnOf(place: bigint): number {
  return Number(BigInt.asUintN(32, place));
}

/** The coordinate of the centre of a cell, computed exactly and rounded once. */
export function centreOf(axis: 'X' | 'Y', place: bigint, grids: readonly RasterGrid[]): number {
  const grid = grids[Number(place >> 64n)]!;
  const cell = BigInt(axis === 'X' ? columnOf(place) : rowOf(place));
  const [origin, step] = [fractionOf(grid[`origin${axis}`]), fractionOf(grid[`step${axis}`])];
  const halves = (2n * cell + 1n) * step.numerator * origin.denominator;
  return ratio(2n * origin.numerator * step.denominator + halves, 2n * origin.denominator * step.denominator);
}
