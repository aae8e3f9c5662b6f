import type { GridPolygons } from '../../algorithms/pixelbox/grid-polygons.ts';

/** Areas in pixels, one entry per pair. */
export interface ScanlineAreas {
  readonly intersection: Uint32Array;
  readonly p: Uint32Array;
  readonly q: Uint32Array;
}

/**
 * Areas of pairs of rectilinear polygons by scanlines, in optimized plain JavaScript on one thread. Every polygon is
 * drawn once, with one bit per pixel; the intersection of a pair is the AND of both polygons' bits.
 *
 * Polygons up to 32 pixels wide have one word per row; wider polygons have several. Areas must be below 2^32.
 */
export function scanlineAreas(
  first: GridPolygons,
  second: GridPolygons,
  { p, q }: { readonly p: Uint32Array; readonly q: Uint32Array },
): ScanlineAreas {
  const [a, b] = [drawPolygons(first), drawPolygons(second)];
  const areas = { intersection: new Uint32Array(p.length), p: new Uint32Array(p.length), q: new Uint32Array(p.length) };
  for (let pair = 0; pair < p.length; pair++) {
    const [i, j] = [p[pair]!, q[pair]!];
    const isNarrow = a.stride[i] === 1 && b.stride[j] === 1;
    areas.intersection[pair] = isNarrow ? narrowIntersection(a, i, b, j) : wideIntersection(a, i, b, j);
    areas.p[pair] = a.area[i]!;
    areas.q[pair] = b.area[j]!;
  }
  return areas;
}

/**
 * Polygons drawn with one bit per pixel: row `y` of polygon `i` starts at word `start[i] + (y − top[i]) · stride[i]`.
 */
interface DrawnPolygons {
  readonly words: Int32Array;
  readonly start: Uint32Array;
  readonly stride: Uint32Array;
  readonly left: Int32Array;
  readonly top: Int32Array;
  readonly right: Int32Array;
  readonly bottom: Int32Array;
  readonly area: Uint32Array;
}

function drawPolygons(polygons: GridPolygons): DrawnPolygons {
  const drawn = placePolygons(polygons);
  for (let i = 0; i < drawn.area.length; i++) {
    if (drawn.stride[i] === 1) {
      markNarrowCorners(polygons, drawn, i);
      drawn.area[i] = fillNarrow(drawn, i);
    } else {
      markWideCorners(polygons, drawn, i);
      drawn.area[i] = fillWide(drawn, i);
    }
  }
  return drawn;
}

/**
 * Computes the bounding box of each polygon, and the index of the polygon's first word. Each polygon gets one
 * additional row below its box, in which its lowest corners are marked.
 */
function placePolygons({ polygonRings, ringVertices, x, y }: GridPolygons): DrawnPolygons {
  const count = polygonRings.length - 1;
  const [start, stride, area] = [new Uint32Array(count), new Uint32Array(count), new Uint32Array(count)];
  const [left, right] = [new Int32Array(count), new Int32Array(count)];
  const [top, bottom] = [new Int32Array(count), new Int32Array(count)];
  let words = 0;
  for (let i = 0; i < count; i++) {
    const [from, to] = [ringVertices[polygonRings[i]!]!, ringVertices[polygonRings[i + 1]!]!];
    let minX = from === to ? 0 : x[from]!;
    let minY = from === to ? 0 : y[from]!;
    let maxX = minX;
    let maxY = minY;
    for (let v = from; v < to; v++) {
      minX = Math.min(minX, x[v]!);
      maxX = Math.max(maxX, x[v]!);
      minY = Math.min(minY, y[v]!);
      maxY = Math.max(maxY, y[v]!);
    }
    left[i] = minX;
    right[i] = maxX;
    top[i] = minY;
    bottom[i] = maxY;
    stride[i] = Math.max(1, (maxX - minX + 31) >>> 5);
    start[i] = words;
    words += stride[i]! * (maxY - minY + 1);
  }
  return { words: new Int32Array(words), start, stride, left, top, right, bottom, area };
}

/**
 * Marks the corners of a polygon at most 32 pixels wide. For each end of a vertical edge, inverts all bits to the right
 * of the edge, in the pixel row whose top is at this end.
 */
function markNarrowCorners(polygons: GridPolygons, { words, start, left, top }: DrawnPolygons, i: number): void {
  const { polygonRings, ringVertices, x, y } = polygons;
  const origin = start[i]! - top[i]!;
  for (let ring = polygonRings[i]!; ring < polygonRings[i + 1]!; ring++) {
    const [from, to] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    if (from === to) continue;
    let lastX = x[to - 1]!;
    let lastY = y[to - 1]!;
    for (let v = from; v < to; v++) {
      const column = x[v]!;
      const row = y[v]!;
      if (column === lastX) {
        const shift = column - left[i]!;
        // Shifts twice, because JavaScript takes shift counts modulo 32.
        const rest = (-1 << (shift >>> 1)) << (shift - (shift >>> 1));
        words[origin + lastY]! ^= rest;
        words[origin + row]! ^= rest;
      }
      lastX = column;
      lastY = row;
    }
  }
}

