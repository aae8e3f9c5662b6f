import { feature as expand } from 'topojson-client';
import type { Polygon, Topology } from 'topojson-specification';
import { CapacityError, FormatError } from '../../primitives/checks/errors.ts';
import { overMemory } from '../memory.ts';
import { chooseLayer } from './choose-layer.ts';
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
} from './feature.ts';

/**
 * Lists the polygon features in one object of a parsed TopoJSON topology. If the object is a GeometryCollection, each
 * of its members is a feature; otherwise the object itself is a feature. Points and lines are counted but not listed.
 * The package topojson-client expands the arcs, one ring at a time.
 *
 * @param layer - Name of the object. May be omitted if there is only one.
 * @throws UsageError if `layer` does not exist, or is omitted although there are several objects.
 * @throws FormatError if the topology is malformed. Malformed features and missing arcs are reported while iterating.
 * @throws OutOfMemoryError `memory/limit` if the expanded arcs exceed the memory limit.
 */
export function topoJsonFeatures(
  root: JsonObject,
  layer: string | undefined,
  file: string,
  room: TopologyRoom = {},
): RawFeatures {
  const topology = checkTopology(root, file);
  const object = chooseObject(root, layer, file);
  requireVertexRoom(topology, object, file, room);
  return { features: listFeatures(topology, object, file), crs: statedCrs(root) };
}

/** Memory limit for expanded arcs. */
export interface TopologyRoom {
  /** Maximum bytes of memory for expanded arcs. Default: unlimited. */
  readonly memoryBytes?: number | undefined;
  /**
   * Whether the vertices of all features are in memory at the same time. If false, only one feature is in memory at a
   * time.
   */
  readonly holdsAll?: boolean | undefined;
}

/** Whether a parsed JSON text is TopoJSON, according to its `type`. */
export function isTopoJson(root: JsonObject): boolean {
  return root.type === 'Topology';
}

/** A topology, and which of its arcs have been checked. An arc is checked when a ring first uses it. */
interface CheckedTopology {
  readonly topology: Topology;
  readonly arcs: readonly unknown[];
  readonly goodArcs: Uint8Array;
}

function checkTopology(root: JsonObject, file: string): CheckedTopology {
  const { arcs, transform } = root;
  if (!Array.isArray(arcs)) throw malformed('The Topology has no array "arcs".', file);
  if (transform !== undefined && transform !== null && !isTransform(transform)) {
    throw malformed('The "transform" of the Topology is not a scale and a translation of two numbers each.', file);
  }
  return { topology: root as unknown as Topology, arcs, goodArcs: new Uint8Array(arcs.length) };
}

function isTransform(transform: unknown): boolean {
  return isJsonObject(transform) && isPair(transform.scale) && isPair(transform.translate);
}

function isPair(value: unknown): boolean {
  return Array.isArray(value) && value.length >= 2 && typeof value[0] === 'number' && typeof value[1] === 'number';
}

function chooseObject(root: JsonObject, layer: string | undefined, file: string): JsonObject {
  const objects = root.objects;
  if (!isJsonObject(objects)) throw malformed('The Topology has no "objects".', file);
  const name = chooseLayer(Object.keys(objects), layer, file);
  if (name === undefined) throw malformed('The Topology has no layer.', file);
  const object = objects[name];
  if (isJsonObject(object)) return object;
  throw malformed(`The layer ${JSON.stringify(name)} is not an object.`, file);
}

/**
 * Bytes of memory per vertex in the columns of coordinates. The number includes the copies that are made while the
 * columns grow and the vertices are counted.
 */
const BYTES_PER_VERTEX = 64;
/** Bytes of memory per position that topojson-client creates, which is an array of two numbers. */
const BYTES_PER_POSITION = 128;

/**
 * Throws if expanding the arcs would take too much memory. Must be called before any arc is expanded: even a small file
 * can refer to the same arc many times.
 */
function requireVertexRoom(
  { arcs }: CheckedTopology,
  layer: JsonObject,
  file: string,
  { memoryBytes = Number.POSITIVE_INFINITY, holdsAll = true }: TopologyRoom,
): void {
  const members = layer.type === 'GeometryCollection' && Array.isArray(layer.geometries) ? layer.geometries : [layer];
  let total = 0;
  for (const [record, member] of members.entries()) {
    const vertices = referencedVertices(arcs, member);
    total += vertices;
    const needed = Math.max(BYTES_PER_POSITION * vertices, holdsAll ? BYTES_PER_VERTEX * total : 0);
    if (needed <= memoryBytes) continue;
    throw overMemory('The arcs of the topology are named by too many rings.', {
      needed,
      what: `${total} vertices up to feature ${record}, ${vertices} of them in it`,
      allowed: memoryBytes,
      place: { file, record },
    });
  }
}

/**
 * Number of vertices in all arcs to which a geometry refers. If the geometry uses an arc several times, the vertices of
 * the arc count each time. Malformed arcs are ignored here, because they are reported when they are expanded.
 */
function referencedVertices(arcs: readonly unknown[], geometry: unknown): number {
  const pending: unknown[] = [geometry];
  let vertices = 0;
  while (pending.length > 0) {
    const next = pending.pop();
    if (typeof next === 'number') {
      const arc = arcs[next < 0 ? -1 - next : next];
      if (Array.isArray(arc)) vertices += arc.length;
    } else if (Array.isArray(next)) for (const part of next) pending.push(part);
    else if (isJsonObject(next)) pending.push(next.arcs, next.geometries);
  }
  return vertices;
}

