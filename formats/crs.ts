import { requireArguments } from '../primitives/checks/arguments.ts';
import { aText, optional } from '../primitives/checks/kinds.ts';

/**
 * Rewrites the name of a coordinate reference system as `AUTHORITY:code`: `urn:ogc:def:crs:EPSG::26915`,
 * `http://www.opengis.net/def/crs/EPSG/0/26915`, `https://epsg.io/26915`, `+init=epsg:26915`, `epsg:26915` and
 * `NAD83 / UTM zone 15N` all become `EPSG:26915`. Of names without a code, those of common systems are known, as written
 * by the registry of EPSG and by Esri's software. Of a compound such as `EPSG:4326+5773`, the horizontal system is kept.
 *
 * From names in other forms, only the white space at both ends is removed.
 *
 * @example
 * normalizeCrs('urn:ogc:def:crs:OGC:1.3:CRS84'); // 'OGC:CRS84'
 * normalizeCrs('WGS 84'); // 'EPSG:4326'
 */
export function normalizeCrs(text: string): string {
  requireArguments('normalizeCrs', { text }, { text: aText });
  const name = text.trim();
  for (const form of FORMS) {
    const { authority, code } = form.exec(name)?.groups ?? {};
    if (code !== undefined) return `${(authority ?? 'EPSG').toUpperCase()}:${code.toUpperCase()}`;
  }
  return codeOfName(name) ?? name;
}

/**
 * What tells a system from others, if its name has no code: its name, in the form of {@link normalizeCrs}, or its whole
 * definition if programs write the name in place of one, such as `unknown` (PROJ), `unnamed` (GDAL) and `Custom` (QGIS).
 * Two systems that are only called so may be any two.
 */
export function crsByName(name: string, definition: string): string {
  return isPlaceholder(name) ? definition.trim() : normalizeCrs(name);
}

/** Whether a name of a system or datum says nothing, in words without regard to case. */
export function isPlaceholder(name: string): boolean {
  return PLACEHOLDER.test(name.replace(/[^a-z0-9]+/gi, ' ').trim());
}

const PLACEHOLDER = /^$|^(unknown|unnamed|undefined|not specified|user defined|custom)\b/i;

const FORMS: readonly RegExp[] = [
  /^urn:(?:x-)?ogc:def:crs:(?<authority>[a-z]+):(?:[^:]*:)?(?<code>[a-z0-9]+)$/i,
  /^https?:\/\/www\.opengis\.net\/def\/crs\/(?<authority>[a-z]+)\/[^/]+\/(?<code>[a-z0-9]+)$/i,
  /^https?:\/\/www\.opengis\.net\/gml\/srs\/(?<authority>epsg)\.xml#(?<code>\d+)$/i,
  /^https?:\/\/(?:www\.)?spatialreference\.org\/ref\/(?<authority>epsg)\/(?<code>\d+)(?:\/.*)?$/i,
  /^https?:\/\/(?:www\.)?epsg\.io\/(?<code>\d+)(?:[./].*)?$/i,
  /^\+init=(?<authority>epsg):(?<code>\d+)\b/i,
  /^(?<authority>epsg)[\s_/-]*(?<code>\d+)$/i,
  /^(?<authority>[a-z]+):+(?<code>[a-z0-9]+)$/i,
  /^(?<authority>epsg):(?<code>\d+)\+[\w:]+$/i,
];

/**
 * The code of a system by its name, without regard to case, blanks and punctuation; undefined if the name is not known.
 */
function codeOfName(name: string): string | undefined {
  if (LONGLAT.test(name)) return 'EPSG:4326';
  const squeezed = name.toLowerCase().replace(/[^a-z0-9+]/g, '');
  const utm = UTM.exec(squeezed);
  if (utm === null) return NAMES.find(([names]) => names.test(squeezed))?.[1];
  const [, datum, number, half] = utm;
  const zone = Number(number);
  if (datum === 'wgs') return `EPSG:${(half === 'n' ? 32600 : 32700) + zone}`;
  if (half === 's') return undefined;
  const [first, last, base] = datum === 'nad' ? [1, 23, 26900] : [28, 38, 25800];
  return zone >= first && zone <= last ? `EPSG:${base + zone}` : undefined;
}

/** A definition of longitudes and latitudes on WGS 84 for PROJ, from Greenwich to the east. */
const LONGLAT =
  /^\+proj=(longlat|latlong)\s(?!.*\+(pm=(?!0(\s|$)|greenwich)|axis=(?!enu)))(.*\s)?\+(datum|ellps)=WGS84(\s|$)/i;
const UTM = /^(wgs(?=(?:19)?84)|nad(?=(?:19)?83)|etrs(?=(?:19)?89))(?:19)?8[349]utmzone([1-9]|[1-5]\d|60)(n|s)$/;

/** Names without a code, as EPSG's registry and Esri's software write them, and the codes that they mean. */
const NAMES: readonly (readonly [names: RegExp, code: string])[] = [
  [
    /^(gcs)?(wgs|worldgeodeticsystem)(19)?84(3d|crs84|geographic(2d)?|lon(g|gitude)?lat(itude)?|epsg4326)?$/,
    'EPSG:4326',
  ],
  [/^(crs84|lon(g|gitude)?lat(itude)?)$/, 'OGC:CRS84'],
  [/^(gcsnorthamerican1983|nad(19)?83)$/, 'EPSG:4269'],
  [/^(gcsnorthamerican1927|nad(19)?27)$/, 'EPSG:4267'],
  [/^(gcs)?etrs(19)?89$/, 'EPSG:4258'],
  [/^(gcs)?gda(19)?94$/, 'EPSG:4283'],
  [/^wgs(19)?84(webmercator(auxiliarysphere)?|pseudomercator)$/, 'EPSG:3857'],
  [/^etrs(1989laea|89(extended)?laeaeurope)$/, 'EPSG:3035'],
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
  return a !== undefined && b !== undefined && canonicalCrs(a) === canonicalCrs(b);
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
  return crs !== undefined && GEOGRAPHIC.has(canonicalCrs(crs));
}

const GEOGRAPHIC: ReadonlySet<string> = new Set([
  'OGC:CRS84',
  'OGC:CRS83',
  'OGC:CRS27',
  ...[4258, 4267, 4269, 4272, 4283, 4148, 4167, 4490, 4612, 4617, 4674, 4759, 4737, 6318, 6668, 7844].map(
    (code) => `EPSG:${code}`,
  ),
]);

/** The one name that all names of the same system have in common; see {@link sameCrs}. */
export function canonicalCrs(crs: string): string {
  const name = normalizeCrs(crs);
  return WGS84_NAMES.has(name) ? 'OGC:CRS84' : name;
}

const WGS84_NAMES: ReadonlySet<string> = new Set(['EPSG:4326', 'EPSG:4979', 'CRS:84', 'OGC:84', 'OGC:CRS84H']);
