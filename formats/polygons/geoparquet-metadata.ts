import { listNames, quoteName } from '../../algorithms/quoted-names.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { crsByName, normalizeCrs } from '../crs.ts';
import type { ParquetField, ParquetFooter } from '../tables/parquet/footer.ts';
import { isJsonObject, type JsonObject } from './feature.ts';
import { crsOfWkt } from './projection.ts';

/** What a file tells of its column of geometries. */
export interface GeometryColumn {
  readonly field: ParquetField;
  /**
   * The stated coordinate system; null if the statement cannot be understood. Undefined if there is none, or the file says
   * that it is unknown.
   */
  readonly crs: string | null | undefined;
  /** The stated definition of the coordinate system, as PROJJSON or well-known text. */
  readonly crsText?: string | undefined;
  /** Whether the file leaves the coordinate system out, which stands for longitudes and latitudes. */
  readonly isDefault: boolean;
  /** Whether edges are said to be arcs of great circles. */
  readonly isSpherical: boolean;
  /** The stated bounds: left, bottom, right and top. */
  readonly bounds: readonly number[] | undefined;
  /** Names of the columns that hold other geometries. */
  readonly others: readonly string[];
  /** Names of the columns that are no attributes: geometries, and boxes of geometries. */
  readonly hidden: ReadonlySet<string>;
}

/**
 * Finds the column of geometries: the one that `wanted` names, else the primary one of the metadata "geo" (GeoParquet 0.4 to
 * 2.0, by content), else the first of Parquet's logical type GEOMETRY or GEOGRAPHY.
 *
 * @returns Undefined if nothing tells which column has geometries.
 * @throws FormatError `format/malformed-geoparquet`, `format/missing-geometry` if there is no such column,
 * `format/unsupported-encoding` if its geometries are not in WKB.
 */
export function geometryColumnOf(
  footer: ParquetFooter,
  wanted: string | undefined,
  file: string,
): GeometryColumn | undefined {
  const geo = geoOf(footer, file);
  const marked = footer.blobs
    .filter(({ element }) => element.logical_type !== undefined)
    .map(({ field }) => field.name);
  const named = geo === undefined ? marked : Object.keys(geo.columns);
  const name = wanted ?? geo?.primary ?? marked[0];
  if (name === undefined) return undefined;
  const stated = geo !== undefined && Object.hasOwn(geo.columns, name) ? geo.columns[name] : undefined;
  if (stated !== undefined && stated.encoding !== 'WKB') throw wrongEncoding(name, stated.encoding, file);
  const field = footer.blobs.find((blob) => blob.field.name === name);
  if (field === undefined) throw noGeometryColumn(name, footer, file);
  const others = [...new Set([...named, ...marked])].filter((other) => other !== name);
  const hidden = new Set([name, ...others, ...boxesOf(geo?.columns ?? {})]);
  const found = stated === undefined ? byType(field, footer, file) : byMetadata(stated);
  return { field, others, hidden, ...found };
}

type Stated = Pick<GeometryColumn, 'crs' | 'crsText' | 'isDefault' | 'isSpherical' | 'bounds'>;

/** The metadata "geo": the name of the primary column, and what is stated of each column. */
interface Geo {
  readonly primary: string;
  readonly columns: Readonly<Record<string, JsonObject>>;
}

function geoOf({ metadata }: ParquetFooter, file: string): Geo | undefined {
  const text = metadata.get('geo');
  if (text === undefined) return undefined;
  const geo = parsed(text, 'geo', file);
  const { primary_column: primary, columns } = isJsonObject(geo) ? geo : ({} as JsonObject);
  if (typeof primary !== 'string' || !isJsonObject(columns) || !Object.values(columns).every(isJsonObject)) {
    throw malformed('The metadata "geo" do not describe columns.', 'primary_column and columns', 'none', file);
  }
  return { primary, columns: columns as Geo['columns'] };
}

function parsed(text: string, key: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const sentence = `The metadata ${quoteName(key)} are no JSON.`;
    throw malformed(sentence, 'JSON', (cause as Error).message, file, cause);
  }
}

function byMetadata(stated: JsonObject): Stated {
  const { crs, edges, bbox } = stated;
  return {
    crs: crs === undefined || crs === null ? undefined : crsOfJson(crs),
    crsText: isJsonObject(crs) ? JSON.stringify(crs) : typeof crs === 'string' ? crs : undefined,
    isDefault: crs === undefined,
    isSpherical: edges !== undefined && edges !== 'planar',
    bounds: boundsOf(bbox),
  };
}

/** What the type of a column states. One that is named by the user, and not marked, states nothing. */
function byType({ element: { logical_type: type } }: ParquetField, { metadata }: ParquetFooter, file: string): Stated {
  if (type?.type !== 'GEOMETRY' && type?.type !== 'GEOGRAPHY') {
    return { crs: undefined, isDefault: false, isSpherical: false, bounds: undefined };
  }
  const crs = type.crs === undefined || type.crs === '' ? undefined : crsOfType(type.crs, metadata, file);
  return {
    crs,
    isDefault: crs === undefined && !/^srid:0*$/i.test(type.crs ?? ''),
    isSpherical: type.type === 'GEOGRAPHY',
    bounds: undefined,
  };
}

