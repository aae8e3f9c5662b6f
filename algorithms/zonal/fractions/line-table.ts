import type { Column, Context } from '../../../primitives/index.ts';
import type { SnappedPolygons } from '../../geometry/grid.ts';
import { type Along, type OutlineStretch, outlineOf } from '../../geometry/outlines.ts';
import { edgesOfPart, movedEdges } from '../../geometry/part-edges.ts';
import type { RasterGrid } from '../../geometry/raster.ts';
import { countEdges } from '../../geometry/row-crossings.ts';
import { SimpleRings } from '../../geometry/simple-rings.ts';
import { BAND_ROWS, Bands } from '../bands.ts';
import { setQuotient } from '../edge-quotients.ts';
import type { PlacedZones } from '../placement.ts';
import {
  areaBefore,
  type Coordinate,
  type Line,
  noProgression,
  ofAlong,
  ofSteps,
  setCrossingsOfBorders,
  setCrossingsOfStrips,
  setSteps,
  type Units,
} from './line-numbers.ts';

/**
 * Positions of the words of a stretch of a line in the table. Strips are rows of cells, or columns if the line is flat
 * (longer along rows than along columns). Coordinate t goes across strips, s along them.
 */
export const LINE_FIELDS = {
  zone: 0,
  flags: 1,
  /** The first strip that the stretch enters, and the number of them. */
  strip: 2,
  strips: 3,
  /** The rows of cells in which the stretch is: the first and the last. */
  top: 4,
  bottom: 5,
  /** Where the stretch begins and ends inside a strip: the cell along the strip. */
  startCell: 6,
  endCell: 7,
  /** There, the position in the row of cells; and the area before that point ({@link areaBefore}). */
  startRow: 8,
  endRow: 9,
  startArea: 10,
  endArea: 11,
  /** s at the beginnings of strips, in two words: {@link setCrossingsOfStrips}. */
  whole: 12,
  step: 14,
  quotient: 16,
  /** t at borders of cells along strips, in the lower words of {@link setCrossingsOfBorders}, from `border` on. */
  border: 23,
  borderWhole: 24,
  borderStep: 25,
  borderQuotient: 26,
} as const;
export const LINE_STRIDE = 33;

/** What the flags of a stretch say. */
export const LINE_FLAGS = {
  /** Strips are columns. */
  flat: 1,
  /** s decreases. */
  descending: 2,
  /** s does not change. */
  level: 4,
  /** The inside is where the column is smaller (of a horizontal line: the row). */
  negative: 8,
  /** The stretch begins, or ends, inside a strip. */
  starts: 16,
  ends: 32,
  /** The stretch ends on a border of cells along a strip. */
  endsOnBorder: 64,
} as const;

/** The outlines of all zones on the device, in stretches of lines. */
export interface LineTable {
  readonly lines: Column<'u32'>;
  /**
   * The stretches that lie in a band of rows or two, by the band in which they begin (`bands`); from `long` on, all others,
   * of which there are few where there are many stretches.
   */
  readonly order: Column<'u32'>;
  readonly bands: Bands;
  readonly long: number;
  readonly count: number;
  /** For each row, the number of strips of the stretches that begin above it, and of those that end above it. */
  readonly begunBefore: Float64Array;
  readonly endedBefore: Float64Array;
}

/** Uploads the outlines of zones, clipped to the rows of the raster, and flat lines also to its columns. */
export function uploadLines(context: Context, placed: PlacedZones, grid: RasterGrid): LineTable {
  const { polygons, shifts } = placed;
  const writer = new LineWriter(grid, countEdges(polygons, placed));
  const rings = new SimpleRings(polygonsOf(polygons));
  for (let zone = 0; zone < shifts.length; zone++) {
    const inside = isOneRing(placed, zone) ? rings.insideOf(polygons.polygonRings[zone]!) : 0;
    if (inside !== 0) addRing(writer, placed, zone, inside);
    else forStretches(placed, zone, (stretch, shift) => writer.add(zone, stretch, shift));
  }
  const { words, order, ...counted } = writer.finished();
  return { lines: context.column(words), order: context.column(order), ...counted };
}

/** Whether a zone is a ring whose copies do not overlap. */
function isOneRing({ polygons: { polygonRings }, shifts, sheets, oddSheets }: PlacedZones, zone: number): boolean {
  const ring = polygonRings[zone]!;
  const sheet = sheets?.ringSheets[ring] ?? zone;
  return polygonRings[zone + 1]! - ring === 1 && (shifts[zone]!.length === 1 || oddSheets[sheet] === sheet);
}

