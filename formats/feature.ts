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

/** How an error calls a feature: `feature 3`, or `feature 3 ("04015")` where it has an id. */
export function describeFeature({ index, id }: FeaturePlace): string {
  const named = typeof id === 'string' || typeof id === 'number';
  return named ? `feature ${index} (${quoteName(String(id))})` : `feature ${index}`;
}

/** The error for a feature that is a point, a line or nothing that the format knows. */
export function notPolygonError(geometry: unknown, at: FeaturePlace): FormatError {
  const type = isJsonObject(geometry) ? geometry.type : undefined;
  return new FormatError('format/not-polygon', `The geometry of ${describeFeature(at)} is not a polygon.`, {
    expected: 'Polygon, MultiPolygon or a GeometryCollection of these',
    got: typeof type === 'string' ? quoteName(type) : 'a geometry without a type',
    remedy: 'Remove the features that are not polygons.',
    place: { file: at.file, record: at.index },
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
