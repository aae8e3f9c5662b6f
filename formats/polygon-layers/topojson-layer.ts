import { FormatError } from '../../primitives/errors.ts';
import { isJsonObject, type JsonObject, type RawFeature } from '../feature.ts';
import { featureName } from '../record-name.ts';
import { parseJsonBytes } from '../result-sets/json-bytes.ts';
import { appendPositions } from '../rings.ts';
import { isTopoJson, topoJsonFeatures } from '../topojson.ts';
import { need } from './byte-window.ts';
import { beginPart, beginPolygon, endRing, isFull } from './layer-columns.ts';
import { endRecord, type Reading, readRecord } from './layer-reading.ts';

/** Reads one object of a topology, which is held in memory whole: any of its arcs may be of any of its polygons. */
export async function* readTopology(reading: Reading): AsyncGenerator<void, void, undefined> {
  const { input, options } = reading;
  const root = await readRoot(reading);
  // What is wrong with the topology itself, or with the choice of its object, is told here.
  const whole = topoJsonFeatures(root, options.layer, input.file);
  reading.stated = whole.crs;
  const members = membersOf(root, options.layer);
  const features = members === undefined ? whole.features : withPolygonsAlone(root, members, input.file);
  let index = 0;
  for (const feature of features) {
    const member = members?.[index];
    const at = index++;
    readRecord(reading, at, () => readMember(reading, feature, member, at));
    if (isFull(reading.columns)) yield;
  }
}

async function readRoot({ window, input }: Reading): Promise<JsonObject> {
  await need(window, Number.POSITIVE_INFINITY);
  const root = parseJsonBytes(window.bytes.subarray(window.at, window.end), input.file);
  window.at = window.end;
  if (isJsonObject(root) && isTopoJson(root)) return root;
  throw new FormatError('format/not-zones', 'The file is JSON, but not TopoJSON.', {
    expected: 'an object whose "type" is Topology',
    got: 'something else',
    remedy: 'Name its format, or convert it, for example with ogr2ogr.',
    place: { file: input.file },
  });
}

/** A member of the object that is read: the polygons in it, and how many geometries of other kinds. */
interface Member {
  readonly geometry: unknown;
  readonly polygons: readonly unknown[];
  readonly others: number;
}

function membersOf(root: JsonObject, layer: string | undefined): Member[] | undefined {
  const objects = root.objects as JsonObject;
  const object = objects[layer ?? Object.keys(objects)[0]!] as JsonObject;
  const geometries = object.type === 'GeometryCollection' ? object.geometries : [object];
  return Array.isArray(geometries) ? geometries.map(sortOut) : undefined;
}

const OTHER_KINDS: ReadonlySet<unknown> = new Set(['Point', 'MultiPoint', 'LineString', 'MultiLineString']);

/** Parts polygons, and what is of no known kind, from points and lines; walks collections with a stack of its own. */
function sortOut(geometry: unknown): Member {
  const polygons: unknown[] = [];
  const pending = [geometry];
  let others = 0;
  while (pending.length > 0) {
    const next = pending.pop();
    const parts = isJsonObject(next) && next.type === 'GeometryCollection' ? next.geometries : undefined;
    if (Array.isArray(parts)) for (const part of parts.toReversed()) pending.push(part);
    else if (isJsonObject(next) && OTHER_KINDS.has(next.type)) others++;
    else polygons.push(next);
  }
  return { geometry, polygons, others };
}

/** The features of the object without its points and lines, as many as before. */
function withPolygonsAlone(root: JsonObject, members: readonly Member[], file: string): Iterable<RawFeature> {
  const geometries = members.map(({ geometry, polygons, others }) => {
    if (!isJsonObject(geometry) || (others > 0 && polygons.length === 0)) return { type: null };
    return others === 0 ? geometry : { ...geometry, type: 'GeometryCollection', geometries: polygons };
  });
  const objects = { layer: { type: 'GeometryCollection', geometries } };
  return topoJsonFeatures({ ...root, objects }, 'layer', file).features;
}

function readMember(reading: Reading, feature: RawFeature, member: Member | undefined, index: number): void {
  const { columns, input, options } = reading;
  const geometry = isJsonObject(member?.geometry) ? member.geometry : undefined;
  if (geometry === undefined) throw notGeometry(input.file, index);
  const at = { file: input.file, index, id: geometry.id };
  beginPolygon(columns, featureName(geometry.properties, options.id, at));
  for (const rings of feature.polygons ?? []) {
    beginPart(columns);
    for (const ring of rings) {
      appendPositions(columns.vertices, ring, at);
      endRing(columns);
    }
  }
  endRecord(reading, { polygons: member!.polygons.length, others: member!.others });
}

function notGeometry(file: string, record: number): FormatError {
  return new FormatError('format/malformed-topojson', `Member ${record} of the layer is not a geometry.`, {
    remedy: 'Write the file again as TopoJSON.',
    place: { file, record },
  });
}