/** Adds the edges of a zone whose only ring is its outline. `inside` is the side of the edges on which the inside is. */
function addRing(writer: LineWriter, { polygons, shifts }: PlacedZones, zone: number, inside: number): void {
  const { polygonRings, ringVertices, column, row } = polygons;
  const ring = polygonRings[zone]!;
  const [from, to] = [ringVertices[ring]!, ringVertices[ring + 1]!];
  const copies = shifts[zone]!;
  for (let v = from, u = to - 1; v < to; u = v++) {
    const [x0, y0, x1, y1] = [column[u]!, row[u]!, column[v]!, row[v]!];
    const isLeftBeyond = y0 === y1 ? x1 > x0 : y0 > y1;
    for (let copy = 0; copy < copies.length; copy++) {
      const shift = copies[copy]!;
      writer.addEdge(zone, x0 + shift, y0, x1 + shift, y1, isLeftBeyond === inside > 0);
    }
  }
}

/** Calls `call` for the stretches of the outlines of all copies of a zone. */
function forStretches(
  { polygons, shifts, sheets, oddSheets }: PlacedZones,
  zone: number,
  call: (stretch: OutlineStretch, shift: number) => void,
): void {
  const bySheet = sheetsOfZone(polygons, sheets?.ringSheets, zone);
  const copies = shifts[zone]!;
  const overlap = copies.length > 1 && [...bySheet.keys()].some((sheet) => oddSheets[sheet] !== sheet);
  const parts = [...bySheet.values()].flatMap((rings) => edgesOfPart(polygonsOf(polygons), rings) ?? []);
  // Copies that overlap are united like parts that do.
  const united = overlap ? copies.flatMap((by) => parts.map((part) => movedEdges(part, 2 * by))) : parts;
  outlineOf(united, (stretch) => {
    if (overlap) call(stretch, 0);
    else for (const shift of copies) call(stretch, shift);
  });
}

function polygonsOf({ ringVertices, column, row }: SnappedPolygons) {
  return { ringVertices, x: column, y: row };
}

function sheetsOfZone(
  { polygonRings }: SnappedPolygons,
  ringSheets: Uint32Array | undefined,
  zone: number,
): Map<number, number[]> {
  const sheets = new Map<number, number[]>();
  for (let ring = polygonRings[zone]!; ring < polygonRings[zone + 1]!; ring++) {
    const sheet = ringSheets?.[ring] ?? zone;
    const rings = sheets.get(sheet);
    if (rings === undefined) sheets.set(sheet, [ring]);
    else rings.push(ring);
  }
  return sheets;
}

/** A point of a stretch: across strips, along them, and in the rows of cells. */
interface End {
  t: Coordinate;
  s: Coordinate;
}

class LineWriter {
  readonly #grid: RasterGrid;
  readonly #begun: Float64Array;
  readonly #ended: Float64Array;
  #words: Uint32Array;
  #count = 0;
  // What is written over for each stretch.
  readonly #line: Line = { t0: 0, s0: 0, dt: 1, ds: 0 };
  readonly #start: End = { t: ofSteps(0), s: ofSteps(0) };
  readonly #end: End = { t: ofSteps(0), s: ofSteps(0) };
  readonly #crossings = noProgression();

  /** @param edges - The number of edges, of which most are one stretch. */
  constructor(grid: RasterGrid, edges: number) {
    this.#grid = grid;
    this.#begun = new Float64Array(grid.height + 1);
    this.#ended = new Float64Array(grid.height + 1);
    // Memory that nobody writes to costs nothing.
    this.#words = new Uint32Array((edges + 1) * LINE_STRIDE);
  }

