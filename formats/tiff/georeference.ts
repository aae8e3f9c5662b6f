import type { RasterGrid } from '../../algorithms/geometry/raster.ts';
import type { Note } from '../../algorithms/notes.ts';
import { FormatError } from '../../primitives/errors.ts';
import type { TiffDirectory } from './directory.ts';

/** Position, cell size and coordinate system of a raster, without its width and height. */
export type Georeference = Omit<RasterGrid, 'width' | 'height'>;

/**
 * Reads the position, the cell size and the coordinate system from the tags and keys of a GeoTIFF (version 1.1, OGC
 * 19-008r4). If the file says that cells represent points, each point is the centre of a cell.
 *
 * @throws FormatError if the file is not georeferenced, or if its cells are not upright rectangles.
 */
export async function readGeoreference(directory: TiffDirectory, file: string, notes: Note[]): Promise<Georeference> {
  const keys = await readKeys(directory);
  const { originX, originY, stepX, stepY } = await readPlacement(directory, file, notes);
  if (![originX, originY, stepX, stepY].every(Number.isFinite) || stepX === 0 || stepY === 0) {
    throw badPlacement('not finite or has steps of zero', `steps ${stepX}, ${stepY} from ${originX}, ${originY}`, file);
  }
  if (stepX < 0) throw badPlacement('mirrored: its columns run from east to west', `a step of ${stepX}`, file);
  const shift = keys.get(KEY.rasterType) === PIXEL_IS_POINT ? 0.5 : 0;
  return {
    originX: originX - shift * stepX,
    originY: originY - shift * stepY,
    stepX,
    stepY,
    ...readCrs(keys, file, notes),
  };
}

interface Placement {
  readonly originX: number;
  readonly originY: number;
  readonly stepX: number;
  readonly stepY: number;
}

async function readPlacement(directory: TiffDirectory, file: string, notes: Note[]): Promise<Placement> {
  const scale = await directory.numbers('modelPixelScale');
  const tiepoint = await directory.numbers('modelTiepoint');
  if (scale !== undefined && scale.length >= 2 && tiepoint !== undefined && tiepoint.length >= 6) {
    return scalePlacement(scale, tiepoint, notes);
  }
  const matrix = await directory.numbers('modelTransformation');
  if (matrix !== undefined && matrix.length >= 8) return matrixPlacement(matrix, file);
  throw new FormatError('format/no-geotransform', 'The TIFF is not georeferenced.', {
    expected: 'ModelPixelScale with ModelTiepoint, or ModelTransformation',
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

/** Numbers of the GeoTIFF keys that are read. The constants below are values of these keys. */
const KEY = { modelType: 1024, rasterType: 1025, geodeticCrs: 2048, angularUnit: 2054, projectedCrs: 3072 } as const;
const PIXEL_IS_POINT = 2;
const MODEL_PROJECTED = 1;
const MODEL_GEOGRAPHIC = 2;
const USER_DEFINED = 32767;
const DEGREES: ReadonlySet<number | undefined> = new Set([undefined, 9102, 9122]);

/** Reads keys whose value is stored in the key directory itself, such as codes and types. Other keys are ignored. */
async function readKeys(directory: TiffDirectory): Promise<ReadonlyMap<number, number>> {
  const words = (await directory.numbers('geoKeyDirectory')) ?? new Float64Array();
  const keys = new Map<number, number>();
  for (let at = 4; at + 3 < words.length && at < 4 * (words[3]! + 1); at += 4) {
    if (words[at + 1] === 0) keys.set(words[at]!, words[at + 3]!);
  }
  return keys;
}

function readCrs(
  keys: ReadonlyMap<number, number>,
  file: string,
  notes: Note[],
): Pick<RasterGrid, 'crs' | 'geographic'> {
  const projected = keys.get(KEY.projectedCrs);
  const geodetic = keys.get(KEY.geodeticCrs);
  const model = keys.get(KEY.modelType) ?? guessModel(projected, geodetic);
  const geographic = model === MODEL_GEOGRAPHIC;
  const unit = keys.get(KEY.angularUnit);
  if (geographic && !DEGREES.has(unit)) {
    throw badPlacement('in an angular unit other than degrees', `EPSG unit ${unit}`, file);
  }
  const code = geographic ? geodetic : model === MODEL_PROJECTED ? projected : undefined;
  if (code !== undefined && code > 0 && code < USER_DEFINED) return { crs: `EPSG:${code}`, geographic };
  notes.push({
    code: 'raster/crs-unknown',
    message:
      code === USER_DEFINED
        ? 'The raster describes a coordinate system of its own, without an EPSG code.'
        : 'The raster does not say which coordinate system it is in.',
  });
  return { crs: undefined, geographic };
}

function guessModel(projected: number | undefined, geodetic: number | undefined): number | undefined {
  if (projected !== undefined) return MODEL_PROJECTED;
  return geodetic === undefined ? undefined : MODEL_GEOGRAPHIC;
}
