import type { Column, Context } from '../../../primitives/index.ts';
import type { SnappedPolygons } from '../../geometry/grid.ts';
import { type Along, type OutlineStretch, outlineOf } from '../../geometry/outlines.ts';
import { edgesOfPart, movedEdges } from '../../geometry/part-edges.ts';
import type { RasterGrid } from '../../geometry/raster.ts';
import { setQuotient } from '../edge-quotients.ts';
import type { PlacedZones } from '../placement.ts';
import {
  areaBefore,
  type Coordinate,
  crossingsOfBorders,
  crossingsOfStrips,
  type Line,
  ofAlong,
  ofSteps,
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
  /** s at the beginnings of strips, in two words: {@link crossingsOfStrips}. */
  whole: 12,
  step: 14,
  quotient: 16,
  /** t at borders of cells along strips, in the lower words of {@link crossingsOfBorders}, from `border` on. */
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
  readonly count: number;
  /** For each row, the number of strips of the stretches that begin above it, and of those that end above it. */
  readonly begunBefore: Float64Array;
  readonly endedBefore: Float64Array;
}

/** Uploads the outlines of zones, clipped to the rows of the raster, and flat lines also to its columns. */
export function uploadLines(context: Context, placed: PlacedZones, grid: RasterGrid): LineTable {
  const writer = new LineWriter(grid);
  for (let zone = 0; zone < placed.shifts.length; zone++) {
    forStretches(placed, zone, (stretch, shift) => writer.add(zone, stretch, shift));
  }
  return { lines: context.column(writer.finished()), ...writer.counted() };
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
  readonly t: Coordinate;
  readonly s: Coordinate;
}

class LineWriter {
  readonly #grid: RasterGrid;
  readonly #begun: Float64Array;
  readonly #ended: Float64Array;
  #words = new Uint32Array(1024 * LINE_STRIDE);
  #count = 0;

  constructor(grid: RasterGrid) {
    this.#grid = grid;
    this.#begun = new Float64Array(grid.height + 1);
    this.#ended = new Float64Array(grid.height + 1);
  }

  finished(): Uint32Array {
    return this.#words.slice(0, Math.max(1, this.#count) * LINE_STRIDE);
  }

  counted(): Omit<LineTable, 'lines'> {
    return { count: this.#count, begunBefore: sumsBefore(this.#begun), endedBefore: sumsBefore(this.#ended) };
  }

  /** Adds a stretch, moved along the columns by `shift` steps. */
  add(zone: number, { x0, y0, x1, y1, from, to, isBeyond }: OutlineStretch, shift: number): void {
    const isFlat = Math.abs(x1 - x0) > Math.abs(y1 - y0);
    const [t0, s0, t1, s1] = isFlat ? [x0 + shift, y0, x1 + shift, y1] : [y0, x0 + shift, y1, x1 + shift];
    const isForward = t0 < t1;
    const line = isForward ? { t0, s0, dt: t1 - t0, ds: s1 - s0 } : { t0: t1, s0: s1, dt: t0 - t1, ds: s0 - s1 };
    const [first, last] = isForward ? [from, to] : [to && backward(to), from && backward(from)];
    this.#clip(zone, line, endAt(line, first, 0), endAt(line, last, 1), isFlat, isBeyond);
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
    const [over, under] = isFlat && line.ds < 0 ? [end.s, start.s] : [start.s, end.s];
    const top = isFlat ? over.cell : strip;
    const bottom = isFlat ? under.cell : strip + strips - 1;
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
    const crossings = crossingsOfStrips(line, strip);
    setWide(words, at + LINE_FIELDS.whole, crossings.whole);
    setWide(words, at + LINE_FIELDS.step, crossings.step);
    setQuotient(words, at + LINE_FIELDS.quotient, crossings);
    if (line.ds === 0) return;
    const { cells: cell } = crossings.whole;
    const border = line.ds > 0 ? cell + 1 : cell;
    const borders = crossingsOfBorders(line, border);
    words[at + LINE_FIELDS.border] = border;
    words[at + LINE_FIELDS.borderWhole] = lowWord(borders.whole);
    words[at + LINE_FIELDS.borderStep] = lowWord(borders.step);
    setQuotient(words, at + LINE_FIELDS.borderQuotient, borders);
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
  const [cell, local, fixed] = isUpper ? [s.cell - 1, 1, 2 ** 30] : [s.cell, s.local, s.fixed];
  words[at + LINE_FIELDS.startCell + which] = cell;
  words[at + LINE_FIELDS.startRow + which] = isFlat ? fixed : t.fixed;
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
