import type { RasterGrid } from '../../../algorithms/geometry/raster.ts';
import type { Note } from '../../../algorithms/notes.ts';
import { FormatError } from '../../../primitives/checks/errors.ts';
import type { Beside } from '../../bytes/beside.ts';
import { readOnce } from './byte-source.ts';
import { crsNote, PIXEL_IS_POINT, RASTER_TYPE, readCrs, readKeys } from './crs-keys.ts';
import type { TiffDirectory } from './directory.ts';
import { parseNumber } from './nodata.ts';
import { sideCrs } from './side-crs.ts';
import type { SideFile } from './side-file.ts';
import { openWorldFile, readWorldFile } from './world-file.ts';

/**
 * Where cells are, as in GDAL: the outer corner of cell (column, row) is at x = `[0] + column · [1] + row · [2]` and y =
 * `[3] + column · [4] + row · [5]`.
 */
export type GeoTransform = readonly [x: number, number, number, y: number, number, number];

/** Placement and coordinate system of a raster. */
export interface Georeference extends Pick<RasterGrid, 'crs' | 'ownCrs' | 'geographic'> {
  readonly geoTransform: GeoTransform;
}

/** Position and size of upright cells. */
export type UprightPlace = Pick<RasterGrid, 'originX' | 'originY' | 'stepX' | 'stepY'>;

/**
 * Reads the placement and the coordinate system from the tags and keys of a GeoTIFF (version 1.1, OGC
 * 19-008r4). If the file says that cells represent points, each point is the centre of a cell. What the side file states
 * wins, as in GDAL. The position and the cell size of a file without tags for them are read from the world file beside
 * it, if there is one.
 *
 * @param beside - The files beside the file; undefined if it has none.
 * @param side - What the side file states.
 * @throws FormatError if the file is not georeferenced, or if its cells have no size; also if the world file is needed
 * and malformed.
 */
export async function readGeoreference(
  directory: TiffDirectory,
  file: string,
  beside: Beside | undefined,
  side: SideFile,
  notes: Note[],
): Promise<Georeference> {
  const keys = await readKeys(directory);
  const own = sidePlacement(side, beside?.path, notes) ?? (await placementInTags(directory, keys, notes));
  const geoTransform = await orInWorldFile(own, directory, file, beside, notes);
  const [, a, b, , d, e] = geoTransform;
  if (!geoTransform.every(Number.isFinite) || (a === 0 && d === 0) || (b === 0 && e === 0)) {
    throw badPlacement(NO_SIZE, geoTransform.join(', '), file);
  }
  const badUnit = (unit: string) => badPlacement('in an angular unit other than degrees', unit, file);
  const crs = side.srs === undefined ? await readCrs(directory, keys, badUnit) : sideCrs(side.srs, badUnit);
  if (crs.crs === undefined) notes.push(crsNote(crs.ownCrs));
  return { geoTransform, ...crs };
}

/**
 * The position and the size of upright cells, with columns from west to east.
 *
 * @param remedy - What to do with a raster that has other cells.
 * @throws FormatError `format/unsupported-geotransform` if cells are rotated, sheared or mirrored.
 */
export function uprightPlace(geoTransform: GeoTransform, file: string, remedy?: string): UprightPlace {
  const [originX, stepX, columnTurn, originY, rowTurn, stepY] = geoTransform;
  const fault =
    columnTurn !== 0 || rowTurn !== 0
      ? 'rotated or sheared'
      : stepX < 0
        ? 'mirrored: its columns run from east to west'
        : stepX === 0 || stepY === 0
          ? NO_SIZE
          : undefined;
  if (fault !== undefined) throw badPlacement(fault, geoTransform.join(', '), file, remedy);
  return { originX, originY, stepX, stepY };
}

/**
 * The placement that the side file states, by the outer corner of the first cell; undefined if it states none. Notes a
 * statement that is not six numbers, which has no effect.
 */
function sidePlacement({ geoTransform }: SideFile, path: string | undefined, notes: Note[]): GeoTransform | undefined {
  if (geoTransform === undefined) return undefined;
  const numbers = geoTransform.split(',').map((text) => parseNumber(text.trim()));
  const file = `${path}.aux.xml`;
  if (numbers.length !== 6 || numbers.includes(undefined)) {
    const message = `The GeoTransform in ${file} is not six numbers; it is ignored.`;
    notes.push({ code: 'raster/side-file-unreadable', message });
    return undefined;
  }
  return numbers as readonly (number | undefined)[] as GeoTransform;
}

