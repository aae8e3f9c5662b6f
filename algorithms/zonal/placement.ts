import { type ErrorPlace, GeometryError } from '../../primitives/index.ts';
import { type SnappedPolygons, STEPS_PER_CELL } from '../geometry/grid.ts';
import type { Polygons, Zones } from '../geometry/polygons.ts';
import type { RasterGrid, RasterSource } from '../geometry/raster.ts';
import type { ZoneBoxes } from './window-plan.ts';

/** Zones on a raster's grid, each at every turn of longitude at which it may reach the raster. */
export interface PlacedZones {
  readonly polygons: SnappedPolygons;
  /** For every zone the copies of it, as shifts along the columns in grid steps; none where it has no geometry. */
  readonly shifts: readonly (readonly number[])[];
  readonly boxes: ZoneBoxes;
}

/**
 * Places snapped zones on a raster: on a geographic one, longitudes are taken modulo 360.
 *
 * @param zones - what errors call the zones.
 * @throws GeometryError `geometry/longitudes` where the longitudes of the raster or of a zone span more than two turns.
 */
export function placeZones(
  polygons: SnappedPolygons,
  grid: RasterGrid & Pick<RasterSource, 'file'>,
  zones: Partial<Pick<Zones, 'names' | 'file'>> = {},
): PlacedZones {
  const span = Math.abs(grid.width * grid.stepX);
  if (grid.geographic && !(span <= MOST_DEGREES)) throw tooWide('the raster', span, { file: grid.file });
  const shifts = longitudeShifts(polygons, grid, zones);
  return { polygons, shifts, boxes: zoneBoxes(polygons, shifts) };
}

/** Grid steps of a whole turn of longitude; undefined where coordinates do not come round. */
export function stepsOfTurn({ geographic, stepX }: RasterGrid): number | undefined {
  return geographic ? Math.round((360 / Math.abs(stepX)) * STEPS_PER_CELL) : undefined;
}

/** Longitudes come round, but those of one thing not twice: more are coordinates of another kind. */
const MOST_DEGREES = 720;

function tooWide(what: string, degrees: number, place: ErrorPlace): GeometryError {
  return new GeometryError('geometry/longitudes', `The longitudes of ${what} span ${degrees} degrees.`, {
    expected: `at most ${MOST_DEGREES}`,
    got: degrees,
    remedy: 'Check the coordinate reference systems; --assume-crs overrides what the files say.',
    place,
  });
}

function longitudeShifts(
  polygons: SnappedPolygons,
  grid: RasterGrid,
  { names, file }: Partial<Pick<Zones, 'names' | 'file'>>,
): number[][] {
  const turn = stepsOfTurn(grid);
  return Array.from({ length: polygons.polygonRings.length - 1 }, (_, zone) => {
    const [least, most] = rangeOf(polygons.column, ...verticesOf(polygons, zone));
    if (least > most) return [];
    if (turn === undefined) return [0];
    if (most - least > 2 * turn) {
      const degrees = ((most - least) / STEPS_PER_CELL) * Math.abs(grid.stepX);
      throw tooWide(`zone ${zone} (${JSON.stringify(names?.[zone] ?? '')})`, degrees, { file, record: zone });
    }
    const shifts: number[] = [];
    const first = Math.ceil(-most / turn);
    const last = Math.floor((grid.width * STEPS_PER_CELL - least) / turn);
    for (let turns = first; turns <= last; turns++) shifts.push(turns * turn);
    return shifts;
  });
}

function zoneBoxes(polygons: SnappedPolygons, shifts: readonly (readonly number[])[]): ZoneBoxes {
  const copies = shifts.reduce((sum, { length }) => sum + length, 0);
  const boxes = {
    zone: new Uint32Array(copies),
    firstColumn: new Float64Array(copies),
    endColumn: new Float64Array(copies),
    firstRow: new Float64Array(copies),
    endRow: new Float64Array(copies),
  };
  let at = 0;
  for (const [zone, turns] of shifts.entries()) {
    const vertices = verticesOf(polygons, zone);
    const [left, right] = rangeOf(polygons.column, ...vertices);
    const [top, bottom] = rangeOf(polygons.row, ...vertices);
    for (const shift of turns) {
      boxes.zone[at] = zone;
      boxes.firstColumn[at] = Math.floor((left + shift) / STEPS_PER_CELL);
      boxes.endColumn[at] = Math.floor((right + shift) / STEPS_PER_CELL) + 1;
      boxes.firstRow[at] = Math.floor(top / STEPS_PER_CELL);
      boxes.endRow[at] = Math.floor(bottom / STEPS_PER_CELL) + 1;
      at++;
    }
  }
  return boxes;
}

/** Where the vertices of a zone stand. */
export function verticesOf(
  { polygonRings, ringVertices }: Pick<Polygons, 'polygonRings' | 'ringVertices'>,
  zone: number,
): [from: number, to: number] {
  return [ringVertices[polygonRings[zone]!]!, ringVertices[polygonRings[zone + 1]!]!];
}

/** Least and greatest of some numbers; least above greatest where there are none. */
export function rangeOf(numbers: Float64Array, from: number, to: number): [least: number, most: number] {
  let least = Infinity;
  let most = -Infinity;
  for (let at = from; at < to; at++) {
    least = Math.min(least, numbers[at]!);
    most = Math.max(most, numbers[at]!);
  }
  return [least, most];
}
