import type { Zones } from '../../algorithms/geometry/polygons.ts';
import { type Note, noteTally } from '../../algorithms/notes.ts';
import { quoteName } from '../../algorithms/quoted-names.ts';
import { findNoLatitude, isGeographicCrs, normalizeCrs } from '../../formats/crs.ts';
import { LEFT_OUT_SENTENCES, type LeftOut, leaveOut, withFirstErrors } from '../../formats/left-out.ts';
import {
  describeFeature,
  type FeaturePlace,
  type FoundGeometries,
  isJsonObject,
  isPointOrLine,
  type JsonObject,
  noPolygonsError,
  nullRecord,
  type RawFeature,
  type RawFeatures,
  statedCrs,
  unknownGeometryError,
  unreadable,
  withoutGeometry,
} from '../../formats/polygons/feature.ts';
import { isGeoJson } from '../../formats/polygons/geojson.ts';
import { JUMP_SENTENCES, OTHER_GEOMETRY_SENTENCE, RING_SENTENCES } from '../../formats/polygons/polygon-notes.ts';
import {
  appendPositions,
  dropClosingVertex,
  emptyVertices,
  followOuterRings,
  isFlat,
  readJumps,
  type Vertices,
} from '../../formats/polygons/rings.ts';
import { isTopoJson, topoJsonFeatures } from '../../formats/polygons/topojson.ts';
import { type AttributeReader, attributeReader } from '../../formats/polygons/zone-attributes.ts';
import type { ReadZones, ZoneOptions } from '../../formats/polygons/zones.ts';
import { jsonValueOf } from '../../formats/text/json-value.ts';
import { featureName } from '../../formats/text/record-name.ts';
import { UsageError } from '../../formats/usage-error.ts';
import { FormatError } from '../../primitives/checks/errors.ts';

/**
 * Reads zones from GeoJSON or TopoJSON the plain way: the whole text is parsed, and its features are read one after the
 * other. It is what the readers of streams are compared with.
 */
export function plainZones(text: string, options: ZoneOptions, file: string): ReadZones {
  const root = jsonValueOf(text.replace(/^\uFEFF/, ''));
  const { features, crs: written } = listFeatures(root, options, file);
  const stated = options.crs ?? written;
  const assumed = stated === undefined ? 'OGC:CRS84' : stated === null ? undefined : normalizeCrs(stated);
  const columns = readColumns(features, options, isGeographicCrs(assumed), file);
  const doubtful = stated === undefined && !mayBeLatitudes(columns.vertices);
  if (!doubtful) return readZonesOf(columns, assumed, doubtful, file);
  // The coordinates turned out not to be longitudes and latitudes. So the features are read again, this time without
  // notes on jumps of longitudes.
  const again = listFeatures(root, options, file).features;
  return readZonesOf(readColumns(again, options, false, file), undefined, doubtful, file);
}

function readZonesOf(columns: Columns, crs: string | undefined, doubtful: boolean, file: string): ReadZones {
  const { names, tally, attributes } = columns;
  const notes = withFirstErrors(tally.notes(SENTENCES), columns);
  const found = attributes?.finish();
  return {
    zones: { names, polygons: finish(columns), crs, file },
    notes: [
      ...noZonesNotes(names),
      ...notes,
      ...crsNotes(crs, doubtful),
      ...duplicateNotes(names),
      ...(found?.notes ?? []),
    ],
    ...(found && { attributes: found.attributes }),
  };
}

function listFeatures(root: unknown, options: ZoneOptions, file: string): RawFeatures {
  if (isJsonObject(root) && isTopoJson(root)) return topoJsonFeatures(root, options.layer, file, {});
  const collection = Array.isArray(root) ? { type: 'FeatureCollection', features: root } : root;
  if (isJsonObject(collection) && isGeoJson(collection)) return geoJsonFeatures(collection, options.layer, file);
  throw new FormatError('format/not-zones', 'The file is no GeoJSON.', { remedy: 'None.', place: { file } });
}

/** Columns to which zones are appended. */
interface Columns extends LeftOut {
  readonly names: string[];
  readonly polygonRings: number[];
  readonly ringVertices: number[];
  readonly ringParts: number[];
  readonly vertices: Vertices;
  /** Codes of the notes on the current zone. They are counted only if the zone is kept. */
  readonly noticed: string[];
  readonly attributes: AttributeReader | undefined;
}