/** A placement that the TIFF or its side file states; without one, that in the world file. */
async function orInWorldFile(
  own: GeoTransform | undefined,
  directory: TiffDirectory,
  file: string,
  beside: Beside | undefined,
  notes: Note[],
): Promise<GeoTransform> {
  const world = beside && (await openWorldFile(beside));
  if (world === undefined) {
    if (own !== undefined) return own;
    throw notGeoreferenced(await directory.numbers('modelTiepoint'), file);
  }
  notes.push(worldFileNote(world.file, own === undefined));
  return readOnce(world, async () => own ?? worldPlacement(await readWorldFile(world)));
}

function worldFileNote(path: string, isTaken: boolean): Note {
  const message = isTaken
    ? `${path} gives the position and the size of the cells, which the TIFF does not state.`
    : `${path} is ignored: the TIFF or its side file states the position and the size of the cells.`;
  return { code: 'raster/world-file', message };
}

/** Places the cells by the six numbers of a world file, which give the centre of the upper left cell. */
function worldPlacement(numbers: readonly number[]): GeoTransform {
  const [a, d, b, e, x, y] = numbers as [number, number, number, number, number, number];
  return aroundPoint([x, a, b, y, d, e]);
}

/** The placement of cells whose first one has its centre where the given placement has its corner. */
function aroundPoint([x, a, b, y, d, e]: GeoTransform): GeoTransform {
  return [x - a / 2 - b / 2, a, b, y - d / 2 - e / 2, d, e];
}

/** The placement in the tags of the file, by the outer corner of the first cell; undefined if they do not state one. */
async function placementInTags(
  directory: TiffDirectory,
  keys: ReadonlyMap<number, number>,
  notes: Note[],
): Promise<GeoTransform | undefined> {
  const placement = await tiedPlacement(directory, notes);
  return placement !== undefined && keys.get(RASTER_TYPE) === PIXEL_IS_POINT ? aroundPoint(placement) : placement;
}

/** The placement of the point to which the tags tie the cells; undefined if they do not state one. */
export async function tiedPlacement(directory: TiffDirectory, notes: Note[]): Promise<GeoTransform | undefined> {
  const scale = await directory.numbers('modelPixelScale');
  const tiepoint = await directory.numbers('modelTiepoint');
  if (scale !== undefined && scale.length >= 2 && tiepoint !== undefined && tiepoint.length >= 6) {
    return scalePlacement(scale, tiepoint, notes);
  }
  const matrix = await directory.numbers('modelTransformation');
  if (matrix === undefined || matrix.length < 8) return undefined;
  return [matrix[3]!, matrix[0]!, matrix[1]!, matrix[7]!, matrix[4]!, matrix[5]!];
}

function notGeoreferenced(tiepoint: Float64Array | undefined, file: string): FormatError {
  return new FormatError('format/no-geotransform', 'The TIFF is not georeferenced.', {
    expected: 'ModelPixelScale with ModelTiepoint, ModelTransformation, or a world file beside it (.tfw, .wld)',
    got: tiepoint === undefined ? 'neither' : 'tie points without a scale (ground control points)',
    remedy: 'Give it a place with gdal_translate -a_ullr, or warp it with gdalwarp.',
    place: { file },
  });
}

function scalePlacement(scale: Float64Array, tiepoint: Float64Array, notes: Note[]): GeoTransform {
  const [stepX, scaleY] = [scale[0]!, scale[1]!];
  const stepY = -Math.abs(scaleY);
  if (scaleY < 0) {
    notes.push({
      code: 'raster/negative-scale',
      message: `ModelPixelScale has a negative height (${scaleY}); taken as north-up, as GDAL does.`,
    });
  }
  return [tiepoint[3]! - tiepoint[0]! * stepX, stepX, 0, tiepoint[4]! - tiepoint[1]! * stepY, 0, stepY];
}

const NO_SIZE = 'not finite or has steps of zero';
const REMEDY = 'Warp the raster to an upright grid with gdalwarp.';

function badPlacement(what: string, got: string, file: string, remedy: string = REMEDY): FormatError {
  return new FormatError('format/unsupported-geotransform', `The placement of the raster is ${what}.`, {
    expected: 'upright cells, columns from west to east',
    ...{ got, remedy, place: { file } },
  });
}
