import type { Polygons } from '../../algorithms/geometry/polygons.ts';
import { type NoteTally, noteTally } from '../../algorithms/notes.ts';
import { resized } from '../bytes/byte-arrays.ts';
import { dropClosingVertex, emptyVertices, followOuterRings, isFlat, readJumps, type Vertices } from './rings.ts';

/** Columns to which polygons are appended, and statistics of all polygons read so far. */
export interface LayerColumns {
  names: string[];
  polygonRings: number[];
  ringVertices: number[];
  /** For each ring, the part to which the ring belongs. The parts of each polygon are numbered from 0. */
  ringParts: number[];
  part: number;
  readonly vertices: Vertices;
  readonly tally: NoteTally;
  /** Codes of the notes on the current polygon. They are counted only if the polygon is kept. */
  readonly noticed: string[];
  /** Whether the coordinates may be longitudes, so that jumps of more than 180° are noted. */
  mayJump: boolean;
  /** Whether a ring whose longitudes jump by more than 180° is read as crossing the antimeridian. */
  unwraps: boolean;
  /** Whether records are points: each is a polygon of one ring with one vertex, or of none if it is empty. */
  takesPoints: boolean;
  /**
   * Number of records with polygons read so far. `others` is the number of records that were left out because they
   * have only points and lines.
   */
  polygons: number;
  others: number;
}

/** Columns without polygons. */
export function emptyLayer(): LayerColumns {
  return {
    names: [],
    polygonRings: [0],
    ringVertices: [0],
    ringParts: [],
    part: 0,
    vertices: emptyVertices(),
    tally: noteTally(),
    noticed: [],
    mayJump: false,
    unwraps: false,
    takesPoints: false,
    polygons: 0,
    others: 0,
  };
}

/** Begins a polygon. */
export function beginPolygon(columns: LayerColumns, name: string): void {
  columns.names.push(name);
  columns.noticed.length = 0;
  columns.part = 0;
}

/**
 * Begins a new part of the current polygon. The rings that are appended next belong to this part. A part without rings
 * has no effect.
 */
export function beginPart(columns: LayerColumns): void {
  const { polygonRings, ringParts } = columns;
  if (ringParts.length > polygonRings.at(-1)! && ringParts.at(-1) === columns.part) columns.part++;
}

/** Completes the current polygon. */
export function endPolygon(columns: LayerColumns): void {
  const { names, noticed, polygonRings, ringVertices, tally, mayJump, unwraps } = columns;
  if (mayJump && unwraps) followOuterRings(columns);
  const rings = ringVertices.length - 1;
  if (polygonRings.at(-1) === rings) noticed.push('zones/no-geometry');
  polygonRings.push(rings);
  for (const code of noticed) tally.add(code, names.at(-1)!);
}

/** Removes the current polygon with its rings. Has no effect if the last polygon is complete. */
export function dropPolygon({ names, polygonRings, ringVertices, ringParts, vertices }: LayerColumns): void {
  names.length = polygonRings.length - 1;
  ringParts.length = polygonRings.at(-1)!;
  ringVertices.length = polygonRings.at(-1)! + 1;
  vertices.length = ringVertices.at(-1)!;
}

/** Makes room for `count` more vertices, enlarging the columns if needed. */
export function reserveVertices(vertices: Vertices, count: number): void {
  const needed = vertices.length + count;
  if (needed <= vertices.x.length) return;
  const size = Math.max(needed, 2 * vertices.x.length);
  vertices.x = resized(vertices.x, size);
  vertices.y = resized(vertices.y, size);
}

/**
 * Appends a ring that consists of the vertices `from … to − 1` of the given columns.
 *
 * @param closes - Whether the format requires the first vertex to be repeated at the end. If true, a ring without this
 * repetition is noted.
 */
export function appendRing(
  columns: LayerColumns,
  { x, y }: Pick<Vertices, 'x' | 'y'>,
  from: number,
  to: number,
  closes = true,
): void {
  const { vertices } = columns;
  reserveVertices(vertices, to - from);
  vertices.x.set(x.subarray(from, to), vertices.length);
  vertices.y.set(y.subarray(from, to), vertices.length);
  vertices.length += to - from;
  endRing(columns, closes);
}

/** Completes the current ring, which consists of all vertices after the last complete ring. */
export function endRing(columns: LayerColumns, closes = true): void {
  const { ringVertices, ringParts, part, vertices, noticed, mayJump, unwraps } = columns;
  const start = ringVertices.at(-1)!;
  if (vertices.length === start) {
    noticed.push('zones/empty-rings');
    return;
  }
  const open = !dropClosingVertex(vertices, start) && vertices.length > start + 1;
  if (open && closes) noticed.push('zones/unclosed-rings');
  const jump = mayJump ? readJumps(vertices, start, unwraps) : undefined;
  if (jump !== undefined) noticed.push(jump);
  if (isFlat(vertices, start)) noticed.push('zones/zero-area-rings');
  ringVertices.push(vertices.length);
  ringParts.push(part);
}

/** A batch is complete when it has this many vertices or polygons. */
const BATCH_VERTICES: number = 2 ** 20;
const BATCH_POLYGONS = 2 ** 18;

/** Whether the columns contain enough polygons for a batch. */
export function isFull({ names, vertices }: LayerColumns): boolean {
  return vertices.length >= BATCH_VERTICES || names.length >= BATCH_POLYGONS;
}

/** Returns all polygons as a batch, and empties the columns. */
export function takePolygons(columns: LayerColumns): { names: string[]; polygons: Polygons } {
  const { names, polygonRings, ringVertices, ringParts, vertices } = columns;
  const polygons = {
    polygonRings: Uint32Array.from(polygonRings),
    ringVertices: Uint32Array.from(ringVertices),
    ringParts: Uint32Array.from(ringParts),
    x: vertices.x.slice(0, vertices.length),
    y: vertices.y.slice(0, vertices.length),
  };
  columns.names = [];
  columns.polygonRings = [0];
  columns.ringVertices = [0];
  columns.ringParts = [];
  // Unusually large columns are released, because a single polygon may have been as large as the whole file.
  if (vertices.x.length > 4 * BATCH_VERTICES) Object.assign(vertices, emptyVertices());
  vertices.length = 0;
  return { names, polygons };
}
