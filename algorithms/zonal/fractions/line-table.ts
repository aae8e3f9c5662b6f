import type { Column, Context } from '../../../primitives/index.ts';
import type { SnappedPolygons } from '../../geometry/grid.ts';
import { type Along, type OutlineStretch, outlineOf } from '../../geometry/outlines.ts';
import { edgesOfPart, movedEdges } from '../../geometry/part-edges.ts';
import type { RasterGrid } from '../../geometry/raster.ts';
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
import { LINE_FIELDS, LINE_FLAGS, LINE_STRIDE } from './long-lines.ts';
import { ShortLines } from './short-lines.ts';
import { StripCounter, type StripCounts } from './strip-counts.ts';

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
  readonly strips: StripCounts;
  /** Short edges, by the bands in which they begin. */
  readonly edges: Column<'u32'>;
  readonly edgeBands: Bands;
  readonly edgeStrips: StripCounts;
}

/** Uploads the outlines of zones, clipped to the rows of the raster, and flat lines also to its columns. */
export function uploadLines(context: Context, placed: PlacedZones, grid: RasterGrid): LineTable {
  const { polygons, shifts } = placed;
  const [writer, short] = [new LineWriter(grid), new ShortLines(grid, polygons)];
  const rings = new SimpleRings(polygonsOf(polygons));
  // Of zones whose only ring is their outline, on which side of the edges the inside is.
  const sides = new Int8Array(shifts.length);
  for (let zone = 0; zone < shifts.length; zone++) {
    const ring = polygons.polygonRings[zone]!;
    const inside = isOneRing(placed, zone) ? rings.insideOf(ring) : 0;
    sides[zone] = inside;
    if (inside === 0) forStretches(placed, zone, (stretch, shift) => writer.add(zone, stretch, shift));
    else for (const shift of shifts[zone]!) short.count(ring, shift, (u, v) => addEdge(zone, u, v, shift));
  }
  short.begin();
  for (let zone = 0; zone < shifts.length; zone++) {
    if (sides[zone] === 0) continue;
    for (const shift of shifts[zone]!) short.write(zone, polygons.polygonRings[zone]!, shift, sides[zone]!);
  }
  const { words, order, ...counted } = writer.finished();
  return {
    ...{ lines: context.column(words), order: context.column(order), ...counted },
    ...{ edges: context.column(short.words), edgeBands: short.bands, edgeStrips: short.strips.finished() },
  };

  function addEdge(zone: number, u: number, v: number, shift: number): void {
    const { column, row } = polygons;
    const [x0, y0, x1, y1] = [column[u]!, row[u]!, column[v]!, row[v]!];
    const isLeftBeyond = y0 === y1 ? x1 > x0 : y0 > y1;
    writer.addEdge(zone, x0 + shift, y0, x1 + shift, y1, isLeftBeyond === sides[zone]! > 0);
  }
}

/** Whether a zone is a ring whose copies do not overlap. */
function isOneRing({ polygons: { polygonRings }, shifts, sheets, oddSheets }: PlacedZones, zone: number): boolean {
  const ring = polygonRings[zone]!;
  const sheet = sheets?.ringSheets[ring] ?? zone;
  return polygonRings[zone + 1]! - ring === 1 && (shifts[zone]!.length === 1 || oddSheets[sheet] === sheet);
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
  readonly #strips: StripCounter;
  #words = new Uint32Array(LINE_STRIDE);
  #count = 0;
  // What is written over for each stretch.
  readonly #line: Line = { t0: 0, s0: 0, dt: 1, ds: 0 };
  readonly #start: End = { t: ofSteps(0), s: ofSteps(0) };
  readonly #end: End = { t: ofSteps(0), s: ofSteps(0) };
  readonly #crossings = noProgression();

  constructor(grid: RasterGrid) {
    this.#grid = grid;
    this.#strips = new StripCounter(grid.height);
  }

  finished(): Pick<LineTable, 'bands' | 'long' | 'count' | 'strips'> & Record<'words' | 'order', Uint32Array> {
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
    return { words, order, bands, long, count, strips: this.#strips.finished() };
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
    this.#strips.count(top, bottom, strips);
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
  words[at + LINE_FIELDS.startArea + which] = isSide ? t.fixed : areaBefore(line.ds / line.dt, t.local, local, isFlat);
}

/** Writes an integer modulo 2⁶⁴: two words, the low one first. */
function setWide(words: Uint32Array, at: number, value: Units): void {
  words[at] = lowWord(value);
  words[at + 1] = Math.floor(value.cells / 2);
}

function lowWord({ cells, part }: Units): number {
  return (cells % 2 === 0 ? 0 : 2 ** 31) + part;
}
