import { STEPS_PER_CELL } from '../geometry/grid.ts';
import { type FillRule, overlapSentence, type Polygons, type Zones } from '../geometry/polygons.ts';
import type { RasterGrid, RasterSource } from '../geometry/raster.ts';
import { type Note, noteTally } from '../notes.ts';
import type { Pixels } from './pixels.ts';
import { stepsOfTurn } from './placement.ts';
import { rangeOf, verticesOf } from './vertex-ranges.ts';
import { POSITIONS } from './zone-positions.ts';

/** The note `zonal/overlapping-parts`: the number of zones whose parts overlap, and how these zones are treated. */
export function partNotes({ names }: Pick<Zones, 'names'>, overlapping: Uint32Array, fill: FillRule): Note[] {
  const tally = noteTally();
  for (const zone of overlapping) tally.add('zonal/overlapping-parts', names[zone]!);
  return tally.notes({ 'zonal/overlapping-parts': (n) => overlapSentence(n, ['zone', 'zones'], fill) });
}

/** The note `zonal/rounded-integers`: that values are beyond 2⁵³, which most statistics cannot have to the digit. */
export function integerNotes(isLarge: boolean): Note[] {
  if (!isLarge) return [];
  const message =
    'Integers beyond 2^53 occur. Unique values, and statistics that are one of the values (min, max, mode, minority, ' +
    'quantile_disc), have all digits (in tables and JSON, and in the field exact of the result); others, as mean and ' +
    'median, are the nearest f64.';
  return [{ code: 'zonal/rounded-integers', message }];
}

/** The note `zonal/near-nodata`: the number of cells that match the nodata value without being equal to it. */
export function nearNotes(rasters: readonly Pick<RasterSource, 'nodata'>[], near: BigUint64Array): Note[] {
  const count = Number(near.reduce((sum, cells) => sum + cells, 0n));
  if (count === 0) return [];
  const values = new Set(rasters.flatMap(({ nodata }) => nodata ?? []));
  const nodata = `${values.size === 1 ? 'the nodata value' : 'a nodata value of'} ${[...values].join(', ')}`;
  const message =
    `${count === 1 ? '1 cell of the zones counts' : `${count} cells of the zones count`} as nodata without being equal to ` +
    `${nodata}: f32 values within its rounding match, as in GDAL.`;
  return [{ code: 'zonal/near-nodata', message, count }];
}

/** The note `zonal/cells-left-out`: the number of cells of the zones that lie in a raster named before theirs. */
export function leftOutNotes(count: number): Note[] {
  if (count === 0) return [];
  const message =
    `${count === 1 ? '1 cell of the zones lies' : `${count} cells of the zones lie`} in a raster named earlier, and ` +
    `${count === 1 ? 'was' : 'were'} left out: where rasters overlap, the first named counts, also where it has no data.`;
  return [{ code: 'zonal/cells-left-out', message, count }];
}

/**
 * Notes on zones that the rasters do not cover: `zonal/zones-outside` for zones outside all rasters,
 * `zonal/zones-partly-outside` for zones that extend beyond them, `zonal/collapsed` for zones on a raster that are
 * narrower than a step of the first raster's grid, `zonal/zones-without-cells` for others that have no cells. If
 * all zones are outside, the note gives the extents of zones and rasters.
 *
 * @param positions - For each zone, one of {@link POSITIONS}.
 */
export function zoneNotes(
  { names, polygons }: Pick<Zones, 'names' | 'polygons'>,
  positions: Uint8Array,
  rasters: readonly RasterGrid[],
  cells: BigUint64Array,
  pixels: Pixels = 'center',
): Note[] {
  const tally = noteTally();
  let anyMeets = false;
  for (let zone = 0; zone < positions.length; zone++) {
    const position = positions[zone]!;
    anyMeets ||= position > POSITIONS.outside;
    const code =
      position > POSITIONS.collapsed && cells[zone] === 0n ? 'zonal/zones-without-cells' : CODE_OF_POSITION[position];
    if (code !== undefined) tally.add(code, names[zone]!);
  }
  const notes = tally.notes(sentences(rasters.length === 1 ? 'the raster' : 'the rasters', pixels));
  // If all zones are outside, there is only one note, so the extents are added once.
  return anyMeets
    ? notes
    : notes.map((note) => ({ ...note, message: `${note.message} ${extents(polygons, rasters)}` }));
}

const CODE_OF_POSITION: Readonly<Record<number, string>> = {
  [POSITIONS.outside]: 'zonal/zones-outside',
  [POSITIONS.collapsed]: 'zonal/collapsed',
  [POSITIONS.partlyOutside]: 'zonal/zones-partly-outside',
};

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

const sentences = (raster: string, pixels: Pixels): Readonly<Record<string, (count: number) => string>> => ({
  'zonal/zones-outside': (n) => `${n === 1 ? '1 zone lies' : `${n} zones lie`} wholly outside ${raster}`,
  'zonal/zones-partly-outside': (n) =>
    `${n === 1 ? '1 zone lies' : `${n} zones lie`} partly outside ${raster}, where there is nothing to count`,
  'zonal/collapsed': (n) =>
    `${n === 1 ? '1 zone is' : `${n} zones are`} narrower than a step of the raster's grid (2⁻²⁰ of a cell) and without area on it`,
  'zonal/zones-without-cells': (n) =>
    `No ${pixels === 'center' ? 'centre of a cell lies in' : 'cell shares area with'} ${n === 1 ? '1 zone' : `${n} zones`} on ${raster}`,
});

/** A bounding box in the coordinates of the files. */
interface FileExtent {
  readonly x: readonly [min: number, max: number];
  readonly y: readonly [min: number, max: number];
}

/** Describes the extents of zones and rasters in words. Adds a hint if they would overlap with x and y swapped. */
function extents(polygons: Polygons, rasters: readonly RasterGrid[]): string {
  const raster = rasterExtent(rasters);
  const { geographic } = rasters[0]!;
  const zones = extentOf(polygons, 0, polygons.x.length);
  const spanning = rasters.length === 1 ? 'The raster spans' : 'The rasters span';
  const both = `${spanning} ${describeExtent(raster)}; the zones span ${describeExtent(zones)}.`;
  if (!swappedMeets(polygons, raster, geographic)) return both;
  const axes = geographic ? 'longitude and latitude' : 'x and y';
  return `${both} They would overlap if ${axes} of the zones were swapped: check their order.`;
}

function rasterExtent(rasters: readonly RasterGrid[]): FileExtent {
  const ends = rasters.map(({ originX, originY, stepX, stepY, width, height }) => ({
    x: [originX, originX + width * stepX],
    y: [originY, originY + height * stepY],
  }));
  const all = { x: Float64Array.from(ends.flatMap(({ x }) => x)), y: Float64Array.from(ends.flatMap(({ y }) => y)) };
  return { x: rangeOf(all.x, 0, all.x.length), y: rangeOf(all.y, 0, all.y.length) };
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