/** How to treat rings whose longitudes jump. */
interface RingRules {
  readonly geographic: boolean;
  readonly unwrap: boolean;
}

function readColumns(features: Iterable<RawFeature>, options: ZoneOptions, geographic: boolean, file: string): Columns {
  const columns: Columns = {
    names: [],
    polygonRings: [0],
    ringVertices: [0],
    ringParts: [],
    vertices: emptyVertices(),
    tally: noteTally(),
    firstErrors: new Map(),
    noticed: [],
    attributes: options.attributes && attributeReader(options.attributes, file, options.memoryBytes),
  };
  const rules = { geographic, unwrap: geographic && options.antimeridian === 'unwrap' };
  let index = 0;
  let [areas, others] = [0, 0];
  for (const feature of features) {
    const record = index++;
    try {
      if (!readZone(columns, feature, options.id, rules, { file, index: record })) others++;
      else if (feature.found.polygons > 0) areas++;
    } catch (error) {
      leaveOut(error, record, options.onBadRecord, columns);
      dropZone(columns);
    }
  }
  if (others > 0 && areas === 0) throw noPolygonsError(file, others);
  return columns;
}

/** Reads a feature as a zone. A feature with only points and lines is left out; in this case, returns false. */
function readZone(
  columns: Columns,
  feature: RawFeature,
  property: string | undefined,
  rules: RingRules,
  { file, index }: Omit<FeaturePlace, 'id'>,
): boolean {
  const at = { file, index, id: feature.id };
  const name = featureName(feature.properties, property, at);
  columns.names.push(name);
  columns.noticed.length = 0;
  readPolygons(columns, feature, rules, at);
  const { polygons, others } = feature.found;
  if (others > 0 && polygons === 0) {
    columns.tally.add('polygons/other-geometry', name);
    dropZone(columns);
    return false;
  }
  if (others > 0) columns.noticed.push('polygons/other-geometry');
  endZone(columns);
  columns.attributes?.add(feature.properties);
  return true;
}

/** Removes the current zone with its rings. Has no effect if the last zone is complete. */
function dropZone({ names, polygonRings, ringVertices, ringParts, vertices }: Columns): void {
  names.length = polygonRings.length - 1;
  ringParts.length = polygonRings.at(-1)!;
  ringVertices.length = polygonRings.at(-1)! + 1;
  vertices.length = ringVertices.at(-1)!;
}

function readPolygons(columns: Columns, feature: RawFeature, rules: RingRules, at: FeaturePlace): void {
  let part = 0;
  for (const rings of feature.polygons ?? []) {
    for (const ring of rings) {
      const start = columns.vertices.length;
      readRing(columns, ring, rules, at);
      if (columns.vertices.length > start) columns.ringParts.push(part);
    }
    // A polygon whose rings are all empty is not counted as a part.
    if (columns.ringParts.length > columns.polygonRings.at(-1)! && columns.ringParts.at(-1) === part) part++;
  }
  if (rules.unwrap) followOuterRings(columns);
}

function endZone({ names, polygonRings, ringVertices, noticed, tally }: Columns): void {
  const rings = ringVertices.length - 1;
  if (rings === polygonRings.at(-1)) noticed.push('zones/no-geometry');
  polygonRings.push(rings);
  for (const code of noticed) tally.add(code, names.at(-1)!);
}

function readRing({ ringVertices, vertices, noticed }: Columns, ring: unknown, rules: RingRules, at: FeaturePlace) {
  const start = vertices.length;
  appendPositions(vertices, ring, at);
  if (vertices.length === start) {
    noticed.push('zones/empty-rings');
    return;
  }
  if (!dropClosingVertex(vertices, start) && vertices.length > start + 1) noticed.push('zones/unclosed-rings');
  const jump = rules.geographic ? readJumps(vertices, start, rules.unwrap) : undefined;
  if (jump !== undefined) noticed.push(jump);
  if (isFlat(vertices, start)) noticed.push('zones/zero-area-rings');
  ringVertices.push(vertices.length);
}