function* listFeatures(topology: CheckedTopology, layer: JsonObject, file: string): Generator<RawFeature> {
  if (layer.type !== 'GeometryCollection') {
    yield readFeature(topology, layer, 0, file);
    return;
  }
  const geometries = layer.geometries;
  if (!Array.isArray(geometries)) throw malformed('The layer has no array "geometries".', file);
  for (const [index, geometry] of geometries.entries()) yield readFeature(topology, geometry, index, file);
}

function readFeature(topology: CheckedTopology, geometry: unknown, index: number, file: string): RawFeature {
  if (geometry === null) return unreadable(nullRecord(file, index));
  if (!isJsonObject(geometry))
    return unreadable(malformed(`Member ${index} of the layer is not a geometry.`, file, index));
  const { id, properties, type } = geometry;
  const found = { polygons: 0, others: 0 };
  const polygons = type === null ? undefined : expandPolygons(topology, geometry, found, { file, index, id });
  return { id, properties, polygons, found };
}

/**
 * Iterates over the polygons of a geometry. Walks nested collections with an explicit stack, so that deep nesting
 * cannot overflow the call stack.
 */
function* expandPolygons(
  topology: CheckedTopology,
  geometry: JsonObject,
  found: FoundGeometries,
  at: FeaturePlace,
): Generator<Generator> {
  const pending: unknown[] = [geometry];
  while (pending.length > 0) {
    const next = pending.pop();
    const type = isJsonObject(next) ? next.type : undefined;
    if (type === 'Polygon' || type === 'MultiPolygon') found.polygons++;
    if (type === 'Polygon') yield expandRings(topology, arrayMember(next, 'arcs', at), at);
    else if (type === 'MultiPolygon') {
      for (const rings of arrayMember(next, 'arcs', at)) yield expandRings(topology, rings, at);
    } else if (type === 'GeometryCollection') {
      for (const part of arrayMember(next, 'geometries', at).toReversed()) pending.push(part);
    } else if (isPointOrLine(next)) found.others++;
    else throw unknownGeometryError(next, at);
  }
}

function* expandRings(topology: CheckedTopology, rings: unknown, at: FeaturePlace): Generator<unknown> {
  if (!Array.isArray(rings)) throw malformedFeature('A polygon has no array of rings', at);
  for (const ring of rings) yield expandRing(topology, ring, at);
}

function expandRing(topology: CheckedTopology, ring: unknown, at: FeaturePlace): unknown {
  if (!Array.isArray(ring)) throw malformedFeature('A ring is not an array of arcs', at);
  const vertices = countVertices(topology, ring, at);
  if (vertices === 0) return [];
  const polygon: Polygon = { type: 'Polygon', arcs: [ring] };
  return expand(topology.topology, polygon).geometry.coordinates[0];
}

/**
 * Maximum number of vertices in a ring. A ring may refer to the same arc any number of times, so without this limit a
 * small file could require more memory than there is.
 */
const MAX_RING_VERTICES = 2 ** 24;

function countVertices(topology: CheckedTopology, ring: readonly unknown[], at: FeaturePlace): number {
  let vertices = 0;
  for (const reference of ring) {
    vertices += checkArc(topology, reference, at).length;
    if (vertices > MAX_RING_VERTICES) {
      throw new CapacityError('capacity/ring-vertices', `A ring of ${describeFeature(at)} has too many vertices.`, {
        expected: `at most ${MAX_RING_VERTICES}`,
        got: `${vertices} or more`,
        remedy: 'Split the polygon.',
        place: { file: at.file, record: at.index },
      });
    }
  }
  return vertices;
}

function checkArc(topology: CheckedTopology, reference: unknown, at: FeaturePlace): readonly unknown[] {
  const { arcs, goodArcs } = topology;
  if (!Number.isInteger(reference)) throw malformedFeature('A ring names an arc by something other than a number', at);
  const index = (reference as number) < 0 ? -1 - (reference as number) : (reference as number);
  if (index >= arcs.length) throw malformedFeature(`A ring names arc ${index} of ${arcs.length}`, at);
  const arc = arcs[index];
  if (goodArcs[index] !== 1) {
    if (!Array.isArray(arc) || !arc.every(isPair))
      throw malformedFeature(`Arc ${index} is not an array of positions`, at);
    goodArcs[index] = 1;
  }
  return arc as readonly unknown[];
}

function arrayMember(geometry: unknown, member: string, at: FeaturePlace): unknown[] {
  const value = isJsonObject(geometry) ? geometry[member] : undefined;
  if (Array.isArray(value)) return value;
  throw malformedFeature(`The geometry has no array "${member}"`, at);
}

function malformedFeature(sentence: string, at: FeaturePlace): FormatError {
  return malformed(`${sentence}, in ${describeFeature(at)}.`, at.file, at.index);
}

function malformed(sentence: string, file: string, record?: number): FormatError {
  return new FormatError('format/malformed-topojson', sentence, {
    remedy: 'Write the file again as TopoJSON.',
    place: { file, record },
  });
}
