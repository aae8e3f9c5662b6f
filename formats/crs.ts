import { requireArguments } from '../primitives/arguments.ts';
import { aText, optional } from '../primitives/kinds.ts';

/**
 * Rewrites the name of a coordinate reference system as `AUTHORITY:code`: `urn:ogc:def:crs:EPSG::26915`,
 * `http://www.opengis.net/def/crs/EPSG/0/26915`, `epsg:26915` and `EPSG:26915` all become `EPSG:26915`.
 *
 * From names in other forms, only the white space at both ends is removed.
 *
 * @example
 * normalizeCrs('urn:ogc:def:crs:OGC:1.3:CRS84'); // 'OGC:CRS84'
 */
export function normalizeCrs(text: string): string {
  requireArguments('normalizeCrs', { text }, { text: aText });
  const name = text.trim();
  const match = FORMS.map((form) => form.exec(name)).find((found) => found !== null);
  return match === undefined ? name : `${match[1]!.toUpperCase()}:${match[2]!.toUpperCase()}`;
}

const FORMS: readonly RegExp[] = [
  /^urn:(?:x-)?ogc:def:crs:([a-z]+):[^:]*:([a-z0-9]+)$/i,
  /^https?:\/\/www\.opengis\.net\/def\/crs\/([a-z]+)\/[^/]+\/([a-z0-9]+)$/i,
  /^([a-z]+):+([a-z0-9]+)$/i,
];

/**
 * Whether two names mean the same coordinate system. `OGC:CRS84`, `CRS:84` and `EPSG:4326` all mean longitude and
 * latitude on WGS 84. (The registry defines latitude first for EPSG:4326, but GIS files store longitude first.) NAD 83
 * (`EPSG:4269`) is different, because its datum is shifted by a metre or two. A missing name is never the same as
 * another name, not even as another missing name.
 *
 * @example
 * sameCrs('EPSG:4326', 'urn:ogc:def:crs:OGC:1.3:CRS84'); // true
 */
export function sameCrs(a: string | undefined, b: string | undefined): boolean {
  requireArguments('sameCrs', { a, b }, { a: optional(aText), b: optional(aText) });
  return a !== undefined && b !== undefined && canonical(a) === canonical(b);
}

/** Maximum absolute value of a latitude in degrees, plus one degree of tolerance for rounding errors at the poles. */
const LATITUDE_LIMIT = 91;

/**
 * The first y coordinate that is too large to be a latitude in degrees; undefined if all may be latitudes.
 *
 * @example
 * [findNoLatitude(Float64Array.of(43, -90)), findNoLatitude(Float64Array.of(43, 610))]; // [undefined, 610]
 */
export function findNoLatitude(y: Float64Array): number | undefined {
  return y.find((latitude) => Math.abs(latitude) > LATITUDE_LIMIT);
}

/**
 * Whether the coordinates of a coordinate system are longitudes and latitudes in degrees. Recognizes the geographic
 * systems common in files (WGS 84, NAD 83, NAD 27, ETRS 89, GDA, NZGD, JGD, CGCS, SIRGAS and similar); false for all
 * other systems.
 *
 * @example
 * [isGeographicCrs('EPSG:4326'), isGeographicCrs('EPSG:32633')]; // [true, false]
 */
export function isGeographicCrs(crs: string | undefined): boolean {
  requireArguments('isGeographicCrs', { crs }, { crs: optional(aText) });
  return crs !== undefined && GEOGRAPHIC.has(canonical(crs));
}

const GEOGRAPHIC: ReadonlySet<string> = new Set([
  'OGC:CRS84',
  'OGC:CRS83',
  'OGC:CRS27',
  ...[4258, 4267, 4269, 4272, 4283, 4148, 4167, 4490, 4612, 4617, 4674, 4759, 4737, 6318, 6668, 7844].map(
    (code) => `EPSG:${code}`,
  ),
]);

function canonical(crs: string): string {
  const name = normalizeCrs(crs);
  return WGS84_NAMES.has(name) ? 'OGC:CRS84' : name;
}

const WGS84_NAMES: ReadonlySet<string> = new Set(['EPSG:4326', 'CRS:84', 'OGC:84', 'CRS84']);
