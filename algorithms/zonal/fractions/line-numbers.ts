import { STEPS_PER_CELL } from '../../geometry/grid.ts';
import type { Along } from '../../geometry/outlines.ts';

/** Positions inside a cell are multiples of 2⁻³⁰ of a cell, and so are shares of cells. */
export const ONE: number = 2 ** 30;

const STEPS = STEPS_PER_CELL;
/** Number of units of 2⁻³¹ of a cell in a step. */
const HALVES = 2 ** 31 / STEPS;

/**
 * A coordinate: the cell, and the position in it. `fixed` is the position in units of 2⁻³⁰, rounded to the nearest (half
 * up), which depends on the coordinate alone.
 */
export interface Coordinate {
  cell: number;
  /** From 0 to below 1. */
  local: number;
  fixed: number;
  /** Whether the coordinate is that of a border of cells. */
  isBorder: boolean;
}

/** The coordinate of a point on the grid. */
export function ofSteps(steps: number): Coordinate {
  const coordinate = { cell: 0, local: 0, fixed: 0, isBorder: true };
  setSteps(coordinate, steps);
  return coordinate;
}

/** The same, written over another, because millions of points would be as many objects. */
export function setSteps(coordinate: Coordinate, steps: number): void {
  const cell = Math.floor(steps / STEPS);
  const rest = steps - cell * STEPS;
  coordinate.cell = cell;
  coordinate.local = rest / STEPS;
  coordinate.fixed = rest * (ONE / STEPS);
  coordinate.isBorder = rest === 0;
}

/** The coordinate `from + run · n / d`, in steps. */
export function ofAlong(from: number, run: number, { n, d }: Along): Coordinate {
  const exact = BigInt(from) * d + BigInt(run) * n;
  const size = BigInt(STEPS) * d;
  const cell = floorDivide(exact, size);
  const rest = exact - cell * size;
  return {
    cell: Number(cell),
    local: Number((rest << 62n) / size) / 2 ** 62,
    fixed: Number(floorDivide(2n * BigInt(ONE) * rest + size, 2n * size)),
    isBorder: rest === 0n,
  };
}

/**
 * A line through whole steps, along the axis on which it is longer: at t = `t0` it is at s = `s0`, and s changes by `ds`
 * while t changes by `dt` > 0, with |ds| ≤ dt.
 */
export interface Line {
  t0: number;
  s0: number;
  dt: number;
  ds: number;
}

/** An integer of units of 2⁻³¹ of a cell, `cells · 2³¹ + part`, with a part from 0 to below 2³¹. */
export interface Units {
  cells: number;
  part: number;
}

/** `whole + k · step + ⌊(start + k · rest) / divisor⌋`, for k = 0, 1, 2, …, modulo 2⁶⁴. */
export interface Progression {
  readonly whole: Units;
  readonly step: Units;
  start: number;
  rest: number;
  divisor: number;
}

/** A progression to write over. */
export function noProgression(): Progression {
  return { whole: { cells: 0, part: 0 }, step: { cells: 0, part: 0 }, start: 0, rest: 0, divisor: 1 };
}

/** Numbers of at most this size can be divided exactly in f64. */
const EXACT = 2 ** 52;

/**
 * Where a line is at t = `strip` + k, in cells: s, rounded down to units of 2⁻³¹ of a cell. Any slope will do. Written over
 * a progression.
 */
export function setCrossingsOfStrips(into: Progression, { t0, s0, dt, ds }: Line, strip: number): void {
  setCrossings(into, t0, s0, dt, ds, strip);
}

/**
 * Where a line crosses the border `border` ± k of cells: t, rounded down to units of 2⁻³¹ of a cell. Borders are counted
 * in the direction in which s changes, which it must. Written over a progression.
 */
export function setCrossingsOfBorders(into: Progression, { t0, s0, dt, ds }: Line, border: number): void {
  const along = Math.sign(ds);
  setCrossings(into, s0 * along, t0, ds * along, dt, border * along);
}

function setCrossings(into: Progression, t0: number, s0: number, dt: number, ds: number, strip: number): void {
  const before = strip * STEPS - t0;
  into.divisor = dt;
  if (Math.abs(ds) * Math.max(Math.abs(before), STEPS) >= EXACT || dt * HALVES >= EXACT) {
    const first = BigInt(ds) * BigInt(before) + BigInt(s0) * BigInt(dt);
    into.start = setQuotient(into.whole, first * BigInt(HALVES), BigInt(dt));
    into.rest = setQuotient(into.step, BigInt(ds) * 2n ** 31n, BigInt(dt));
  } else {
    into.start = setUnits(into.whole, ds * before, s0, dt);
    into.rest = setUnits(into.step, ds * STEPS, 0, dt);
  }
}

/** Writes the quotient, and returns the remainder. */
function setQuotient(into: Units, value: bigint, divisor: bigint): number {
  const quotient = floorDivide(value, divisor);
  into.cells = Number(quotient >> 31n);
  into.part = Number(quotient & 0x7fffffffn);
  return Number(value - quotient * divisor);
}

/**
 * Writes ⌊(more + steps / divisor) · 2¹¹⌋, and returns the remainder, for a product of steps below 2⁵² and a divisor below
 * 2⁴¹. No bigints, which would take most of the time.
 */
function setUnits(into: Units, steps: number, more: number, divisor: number): number {
  const whole = quotientOf(steps, divisor);
  const scaled = (steps - whole * divisor) * HALVES;
  const part = quotientOf(scaled, divisor);
  const all = whole + more;
  const cells = Math.floor(all / STEPS);
  into.cells = cells;
  into.part = (all - cells * STEPS) * HALVES + part;
  return scaled - part * divisor;
}

function quotientOf(a: number, b: number): number {
  const quotient = Math.floor(a / b);
  const rest = a - quotient * b;
  return rest < 0 ? quotient - 1 : rest >= b ? quotient + 1 : quotient;
}

function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return quotient * b > a ? quotient - 1n : quotient;
}

/**
 * The area between a line and the right side of the cell that contains a point of it, from where the line enters the cell
 * to the point, in units of 2⁻³⁰. The line goes along rows if `isFlat`, else along columns. Depends on the slope of the
 * line and the position of the point in its cell alone.
 */
export function areaBefore(slope: number, t: number, s: number, isFlat: boolean): number {
  // From the side of the cell through which the line would enter where s changes.
  const side = slope < 0 ? 1 : 0;
  const across = Math.abs(s - side);
  const crosses = across < Math.abs(slope) * t;
  const along = crosses ? across / Math.abs(slope) : t;
  const entry = crosses ? side : s - slope * t;
  const area = isFlat ? Math.abs(s - entry) * (1 - (t - along + t) / 2) : along * (1 - (entry + s) / 2);
  return Math.round(area * ONE);
}
