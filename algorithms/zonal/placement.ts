import { type ErrorPlace, GeometryError } from '../../primitives/index.ts';
import { type SnappedPolygons, STEPS_PER_CELL } from '../geometry/grid.ts';
import type { FillRule, Zones } from '../geometry/polygons.ts';
import type { RasterGrid, RasterSource } from '../geometry/raster.ts';
import { type Sheets, sheetsOf } from '../geometry/sheets.ts';
import { type PartBox, partBoxes } from './part-boxes.ts';
import { rangeOf, verticesOf } from './vertex-ranges.ts';
import type { ZoneBoxes } from './window-plan.ts';

/**
 * Zones on the grid of a raster. Because longitudes wrap around, a zone has one copy for each shift by whole turns of
 * longitude that may bring it onto the raster.
 */
export interface PlacedZones {
  readonly polygons: SnappedPolygons;
  /** For each zone, the shifts of its copies along the columns, in grid steps. Empty if the zone has no geometry. */
  readonly shifts: readonly (readonly number[])[];
  readonly fill: FillRule;
  /** Indices of the zones whose parts overlap, ascending. */
  readonly overlapping: Uint32Array;
  /**
   * Sheets (groups of parts that do not overlap) of the zones whose parts are united. Undefined if no parts overlap, or
   * if `fill` is not `union`.
   */
  readonly sheets: Sheets | undefined;
  /**
   * For each sheet, the sheet of its copies that are at odd positions in `shifts`. It is the sheet itself, unless
   * the sheet is wider than a turn: then neighbouring copies overlap, and are united like parts that overlap.
   */
  readonly oddSheets: Uint32Array;
  /** Boxes around the parts of the sheets of all zones. */
  readonly boxes: ZoneBoxes;
}

/**
 * Places zones, whose vertices have been snapped to the grid, on a raster. On a geographic raster, longitudes are taken
 * modulo 360.
 *
 * @param zones - Names and file of the zones, for error messages.
 * @param findSheets - Gives the sheets of the polygons, as {@link sheetsOn} finds them.
 * @throws GeometryError `geometry/longitudes` if the longitudes of the raster or of a zone span more than two turns.
 */
export function placeZones(
  polygons: SnappedPolygons,
  grid: RasterGrid & Pick<RasterSource, 'file'>,
  zones: Partial<Pick<Zones, 'names' | 'file'>> = {},
  fill: FillRule = 'union',
  findSheets: () => Sheets | undefined = () => sheetsOn(polygons, grid),
): PlacedZones {
  requireLongitudes(grid);
  const shifts = longitudeShifts(polygons, grid, zones);
  const found = findSheets();
  const overlapping = found?.overlapping ?? new Uint32Array();
  const sheets = fill === 'union' ? found : undefined;
  const parts = partBoxes(polygons, sheets);
  const ranges = sheetRanges(parts, polygons.polygonRings.length - 1 + (sheets?.furtherOf.length ?? 0));
  const { oddSheets, furtherOf } = separateCopies(ranges, polygons.polygonRings.length - 1, sheets, stepsOfTurn(grid));
  const boxes = copiesOf(parts, { shifts, sheets, oddSheets, furtherOf });
  return { polygons, shifts, fill, overlapping, sheets, oddSheets, boxes };
}

/** Throws `geometry/longitudes` if the longitudes of a raster span more than two turns. */
export function requireLongitudes({ width, stepX, geographic, file }: RasterGrid & Pick<RasterSource, 'file'>): void {
  const span = Math.abs(width * stepX);
  if (geographic && !(span <= MAX_DEGREES)) throw tooWide('the raster', span, { file });
}

/** Groups of parts that do not overlap, which do not depend on where the raster lies on its grid. */
export function sheetsOn(polygons: SnappedPolygons, grid: RasterGrid): Sheets | undefined {
  return sheetsOf({ ...polygons, x: polygons.column, y: polygons.row }, { turn: stepsOfTurn(grid) });
}

/**
 * Gives each sheet that is wider than a turn a further sheet for every second copy.
 * No zone is wider than two turns, so copies that are two turns apart do not overlap.
 */
