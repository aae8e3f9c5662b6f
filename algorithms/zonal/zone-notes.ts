import { collapsedPolygons } from '../geometry/collapsed.ts';
import { STEPS_PER_CELL } from '../geometry/grid.ts';
import { overlapSentence, type Polygons, type Zones } from '../geometry/polygons.ts';
import type { RasterGrid, RasterSource } from '../geometry/raster.ts';
import { type Note, noteTally } from '../notes.ts';
import { type PlacedZones, rangeOf, stepsOfTurn, verticesOf } from './placement.ts';

/** The note `zonal/overlapping-parts`: the number of zones whose parts overlap, and how these zones are treated. */
export function partNotes({ names }: Pick<Zones, 'names'>, { overlapping, fill }: PlacedZones): Note[] {
  const tally = noteTally();
  for (const zone of overlapping) tally.add('zonal/overlapping-parts', names[zone]!);
  return tally.notes({ 'zonal/overlapping-parts': (n) => overlapSentence(n, ['zone', 'zones'], fill) });
}

/** The note `zonal/near-nodata`: the number of cells that match the nodata value without being equal to it. */
export function nearNotes({ nodata }: Pick<RasterSource, 'nodata'>, near: BigUint64Array): Note[] {
  const count = Number(near.reduce((sum, cells) => sum + cells, 0n));
  if (count === 0) return [];
  const message =
    `${count === 1 ? '1 cell of the zones counts' : `${count} cells of the zones count`} as nodata without being equal to ` +
    `the nodata value ${nodata}: f32 values within its rounding match, as in GDAL.`;
  return [{ code: 'zonal/near-nodata', message, count }];
}

/**
 * Notes on zones that the raster does not cover: `zonal/zones-outside` for zones outside the raster,
 * `zonal/zones-partly-outside` for zones that extend beyond the raster, `zonal/collapsed` for zones on the raster that
 * are narrower than a step of its grid, `zonal/zones-without-cells` for others that contain no cell centre. If all zones are outside, the note gives the extents of zones and raster.
 */
export function zoneNotes(
  { names, polygons }: Pick<Zones, 'names' | 'polygons'>,
  placed: PlacedZones,
  grid: RasterGrid,
  cells: BigUint64Array,
): Note[] {
  const tally = noteTally();
  const collapsed = new Set(collapsedPolygons(polygons, placed.polygons.column, placed.polygons.row));
  let anyMeets = false;
  for (const [zone, name] of names.entries()) {
    const hasGeometry = placed.polygons.polygonRings[zone]! < placed.polygons.polygonRings[zone + 1]!;
    if (!hasGeometry) continue;
    const zoneMeets = meets(placed, zone, grid);
    anyMeets ||= zoneMeets;
    if (!zoneMeets) tally.add('zonal/zones-outside', name);
    else if (collapsed.has(zone)) tally.add('zonal/collapsed', name);
    else if (cells[zone] === 0n) tally.add('zonal/zones-without-cells', name);
    else if (reachesBeyond(placed, zone, grid)) tally.add('zonal/zones-partly-outside', name);
  }
  const notes = tally.notes(SENTENCES);
  // If all zones are outside, there is only one note, so the extents are added once.
  return anyMeets ? notes : notes.map((note) => ({ ...note, message: `${note.message} ${extents(polygons, grid)}` }));
}

/**
 * The note `zonal/repeated-columns`, for a raster whose columns span more than 360° of longitude: its last columns show
 * the meridians of its first columns again, and are counted too. Grids whose values stand at nodes, such as 361 columns
 * from -180° to 180°, have one such column.
 */
export function repeatNotes(grid: RasterGrid): Note[] {
  const turn = Math.round((stepsOfTurn(grid) ?? Number.POSITIVE_INFINITY) / STEPS_PER_CELL);
  const repeated = grid.width - turn;
  if (!(repeated > 0)) return [];
  const columns =
    repeated === 1
      ? `Column ${grid.width} of the raster repeats column 1`
      : `Columns ${turn + 1} to ${grid.width} of the raster repeat columns 1 to ${repeated}`;
  const count = repeated * grid.height;
  const message = `${columns}, 360° away. Zones on these meridians count up to ${count} cells twice, as in GDAL.`;
  return [{ code: 'zonal/repeated-columns', message, count }];
}

