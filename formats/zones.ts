import type { Zones } from '../algorithms/geometry/polygons.ts';
import { type Note, noteTally, quoteName } from '../algorithms/notes.ts';
import { requireArguments } from '../primitives/checks/arguments.ts';
import { FormatError } from '../primitives/checks/errors.ts';
import {
  anArrayOf,
  aPositive,
  aText,
  aWord,
  eitherOf,
  type FieldKinds,
  type Kind,
  optional,
  someOptions,
} from '../primitives/checks/kinds.ts';
import { findNoLatitude, isGeographicCrs, normalizeCrs } from './crs.ts';
import { type FeaturePlace, isJsonObject, noPolygonsError, type RawFeature, type RawFeatures } from './feature.ts';
import { geoJsonFeatures, isGeoJson } from './geojson.ts';
import { parseJson } from './json-file.ts';
import { LEFT_OUT_SENTENCES, type LeftOut, leaveOut, type OnBadRecord, withFirstErrors } from './left-out.ts';
import { JUMP_SENTENCES, OTHER_GEOMETRY_SENTENCE, RING_SENTENCES } from './polygon-notes.ts';
import { featureName } from './record-name.ts';
import {
  appendPositions,
  dropClosingVertex,
  emptyVertices,
  followOuterRings,
  isFlat,
  readJumps,
  type Vertices,
} from './rings.ts';
import { isTopoJson, topoJsonFeatures } from './topojson.ts';
import { type AttributeReader, attributeReader, type ChosenAttributes, type ZoneAttribute } from './zone-attributes.ts';

/** Options for reading zones. */
export interface ZoneOptions {
  /**
   * Name of the object to read from a TopoJSON file. The option may be omitted if there is only one object. A
   * GeoJSON file has no layers to choose from; if the option is given, it must equal the `name` of the
   * FeatureCollection.
   */
  readonly layer?: string | undefined;
  /** Property whose values name the zones. Default: the features' `id`. */
  readonly id?: string | undefined;
  /** Coordinate system of the zones, instead of the system that the file states. */
  readonly crs?: string | undefined;
  /**
   * How to read a ring whose longitudes jump by more than 180°. `as-written` (default) keeps the coordinates; `unwrap`
   * assumes that the ring crosses the antimeridian, and makes its longitudes continuous, so they may exceed 180°.
   * Coordinates that are not longitudes and latitudes are always read as written.
   */
  readonly antimeridian?: 'as-written' | 'unwrap' | undefined;
  /**
   * What to do with a malformed feature: `stop` (default) throws its error, `skip` leaves the feature out and notes it.
   */
  readonly onBadRecord?: OnBadRecord | undefined;
  /**
   * The attributes of the zones to read: `all`, or some by their names, in their order. Default: none. A zone may lack
   * one that other zones have.
   */
  readonly attributes?: ChosenAttributes | undefined;
  /** Maximum bytes of memory for reading. Default: unlimited. */
  readonly memoryBytes?: number | undefined;
}

/** Options for parsing zones from a text. */
export interface ParseZonesOptions extends ZoneOptions {
  /** Name of the text in error messages. Default `zones`. */
  readonly file?: string | undefined;
}

/** The kinds of {@link ZoneOptions}, to validate them. */
export const ZONE_OPTIONS: FieldKinds<ZoneOptions> = {
  layer: optional(aText),
  id: optional(aText),
  crs: optional(aText),
  antimeridian: optional(aWord(['as-written', 'unwrap'])),
  onBadRecord: optional(aWord(['stop', 'skip'])),
  attributes: optional(eitherOf("'all', or a list of names", aWord(['all']), anArrayOf(aText))),
  memoryBytes: optional(aPositive()),
};
const PARSE_OPTIONS: Kind = someOptions<ParseZonesOptions>({ ...ZONE_OPTIONS, file: optional(aText) });

/** Zones, and the notes on reading them. */
export interface ReadZones {
  readonly zones: Zones;
  readonly notes: readonly Note[];
  /** The attributes that the options ask for. Undefined if they ask for none. */
  readonly attributes?: readonly ZoneAttribute[] | undefined;
}

/**
 * Reads zones from the text of a GeoJSON or TopoJSON file, like `readZones`. The text must be one value of JSON, not one
 * per line.
 *
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [2, 0], [0, 2], [0, 0]]] }');
 * [zones.names, zones.polygons.x]; // [['0'], Float64Array [0, 2, 0]]
 */
export function parseZones(text: string, options: ParseZonesOptions = {}): ReadZones {
  requireArguments('parseZones', { text, options }, { text: aText, options: PARSE_OPTIONS });
  const { file = 'zones' } = options;
  const root = parseJson(text, file);
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
      ...duplicateNotes(names),
      ...crsNotes(crs, doubtful),
      ...(found?.notes ?? []),
    ],
    ...(found && { attributes: found.attributes }),
  };
}

function listFeatures(root: unknown, options: ZoneOptions, file: string): RawFeatures {
  if (isJsonObject(root) && isTopoJson(root))
    return topoJsonFeatures(root, options.layer, file, { memoryBytes: options.memoryBytes });
  if (isJsonObject(root) && isGeoJson(root)) return geoJsonFeatures(root, options.layer, file);
  const type = isJsonObject(root) ? root.type : undefined;
  throw new FormatError('format/not-zones', 'The file is JSON, but neither GeoJSON nor TopoJSON.', {
    expected: 'an object whose "type" is Topology, FeatureCollection, Feature or a geometry',
    got: typeof type === 'string' ? quoteName(type) : 'no type',
    remedy: 'Convert it to GeoJSON, for example with ogr2ogr.',
    place: { file },
  });
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
  let others = 0;
  for (const feature of features) {
    const record = index++;
    try {
      if (!readZone(columns, feature, options.id, rules, { file, index: record })) others++;
    } catch (error) {
      leaveOut(error, record, options.onBadRecord, columns);
      dropZone(columns);
    }
  }
  if (others > 0 && others === index) throw noPolygonsError(file, others);
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
  return names.length > 0 ? [] : [{ code: 'zones/none', message: 'There are no zones in the file of zones.' }];
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
