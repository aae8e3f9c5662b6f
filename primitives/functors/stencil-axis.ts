import { wrongArgument } from '../checks/arguments.ts';
import type { Boundary } from '../contract/backend.ts';
import { u32 } from './functor.ts';
import { select } from './standard/choose.ts';
import type { Bool, U32 } from './value.ts';

const boundaries: readonly Boundary[] = ['clamp', 'wrap', 'reflect', 'constant'];

export function requireBoundary(boundary: Boundary, primitive = 'stencil'): void {
  if (boundaries.includes(boundary)) return;
  throw wrongArgument(primitive, 'the option boundary', boundary, boundaries.join(', '), { code: 'stencil/boundary' });
}

/** A line of `size` cells, and the position `at` of one cell in this line. */
export interface Axis {
  readonly at: U32;
  readonly size: U32;
  /** The number of cells in the line if the host knows it. */
  readonly known: number | undefined;
}

/**
 * The cell `place` to which a step leads, and whether the step stayed inside the line. `inside` is undefined if the
 * boundary rule does not need it.
 */
export interface AxisStep {
  readonly place: U32;
  readonly inside?: Bool | undefined;
}

/**
 * The cell to read for the neighbour at distance `offset`. If the neighbour is outside the line, the boundary rule
 * chooses another cell. No intermediate sum exceeds 2³² − 1.
 */
export function stepAlong(axis: Axis, offset: number, boundary: Boundary): AxisStep {
  if (offset === 0) return { place: axis.at };
  switch (boundary) {
    case 'clamp':
      return { place: clamped(axis, offset) };
    case 'wrap':
      return { place: wrapped(axis, offset) };
    case 'reflect':
      return { place: reflected(axis, offset) };
    case 'constant':
      return { place: clamped(axis, offset), inside: isInside(axis, offset) };
  }
}

function clamped({ at, size }: Axis, offset: number): U32 {
  if (offset < 0) return at.max(-offset).sub(-offset);
  return at.add(size.sub(1).sub(at).min(offset));
}

function isInside({ at, size }: Axis, offset: number): Bool {
  return offset < 0 ? at.ge(-offset) : size.sub(at).gt(offset);
}

function wrapped(axis: Axis, offset: number): U32 {
  const { at, size } = axis;
  const far = u32(Math.abs(offset));
  const step = isShort(axis, offset) ? far : far.rem(size);
  const rest = size.sub(step);
  return offset < 0 ? select(at.sub(step), at.add(rest), at.lt(step)) : select(at.add(step), at.sub(rest), at.ge(rest));
}

/**
 * The cell that a step reaches if the line is reflected at both ends. The cells at the ends are not repeated, so the
 * period is 2 · (`size` − 1).
 */
function reflected(axis: Axis, offset: number): U32 {
  const far = u32(Math.abs(offset));
  const isForward = offset > 0;
  const last = axis.size.sub(1);
  if (isShort(axis, offset)) return folded(axis.at, far, last, isForward);
  const period = last.shl(1);
  // If the period overflows 2³² − 1, `far` is at most `last`, so the remainder is not used.
  const step = select(far.rem(period), far, far.le(last));
  const back = period.sub(step);
  return select(folded(axis.at, step, last, isForward), folded(axis.at, back, last, !isForward), step.gt(last));
}

/** The cell that a step of at most `last` cells reaches if the step turns back at the end of the line. */
function folded(at: U32, step: U32, last: U32, isForward: boolean): U32 {
  if (!isForward) return select(at.sub(step), step.sub(at), step.gt(at));
  const room = last.sub(at);
  return select(at.add(step), last.sub(step.sub(room)), step.gt(room));
}

/** Whether the host knows that a step of `offset` cells is shorter than the line. */
function isShort({ known }: Axis, offset: number): boolean {
  return known !== undefined && Math.abs(offset) < known;
}