  finished(): Omit<LineTable, 'lines' | 'order'> & { readonly words: Uint32Array; readonly order: Uint32Array } {
    const count = this.#count;
    const words = this.#words.subarray(0, Math.max(1, count) * LINE_STRIDE);
    const bands = new Bands(this.#grid.height);
    const topOf = (line: number): number => Math.max(0, words[line * LINE_STRIDE + LINE_FIELDS.top]! | 0);
    const isShort = (line: number): boolean => {
      const bottom = words[line * LINE_STRIDE + LINE_FIELDS.bottom]! | 0;
      return Math.floor(bottom / BAND_ROWS) - Math.floor(topOf(line) / BAND_ROWS) < 2;
    };
    for (let line = 0; line < count; line++) if (isShort(line)) bands.count(topOf(line), 1);
    const long = bands.total();
    const order = new Uint32Array(Math.max(1, count));
    for (let line = 0, at = long; line < count; line++) order[isShort(line) ? bands.next(topOf(line)) : at++] = line;
    const before = { begunBefore: sumsBefore(this.#begun), endedBefore: sumsBefore(this.#ended) };
    return { words, order, bands, long, count, ...before };
  }

  /** Adds a whole edge. */
  addEdge(zone: number, x0: number, y0: number, x1: number, y1: number, isBeyond: boolean): void {
    const isFlat = Math.abs(x1 - x0) > Math.abs(y1 - y0);
    if (isFlat) this.#setLine(x0, y0, x1, y1);
    else this.#setLine(y0, x0, y1, x1);
    const { t0, s0, dt, ds } = this.#line;
    setSteps(this.#start.t, t0);
    setSteps(this.#start.s, s0);
    setSteps(this.#end.t, t0 + dt);
    setSteps(this.#end.s, s0 + ds);
    this.#clip(zone, this.#line, this.#start, this.#end, isFlat, isBeyond);
  }

  /** Adds a stretch, moved along the columns by `shift` steps. */
  add(zone: number, { x0, y0, x1, y1, from, to, isBeyond }: OutlineStretch, shift: number): void {
    if (from === undefined && to === undefined) {
      this.addEdge(zone, x0 + shift, y0, x1 + shift, y1, isBeyond);
      return;
    }
    const isFlat = Math.abs(x1 - x0) > Math.abs(y1 - y0);
    const isForward = isFlat
      ? this.#setLine(x0 + shift, y0, x1 + shift, y1)
      : this.#setLine(y0, x0 + shift, y1, x1 + shift);
    const [first, last] = isForward ? [from, to] : [to && backward(to), from && backward(from)];
    const line = this.#line;
    this.#clip(zone, line, endAt(line, first, 0), endAt(line, last, 1), isFlat, isBeyond);
  }

  /** Sets the line through two points, and returns whether they are in the order in which t grows. */
  #setLine(t0: number, s0: number, t1: number, s1: number): boolean {
    const isForward = t0 < t1;
    const line = this.#line;
    line.t0 = isForward ? t0 : t1;
    line.s0 = isForward ? s0 : s1;
    line.dt = Math.abs(t1 - t0);
    line.ds = isForward ? s1 - s0 : s0 - s1;
    return isForward;
  }

  #clip(zone: number, line: Line, start: End, end: End, isFlat: boolean, isBeyond: boolean): void {
    // A line along a border of rows enters no cell.
    if (isFlat && line.ds === 0 && start.s.isBorder) return;
    if (isFlat && start.t.cell < 0) {
      // Of what is beside the raster, only the heights matter.
      const isBeside = end.t.cell < 0;
      const border = isBeside ? end.s : ofAlong(line.s0, line.ds, { n: BigInt(-line.t0), d: BigInt(line.dt) });
      if (line.ds > 0) this.#upright(zone, start.s, border, isBeyond);
      if (line.ds < 0) this.#upright(zone, border, start.s, isBeyond);
      if (isBeside) return;
      this.#write(zone, line, { t: ofSteps(0), s: border }, end, isFlat, isBeyond);
    } else this.#write(zone, line, start, end, isFlat, isBeyond);
  }

  /** Adds a stretch of the left border of the raster. */
  #upright(zone: number, top: Coordinate, bottom: Coordinate, isBeyond: boolean): void {
    const line = { t0: 0, s0: 0, dt: 1, ds: 0 };
    const s = ofSteps(0);
    this.#write(zone, line, { t: top, s }, { t: bottom, s }, false, isBeyond);
  }

  #write(zone: number, line: Line, start: End, end: End, isFlat: boolean, isBeyond: boolean): void {
    const { width, height } = this.#grid;
    const strip = Math.max(0, start.t.cell);
    const strips = Math.min(endOf(end.t), isFlat ? width : height) - strip;
    const isTurned = isFlat && line.ds < 0;
    const top = isFlat ? (isTurned ? end : start).s.cell : strip;
    const bottom = isFlat ? (isTurned ? start : end).s.cell : strip + strips - 1;
    if (strips <= 0 || bottom < 0 || top >= height) return;
    const starts = start.t.cell === strip && !start.t.isBorder;
    const ends = end.t.cell === strip + strips - 1 && !end.t.isBorder;
    this.#begun[Math.max(0, top)]! += strips;
    this.#ended[Math.min(height - 1, bottom)]! += strips;
    const words = this.#room();
    const at = this.#count++ * LINE_STRIDE;
    words[at + LINE_FIELDS.zone] = zone;
    words[at + LINE_FIELDS.flags] =
      (isFlat ? LINE_FLAGS.flat : 0) +
      (line.ds < 0 ? LINE_FLAGS.descending : 0) +
      (line.ds === 0 ? LINE_FLAGS.level : 0) +
      (isBeyond ? 0 : LINE_FLAGS.negative) +
      (starts ? LINE_FLAGS.starts : 0) +
      (ends ? LINE_FLAGS.ends : 0) +
      (end.s.isBorder ? LINE_FLAGS.endsOnBorder : 0);
    words[at + LINE_FIELDS.strip] = strip;
    words[at + LINE_FIELDS.strips] = strips;
    words[at + LINE_FIELDS.top] = top;
    words[at + LINE_FIELDS.bottom] = bottom;
    if (starts) setEnd(words, at, 0, line, start, isFlat);
    if (ends) setEnd(words, at, 1, line, end, isFlat);
    const crossings = this.#crossings;
    setCrossingsOfStrips(crossings, line, strip);
    setWide(words, at + LINE_FIELDS.whole, crossings.whole);
    setWide(words, at + LINE_FIELDS.step, crossings.step);
    setQuotient(words, at + LINE_FIELDS.quotient, crossings);
    if (line.ds === 0) return;
    const { cells: cell } = crossings.whole;
    const border = line.ds > 0 ? cell + 1 : cell;
    setCrossingsOfBorders(crossings, line, border);
    words[at + LINE_FIELDS.border] = border;
    words[at + LINE_FIELDS.borderWhole] = lowWord(crossings.whole);
    words[at + LINE_FIELDS.borderStep] = lowWord(crossings.step);
    setQuotient(words, at + LINE_FIELDS.borderQuotient, crossings);
  }

  #room(): Uint32Array {
    if ((this.#count + 1) * LINE_STRIDE > this.#words.length) {
      const more = new Uint32Array(2 * this.#words.length);
      more.set(this.#words);
      this.#words = more;
    }
    return this.#words;
  }
}

function backward({ n, d }: Along): Along {
  return { n: d - n, d };
}

function endAt({ t0, s0, dt, ds }: Line, along: Along | undefined, whole: 0 | 1): End {
  return along === undefined
    ? { t: ofSteps(t0 + whole * dt), s: ofSteps(s0 + whole * ds) }
    : { t: ofAlong(t0, dt, along), s: ofAlong(s0, ds, along) };
}

/** The strip after the last one that a line enters before it ends. */
function endOf({ cell, isBorder }: Coordinate): number {
  return isBorder ? cell : cell + 1;
}

/** A point on a border of cells belongs to the cell that the line enters there. */
function setEnd(words: Uint32Array, at: number, which: 0 | 1, line: Line, { t, s }: End, isFlat: boolean): void {
  const isUpper = line.ds < 0 && s.isBorder;
  const local = isUpper ? 1 : s.local;
  words[at + LINE_FIELDS.startCell + which] = isUpper ? s.cell - 1 : s.cell;
  words[at + LINE_FIELDS.startRow + which] = isFlat ? (isUpper ? 2 ** 30 : s.fixed) : t.fixed;
  // Along a border, all area of the cell beyond it counts: as much as the height.
  const isSide = line.ds === 0 && s.isBorder;
  words[at + LINE_FIELDS.startArea + which] = isSide ? t.fixed : areaBefore(line, t.local, local, isFlat);
}

/** Writes an integer modulo 2⁶⁴: two words, the low one first. */
function setWide(words: Uint32Array, at: number, value: Units): void {
  words[at] = lowWord(value);
  words[at + 1] = Math.floor(value.cells / 2);
}

function lowWord({ cells, part }: Units): number {
  return (cells % 2 === 0 ? 0 : 2 ** 31) + part;
}

/** For each row, the sum over all rows before it. */
function sumsBefore(changes: Float64Array): Float64Array {
  const before = new Float64Array(changes.length);
  for (let row = 1; row < before.length; row++) before[row] = before[row - 1]! + changes[row - 1]!;
  return before;
}
