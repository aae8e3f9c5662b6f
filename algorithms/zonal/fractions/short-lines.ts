import { Let } from '../../../primitives/functors/control.ts';
import { bool, f32, u32 } from '../../../primitives/functors/functor.ts';
import { bitsToI32, bitsToU32 } from '../../../primitives/functors/standard/bits.ts';
import { select } from '../../../primitives/functors/standard/choose.ts';
import type { ArrayValue, Bool, U32 } from '../../../primitives/functors/value.ts';
import { type SnappedPolygons, STEPS_PER_CELL } from '../../geometry/grid.ts';
import type { RasterGrid } from '../../geometry/raster.ts';
import { Bands } from '../bands.ts';
import { areaBefore, ONE } from './line-numbers.ts';
import type { LineCourse, LineReader, LineSpan } from './line-reader.ts';
import { StripCounter } from './strip-counts.ts';

/**
 * Edges that are no longer than two cells, and lie on the raster: those of very many zones. Their numbers fit few words, from
 * which the device computes where they cross borders of cells; of other stretches the host computes that.
 */

const STEPS = STEPS_PER_CELL;

/** Edges are shorter than this along both axes. */
const SHORT = 2 * STEPS;

/** Rows of cells in the bands of short edges, and more than the rows of an edge. */
export const SHORT_BAND_ROWS = 8;

/** Positions of the words of an edge. Coordinate t goes across strips, s along them; t grows. */
const FIELDS = {
  zone: 0,
  /** The start: its position in its cell in steps, and the cell. Above the position t are two flags. */
  t: 1,
  s: 2,
  strip: 3,
  cell: 4,
  /** The end less the start, in steps. */
  run: 5,
  rise: 6,
  /** The areas before the start and the end, where these are inside strips; see {@link areaBefore}. */
  startArea: 7,
  endArea: 8,
} as const;
const STRIDE = 9;

/** Above the position t, which is below {@link STEPS}. */
const FLAT = STEPS;
const NEGATIVE = 2 * STEPS;

/**
 * Writes the table of the short edges of rings, by bands of rows. All rings are counted first, and then all are written.
 *
 * Numbers of edges are neither arguments of functions nor elements of lists here, because millions of them would become as
 * many objects.
 */
export class ShortLines {
  readonly bands: Bands;
  readonly strips: StripCounter;
  readonly #polygons: SnappedPolygons;
  readonly #width: number;
  readonly #height: number;
  #words = new Uint32Array(STRIDE);

  constructor({ width, height }: RasterGrid, polygons: SnappedPolygons) {
    this.bands = new Bands(height + 1, SHORT_BAND_ROWS);
    this.strips = new StripCounter(height);
    this.#polygons = polygons;
    this.#width = width * STEPS;
    this.#height = height * STEPS;
  }

  /** Counts the short edges of a ring, moved along the columns by `shift` steps. Calls `other` with the ends of others. */
  count(ring: number, shift: number, other: (from: number, to: number) => void): void {
    const { ringVertices, column, row } = this.#polygons;
    const [from, to] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    for (let v = from, u = to - 1; v < to; u = v++) {
      if (!this.#isShort(u, v, shift)) {
        other(u, v);
        continue;
      }
      const above = Math.min(row[u]!, row[v]!);
      const below = Math.max(row[u]!, row[v]!);
      const top = Math.floor(above / STEPS);
      const rows = Math.ceil(below / STEPS) - top;
      // A line along a border of rows enters no cell.
      if (rows === 0) continue;
      this.bands.count(top, 1);
      const left = Math.min(column[u]!, column[v]!) + shift;
      const right = Math.max(column[u]!, column[v]!) + shift;
      if (right - left > below - above)
        this.strips.count(top, Math.floor(below / STEPS), Math.ceil(right / STEPS) - Math.floor(left / STEPS));
      else this.strips.count(top, top + rows - 1, rows);
    }
  }

  /** Ends the counting. */
  begin(): void {
    this.#words = new Uint32Array(Math.max(1, this.bands.total()) * STRIDE);
  }

  /** The table, once all is written. */
  get words(): Uint32Array {
    return this.#words;
  }

