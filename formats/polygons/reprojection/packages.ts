import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { PackageError } from '../../../primitives/checks/errors.ts';
import { installRemedy, isMissing } from '../../../primitives/host/optional-packages.ts';

/** A coordinate system as proj4 holds it. */
export interface Projected {
  readonly projName: string;
  readonly a: number;
  readonly b: number;
  readonly to_meter?: number | undefined;
  /** Radians from Greenwich to the meridian from which longitudes begin. */
  readonly from_greenwich?: number | undefined;
  /** The kind of shift to WGS 84 is one of {@link DATUM}. */
  datum: { datum_type: number; datum_params?: readonly number[] | undefined };
  axis: string;
}

/** The kinds of shifts to WGS 84, as proj4 numbers them. */
export const DATUM = { three: 1, seven: 2, unknown: 5 } as const;

interface Converter {
  forward(point: [number, number], enforceAxis: boolean): [number, number];
  inverse(point: [number, number], enforceAxis: boolean): [number, number];
}

/** What is used of proj4. */
export interface Proj4 {
  (from: Projected, to: Projected): Converter;
  readonly Proj: new (definition: string | object) => Projected;
  readonly version: string;
}

/** An entry of epsg-index. */
export interface IndexEntry {
  readonly kind: string;
  readonly name: string;
  readonly wkt: string | null;
  readonly proj4: string | null;
  readonly unit: string | null;
  /** Metres by which places may be wrong after the shift to WGS 84. */
  readonly accuracy: number | null;
}

/**
 * Loads proj4.
 *
 * @throws PackageError `package/missing`.
 */
export async function loadProj4(what: string): Promise<Proj4> {
  try {
    return (await import(import.meta.resolve('proj4'))).default;
  } catch (cause) {
    if (!isMissing(['proj4'], cause)) throw cause;
    throw new PackageError('package/missing', `${what}, and proj4, which transforms them, is not installed here.`, {
      remedy: `${installRemedy(['proj4', 'epsg-index'])}. Or transform the zones, for example with ogr2ogr -t_srs.`,
      cause,
    });
  }
}

/**
 * The definition of an EPSG code in the package epsg-index.
 *
 * @returns `missing` if the package is not installed, undefined if it does not have the code.
 */
export async function indexEntry(code: string): Promise<IndexEntry | 'missing' | undefined> {
  let home: string;
  try {
    home = import.meta.resolve('epsg-index/package.json');
  } catch (cause) {
    if (isMissing(['epsg-index'], cause)) return 'missing';
    throw cause;
  }
  const file = fileURLToPath(new URL(`s/${code}.json`, home));
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : (JSON.parse(text) as IndexEntry);
}
