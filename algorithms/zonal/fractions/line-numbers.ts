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
  readonly cell: number;
  /** From 0 to below 1. */
  readonly local: number;
  readonly fixed: number;
  /** Whether the coordinate is that of a border of cells. */
  readonly isBorder: boolean;
}

/** The coordinate of a point on the grid. */
export function ofSteps(steps: number): Coordinate {
  const cell = Math.floor(steps / STEPS);
  const rest = steps - cell * STEPS;
  return { cell, local: rest / STEPS, fixed: rest * (ONE / STEPS), isBorder: rest === 0 };
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
  readonly t0: number;
  readonly s0: number;
  readonly dt: number;
  readonly ds: number;
}

/** An integer of units of 2⁻³¹ of a cell, `cells · 2³¹ + part`, with a part from 0 to below 2³¹. */
export interface Units {
  readonly cells: number;
  readonly part: number;
}

/** `whole + k · step + ⌊(start + k · rest) / divisor⌋`, for k = 0, 1, 2, …, modulo 2⁶⁴. */
export interface Progression {
  readonly whole: Units;
  readonly step: Units;
  readonly start: number;
  readonly rest: number;
  readonly divisor: number;
}

/** Numbers of at most this size can be divided exactly in f64. */
const EXACT = 2 ** 52;

/** Where a line is at t = `strip` + k, in cells: s, rounded down to units of 2⁻³¹ of a cell. Any slope will do. */
export function crossingsOfStrips({ t0, s0, dt, ds }: Line, strip: number): Progression {
  const before = strip * STEPS - t0;
  if (Math.abs(ds) * Math.max(Math.abs(before), STEPS) >= EXACT || dt * HALVES >= EXACT) {
    const first = BigInt(ds) * BigInt(before) + BigInt(s0) * BigInt(dt);
    return progressionOf(first * BigInt(HALVES), BigInt(ds) * 2n ** 31n, dt);
  }
  const first = inUnits(ds * before, s0, dt);
  const by = inUnits(ds * STEPS, 0, dt);
  return { whole: first.quotient, step: by.quotient, start: first.rest, rest: by.rest, divisor: dt };
}

/**
 * Where a line crosses the border `border` ± k of cells: t, rounded down to units of 2⁻³¹ of a cell. Borders are counted
 * in the direction in which s changes, which it must.
 */
export function crossingsOfBorders({ t0, s0, dt, ds }: Line, border: number): Progression {
  const along = Math.sign(ds);
  return crossingsOfStrips({ t0: s0 * along, s0: t0, dt: ds * along, ds: dt }, border * along);
}

function progressionOf(first: bigint, by: bigint, divisor: number): Progression {
  const [whole, step] = [floorDivide(first, BigInt(divisor)), floorDivide(by, BigInt(divisor))];
  return {
    ...{ whole: unitsOf(whole), step: unitsOf(step), divisor },
    start: Number(first - whole * BigInt(divisor)),
    rest: Number(by - step * BigInt(divisor)),
  };
}

function unitsOf(integer: bigint): Units {
  return { cells: Number(integer >> 31n), part: Number(integer & 0x7fffffffn) };
}

/**
 * ⌊(more + steps / divisor) · 2¹¹⌋ and the remainder, for a product of steps below 2⁵² and a divisor below 2⁴¹. No bigints,
 * which would take most of the time.
 */
function inUnits(steps: number, more: number, divisor: number): { readonly quotient: Units; readonly rest: number } {
  const whole = quotientOf(steps, divisor);
  const scaled = (steps - whole * divisor) * HALVES;
  const part = quotientOf(scaled, divisor);
  const all = whole + more;
  const cells = Math.floor(all / STEPS);
  return { quotient: { cells, part: (all - cells * STEPS) * HALVES + part }, rest: scaled - part * divisor };
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
export function areaBefore({ dt, ds }: Line, t: number, s: number, isFlat: boolean): number {
  const slope = ds / dt;
  // From the side of the cell through which the line would enter where s changes.
  const side = slope < 0 ? 1 : 0;
  const across = Math.abs(s - side);
  const crosses = across < Math.abs(slope) * t;
  const along = crosses ? across / Math.abs(slope) : t;
  const entry = crosses ? side : s - slope * t;
  const area = isFlat ? Math.abs(s - entry) * (1 - (t - along + t) / 2) : along * (1 - (entry + s) / 2);
  return Math.round(area * ONE);
}