  /** Writes the edges of a ring that were counted. `inside` is the side of the edges on which the inside is. */
  write(zone: number, ring: number, shift: number, inside: number): void {
    const { ringVertices, column, row } = this.#polygons;
    const words = this.#words;
    const [from, to] = [ringVertices[ring]!, ringVertices[ring + 1]!];
    for (let v = from, u = to - 1; v < to; u = v++) {
      if (!this.#isShort(u, v, shift)) continue;
      const x = column[v]! - column[u]!;
      const y = row[v]! - row[u]!;
      const isFlat = Math.abs(x) > Math.abs(y);
      const isForward = isFlat ? x > 0 : y > 0;
      const first = isForward ? u : v;
      const startColumn = column[first]! + shift;
      const startRow = row[first]!;
      const firstColumn = Math.floor(startColumn / STEPS);
      const firstRow = Math.floor(startRow / STEPS);
      const across = startColumn - firstColumn * STEPS;
      const down = startRow - firstRow * STEPS;
      const t = isFlat ? across : down;
      const s = isFlat ? down : across;
      const run = Math.abs(isFlat ? x : y);
      const upward = isFlat ? y : x;
      const rise = isForward ? upward : -upward;
      if (isFlat && rise === 0 && s === 0) continue;
      // A flat edge may end above the row in which it starts.
      const top = isFlat && rise < 0 ? firstRow + ((s + rise) >> 20) : firstRow;
      const at = this.bands.next(top) * STRIDE;
      const isBeyond = (y === 0 ? x > 0 : y < 0) === inside > 0;
      words[at + FIELDS.zone] = zone;
      words[at + FIELDS.t] = t + (isFlat ? FLAT : 0) + (isBeyond ? 0 : NEGATIVE);
      words[at + FIELDS.s] = s;
      words[at + FIELDS.strip] = isFlat ? firstColumn : firstRow;
      words[at + FIELDS.cell] = isFlat ? firstRow : firstColumn;
      words[at + FIELDS.run] = run;
      words[at + FIELDS.rise] = rise;
      const slope = rise / run;
      words[at + FIELDS.startArea] = areaAt(slope, t, s, isFlat);
      words[at + FIELDS.endArea] = areaAt(slope, (t + run) & (STEPS - 1), (s + rise) & (STEPS - 1), isFlat);
    }
  }

  /** Whether an edge lies on the raster and has so few cells that its numbers fit. */
  #isShort(u: number, v: number, shift: number): boolean {
    const { column, row } = this.#polygons;
    const x0 = column[u]! + shift;
    const x1 = column[v]! + shift;
    const y0 = row[u]!;
    const y1 = row[v]!;
    const right = this.#width;
    const bottom = this.#height;
    const isNear = Math.abs(x1 - x0) < SHORT && Math.abs(y1 - y0) < SHORT;
    const isIn = x0 >= 0 && x0 <= right && x1 >= 0 && x1 <= right;
    return isNear && isIn && y0 >= 0 && y0 <= bottom && y1 >= 0 && y1 <= bottom;
  }
}

/** The area before a point in its cell, in steps. A point on a border of cells belongs to the cell that the line enters there. */
function areaAt(slope: number, t: number, s: number, isFlat: boolean): number {
  // On a border of strips, nothing is cut.
  if (t === 0) return 0;
  // Along a border, all area of the cell beyond it counts: as much as the height.
  if (slope === 0 && s === 0) return t * (ONE / STEPS);
  return areaBefore(slope, t / STEPS, slope < 0 && s === 0 ? 1 : s / STEPS, isFlat);
}

/** Short edges, for functors. */
export const SHORT_LINES: LineReader = {
  spanOf(lines, line) {
    const field = fieldsOf(lines, line);
    const head = Let(field(FIELDS.t));
    const isFlat = head.and(FLAT).ne(0);
    const [strip, cell] = [Let(field(FIELDS.strip)), Let(field(FIELDS.cell))];
    const strips = Let(
      head
        .and(STEPS - 1)
        .add(field(FIELDS.run))
        .add(STEPS - 1)
        .shr(20),
    );
    const last = Let(cell.add(wholeCells(field(FIELDS.s).add(field(FIELDS.rise)))));
    return {
      ...{ zone: field(FIELDS.zone), isFlat, strip, strips },
      top: select(strip, cell.min(last), isFlat),
      bottom: select(strip.add(strips).sub(1), cell.max(last), isFlat),
    };
  },
  courseOf: shortCourse,
};