function crsOfType(text: string, metadata: ReadonlyMap<string, string>, file: string): string | null | undefined {
  const [, kind, value] = /^(srid|projjson):(.*)$/is.exec(text) ?? [];
  if (kind?.toLowerCase() === 'srid') return /^0*$/.test(value!) ? undefined : `EPSG:${value}`;
  if (kind !== undefined) {
    const found = metadata.get(value!);
    return found === undefined ? null : crsOfJson(parsed(found, value!, file));
  }
  return text.startsWith('{') ? crsOfJson(parsed(text, 'crs', file)) : crsOfJson(text);
}

/** The coordinate system of PROJJSON, without its vertical part, or of a text; null if it cannot be understood. */
function crsOfJson(crs: unknown): string | null {
  if (typeof crs === 'string') return crs.trim() === '' ? null : (crsOfWkt(crs) ?? normalizeCrs(crs));
  if (!isJsonObject(crs)) return null;
  const { id, ids, name, type, components, source_crs: source } = crs;
  const first = isJsonObject(id) ? id : Array.isArray(ids) && isJsonObject(ids[0]) ? ids[0] : {};
  const { authority, code } = first;
  if (type === 'CompoundCRS' && Array.isArray(components)) return horizontal(components[0]);
  if (type === 'BoundCRS') return horizontal(source);
  if (typeof authority === 'string' && (typeof code === 'string' || typeof code === 'number')) {
    return normalizeCrs(`${authority}:${code}`);
  }
  return typeof name === 'string' && name.trim() !== '' ? crsByName(name, JSON.stringify(crs)) : null;
}

/** The system inside of another one, which is in no third one. */
function horizontal(crs: unknown): string | null {
  return isJsonObject(crs) && crs.type !== 'CompoundCRS' && crs.type !== 'BoundCRS' ? crsOfJson(crs) : null;
}

/** Left, bottom, right and top of a box with two, three or four dimensions; undefined if it is none. */
function boundsOf(bbox: unknown): readonly number[] | undefined {
  if (!Array.isArray(bbox) || bbox.length < 4 || bbox.length % 2 !== 0) return undefined;
  const half = bbox.length / 2;
  const bounds = [bbox[0], bbox[1], bbox[half], bbox[half + 1]];
  return bounds.every(Number.isFinite) ? bounds : undefined;
}

/** The columns that hold boxes of geometries, which the metadata name by paths. */
function boxesOf(columns: Geo['columns']): string[] {
  return Object.values(columns).flatMap(({ covering }) => {
    const box = isJsonObject(covering) && isJsonObject(covering.bbox) ? covering.bbox.xmin : undefined;
    return Array.isArray(box) && typeof box[0] === 'string' ? [box[0]] : [];
  });
}

function wrongEncoding(name: string, encoding: unknown, file: string): FormatError {
  const got = typeof encoding === 'string' ? quoteName(encoding) : 'none';
  return new FormatError('format/unsupported-encoding', `The geometries of ${quoteName(name)} are not in WKB.`, {
    expected: 'the encoding WKB',
    got,
    remedy: 'Write the geometries as WKB.',
    place: { file },
  });
}

function noGeometryColumn(name: string, { blobs }: ParquetFooter, file: string): FormatError {
  const names = blobs.map(({ field }) => field.name);
  return new FormatError('format/missing-geometry', `There is no column ${quoteName(name)} of geometries.`, {
    expected: 'a column of bytes',
    got: names.length === 0 ? 'none' : `those of ${listNames(names, 20)}`,
    remedy: names.length === 0 ? 'Write geometries as WKB.' : 'Name one of these by --geometry-column.',
    place: { file },
  });
}

/** The error for a file of which nothing tells where its geometries are. */
export function noMetadata({ blobs, fields }: ParquetFooter, file: string): FormatError {
  const names = blobs.map(({ field }) => field.name);
  const all = fields.map(({ field }) => field.name);
  return new FormatError('format/missing-geometry', 'The Parquet file has no metadata of geometries.', {
    expected: 'the metadata "geo", or a column of the type GEOMETRY',
    got: all.length === 0 ? 'neither' : `neither, and the columns ${listNames(all, 20)}`,
    remedy:
      names.length === 0
        ? 'Write it as GeoParquet.'
        : `Name the column of WKB by --geometry-column (geometryColumn): ${listNames(names, 20)}.`,
    place: { file },
  });
}

function malformed(sentence: string, expected: string, got: string, file: string, cause?: unknown): FormatError {
  const remedy = 'Write the file again.';
  return new FormatError('format/malformed-geoparquet', sentence, { expected, got, remedy, place: { file }, cause });
}
