import { setImmediate } from 'node:timers/promises';
import type { Polygons } from '../../../algorithms/geometry/polygons.ts';
import type { OutOfMemoryError } from '../../../primitives/checks/errors.ts';
import type { AbortSignal } from '../../../primitives/host/platform-types.ts';
import { overMemory } from '../../memory.ts';
import type { CrsPath, Place } from './crs-path.ts';

/** Why a polygon cannot be brought to another system. */
export interface Fault {
  readonly code: 'crs/outside' | 'crs/torn';
  readonly sentence: string;
  readonly at: Place;
}

/** What is needed besides to bring polygons to another system. */
export interface Bringing {
  readonly path: CrsPath;
  /** Width and height of a cell in the other system. */
  readonly cell: readonly [width: number, height: number];
  readonly memoryBytes: number;
  readonly file: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** Takes a polygon that cannot be brought there and is left out. May throw. */
  onFault(polygon: number, fault: Fault): void;
}

/** Polygons in another system. */
export interface Brought {
  readonly polygons: Polygons;
  /** The numbers of the polygons that were kept. */
  readonly kept: readonly number[];
  /** Number of points along edges that were added. */
  readonly added: number;
}

/**
 * Distance in cells by which an edge may pass its image at the three points that are compared. The image of an edge
 * stays within five times this of what the points of the edge become.
 */
const TOLERANCE = 0.02;

/** An edge is halved this many times at most, which bounds its points. One that then still is no straight line has a tear. */
const MAX_HALVINGS = 18;

/**
 * Bytes of memory for a vertex: its coordinates in a list that grows, and in the result.
 */
const BYTES_PER_VERTEX = 48;

/** Number of vertices of the result after which others may run, such as what takes interrupts. */
const BETWEEN_PAUSES = 2 ** 16;

/**
 * Brings polygons to another system, vertex by vertex, and adds points along edges until their image is as good as
 * straight. An edge that two polygons share becomes the same points, whichever way they run.
 *
 * A polygon is left out if a vertex is outside of the projection (no number, or none that leads back), if an edge is torn,
 * or if a ring comes out inside out.
 *
 * @throws OutOfMemoryError `memory/limit`; the reason of `signal` if it is aborted.
 */
export async function projectedRings(polygons: Polygons, bringing: Bringing): Promise<Brought> {
  const { polygonRings, ringVertices, ringParts } = polygons;
  const out = { x: growing(), y: growing() };
  const line = edgeLine(bringing, out);
  const rings: number[] = [0];
  const starts: number[] = [0];
  const parts: number[] = [];
  const kept: number[] = [];
  let [added, atPause] = [0, 0];
  for (let polygon = 0; polygon + 1 < polygonRings.length; polygon++) {
    if (out.x.length - atPause > BETWEEN_PAUSES) {
      atPause = out.x.length;
      await setImmediate();
      bringing.signal?.throwIfAborted();
    }
    const before = [out.x.length, starts.length, parts.length] as const;
    let fault: Fault | undefined;
    let own = 0;
    for (let ring = polygonRings[polygon]!; ring < polygonRings[polygon + 1]! && fault === undefined; ring++) {
      const [from, to] = [ringVertices[ring]!, ringVertices[ring + 1]!];
      fault = line.ring(polygons, from, to);
      own += out.x.length - starts.at(-1)! - (to - from);
      starts.push(out.x.length);
      if (ringParts) parts.push(ringParts[ring]!);
    }
    if (fault === undefined) {
      added += own;
      kept.push(polygon);
      rings.push(starts.length - 1);
      continue;
    }
    out.x.length = out.y.length = before[0];
    starts.length = before[1];
    parts.length = before[2];
    bringing.onFault(polygon, fault);
  }
  return {
    polygons: {
      polygonRings: Uint32Array.from(rings),
      ringVertices: Uint32Array.from(starts),
      x: out.x.array(),
      y: out.y.array(),
      ...(ringParts && { ringParts: Uint32Array.from(parts) }),
    },
    kept,
    added,
  };
}