function fieldsOf(lines: ArrayValue<'u32'>, line: U32): (offset: number) => U32 {
  const at = line.mul(STRIDE);
  return (offset) => lines.at(at.add(offset));
}

function shortCourse(lines: ArrayValue<'u32'>, line: U32, { isFlat }: LineSpan): LineCourse {
  const field = fieldsOf(lines, line);
  const head = Let(field(FIELDS.t));
  const [t, s, cell] = [Let(head.and(STEPS - 1)), Let(field(FIELDS.s)), Let(field(FIELDS.cell))];
  const [run, rise] = [Let(field(FIELDS.run)), Let(field(FIELDS.rise))];
  const descends = rise.shr(31).ne(0);
  const size = Let(select(rise, u32(0).sub(rise), descends));
  const [tEnd, sEnd] = [t.add(run), Let(s.add(rise))];
  const endAt = (own: U32, along: U32, of: U32, area: number) => {
    const isUpper = descends.and(along.eq(0));
    return {
      cell: of.sub(u32(isUpper)),
      row: select(own.shl(10), select(along.shl(10), u32(ONE), isUpper), isFlat),
      area: field(area),
    };
  };
  const [tLast, sLast, last] = [Let(tEnd.and(STEPS - 1)), Let(sEnd.and(STEPS - 1)), cell.add(wholeCells(sEnd))];
  return {
    ...{ descends, isLevel: rise.eq(0), isNegative: head.and(NEGATIVE).ne(0) },
    ...{ starts: t.ne(0), ends: tLast.ne(0), endsOnBorder: sLast.eq(0) },
    start: endAt(t, s, cell, FIELDS.startArea),
    end: endAt(tLast, sLast, last, FIELDS.endArea),
    crossing(k) {
      const steps = Let(k.shl(20).sub(t));
      const { whole, part, remains } = signedQuotient(size, steps, run, descends);
      const position = Let(s.add(whole));
      const inCell = position
        .and(STEPS - 1)
        .shl(11)
        .or(part);
      return {
        cell: Let(cell.add(wholeCells(position))),
        fixed: inCell.add(1).shr(1),
        isBorder: inCell.or(remains).eq(0),
      };
    },
    borderCrossing(border, k) {
      const up = border.sub(cell).shl(20).sub(s);
      const steps = Let(select(up, u32(0).sub(up), descends));
      const { whole, part } = signedQuotient(run, steps, size, bool(false));
      return t.add(whole).sub(k.shl(20)).shl(11).or(part).add(1).shr(1);
    },
  };
}

/** The cells in a number of steps, which is signed, rounded down. */
function wholeCells(steps: U32): U32 {
  return bitsToU32(bitsToI32(steps).shr(20));
}

/**
 * The product of two numbers divided by a third, rounded down to units of 2⁻¹¹, in whole numbers and units; and whether
 * anything remains. `b` is signed, and the sign of the product is turned around if `isTurned`. All are below 2²³ without their
 * signs.
 */
function signedQuotient(a: U32, b: U32, divisor: U32, isTurned: Bool): { whole: U32; part: U32; remains: U32 } {
  const isNegative = b.shr(31).ne(0);
  const { quotient, rest } = quotientOf(a, Let(select(b, u32(0).sub(b), isNegative)), divisor);
  const isBelow = isNegative.xor(isTurned);
  const isCarried = isBelow.and(rest.ne(0));
  const whole = select(quotient, u32(0).sub(quotient).sub(u32(isCarried)), isBelow);
  const upper = Let(select(rest, divisor.sub(rest), isCarried));
  const { quotient: part, rest: remains } = quotientOf(upper, u32(2 ** 11), divisor);
  return { whole, part, remains };
}

/**
 * The product of two numbers divided by a third, if that is below 2²³, and what remains. The quotient of f32 is less than one
 * off.
 */
function quotientOf(a: U32, b: U32, divisor: U32): { readonly quotient: U32; readonly rest: U32 } {
  const guess = Let(u32(f32(a).mul(f32(b)).div(f32(divisor))));
  const rest = Let(a.mul(b).sub(guess.mul(divisor)));
  const isAbove = Let(rest.shr(31));
  const isBelow = Let(u32(rest.ge(divisor)).sub(isAbove));
  return {
    quotient: Let(guess.sub(isAbove).add(isBelow)),
    rest: Let(rest.add(divisor.mul(isAbove)).sub(divisor.mul(isBelow))),
  };
}
