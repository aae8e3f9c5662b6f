import type { RasterGrid } from '../../algorithms/geometry/raster.ts';
import type { Note } from '../../algorithms/notes.ts';
import { FormatError } from '../../primitives/errors.ts';
import { crsNote, PIXEL_IS_POINT, RASTER_TYPE, readCrs, readKeys } from './crs-keys.ts';
import type { TiffDirectory } from './directory.ts';
import { parseNumber } from './nodata.ts';
import { sideCrs } from './side-crs.ts';
import type { SideFile } from './side-file.ts';
import { findWorldFile, readWorldFile } from './world-file.ts';

/** Position, cell size and coordinate system of a raster, without its width and height. */
export type Georeference = Omit<RasterGrid, 'width' | 'height'>;

/**
 * Reads the position, the cell size and the coordinate system from the tags and keys of a GeoTIFF (version 1.1, OGC
 * 19-008r4). If the file says that cells represent points, each point is the centre of a cell. What the side file states
 * wins, as in GDAL. The position and the cell size of a file without tags for them are read from the world file beside
 * it, if there is one.
 *
 * @param path - Path of the file; undefined for bytes in memory, which have no world file.
 * @param side - What the side file states.
 * @throws FormatError if the file is not georeferenced, or if its cells are not upright rectangles; also if the world
 * file is needed and malformed.
 */
export async function readGeoreference(
  directory: TiffDirectory,
  file: string,
  path: string | undefined,
  side: SideFile,
  notes: Note[],
): Promise<Georeference> {
  const keys = await readKeys(directory);
  const own = sidePlacement(side, path, notes) ?? (await placementInTags(directory, keys, file, notes));
  const { originX, originY, stepX, stepY } = await orInWorldFile(own, directory, file, path, notes);
  if (![originX, originY, stepX, stepY].every(Number.isFinite) || stepX === 0 || stepY === 0) {
    throw badPlacement('not finite or has steps of zero', `steps ${stepX}, ${stepY} from ${originX}, ${originY}`, file);
  }
  if (stepX < 0) throw badPlacement('mirrored: its columns run from east to west', `a step of ${stepX}`, file);
  const badUnit = (unit: string) => badPlacement('in an angular unit other than degrees', unit, file);
  const crs = side.srs === undefined ? await readCrs(directory, keys, badUnit) : sideCrs(side.srs, badUnit);
  if (crs.crs === undefined) notes.push(crsNote(crs.ownCrs));
  return { originX, originY, stepX, stepY, ...crs };
}

interface Placement {
  readonly originX: number;
  readonly originY: number;
  readonly stepX: number;
  readonly stepY: number;
}

/**
 * The placement that the side file states, by the outer corner of the first cell; undefined if it states none. Notes a
 * statement that is not six numbers, which has no effect.
 */
function sidePlacement({ geoTransform }: SideFile, path: string | undefined, notes: Note[]): Placement | undefined {
  if (geoTransform === undefined) return undefined;
  const numbers = geoTransform.split(',').map((text) => parseNumber(text.trim()));
  const [originX, stepX, columnTurn, originY, rowTurn, stepY] = numbers as number[];
  const file = `${path}.aux.xml`;
  if (numbers.length !== 6 || numbers.includes(undefined)) {
    const message = `The GeoTransform in ${file} is not six numbers; it is ignored.`;
    notes.push({ code: 'raster/side-file-unreadable', message });
    return undefined;
  }
  if (columnTurn !== 0 || rowTurn !== 0) throw badPlacement('rotated or sheared', geoTransform, file);
  return { originX: originX!, originY: originY!, stepX: stepX!, stepY: stepY! };
}

/** A placement that the TIFF or its side file states; without one, that in the world file. */
async function orInWorldFile(
  own: Placement | undefined,
  directory: TiffDirectory,
  file: string,
  path: string | undefined,
  notes: Note[],
): Promise<Placement> {
  const beside = path === undefined ? undefined : await findWorldFile(path);
  if (beside !== undefined) notes.push(worldFileNote(beside, own === undefined));
  if (own !== undefined) return own;
  if (beside === undefined) throw notGeoreferenced(await directory.numbers('modelTiepoint'), file);
  return worldPlacement(await readWorldFile(beside), beside);
}

