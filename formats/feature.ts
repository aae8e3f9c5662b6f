import { quoteName } from '../algorithms/notes.ts';
import { FormatError } from '../primitives/errors.ts';

/**
 * A feature as its file has it, before its name and coordinates are checked. Polygons and rings come lazily, so that
 * no more than one ring of a TopoJSON file stands expanded at a time.
 */
export interface RawFeature {
  readonly id: unknown;
  readonly properties: unknown;
  /** Polygons, each of them rings, each of them an array of positions; undefined where the geometry is null. */
  readonly polygons: Iterable<Iterable<unknown>> | undefined;
  /** What the geometry consists of; complete once all polygons have been iterated. */
  readonly found: FoundGeometries;
}

/** How many geometries of which kinds a feature has. */
export interface FoundGeometries {
  /** Polygons and multipolygons, with rings or without. */
  polygons: number;
  /** Points and lines. */
  others: number;
}

/** Features of a file and the coordinate system that it states. */
export interface RawFeatures {
  readonly features: Iterable<RawFeature>;
  /** As the file writes it; undefined where it says nothing, null where it names none that can be told. */
  readonly crs: string | null | undefined;
}

/** Which feature of which file, for errors. */
export interface FeaturePlace {
  readonly file: string;
  readonly index: number;
  readonly id: unknown;
}

/** A parsed JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Whether a parsed JSON value is an object, not an array and not null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A parsed JSON value for an error, without what is in it: no depth of nesting overflows the stack. */
export function shallowText(value: unknown): string {
  if (Array.isArray(value)) return '[…]';
  return isJsonObject(value) ? '{…}' : (JSON.stringify(value) ?? 'undefined');
}

/** How an error calls a feature: `feature 3`, or `feature 3 ("04015")` where it has an id. */
export function describeFeature({ index, id }: FeaturePlace): string {
  const named = typeof id === 'string' || typeof id === 'number';
  return named ? `feature ${index} (${quoteName(String(id))})` : `feature ${index}`;
}

/** Whether a geometry is of a kind that GeoJSON and TopoJSON know and that has no area. */
export function isPointOrLine(geometry: unknown): boolean {
  return isJsonObject(geometry) && POINTS_AND_LINES.has(geometry.type);
}

const POINTS_AND_LINES: ReadonlySet<unknown> = new Set(['Point', 'MultiPoint', 'LineString', 'MultiLineString']);

/** The error for a geometry of no kind that the format knows. */
export function unknownGeometryError(geometry: unknown, at: FeaturePlace): FormatError {
  const type = isJsonObject(geometry) ? geometry.type : undefined;
  return new FormatError('format/unknown-geometry', `The geometry of ${describeFeature(at)} is of no known kind.`, {
    expected: 'Polygon, MultiPolygon or another geometry of RFC 7946',
    got: typeof type === 'string' ? quoteName(type) : 'a geometry without a type',
    remedy: 'Correct or remove the feature.',
    place: { file: at.file, record: at.index },
  });
}

/** The error for a file of points and lines alone. */
export function noPolygonsError(file: string, others: number): FormatError {
  return new FormatError('format/not-polygon', 'The layer has no polygons.', {
    expected: 'Polygon or MultiPolygon',
    got: others === 1 ? '1 geometry of another kind' : `${others} geometries of other kinds`,
    remedy: 'Name a layer of polygons.',
    place: { file },
  });
}

/**
 * The coordinate system that a `crs` member names, as GeoJSON 2008 had it: dropped by RFC 7946, but files still have
 * it. Null where the member is there and names none.
 */
export function statedCrs(root: JsonObject): string | null | undefined {
  const crs = root.crs;
  if (crs === undefined) return undefined;
  const properties = isJsonObject(crs) ? crs.properties : undefined;
  const name = isJsonObject(properties) ? properties.name : undefined;
  return typeof name === 'string' ? name : null;
}