const SENTENCES: Readonly<Record<string, (count: number) => string>> = {
  'zonal/zones-outside': (n) => `${n === 1 ? '1 zone lies' : `${n} zones lie`} wholly outside the raster`,
  'zonal/zones-partly-outside': (n) =>
    `${n === 1 ? '1 zone lies' : `${n} zones lie`} partly outside the raster, where there is nothing to count`,
  'zonal/collapsed': (n) =>
    `${n === 1 ? '1 zone is' : `${n} zones are`} narrower than a step of the raster's grid (2⁻²⁰ of a cell) and without area on it`,
  'zonal/zones-without-cells': (n) => `No centre of a cell lies in ${n === 1 ? '1 zone' : `${n} zones`} on the raster`,
};

/**
 * Whether the bounding box of a zone overlaps the raster after some shift by whole turns of longitude (360°). A shared
 * edge is no overlap.
 */
function meets({ polygons, shifts }: PlacedZones, zone: number, grid: RasterGrid): boolean {
  const vertices = verticesOf(polygons, zone);
  const [top, bottom] = rangeOf(polygons.row, ...vertices);
  const [left, right] = rangeOf(polygons.column, ...vertices);
  const [width, height] = [grid.width * STEPS_PER_CELL, grid.height * STEPS_PER_CELL];
  if (top >= height || bottom <= 0) return false;
  // A raster around the whole globe has no left and right end, so only the rows decide.
  if (width >= (stepsOfTurn(grid) ?? Infinity)) return true;
  return shifts[zone]!.some((shift) => left + shift < width && right + shift > 0);
}

/** Whether some ring of the zone extends beyond the raster, by however many turns of longitude (360°) it is shifted. */
function reachesBeyond({ polygons }: PlacedZones, zone: number, grid: RasterGrid): boolean {
  const { polygonRings, ringVertices, column, row } = polygons;
  const [width, height] = [grid.width * STEPS_PER_CELL, grid.height * STEPS_PER_CELL];
  const turn = stepsOfTurn(grid);
  for (let ring = polygonRings[zone]!; ring < polygonRings[zone + 1]!; ring++) {
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

/** A bounding box in the coordinates of the files. */
interface FileExtent {
  readonly x: readonly [min: number, max: number];
  readonly y: readonly [min: number, max: number];
}

/** Describes the extents of zones and raster in words. Adds a hint if they would overlap with x and y swapped. */
function extents(polygons: Polygons, grid: RasterGrid): string {
  const raster = rasterExtent(grid);
  const zones = extentOf(polygons, 0, polygons.x.length);
  const both = `The raster spans ${describeExtent(raster)}; the zones span ${describeExtent(zones)}.`;
  if (!swappedMeets(polygons, raster, grid.geographic)) return both;
  const axes = grid.geographic ? 'longitude and latitude' : 'x and y';
  return `${both} They would overlap if ${axes} of the zones were swapped: check their order.`;
}

function rasterExtent({ originX, originY, stepX, stepY, width, height }: RasterGrid): FileExtent {
  const corners = [
    Float64Array.of(originX, originX + width * stepX),
    Float64Array.of(originY, originY + height * stepY),
  ];
  return { x: rangeOf(corners[0]!, 0, 2), y: rangeOf(corners[1]!, 0, 2) };
}

function extentOf({ x, y }: Polygons, from: number, to: number): FileExtent {
  return { x: rangeOf(x, from, to), y: rangeOf(y, from, to) };
}

function describeExtent({ x, y }: FileExtent): string {
  return `x from ${short(x[0])} to ${short(x[1])} and y from ${short(y[0])} to ${short(y[1])}`;
}

/**
 * Returns a coordinate as text with nine significant digits. Their precision is about a decimetre for longitudes in
 * degrees and a centimetre for coordinates in metres.
 */
function short(coordinate: number): string {
  return String(Number(coordinate.toPrecision(9)));
}

/** Whether the box of some zone overlaps the raster if x and y are swapped. */
function swappedMeets(polygons: Polygons, raster: FileExtent, geographic: boolean): boolean {
  for (let zone = 0; zone + 1 < polygons.polygonRings.length; zone++) {
    const { x, y } = extentOf(polygons, ...verticesOf(polygons, zone));
    const turns = geographic ? Math.ceil((raster.x[1] - y[0]) / 360) - 1 : 0;
    if (overlap([y[0] + 360 * turns, y[1] + 360 * turns], raster.x) && overlap(x, raster.y)) return true;
  }
  return false;
}

function overlap(a: FileExtent['x'], b: FileExtent['x']): boolean {
  return a[0] < b[1] && a[1] > b[0];
}
