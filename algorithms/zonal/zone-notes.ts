import { STEPS_PER_CELL } from '../geometry/grid.ts';
import type { RasterGrid } from '../geometry/raster.ts';
import { type Note, noteTally } from '../notes.ts';
import { type PlacedZones, rangeOf, stepsOfTurn, verticesOf } from './placement.ts';

/**
 * What there is to say about zones that the raster does not cover: `zonal/zones-outside` of those that it does not meet,
 * `zonal/zones-partly-outside` of those that reach beyond it, `zonal/zones-without-cells` of those that lie on it, but
 * with no cell's centre in them.
 */
export function zoneNotes(
  names: readonly string[],
  placed: PlacedZones,
  grid: RasterGrid,
  cells: BigUint64Array,
): Note[] {
  const tally = noteTally();
  for (const [zone, name] of names.entries()) {
    const hasGeometry = placed.polygons.zoneRings[zone]! < placed.polygons.zoneRings[zone + 1]!;
    if (!hasGeometry) continue;
    if (!meets(placed, zone, grid)) tally.add('zonal/zones-outside', name);
    else if (cells[zone] === 0n) tally.add('zonal/zones-without-cells', name);
    else if (reachesBeyond(placed, zone, grid)) tally.add('zonal/zones-partly-outside', name);
  }
  return tally.notes(SENTENCES);
}

const SENTENCES: Readonly<Record<string, (count: number) => string>> = {
  'zonal/zones-outside': (n) => `${n === 1 ? '1 zone lies' : `${n} zones lie`} wholly outside the raster`,
  'zonal/zones-partly-outside': (n) =>
    `${n === 1 ? '1 zone lies' : `${n} zones lie`} partly outside the raster, where there is nothing to count`,
  'zonal/zones-without-cells': (n) => `No centre of a cell lies in ${n === 1 ? '1 zone' : `${n} zones`} on the raster`,
};

/** Whether the box of a zone meets the raster at some turn of longitude; a shared edge is no meeting. */
function meets({ polygons, shifts }: PlacedZones, zone: number, grid: RasterGrid): boolean {
  const vertices = verticesOf(polygons, zone);
  const [top, bottom] = rangeOf(polygons.row, ...vertices);
  const [left, right] = rangeOf(polygons.column, ...vertices);
  const [width, height] = [grid.width * STEPS_PER_CELL, grid.height * STEPS_PER_CELL];
  if (top >= height || bottom <= 0) return false;
  // All the way round, there is nothing beside the raster.
  if (width >= (stepsOfTurn(grid) ?? Infinity)) return true;
  return shifts[zone]!.some((shift) => left + shift < width && right + shift > 0);
}

/** Whether a ring of the zone leaves the raster at whatever turn of longitude it is taken. */
function reachesBeyond({ polygons }: PlacedZones, zone: number, grid: RasterGrid): boolean {
  const { zoneRings, ringVertices, column, row } = polygons;
  const [width, height] = [grid.width * STEPS_PER_CELL, grid.height * STEPS_PER_CELL];
  const turn = stepsOfTurn(grid);
  for (let ring = zoneRings[zone]!; ring < zoneRings[zone + 1]!; ring++) {
    const [from, to] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    const [top, bottom] = rangeOf(row, from, to);
    const [left, right] = rangeOf(column, from, to);
    if (top < 0 || bottom > height || !fits(left, right, width, turn)) return true;
  }
  return false;
}

function fits(left: number, right: number, width: number, turn: number | undefined): boolean {
  if (turn === undefined) return left >= 0 && right <= width;
  const turnedLeft = left - Math.floor(left / turn) * turn;
  return width >= turn || turnedLeft + (right - left) <= width;
}
