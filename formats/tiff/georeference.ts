import type { RasterGrid } from '../../algorithms/geometry/raster.ts';
import { type Note, quoteName } from '../../algorithms/notes.ts';
import { FormatError } from '../../primitives/errors.ts';
import { TAG, type TiffDirectory } from './directory.ts';
import { findWorldFile, readWorldFile } from './world-file.ts';

/** Position, cell size and coordinate system of a raster, without its width and height. */
export type Georeference = Omit<RasterGrid, 'width' | 'height'>;

/**
 * Reads the position, the cell size and the coordinate system from the tags and keys of a GeoTIFF (version 1.1, OGC
 * 19-008r4). If the file says that cells represent points, each point is the centre of a cell. The position and the cell
 * size of a file without tags for them are read from the world file beside it, if there is one.
 *
 * @param path - Path of the file; undefined for bytes in memory, which have no world file.
 * @throws FormatError if the file is not georeferenced, or if its cells are not upright rectangles; also if the world
 * file is needed and malformed.
 */
export async function readGeoreference(
  directory: TiffDirectory,
  file: string,
  path: string | undefined,
  notes: Note[],
): Promise<Georeference> {
  const keys = await readKeys(directory);
  const { originX, originY, stepX, stepY } = await readPlacement(directory, keys, file, path, notes);
  if (![originX, originY, stepX, stepY].every(Number.isFinite) || stepX === 0 || stepY === 0) {
    throw badPlacement('not finite or has steps of zero', `steps ${stepX}, ${stepY} from ${originX}, ${originY}`, file);
  }
  if (stepX < 0) throw badPlacement('mirrored: its columns run from east to west', `a step of ${stepX}`, file);
  return { originX, originY, stepX, stepY, ...(await readCrs(directory, keys, file, notes)) };
}

interface Placement {
  readonly originX: number;
  readonly originY: number;
  readonly stepX: number;
  readonly stepY: number;
}

async function readPlacement(
  directory: TiffDirectory,
  keys: ReadonlyMap<number, number>,
  file: string,
  path: string | undefined,
  notes: Note[],
): Promise<Placement> {
  const inTags = await placementInTags(directory, file, notes);
  const beside = path === undefined ? undefined : await findWorldFile(path);
  if (beside !== undefined) notes.push(worldFileNote(beside, inTags === undefined));
  if (inTags === undefined) {
    if (beside === undefined) throw notGeoreferenced(await directory.numbers('modelTiepoint'), file);
    return worldPlacement(await readWorldFile(beside), beside);
  }
  const shift = keys.get(KEY.rasterType) === PIXEL_IS_POINT ? 0.5 : 0;
  const { originX, originY, stepX, stepY } = inTags;
  return { originX: originX - shift * stepX, originY: originY - shift * stepY, stepX, stepY };
}

function worldFileNote(path: string, isTaken: boolean): Note {
  const message = isTaken
    ? `${path} gives the position and the size of the cells, which the TIFF does not state.`
    : `${path} is ignored: the TIFF states the position and the size of its cells itself.`;
  return { code: 'raster/world-file', message };
}

/** Places the cells by the six numbers of a world file, which give the centre of the upper left cell. */
function worldPlacement(numbers: readonly number[], file: string): Placement {
  const [stepX, rowTurn, columnTurn, stepY, x, y] = numbers as [number, number, number, number, number, number];
  if (rowTurn !== 0 || columnTurn !== 0) throw badPlacement('rotated or sheared', numbers.join(', '), file);
  return { originX: x - stepX / 2, originY: y - stepY / 2, stepX, stepY };
}

/** The placement in the tags of the file; undefined if they do not state one. */
async function placementInTags(directory: TiffDirectory, file: string, notes: Note[]): Promise<Placement | undefined> {
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

/** Numbers of the GeoTIFF keys that are read. The constants below are values of these keys. */
const KEY = {
  modelType: 1024,
  rasterType: 1025,
  citation: 1026,
  geodeticCrs: 2048,
  geodeticCitation: 2049,
  angularUnit: 2054,
  projectedCrs: 3072,
  projectedCitation: 3073,
  linearUnit: 3076,
} as const;
const PIXEL_IS_POINT = 2;
const MODEL_PROJECTED = 1;
const MODEL_GEOGRAPHIC = 2;
const MODEL_GEOCENTRIC = 3;
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

async function readCrs(
  directory: TiffDirectory,
  keys: ReadonlyMap<number, number>,
  file: string,
  notes: Note[],
): Promise<Pick<RasterGrid, 'crs' | 'ownCrs' | 'geographic'>> {
  const projected = keys.get(KEY.projectedCrs);
  const geodetic = keys.get(KEY.geodeticCrs);
  const model = keys.get(KEY.modelType) ?? guessModel(projected ?? keys.get(KEY.linearUnit), geodetic);
  const geographic = model === MODEL_GEOGRAPHIC;
  const unit = keys.get(KEY.angularUnit);
  if (geographic && !DEGREES.has(unit)) {
    throw badPlacement('in an angular unit other than degrees', `EPSG unit ${unit}`, file);
  }
  const code = geographic ? geodetic : model === MODEL_PROJECTED ? projected : undefined;
  if (code !== undefined && code > 0 && code < USER_DEFINED) return { crs: `EPSG:${code}`, geographic };
  // A file that states no more than longitudes and latitudes describes no system of its own.
  const isSilent = model === undefined || model === 0 || (geographic && !code);
  const ownCrs = isSilent ? undefined : await describeOwn(directory, model);
  notes.push({
    code: 'raster/crs-unknown',
    message:
      ownCrs === undefined
        ? 'The raster does not say which coordinate system it is in.'
        : `The raster states ${ownCrs}.`,
  });
  return { crs: undefined, ownCrs, geographic };
}

const MODELS: ReadonlyMap<number, string> = new Map([
  [MODEL_PROJECTED, 'a projected'],
  [MODEL_GEOGRAPHIC, 'a geographic'],
  [MODEL_GEOCENTRIC, 'a geocentric'],
]);

/** Describes a coordinate system that has no code, with its name if the file gives one. */
async function describeOwn(directory: TiffDirectory, model: number): Promise<string> {
  const name = await readCitation(directory, model);
  const named = name === undefined ? '' : ` called ${quoteName(name)}`;
  return `${MODELS.get(model) ?? 'a'} coordinate system of its own${named}, without an EPSG code`;
}

async function readCitation(directory: TiffDirectory, model: number): Promise<string | undefined> {
  const words = (await directory.numbers('geoKeyDirectory'))!;
  const texts = (await directory.text('geoAsciiParams', MAX_CITATIONS)) ?? '';
  const wanted = [model === MODEL_GEOGRAPHIC ? KEY.geodeticCitation : KEY.projectedCitation, KEY.citation];
  for (const key of wanted) {
    for (let at = 4; at + 3 < words.length; at += 4) {
      if (words[at] !== key || words[at + 1] !== TAG.geoAsciiParams) continue;
      const start = words[at + 3]!;
      const name = texts
        .slice(start, start + words[at + 2]!)
        .replace(/\|.*$/s, '')
        .trim();
      if (name !== '') return name;
    }
  }
  return undefined;
}

/** Maximum bytes of the names of coordinate systems in a file. */
const MAX_CITATIONS = 2 ** 16;

/** Guesses the model from the code or the linear unit of a projected system, and the code of a geographic one. */
function guessModel(projected: number | undefined, geodetic: number | undefined): number | undefined {
  if (projected !== undefined) return MODEL_PROJECTED;
  return geodetic === undefined ? undefined : MODEL_GEOGRAPHIC;
}