const SENTENCES: Readonly<Record<string, (count: number) => string>> = {
  ...RING_SENTENCES,
  ...OTHER_GEOMETRY_SENTENCE,
  'zones/no-geometry': (n) => `${n === 1 ? '1 zone has' : `${n} zones have`} no geometry`,
  ...JUMP_SENTENCES,
  ...LEFT_OUT_SENTENCES,
};

function noZonesNotes(names: readonly string[]): Note[] {
  return names.length > 0 ? [] : [{ code: 'zones/none', message: 'There are no zones in the file.' }];
}

function duplicateNotes(names: readonly string[]): Note[] {
  const seen = new Map<string, number>();
  for (const name of names) seen.set(name, (seen.get(name) ?? 0) + 1);
  const tally = noteTally();
  for (const [name, times] of seen) if (times > 1) tally.add('zones/duplicate-names', name);
  return tally.notes({
    'zones/duplicate-names': (n) =>
      `${n === 1 ? '1 name is' : `${n} names are`} shared by several zones, which stay separate`,
  });
}

function mayBeLatitudes({ y, length }: Vertices): boolean {
  return findNoLatitude(y.subarray(0, length)) === undefined;
}

function crsNotes(crs: string | undefined, doubtful: boolean): Note[] {
  if (crs !== undefined) return [];
  const reason = doubtful
    ? 'states no coordinate system and its coordinates are no longitudes and latitudes'
    : 'has a "crs" member that names no coordinate system';
  return [{ code: 'zones/crs-unknown', message: `The file of zones ${reason}.` }];
}

function finish({ polygonRings, ringVertices, ringParts, vertices }: Columns): Zones['polygons'] {
  return {
    polygonRings: Uint32Array.from(polygonRings),
    ringVertices: Uint32Array.from(ringVertices),
    ringParts: Uint32Array.from(ringParts),
    x: vertices.x.slice(0, vertices.length),
    y: vertices.y.slice(0, vertices.length),
  };
}

/**
 * Lists the polygon features of a parsed GeoJSON text (RFC 7946): a FeatureCollection, a Feature or a bare geometry,
 * which counts as one feature. A GeometryCollection counts as one geometry. Points and lines are counted but not
 * listed. If `layer` is given, it must equal the member `name` of the FeatureCollection, which some writers add.
 *
 * @throws FormatError while iterating, if a member is missing or of the wrong kind, or a geometry is of an unknown
 * kind.
 */
function geoJsonFeatures(root: JsonObject, layer: string | undefined, file: string): RawFeatures {
  if (layer !== undefined && layer !== root.name) throw noSuchLayer(layer, root.name, file);
  return { features: featuresIn(root, file), crs: statedCrs(root) };
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

function* featuresIn(root: JsonObject, file: string): Generator<RawFeature> {
  if (root.type !== 'FeatureCollection') {
    yield featureOf(root.type === 'Feature' ? root : { geometry: root }, 0, file);
    return;
  }
  const features = root.features;
  if (!Array.isArray(features)) throw malformedText('The FeatureCollection has no array "features".', file);
  for (const [index, feature] of features.entries()) {
    if (feature === null) yield unreadable(nullRecord(file, index));
    else if (!isJsonObject(feature) || feature.type !== 'Feature') {
      yield unreadable(malformedText(`Member ${index} of "features" is not a Feature.`, file, index));
    } else yield featureOf(feature, index, file);
  }
}

function featureOf({ id, properties, geometry }: JsonObject, index: number, file: string): RawFeature {
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
    throw malformedText(`A polygon of ${describeFeature(at)} is not an array of rings.`, at.file, at.index);
  });
}

function geometriesIn(collection: unknown, at: FeaturePlace): unknown[] {
  return arrayMember(collection, 'geometries', at).toReversed();
}

function arrayMember(geometry: unknown, member: string, at: FeaturePlace): unknown[] {
  const value = isJsonObject(geometry) ? geometry[member] : undefined;
  if (Array.isArray(value)) return value;
  throw malformedText(`The geometry of ${describeFeature(at)} has no array "${member}".`, at.file, at.index);
}

function malformedText(sentence: string, file: string, record?: number): FormatError {
  return new FormatError('format/malformed-geojson', sentence, {
    remedy: 'Write the file again as GeoJSON (RFC 7946).',
    place: { file, record },
  });
}