/** A list of numbers that grows. */
interface Growing {
  length: number;
  push(value: number): void;
  at(index: number): number;
  array(): Float64Array;
}

function growing(): Growing {
  let values = new Float64Array(1024);
  return {
    length: 0,
    push(value) {
      if (this.length === values.length) {
        const wider = new Float64Array(2 * values.length);
        wider.set(values);
        values = wider;
      }
      values[this.length++] = value;
    },
    at: (index) => values[index]!,
    array() {
      return values.slice(0, this.length);
    },
  };
}

function edgeLine({ path, cell, memoryBytes, file }: Bringing, { x, y }: { readonly x: Growing; readonly y: Growing }) {
  const [width, height] = cell;
  const maxVertices = memoryBytes / BYTES_PER_VERTEX;
  const slack = returnSlack(path, cell);
  const inner: Place[] = [];

  const push = ([left, up]: Place): void => {
    if (x.length >= maxVertices) throw tooMany(x.length + 1, memoryBytes, file);
    x.push(left);
    y.push(up);
  };

  /** The image of a vertex, which must lead back to it. */
  const imageOf = (place: Place): Place | Fault => {
    const image = path.forward(place);
    if (!isFinitePlace(image)) return outside(place);
    return leadsBack(place, path.inverse(image), slack, path.fromGeographic) ? image : outside(place);
  };

  /** Square of the distance of a place from a chord, in cells. */
  const distance = (place: Place, from: Place, to: Place): number => {
    const [dx, dy] = [(to[0] - from[0]) / width, (to[1] - from[1]) / height];
    const [px, py] = [(place[0] - from[0]) / width, (place[1] - from[1]) / height];
    const square = dx * dx + dy * dy;
    const along = square === 0 ? 0 : Math.min(1, Math.max(0, (px * dx + py * dy) / square));
    const [ex, ey] = [px - along * dx, py - along * dy];
    return ex * ex + ey * ey;
  };

  /** Appends the points between two places to `inner`; their images and that of the middle are known. */
  const halve = (a: Place, b: Place, imageA: Place, imageB: Place, imageM: Place, depth: number): Fault | undefined => {
    const middle = between(a, b);
    const imageL = path.forward(between(a, middle));
    const imageR = path.forward(between(middle, b));
    if (!isFinitePlace(imageL) || !isFinitePlace(imageM) || !isFinitePlace(imageR)) return outside(middle);
    const most = Math.max(...[imageL, imageM, imageR].map((image) => distance(image, imageA, imageB)));
    if (most <= TOLERANCE * TOLERANCE) return undefined;
    if (depth === MAX_HALVINGS) return torn(middle);
    const left = halve(a, middle, imageA, imageM, imageL, depth + 1);
    if (left !== undefined) return left;
    if (x.length + inner.length >= maxVertices) throw tooMany(x.length + inner.length + 1, memoryBytes, file);
    inner.push(imageM);
    return halve(middle, b, imageM, imageB, imageR, depth + 1);
  };

  const edge = (a: Place, b: Place, imageA: Place, imageB: Place): Fault | undefined => {
    inner.length = 0;
    if (a[0] === b[0] && a[1] === b[1]) return undefined;
    const isForward = a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
    const middle = path.forward(between(a, b));
    const fault = isForward ? halve(a, b, imageA, imageB, middle, 0) : halve(b, a, imageB, imageA, middle, 0);
    if (!isForward) inner.reverse();
    for (const place of inner) push(place);
    return fault;
  };

  /** Appends the image of a ring. */
  const ring = ({ x: ofX, y: ofY }: Polygons, from: number, to: number): Fault | undefined => {
    if (from === to) return undefined;
    const first = x.length;
    const start: Place = [ofX[from]!, ofY[from]!];
    const image = imageOf(start);
    if (isFault(image)) return image;
    let [last, imageOfLast]: [Place, Place] = [start, image];
    push(image);
    const area = areaSum();
    for (let vertex = from + 1; vertex < to; vertex++) {
      const next: Place = [ofX[vertex]!, ofY[vertex]!];
      const imageOfNext = imageOf(next);
      if (isFault(imageOfNext)) return imageOfNext;
      const fault = edge(last, next, imageOfLast, imageOfNext);
      if (fault !== undefined) return fault;
      push(imageOfNext);
      area.add(start, last, next);
      [last, imageOfLast] = [next, imageOfNext];
    }
    const fault = edge(last, start, imageOfLast, image);
    if (fault !== undefined) return fault;
    const brought = areaSum();
    for (let at = first + 1; at < x.length; at++) {
      brought.add(image, [x.at(at - 1), y.at(at - 1)], [x.at(at), y.at(at)]);
    }
    const isTurned = area.side() * brought.side() < 0 && Math.abs(brought.sum()) > width * height;
    return isTurned ? insideOut(start) : undefined;
  };
  return { ring };
}

