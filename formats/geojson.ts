import { quoteName } from '../algorithms/notes.ts';
import { FormatError } from '../primitives/checks/errors.ts';
import {
  describeFeature,
  type FeaturePlace,
  type FoundGeometries,
  isJsonObject,
  isPointOrLine,
  type JsonObject,
  nullRecord,
  type RawFeature,
  type RawFeatures,
  statedCrs,
  unknownGeometryError,
  unreadable,
  withoutGeometry,
} from './feature.ts';
import { UsageError } from './usage-error.ts';

/**
 * Lists the polygon features of a parsed GeoJSON text (RFC 7946): a FeatureCollection, a Feature or a bare geometry,
 * which counts as one feature. A GeometryCollection counts as one geometry. Points and lines are counted but not
 * listed. If `layer` is given, it must equal the member `name` of the FeatureCollection, which some writers add.
 *
 * @throws FormatError while iterating, if a member is missing or of the wrong kind, or a geometry is of an unknown
 * kind.
 */
export function geoJsonFeatures(root: JsonObject, layer: string | undefined, file: string): RawFeatures {
  if (layer !== undefined && layer !== root.name) throw noSuchLayer(layer, root.name, file);
  return { features: listFeatures(root, file), crs: statedCrs(root) };
}

function noSuchLayer(layer: string, name: unknown, file: string): UsageError {
  const only = typeof name === 'string' ? `only ${quoteName(name)}` : 'no layers: it is GeoJSON';
  return new UsageError('usage/unknown-layer', `The file has no layer ${quoteName(layer)}.`, {
    expected: only,
    got: quoteName(layer),
    remedy: 'Leave the layer out.',
    place: { file },
  });
}

/** Whether the `type` of a parsed JSON text is one of the types of GeoJSON (RFC 7946). */
export function isGeoJson(root: JsonObject): boolean {
  return GEOJSON_TYPES.has(root.type);
}

const GEOJSON_TYPES: ReadonlySet<unknown> = new Set([
  'FeatureCollection',
  'Feature',
  'Point',
  'MultiPoint',
  'LineString',
  'MultiLineString',
  'Polygon',
  'MultiPolygon',
  'GeometryCollection',
]);

function* listFeatures(root: JsonObject, file: string): Generator<RawFeature> {
  if (root.type !== 'FeatureCollection') {
    yield readFeature(root.type === 'Feature' ? root : { geometry: root }, 0, file);
    return;
  }
  const features = root.features;
  if (!Array.isArray(features)) throw malformed('The FeatureCollection has no array "features".', file);
  for (const [index, feature] of features.entries()) {
    if (feature === null) yield unreadable(nullRecord(file, index));
    else if (!isJsonObject(feature) || feature.type !== 'Feature') {
      yield unreadable(malformed(`Member ${index} of "features" is not a Feature.`, file, index));
    } else yield readFeature(feature, index, file);
  }
}

function readFeature({ id, properties, geometry }: JsonObject, index: number, file: string): RawFeature {
  const at = { file, index, id };
  if (geometry === undefined) return unreadable(withoutGeometry(at));
  const found = { polygons: 0, others: 0 };
  const polygons = geometry === null ? undefined : listPolygons(geometry, found, at);
  return { id, properties, polygons, found };
}

/**
 * Lists the polygons of a geometry. Walks nested collections with an explicit stack, because deep nesting could
 * overflow the call stack.
 */
function* listPolygons(geometry: unknown, found: FoundGeometries, at: FeaturePlace): Generator<unknown[]> {
  const pending: unknown[] = [geometry];
  while (pending.length > 0) {
    const next = pending.pop();
    const type = isJsonObject(next) ? next.type : undefined;
    if (type === 'Polygon' || type === 'MultiPolygon') found.polygons++;
    if (type === 'Polygon') yield arrayMember(next, 'coordinates', at);
    else if (type === 'MultiPolygon') yield* polygonsIn(next, at);
    else if (type === 'GeometryCollection') for (const part of geometriesIn(next, at)) pending.push(part);
    else if (isPointOrLine(next)) found.others++;
    else throw unknownGeometryError(next, at);
  }
}

function polygonsIn(multiPolygon: unknown, at: FeaturePlace): unknown[][] {
  return arrayMember(multiPolygon, 'coordinates', at).map((rings) => {
    if (Array.isArray(rings)) return rings;
    throw malformed(`A polygon of ${describeFeature(at)} is not an array of rings.`, at.file, at.index);
  });
}

function geometriesIn(collection: unknown, at: FeaturePlace): unknown[] {
  return arrayMember(collection, 'geometries', at).toReversed();
}

function arrayMember(geometry: unknown, member: string, at: FeaturePlace): unknown[] {
  const value = isJsonObject(geometry) ? geometry[member] : undefined;
  if (Array.isArray(value)) return value;
  throw malformed(`The geometry of ${describeFeature(at)} has no array "${member}".`, at.file, at.index);
}

function malformed(sentence: string, file: string, record?: number): FormatError {
  return new FormatError('format/malformed-geojson', sentence, {
    remedy: 'Write the file again as GeoJSON (RFC 7946).',
    place: { file, record },
  });
}