/** Fills the rows downwards from the marked corners. Returns the number of pixels inside the polygon. */
function fillNarrow({ words, start, top, bottom }: DrawnPolygons, i: number): number {
  const rows = bottom[i]! - top[i]!;
  let [at, inside, area] = [start[i]!, 0, 0];
  // Each byte of a word counts the pixels of 8 columns. A byte has room for the counts of at most 31 rows.
  for (let rest = rows; rest > 0; rest -= 31) {
    let bytes = 0;
    for (const end = at + Math.min(rest, 31); at < end; at++) {
      inside ^= words[at]!;
      words[at] = inside;
      bytes += bitsOfBytes(inside);
    }
    area += sumOfBytes(bytes);
  }
  return area;
}

function narrowIntersection(a: DrawnPolygons, i: number, b: DrawnPolygons, j: number): number {
  const [aLeft, bLeft, aTop, bTop] = [a.left[i]!, b.left[j]!, a.top[i]!, b.top[j]!];
  const left = Math.max(aLeft, bLeft);
  const top = Math.max(aTop, bTop);
  const bottom = Math.min(a.bottom[i]!, b.bottom[j]!);
  if (left >= a.right[i]! || left >= b.right[j]!) return 0;
  const [aShift, bShift, aWords, bWords] = [left - aLeft, left - bLeft, a.words, b.words];
  let at = a.start[i]! + top - aTop;
  const toOther = b.start[j]! + top - bTop - at;
  let area = 0;
  for (let rest = bottom - top; rest > 0; rest -= 31) {
    let bytes = 0;
    for (const end = at + Math.min(rest, 31); at < end; at++) {
      bytes += bitsOfBytes((aWords[at]! >>> aShift) & (bWords[at + toOther]! >>> bShift));
    }
    area += sumOfBytes(bytes);
  }
  return area;
}

/**
 * Like `markNarrowCorners`, but inverts only the bits of the word that contains the edge. `fillWide` inverts the words
 * to the right of this word.
 */
function markWideCorners(polygons: GridPolygons, drawn: DrawnPolygons, i: number): void {
  const { polygonRings, ringVertices, x, y } = polygons;
  const [words, start, stride] = [drawn.words, drawn.start[i]!, drawn.stride[i]!];
  const [left, top, width] = [drawn.left[i]!, drawn.top[i]!, drawn.right[i]! - drawn.left[i]!];
  for (let ring = polygonRings[i]!; ring < polygonRings[i + 1]!; ring++) {
    const [from, to] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    for (let v = from, before = to - 1; v < to; before = v++) {
      const shift = x[v]! - left;
      if (x[before] !== x[v] || shift === width) continue;
      const [column, rest] = [start + (shift >>> 5), -1 << (shift & 31)];
      words[column + (y[before]! - top) * stride]! ^= rest;
      words[column + (y[v]! - top) * stride]! ^= rest;
    }
  }
}

function fillWide({ words, start, stride, left, top, right, bottom }: DrawnPolygons, i: number): number {
  const [wide, rows] = [stride[i]!, bottom[i]! - top[i]!];
  const end = start[i]! + rows * wide;
  // The first loop XORs each word with the word above, which carries the inversions at the corners down. In each row,
  // the second loop carries the last bit of each word over to the next word.
  for (let at = start[i]! + wide; at < end; at++) words[at]! ^= words[at - wide]!;
  const lastBits = ((right[i]! - left[i]!) & 31) === 0 ? -1 : (1 << ((right[i]! - left[i]!) & 31)) - 1;
  let area = 0;
  for (let row = start[i]!; row < end; row += wide) {
    let carry = 0;
    for (let at = row; at < row + wide; at++) {
      const word = words[at]! ^ carry;
      carry = word >> 31;
      const kept = at === row + wide - 1 ? word & lastBits : word;
      words[at] = kept;
      area += sumOfBytes(bitsOfBytes(kept));
    }
  }
  return area;
}

function wideIntersection(a: DrawnPolygons, i: number, b: DrawnPolygons, j: number): number {
  const [left, right] = [Math.max(a.left[i]!, b.left[j]!), Math.min(a.right[i]!, b.right[j]!)];
  const [top, bottom] = [Math.max(a.top[i]!, b.top[j]!), Math.min(a.bottom[i]!, b.bottom[j]!)];
  const [aShift, bShift] = [left - a.left[i]!, left - b.left[j]!];
  const [aWide, bWide] = [a.stride[i]!, b.stride[j]!];
  let area = 0;
  for (let row = top; row < bottom; row++) {
    const aRow = a.start[i]! + (row - a.top[i]!) * aWide;
    const bRow = b.start[j]! + (row - b.top[j]!) * bWide;
    for (let column = 0; column < right - left; column += 32) {
      const both = bitsFrom(a.words, aRow, aWide, aShift + column) & bitsFrom(b.words, bRow, bWide, bShift + column);
      area += sumOfBytes(bitsOfBytes(both));
    }
  }
  return area;
}

/** Reads 32 bits of a row, beginning at a column. Bits after the row's last word count as 0. */
function bitsFrom(words: Int32Array, row: number, wide: number, column: number): number {
  const [word, shift] = [column >>> 5, column & 31];
  const low = word < wide ? words[row + word]! >>> shift : 0;
  return shift === 0 || word + 1 >= wide ? low : low | (words[row + word + 1]! << (32 - shift));
}

/** The number of set bits in each byte of a word. */
function bitsOfBytes(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const nibbles = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return (nibbles + (nibbles >>> 4)) & 0x0f0f0f0f;
}

function sumOfBytes(bytes: number): number {
  const pairs = (bytes & 0x00ff00ff) + ((bytes >>> 8) & 0x00ff00ff);
  return (pairs & 0xffff) + (pairs >>> 16);
}