function worldFileNote(path: string, isTaken: boolean): Note {
  const message = isTaken
    ? `${path} gives the position and the size of the cells, which the TIFF does not state.`
    : `${path} is ignored: the TIFF or its side file states the position and the size of the cells.`;
  return { code: 'raster/world-file', message };
}

/** Places the cells by the six numbers of a world file, which give the centre of the upper left cell. */
function worldPlacement(numbers: readonly number[], file: string): Placement {
  const [stepX, rowTurn, columnTurn, stepY, x, y] = numbers as [number, number, number, number, number, number];
  if (rowTurn !== 0 || columnTurn !== 0) throw badPlacement('rotated or sheared', numbers.join(', '), file);
  return { originX: x - stepX / 2, originY: y - stepY / 2, stepX, stepY };
}

/** The placement in the tags of the file, by the outer corner of the first cell; undefined if they do not state one. */
async function placementInTags(
  directory: TiffDirectory,
  keys: ReadonlyMap<number, number>,
  file: string,
  notes: Note[],
): Promise<Placement | undefined> {
  const placement = await tiedPlacement(directory, file, notes);
  if (placement === undefined || keys.get(RASTER_TYPE) !== PIXEL_IS_POINT) return placement;
  const { originX, originY, stepX, stepY } = placement;
  return { originX: originX - stepX / 2, originY: originY - stepY / 2, stepX, stepY };
}

/** The placement of the point to which the tags tie the cells. */
async function tiedPlacement(directory: TiffDirectory, file: string, notes: Note[]): Promise<Placement | undefined> {
  const scale = await directory.numbers('modelPixelScale');
  const tiepoint = await directory.numbers('modelTiepoint');
  if (scale !== undefined && scale.length >= 2 && tiepoint !== undefined && tiepoint.length >= 6) {
    return scalePlacement(scale, tiepoint, notes);
  }
  const matrix = await directory.numbers('modelTransformation');
  return matrix !== undefined && matrix.length >= 8 ? matrixPlacement(matrix, file) : undefined;
}

function notGeoreferenced(tiepoint: Float64Array | undefined, file: string): FormatError {
  return new FormatError('format/no-geotransform', 'The TIFF is not georeferenced.', {
    expected: 'ModelPixelScale with ModelTiepoint, ModelTransformation, or a world file beside it (.tfw, .wld)',
    got: tiepoint === undefined ? 'neither' : 'tie points without a scale (ground control points)',
    remedy: 'Give it a place with gdal_translate -a_ullr, or warp it with gdalwarp.',
    place: { file },
  });
}

function scalePlacement(scale: Float64Array, tiepoint: Float64Array, notes: Note[]): Placement {
  const [stepX, scaleY] = [scale[0]!, scale[1]!];
  const stepY = -Math.abs(scaleY);
  if (scaleY < 0) {
    notes.push({
      code: 'raster/negative-scale',
      message: `ModelPixelScale has a negative height (${scaleY}); taken as north-up, as GDAL does.`,
    });
  }
  return {
    originX: tiepoint[3]! - tiepoint[0]! * stepX,
    originY: tiepoint[4]! - tiepoint[1]! * stepY,
    stepX,
    stepY,
  };
}

function matrixPlacement(matrix: Float64Array, file: string): Placement {
  if (matrix[1] !== 0 || matrix[4] !== 0) {
    throw badPlacement('rotated or sheared', `ModelTransformation ${[...matrix.subarray(0, 8)].join(', ')}`, file);
  }
  return { originX: matrix[3]!, originY: matrix[7]!, stepX: matrix[0]!, stepY: matrix[5]! };
}

function badPlacement(what: string, got: string, file: string): FormatError {
  return new FormatError('format/unsupported-geotransform', `The placement of the raster is ${what}.`, {
    expected: 'upright cells, columns from west to east',
    got,
    remedy: 'Warp the raster to an upright grid with gdalwarp.',
    place: { file },
  });
}
