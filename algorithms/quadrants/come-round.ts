import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aFiniteNumber, aNumber, aRecord, type Kind } from '../../primitives/checks/kinds.ts';
import { type Polygons, somePolygons } from '../geometry/polygons.ts';
import { aDomain, type Domain } from './domain.ts';

/** Degrees of a full turn of longitude. */
const TURN = 360;

/**
 * Moves a longitude by whole turns, so that it is at the left end of a domain or less than a turn to the right of that
 * end.
 *
 * @example
 * turnedInto(190, WORLD); // -170
 */
export function turnedInto(longitude: number, domain: Pick<Domain, 'left'>): number {
  requireArguments('turnedInto', { longitude, domain }, { longitude: aNumber, domain: aLeft });
  const { left } = domain;
  const turns = Math.floor((longitude - left) / TURN);
  return turns === 0 ? longitude : longitude - TURN * turns;
}

const aLeft: Kind = aRecord<Pick<Domain, 'left'>>({ left: aFiniteNumber });

/**
 * Moves polygons with longitudes outside a domain into the domain. A polygon that fits after a move by whole turns is
 * moved as a whole. Otherwise, if the domain is a whole turn wide, the polygon is cut at the end of the domain, and
 * each piece is moved. All other polygons are unchanged.
 *
 * An edge that crosses the cut gets a vertex there, which both pieces share. Like all vertices, this vertex is later
 * snapped to the domain's grid. O(vertices).
 *
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[170, 0], [190, 0], [190, 9], [170, 9]]] }');
 * comeRound(zones.polygons, WORLD).x; // Float64Array [170, 180, 180, 170, -180, -170, -170, -180]
 */
export function comeRound(polygons: Polygons, domain: Domain): Polygons {
  requireArguments('comeRound', { polygons, domain }, { polygons: somePolygons, domain: aDomain });
  const { polygonRings, x } = polygons;
  const [left, right] = [domain.left, domain.left + domain.size];
  const isBeyond = (longitude: number): boolean => !(longitude >= left && longitude <= right);
  if (!x.some(isBeyond)) return polygons;
  const out: Pieces = { polygonRings: [0], ringVertices: [0], ringParts: [], x: [], y: [] };
  for (let polygon = 0; polygon + 1 < polygonRings.length; polygon++) {
    placePolygon(polygons, polygon, domain, out);
    out.polygonRings.push(out.ringVertices.length - 1);
  }
  return {
    polygonRings: Uint32Array.from(out.polygonRings),
    ringVertices: Uint32Array.from(out.ringVertices),
    ringParts: polygons.ringParts && Uint32Array.from(out.ringParts),
    x: Float64Array.from(out.x),
    y: Float64Array.from(out.y),
  };
}

/** Growing columns of the resulting polygons. */
interface Pieces {
  readonly polygonRings: number[];
  readonly ringVertices: number[];
  readonly ringParts: number[];
  readonly x: number[];
  readonly y: number[];
}

function placePolygon(polygons: Polygons, polygon: number, { left, size }: Domain, out: Pieces): void {
  const { polygonRings, ringVertices, x } = polygons;
  const rings = [polygonRings[polygon]!, polygonRings[polygon + 1]!] as const;
  let [min, max] = [Infinity, -Infinity];
  for (let v = ringVertices[rings[0]]!; v < ringVertices[rings[1]]!; v++) {
    min = Math.min(min, x[v]!);
    max = Math.max(max, x[v]!);
  }
  const isIn = min >= left && max <= left + size;
  const turns = Math.floor((min - left) / TURN);
  const fits = max - TURN * turns <= left + size;
  for (let ring = rings[0]; ring < rings[1]; ring++) {
    if (isIn || !Number.isFinite(max - min) || (!fits && size < TURN)) addRing(polygons, ring, 0, out);
    else if (fits) addRing(polygons, ring, turns, out);
    else for (let turn = turns; left + TURN * turn < max; turn++) addPiece(polygons, ring, left, turn, out);
  }
}

function addRing({ ringVertices, ringParts, x, y }: Polygons, ring: number, turns: number, out: Pieces): void {
  for (let v = ringVertices[ring]!; v < ringVertices[ring + 1]!; v++) {
    out.x.push(turns === 0 ? x[v]! : x[v]! - TURN * turns);
    out.y.push(y[v]!);
  }
  endRing(out, ringParts?.[ring]);
}

function endRing(out: Pieces, part: number | undefined): void {
  out.ringVertices.push(out.x.length);
  if (part !== undefined) out.ringParts.push(part);
}

type Vertex = readonly [x: number, y: number];

/**
 * Adds the part of a ring that is within the given turn. Clipping can leave edges that coincide along the cut. By the
 * even-odd rule, such edges cancel out.
 */
function addPiece(polygons: Polygons, ring: number, left: number, turn: number, out: Pieces): void {
  const { ringVertices, ringParts, x, y } = polygons;
  const [from, to] = [left + TURN * turn, left + TURN * (turn + 1)];
  let piece: Vertex[] = [];
  for (let v = ringVertices[ring]!; v < ringVertices[ring + 1]!; v++) piece.push([x[v]!, y[v]!]);
  piece = cut(piece, from, (at) => at >= from);
  piece = cut(piece, to, (at) => at <= to);
  if (piece.every(([at]) => at === from) || piece.every(([at]) => at === to)) return;
  for (const [at, row] of piece) {
    out.x.push(at - TURN * turn);
    out.y.push(row);
  }
  endRing(out, ringParts?.[ring]);
}

/** Clips a ring to one side of a meridian. Algorithm: Sutherland and Hodgman, Reentrant Polygon Clipping, 1974. */
function cut(ring: readonly Vertex[], meridian: number, isIn: (x: number) => boolean): Vertex[] {
  const kept: Vertex[] = [];
  for (const [i, to] of ring.entries()) {
    const from = ring[(i + ring.length - 1) % ring.length]!;
    if (isIn(from[0]) !== isIn(to[0])) kept.push([meridian, rowAt(from, to, meridian)]);
    if (isIn(to[0])) kept.push(to);
  }
  return kept;
}

function rowAt([x0, y0]: Vertex, [x1, y1]: Vertex, meridian: number): number {
  return y0 + ((meridian - x0) / (x1 - x0)) * (y1 - y0);
}
