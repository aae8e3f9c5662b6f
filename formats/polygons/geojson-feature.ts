import { FormatError } from '../../primitives/checks/errors.ts';
import { featureName, isName } from '../text/record-name.ts';
import {
  describeFeature,
  type FeaturePlace,
  type FoundGeometries,
  isJsonObject,
  type JsonObject,
  NO_GEOMETRY,
  unknownGeometryError,
  withoutGeometry,
} from './feature.ts';
import { isGeoJson } from './geojson.ts';
import type { CoordinateColumns } from './json-coordinates.ts';
import { appendRing, beginPart, beginPolygon, endRing, type LayerColumns } from './layer-columns.ts';
import { endRecord, type Reading } from './layer-reading.ts';
import { appendPositions } from './rings.ts';

/**
 * Reads a GeoJSON feature as one polygon. Its geometry is a Polygon, a MultiPolygon, or a collection of these. A null
 * or empty geometry becomes a polygon without rings. Points and lines, alone or in a collection, are left out and
 * noted.
 *
 * @param split - The coordinates in columns, if they were moved there from the feature's text; see {@link JsonRecord}.
 * @throws FormatError if a member is missing or of the wrong kind, GeometryError if a coordinate is not finite.
 */
export function readFeature(
  reading: Reading,
  { id, properties, geometry }: JsonObject,
  split: CoordinateColumns | undefined,
  index: number,
): void {
  const { columns } = reading;
  const at = { file: reading.input.file, index, id: reading.forZones.isTile ? ownId(id, properties) : id };
  if (geometry === undefined) throw withoutGeometry(at);
  const name = featureName(properties, reading.options.id, at);
  beginPolygon(columns, name);
  const found = geometry === null ? NO_GEOMETRY : readGeometry(columns, geometry, split, at);
  if (endRecord(reading, found)) reading.forZones.attributes?.add(properties);
}

/** The id of a feature or, if it cannot name the feature, its property `id`; undefined if that cannot either. */
function ownId(id: unknown, properties: unknown): unknown {
  return [id, isJsonObject(properties) ? properties.id : undefined].find(isName);
}

/**
 * Reads the polygons of a geometry. Walks nested collections with an explicit stack, so that deep nesting cannot
 * overflow the call stack.
 */
function readGeometry(
  columns: LayerColumns,
  geometry: unknown,
  split: CoordinateColumns | undefined,
  at: FeaturePlace,
): FoundGeometries {
  const pending: unknown[] = [geometry];
  const found: FoundGeometries = { polygons: 0, others: 0 };
  while (pending.length > 0) {
    const next = pending.pop();
    if (!isJsonObject(next) || !isGeometry(next)) throw unknownGeometryError(next, at);
    if (next.type === 'GeometryCollection') {
      for (const part of arrayMember(next, 'geometries', at).toReversed()) pending.push(part);
    } else if (next.type === 'Polygon' || next.type === 'MultiPolygon') {
      found.polygons++;
      const depth = next.type === 'Polygon' ? 3 : 4;
      if (split === undefined) readCoordinates(columns, arrayMember(next, 'coordinates', at), depth, at);
      else takeCoordinates(columns, arrayMember(next, 'coordinates', at), depth, split, at);
    } else if (columns.takesPoints && (next.type === 'Point' || next.type === 'MultiPoint')) {
      const coordinates = arrayMember(next, 'coordinates', at);
      if (next.type === 'MultiPoint') appendPositions(columns.vertices, coordinates, at);
      else if (coordinates.length > 0) appendPositions(columns.vertices, [coordinates], at);
    } else found.others++;
  }
  return found;
}

function isGeometry(value: JsonObject): boolean {
  return isGeoJson(value) && value.type !== 'Feature' && value.type !== 'FeatureCollection';
}

function readCoordinates(columns: LayerColumns, coordinates: unknown[], depth: number, at: FeaturePlace): void {
  for (const rings of depth === 3 ? [coordinates] : coordinates) {
    if (!Array.isArray(rings)) throw malformed(`A polygon of ${describeFeature(at)} is not an array of rings.`, at);
    beginPart(columns);
    for (const ring of rings) {
      appendPositions(columns.vertices, ring, at);
      endRing(columns);
    }
  }
}

/**
 * Appends the rings of one array of coordinates to the layer. The array was moved to the columns `coordinates` before
 * the text was parsed. In the parsed text, `[number]` replaces the array; `number` is the index of the array in these
 * columns.
 */
function takeCoordinates(
  columns: LayerColumns,
  [number]: unknown[],
  depth: number,
  coordinates: CoordinateColumns,
  at: FeaturePlace,
): void {
  const array = number as number;
  const { arrayEnds, depths, partStarts, ringEnds } = coordinates;
  if (depths[array] !== depth) throw wrongDepth(depth, depths[array]!, at);
  const first = arrayEnds[array - 1] ?? 0;
  let next = partStarts.findIndex((start) => start > first);
  beginPart(columns);
  for (let ring = first; ring < arrayEnds[array]!; ring++) {
    if (ring === partStarts[next]) {
      beginPart(columns);
      next++;
    }
    appendRing(columns, coordinates, ringEnds[ring - 1] ?? 0, ringEnds[ring]!);
  }
}

function arrayMember(geometry: JsonObject, member: string, at: FeaturePlace): unknown[] {
  const value = geometry[member];
  if (Array.isArray(value)) return value;
  throw malformed(`The geometry of ${describeFeature(at)} has no array "${member}".`, at);
}

function wrongDepth(expected: number, got: number, at: FeaturePlace): FormatError {
  return malformed(`The "coordinates" of ${describeFeature(at)} are not nested as its type says.`, at, {
    expected: `positions in ${expected - 1} arrays`,
    got: `in ${got - 1}`,
  });
}

/** The error for a feature that violates RFC 7946. */
export function malformed(
  sentence: string,
  { file, index }: Pick<FeaturePlace, 'file'> & { readonly index?: number | undefined },
  difference: { readonly expected?: string; readonly got?: string } = {},
): FormatError {
  return new FormatError('format/malformed-geojson', sentence, {
    ...difference,
    remedy: 'Write the file again as GeoJSON (RFC 7946).',
    place: { file, record: index },
  });
}
