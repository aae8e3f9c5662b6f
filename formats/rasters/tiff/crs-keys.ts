import type { RasterGrid } from '../../../algorithms/geometry/raster.ts';
import type { Note } from '../../../algorithms/notes.ts';
import { quoteName } from '../../../algorithms/quoted-names.ts';
import type { FormatError } from '../../../primitives/checks/errors.ts';
import { TAG, type TiffDirectory } from './directory.ts';

/** The coordinate system of a raster. */
export type RasterCrs = Pick<RasterGrid, 'crs' | 'ownCrs' | 'geographic'>;

/** Number of the key that says whether cells represent areas or points, and its value for points. */
export const RASTER_TYPE = 1025;
export const PIXEL_IS_POINT = 2;

/** Numbers of the GeoTIFF keys that are read. The constants below are values of these keys. */
const KEY = {
  modelType: 1024,
  citation: 1026,
  geodeticCrs: 2048,
  geodeticCitation: 2049,
  angularUnit: 2054,
  projectedCrs: 3072,
  projectedCitation: 3073,
  linearUnit: 3076,
} as const;
const MODEL_PROJECTED = 1;
const MODEL_GEOGRAPHIC = 2;
const MODEL_GEOCENTRIC = 3;
const USER_DEFINED = 32767;
const DEGREES: ReadonlySet<number | undefined> = new Set([undefined, 9102, 9122]);

/** Reads keys whose value is stored in the key directory itself, such as codes and types. Other keys are ignored. */
export async function readKeys(directory: TiffDirectory): Promise<ReadonlyMap<number, number>> {
  const words = (await directory.numbers('geoKeyDirectory')) ?? new Float64Array();
  const keys = new Map<number, number>();
  for (let at = 4; at + 3 < words.length && at < 4 * (words[3]! + 1); at += 4) {
    if (words[at + 1] === 0) keys.set(words[at]!, words[at + 3]!);
  }
  return keys;
}

/**
 * Reads the coordinate system from the keys.
 *
 * @param badUnit - Returns the error for an angular unit other than degrees.
 */
export async function readCrs(
  directory: TiffDirectory,
  keys: ReadonlyMap<number, number>,
  badUnit: (unit: string) => FormatError,
): Promise<RasterCrs> {
  const projected = keys.get(KEY.projectedCrs);
  const geodetic = keys.get(KEY.geodeticCrs);
  const model = keys.get(KEY.modelType) ?? guessModel(projected ?? keys.get(KEY.linearUnit), geodetic);
  const geographic = model === MODEL_GEOGRAPHIC;
  const unit = keys.get(KEY.angularUnit);
  if (geographic && !DEGREES.has(unit)) throw badUnit(`EPSG unit ${unit}`);
  const code = geographic ? geodetic : model === MODEL_PROJECTED ? projected : undefined;
  if (isCode(code)) return { crs: `EPSG:${code}`, geographic };
  // A file that states no more than longitudes and latitudes describes no system of its own.
  const isSilent = model === undefined || model === 0 || (geographic && !code);
  if (isSilent) return { crs: undefined, geographic };
  if (model === MODEL_GEOCENTRIC && isCode(geodetic))
    return { crs: undefined, ownCrs: geocentric(geodetic), geographic };
  return { crs: undefined, ownCrs: describeOwn(MODELS.get(model), await readCitation(directory, model)), geographic };
}

function isCode(code: number | undefined): code is number {
  return code !== undefined && code > 0 && code < USER_DEFINED;
}

const MODELS: ReadonlyMap<number, string> = new Map([
  [MODEL_PROJECTED, 'projected'],
  [MODEL_GEOGRAPHIC, 'geographic'],
  [MODEL_GEOCENTRIC, 'geocentric'],
]);

/** Describes a geocentric system. Its coordinates are three distances from the centre of the Earth, not places on a map. */
export function geocentric(code: number | string): string {
  return `the geocentric coordinate system EPSG:${code}`;
}

/** Describes a coordinate system that has no code, by its kind and its name as far as the file gives them. */
export function describeOwn(kind: string | undefined, name: string | undefined): string {
  const named = name === undefined ? '' : ` called ${quoteName(name)}`;
  return `a${kind === undefined ? '' : ` ${kind}`} coordinate system of its own${named}, without an EPSG code`;
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

/** The note on a raster whose coordinate system has no code. */
export function crsNote(ownCrs: string | undefined): Note {
  const stated = ownCrs === undefined ? 'does not say which coordinate system it is in' : `states ${ownCrs}`;
  return { code: 'raster/crs-unknown', message: `The raster ${stated}.` };
}
