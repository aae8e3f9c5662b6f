import { quoteName } from '../../algorithms/quoted-names.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { isPlaceholder, normalizeCrs } from '../crs.ts';
import { IncompleteRecord } from '../left-out.ts';

/**
 * A feature as read from a file, before its name and coordinates are checked. Polygons and rings are iterated lazily,
 * so that at most one ring of a TopoJSON file is expanded to positions at a time.
 */
export interface RawFeature {
  readonly id: unknown;
  readonly properties: unknown;
  /** The polygons; each is a list of rings, and a ring is a list of positions. Undefined if the geometry is null. */
  readonly polygons: Iterable<Iterable<unknown>> | undefined;
  /** Number of geometries of each kind. The numbers are complete when all polygons have been iterated. */
  readonly found: FoundGeometries;
}

/** Numbers of geometries in a feature, by kind. */
export interface FoundGeometries {
  /** Number of Polygon and MultiPolygon geometries, including empty ones. */
  polygons: number;
  /** Number of points and lines. */
  others: number;
}

/** What a feature without a geometry has. */
export const NO_GEOMETRY: FoundGeometries = { polygons: 0, others: 0 };

/** The features of a file, and the coordinate system that the file states. */
export interface RawFeatures {
  readonly features: Iterable<RawFeature>;
  /**
   * Name of the coordinate system as written in the file. Undefined if the file states none; null if the statement
   * cannot be understood.
   */
  readonly crs: string | null | undefined;
}

/** Identifies a feature in error messages. */
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

/**
 * Shows a parsed JSON value in an error message. The contents of arrays and objects are omitted, because deep nesting
 * could overflow the stack.
 */
export function shallowText(value: unknown): string {
  if (Array.isArray(value)) return '[…]';
  return isJsonObject(value) ? '{…}' : (JSON.stringify(value) ?? 'undefined');
}

/** Name of a feature in error messages, such as `feature 3`, or `feature 3 ("04015")` if the feature has an id. */
export function describeFeature({ index, id }: FeaturePlace): string {
  const named = typeof id === 'string' || typeof id === 'number';
  return named ? `feature ${index} (${quoteName(String(id))})` : `feature ${index}`;
}

/** Whether a GeoJSON or TopoJSON geometry is a point or line, and so has no area. */
export function isPointOrLine(geometry: unknown): boolean {
  return isJsonObject(geometry) && POINTS_AND_LINES.has(geometry.type);
}

const POINTS_AND_LINES: ReadonlySet<unknown> = new Set(['Point', 'MultiPoint', 'LineString', 'MultiLineString']);

/** The error for a geometry whose type is missing or unknown. */
export function unknownGeometryError(geometry: unknown, at: FeaturePlace): FormatError {
  const type = isJsonObject(geometry) ? geometry.type : undefined;
  return new FormatError('format/unknown-geometry', `The geometry of ${describeFeature(at)} is of no known kind.`, {
    expected: 'Polygon, MultiPolygon or another geometry of RFC 7946',
    got: typeof type === 'string' ? quoteName(type) : 'a geometry without a type',
    remedy: 'Correct or remove the feature.',
    place: { file: at.file, record: at.index },
  });
}

/** The error for a member of a list of features that is null. Such members are left out. */
export function nullRecord(file: string, record: number): IncompleteRecord {
  return new IncompleteRecord('format/incomplete-record', `Record ${record} is null.`, { place: { file, record } });
}

/** The error for a feature without a member `geometry`. Such features are left out. */
export function withoutGeometry(at: FeaturePlace): IncompleteRecord {
  return new IncompleteRecord('format/incomplete-record', `There is no "geometry" in ${describeFeature(at)}.`, {
    place: { file: at.file, record: at.index },
  });
}

/**
 * Creates a feature that throws an error when its `id` is read, so that the reader can leave this feature out and go on
 * with the next one.
 */
export function unreadable(error: FormatError): RawFeature {
  return {
    get id(): unknown {
      throw error;
    },
    properties: undefined,
    polygons: undefined,
    found: { polygons: 0, others: 0 },
  };
}

/** The error for a file that contains points and lines but no polygons. */
export function noPolygonsError(file: string, others: number): FormatError {
  return new FormatError('format/not-polygon', 'The layer has no polygons.', {
    expected: 'Polygon or MultiPolygon',
    got: others === 1 ? '1 geometry of another kind' : `${others} geometries of other kinds`,
    remedy: 'Name a layer of polygons.',
    place: { file },
  });
}

/**
 * The coordinate system named by the member `crs` of GeoJSON 2008. RFC 7946 removed this member, but many files still
 * have it, in several forms: an object with a name, a code or a link, or the bare name. Undefined if there is no such
 * member; null if the member does not name a system.
 */
export function statedCrs(root: JsonObject): string | null | undefined {
  const { crs } = root;
  if (crs === undefined) return undefined;
  if (!isJsonObject(crs)) return nameOfCrs(crs);
  const { name, urn, code, href } = isJsonObject(crs.properties) ? crs.properties : crs;
  // A link is understood only if it is the address of a system in a registry.
  const link = typeof href === 'string' && /^[A-Z]+:\w+$/.test(normalizeCrs(href)) ? normalizeCrs(href) : undefined;
  return nameOfCrs(name ?? urn ?? code ?? (isJsonObject(crs.id) ? crs.id.code : undefined) ?? link);
}

function nameOfCrs(value: unknown): string | null {
  const isNumber = typeof value === 'number' || typeof value === 'string';
  if (isNumber && /^\d{4,6}$/.test(String(value))) return `EPSG:${value}`;
  return typeof value === 'string' && !isPlaceholder(value) ? value : null;
}
