import { FormatError } from '../../primitives/checks/errors.ts';
import { readBinaryRing, readPositions } from './binary-rings.ts';
import { describeFeature, type FeaturePlace, type FoundGeometries } from './feature.ts';
import { beginPart, type LayerColumns } from './layer-columns.ts';
import { requireStraight } from './straight-edges.ts';

const POINT = 1;
const LINE = 2;
const POLYGON = 3;
const MULTI_POLYGON = 6;
const COLLECTION = 7;
const CIRCULAR_STRING = 8;
const MULTI_SURFACE = 12;

/** Which geometries the members of a geometry may be, for those that have members; undefined stands for any. */
const MEMBERS: ReadonlyMap<number, readonly number[] | undefined> = new Map([
  [4, [POINT]],
  [5, [LINE]],
  [MULTI_POLYGON, [POLYGON]],
  [COLLECTION, undefined],
  // Lines with arcs: a compound curve, and several curves.
  [9, [LINE, CIRCULAR_STRING]],
  [11, [LINE, CIRCULAR_STRING, 9]],
  [MULTI_SURFACE, [POLYGON, 10]],
]);

/** A geometry whose members are read. */
interface Open {
  /** Number of members that are still to be read. */
  left: number;
  readonly type: number;
  readonly allowed: readonly number[] | undefined;
}

/**
 * Appends the polygons of a geometry in well-known binary (OGC 06-103r4) to the current polygon. Reads the dimensions Z
 * and M, which are ignored, in both styles: thousands of ISO, and flags of PostGIS (EWKB). Every part has its own order of bytes.
 * The walk is bounded by the bytes: counts are compared with the bytes that are left before anything is allocated.
 *
 * @param takeSrid - Called with each number of a coordinate system that EWKB states.
 * @throws FormatError `format/malformed-wkb` if the bytes are no geometry, or go on behind it; `format/curved-geometry` for
 * surfaces that are no polygons; GeometryError if a coordinate of a polygon is not finite.
 */
export function readWkb(
  columns: LayerColumns,
  view: DataView,
  at: FeaturePlace,
  takeSrid: (srid: number) => void,
): FoundGeometries {
  const found: FoundGeometries = { polygons: 0, others: 0 };
  const open: Open[] = [{ left: 1, type: COLLECTION, allowed: undefined }];
  const cursor = { view, next: 0, at };
  while (open.length > 0) {
    const parent = open.at(-1)!;
    if (parent.left === 0) {
      open.pop();
      continue;
    }
    parent.left--;
    const head = readHead(cursor, takeSrid);
    const { type } = head;
    if (parent.allowed?.includes(type) === false)
      throw damaged(`type ${type} in a geometry of type ${parent.type}`, at);
    requireStraight(type, at);
    if (type === POLYGON) {
      if (parent.type === COLLECTION) found.polygons++;
      beginPart(columns);
      readRings(columns, cursor, head);
    } else if (MEMBERS.has(type)) {
      if (type === MULTI_POLYGON || type === MULTI_SURFACE) found.polygons++;
      // A member takes five bytes at least.
      open.push({ left: countOf(cursor, head.little, 5), type, allowed: MEMBERS.get(type) });
    } else {
      if (type !== POINT || !columns.takesPoints) found.others++;
      if (type === POINT) readPoint(columns, cursor, head);
      else if (type === LINE || type === CIRCULAR_STRING) skipLine(cursor, head);
      else throw damaged(`a geometry of type ${type}`, at);
    }
  }
  const rest = view.byteLength - cursor.next;
  if (rest !== 0) throw damaged(`${rest} bytes behind the geometry`, at);
  return found;
}

/** Bytes of a geometry, and the place of the next one to read. */
interface Cursor {
  readonly view: DataView;
  next: number;
  readonly at: FeaturePlace;
}

/** The head of a geometry: its type, the order of its bytes, and the bytes of a position. */
interface Head {
  readonly type: number;
  readonly little: boolean;
  readonly stride: number;
}

/** The lowest flag of EWKB, which tells that a coordinate system is stated. The next ones tell M and Z. */
const SRID_FLAG = 0x20000000;

function readHead(cursor: Cursor, takeSrid: (srid: number) => void): Head {
  requireBytes(cursor, 5);
  const { view, at } = cursor;
  const order = view.getUint8(cursor.next);
  if (order > 1) throw damaged(`the order of bytes ${order}`, at);
  const little = order === 1;
  const word = view.getUint32(cursor.next + 1, little);
  cursor.next += 5;
  const [code, flags] = [word % SRID_FLAG, Math.floor(word / SRID_FLAG)];
  const dimensions = Math.floor(code / 1000);
  if (dimensions > 3) throw damaged(`a geometry of type ${code}`, at);
  if ((flags & 1) === 1) {
    requireBytes(cursor, 4);
    takeSrid(view.getInt32(cursor.next, little));
    cursor.next += 4;
  }
  const hasZ = (flags & 4) !== 0 || (dimensions & 1) === 1;
  const hasM = (flags & 2) !== 0 || dimensions >= 2;
  return { type: code % 1000, little, stride: 8 * (2 + Number(hasZ) + Number(hasM)) };
}

/** Reads a number of things that take so many bytes at least. */
function countOf(cursor: Cursor, little: boolean, bytes: number): number {
  requireBytes(cursor, 4);
  const count = cursor.view.getUint32(cursor.next, little);
  cursor.next += 4;
  requireBytes(cursor, count * bytes);
  return count;
}

function requireBytes({ view, next, at }: Cursor, bytes: number): void {
  if (next + bytes > view.byteLength)
    throw damaged(`${view.byteLength} bytes, where ${next + bytes} or more are needed`, at);
}

function readRings(columns: LayerColumns, cursor: Cursor, { little, stride }: Head): void {
  const rings = countOf(cursor, little, 4);
  for (let ring = 0; ring < rings; ring++) {
    const positions = countOf(cursor, little, stride);
    readBinaryRing(columns, cursor.view, cursor.next, positions, cursor.at, { stride, little });
    cursor.next += positions * stride;
  }
}

function skipLine(cursor: Cursor, { little, stride }: Head): void {
  const positions = countOf(cursor, little, stride);
  cursor.next += positions * stride;
}

/** Reads a point if points are read, else skips it. An empty one has NaN for both coordinates. */
function readPoint(columns: LayerColumns, cursor: Cursor, { little, stride }: Head): void {
  requireBytes(cursor, stride);
  const [x, y] = [cursor.view.getFloat64(cursor.next, little), cursor.view.getFloat64(cursor.next + 8, little)];
  if (Number.isNaN(x) !== Number.isNaN(y)) throw damaged(`a point at (${x}, ${y})`, cursor.at);
  if (columns.takesPoints && !Number.isNaN(x)) {
    readPositions(columns, cursor.view, cursor.next, 1, cursor.at, { stride, little });
  }
  cursor.next += stride;
}

function damaged(got: string, at: FeaturePlace): FormatError {
  return new FormatError('format/malformed-wkb', `The geometry of ${describeFeature(at)} is damaged.`, {
    expected: 'well-known binary (WKB)',
    got,
    remedy: 'Copy the file again, or write it again.',
    place: { file: at.file, record: at.index },
  });
}