/** Of the area of a box around a ring, the share that the ring must have for its direction to count. */
const CLEAR_SHARE = 0.01;

/** Twice the area of a ring, positive if it runs counterclockwise. */
function areaSum() {
  let [sum, left, right, low, high] = [0, 0, 0, 0, 0];
  return {
    add([ox, oy]: Place, [ax, ay]: Place, [bx, by]: Place): void {
      sum += (ax - ox) * (by - oy) - (bx - ox) * (ay - oy);
      left = Math.min(left, bx - ox);
      right = Math.max(right, bx - ox);
      low = Math.min(low, by - oy);
      high = Math.max(high, by - oy);
    },
    sum: () => sum,
    /** 1 for counterclockwise, -1 for clockwise, 0 where the ring has hardly an area. */
    side: () => (Math.abs(sum) > CLEAR_SHARE * (right - left) * (high - low) ? Math.sign(sum) : 0),
  };
}

function between([ax, ay]: Place, [bx, by]: Place): Place {
  return [(ax + bx) / 2, (ay + by) / 2];
}

function isFinitePlace([x, y]: Place): boolean {
  return Number.isFinite(x) && Number.isFinite(y);
}

function isFault(found: Place | Fault): found is Fault {
  return 'code' in found;
}

/** Share of a cell by which a place that went there and back may be off, and its limits in metres. */
const RETURN = { share: 0.05, least: 0.01, most: 1 };

/** How far from itself, in units of the first system, a place may come back. */
function returnSlack({ metres: [from, to] }: CrsPath, cell: readonly number[]): number {
  const wanted = RETURN.share * Math.min(cell[0]!, cell[1]!) * to;
  return Math.min(RETURN.most, Math.max(RETURN.least, wanted)) / from;
}

function leadsBack([x, y]: Place, [backX, backY]: Place, slack: number, isGeographic: boolean): boolean {
  if (!isFinitePlace([backX, backY]) || Math.abs(backY - y) > slack) return false;
  if (!isGeographic) return Math.abs(backX - x) <= slack;
  const off = Math.abs(backX - x) % 360;
  // A degree of longitude is short near the poles.
  return Math.min(off, 360 - off) * Math.cos((y * Math.PI) / 180) <= slack;
}

function outside(at: Place): Fault {
  return { code: 'crs/outside', sentence: 'lies where the projection gives no places', at };
}

function torn(at: Place): Fault {
  return {
    code: 'crs/torn',
    sentence: `has an edge that ${2 ** MAX_HALVINGS} points do not make straight, so the projection tears it`,
    at,
  };
}

function insideOut(at: Place): Fault {
  return { code: 'crs/torn', sentence: 'has a ring that the projection turns inside out', at };
}

function tooMany(vertices: number, allowed: number, file: string | undefined): OutOfMemoryError {
  return overMemory('The polygons are too large to be held in memory in another coordinate system.', {
    needed: vertices * BYTES_PER_VERTEX,
    what: `their first ${vertices} vertices`,
    allowed,
    instead: 'transform the file by another program',
    place: { file },
  });
}