function separateCopies(
  { left, right }: SheetRanges,
  zones: number,
  sheets: Sheets | undefined,
  turn = Number.POSITIVE_INFINITY,
): { readonly oddSheets: Uint32Array; readonly furtherOf: Uint32Array | undefined } {
  const oddSheets = Uint32Array.from(left, (_, sheet) => sheet);
  const furtherOf = Array.from(sheets?.furtherOf ?? []);
  for (let sheet = 0; sheet < left.length; sheet++) {
    if (right[sheet]! - left[sheet]! <= turn) continue;
    oddSheets[sheet] = zones + furtherOf.length;
    furtherOf.push(sheet < zones ? sheet : furtherOf[sheet - zones]!);
  }
  return { oddSheets, furtherOf: furtherOf.length === 0 ? undefined : Uint32Array.from(furtherOf) };
}

interface PlacedSheets {
  readonly shifts: PlacedZones['shifts'];
  readonly sheets: Sheets | undefined;
  readonly oddSheets: Uint32Array;
  readonly furtherOf: Uint32Array | undefined;
}

/** Number of grid steps in 360 degrees of longitude. Undefined unless the raster is geographic. */
export function stepsOfTurn({ geographic, stepX }: RasterGrid): number | undefined {
  return geographic ? Math.round((360 / Math.abs(stepX)) * STEPS_PER_CELL) : undefined;
}

/**
 * Maximum range of longitudes in degrees. Longitudes wrap around, so 720 is allowed, but a range above 720 means that
 * the coordinates are not longitudes.
 */
const MAX_DEGREES = 720;

function tooWide(what: string, degrees: number, place: ErrorPlace): GeometryError {
  return new GeometryError('geometry/longitudes', `The longitudes of ${what} span ${degrees} degrees.`, {
    expected: `at most ${MAX_DEGREES}`,
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
    const [min, max] = rangeOf(polygons.column, ...verticesOf(polygons, zone));
    if (min > max) return [];
    if (turn === undefined) return [0];
    if (max - min > 2 * turn) {
      const degrees = ((max - min) / STEPS_PER_CELL) * Math.abs(grid.stepX);
      throw tooWide(`zone ${zone} (${JSON.stringify(names?.[zone] ?? '')})`, degrees, { file, record: zone });
    }
    const shifts: number[] = [];
    const first = Math.ceil(-max / turn);
    const last = Math.floor((grid.width * STEPS_PER_CELL - min) / turn);
    for (let turns = first; turns <= last; turns++) shifts.push(turns * turn);
    return shifts;
  });
}

/** A box for every copy of every box of parts. Copies are moved by whole turns of longitude. */
function copiesOf(parts: readonly PartBox[], { shifts, sheets, oddSheets, furtherOf }: PlacedSheets): ZoneBoxes {
  const zones = shifts.length;
  const shiftsOf = (sheet: number): readonly number[] =>
    shifts[sheet < zones ? sheet : sheets!.furtherOf[sheet - zones]!]!;
  const copies = parts.reduce((sum, { sheet }) => sum + shiftsOf(sheet).length, 0);
  const boxes = {
    zone: new Uint32Array(copies),
    firstColumn: new Float64Array(copies),
    endColumn: new Float64Array(copies),
    firstRow: new Float64Array(copies),
    endRow: new Float64Array(copies),
    furtherOf,
  };
  let at = 0;
  for (const { sheet, left, right, top, bottom } of parts) {
    for (const [copy, shift] of shiftsOf(sheet).entries()) {
      boxes.zone[at] = copy % 2 === 0 ? sheet : oddSheets[sheet]!;
      boxes.firstColumn[at] = Math.floor((left + shift) / STEPS_PER_CELL);
      boxes.endColumn[at] = Math.floor((right + shift) / STEPS_PER_CELL) + 1;
      boxes.firstRow[at] = Math.floor(top / STEPS_PER_CELL);
      boxes.endRow[at] = Math.floor(bottom / STEPS_PER_CELL) + 1;
      at++;
    }
  }
  return boxes;
}

interface SheetRanges {
  readonly left: Float64Array;
  readonly right: Float64Array;
}

/** Minimum and maximum column of each sheet (group of parts that do not overlap), in grid steps. */
function sheetRanges(parts: readonly PartBox[], sheets: number): SheetRanges {
  const left = new Float64Array(sheets).fill(Infinity);
  const right = new Float64Array(sheets).fill(-Infinity);
  for (const box of parts) {
    left[box.sheet] = Math.min(left[box.sheet]!, box.left);
    right[box.sheet] = Math.max(right[box.sheet]!, box.right);
  }
  return { left, right };
}
