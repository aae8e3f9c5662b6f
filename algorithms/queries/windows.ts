import { aColumn, aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { ArgumentError } from '../../primitives/checks/errors.ts';
import { aRecord, aWhole, type Kind, numbers } from '../../primitives/checks/kinds.ts';
import type { ArrayValue, Bool, Column, Context, U32 } from '../../primitives/index.ts';
import { aDomain } from '../quadrants/domain.ts';
import { DOMAIN_STEPS, type Domain } from '../quadrants/index.ts';

/**
 * Axis-aligned boxes. They are half-open: points on a left or bottom side are inside, points on a right or top side are
 * outside.
 */
export interface Windows {
  readonly left: ArrayLike<number>;
  readonly bottom: ArrayLike<number>;
  readonly right: ArrayLike<number>;
  readonly top: ArrayLike<number>;
}

/** Windows on a device. `sides` has four words per window: left, bottom, right and top, in steps of the domain. */
export interface PlacedWindows {
  readonly sides: Column<'u32'>;
  readonly count: number;
}

/**
 * Uploads windows. Each side is snapped to the nearest step of the domain, like the vertices of polygons, and clamped
 * to the domain.
 *
 * @throws `ArgumentError` `queries/windows` for columns of different lengths, or a side that is NaN.
 * @example
 * const windows = placeWindows(ctx, { left: [0], bottom: [0], right: [90], top: [400] }, WORLD);
 * (await ctx.read(windows.sides)).map((step) => step / 2 ** 28); // Uint32Array [2, 2, 3, 4]
 */
export function placeWindows(context: Context, windows: Windows, domain: Domain): PlacedWindows {
  requireArguments(
    'placeWindows',
    { context, windows, domain },
    { context: aContext, windows: fourSides, domain: aDomain },
  );
  const { left, bottom, right, top } = windows;
  const count = left.length;
  if ([bottom, right, top].some(({ length }) => length !== count)) {
    throw new ArgumentError('queries/windows', 'The columns of the four sides differ in length.', {
      expected: `${count} of each`,
      got: [left, bottom, right, top].map(({ length }) => length).join(', '),
    });
  }
  const sides = new Uint32Array(4 * count);
  for (let i = 0; i < count; i++) {
    sides[4 * i] = stepOf(left[i]!, domain.left, domain.size, i);
    sides[4 * i + 1] = stepOf(bottom[i]!, domain.bottom, domain.size, i);
    sides[4 * i + 2] = stepOf(right[i]!, domain.left, domain.size, i);
    sides[4 * i + 3] = stepOf(top[i]!, domain.bottom, domain.size, i);
  }
  return { sides: context.column(sides), count };
}

const fourSides: Kind = aRecord<Windows>({ left: numbers, bottom: numbers, right: numbers, top: numbers });
export const someWindows: Kind = aRecord<PlacedWindows>({ sides: aColumn('u32'), count: aWhole() });

/** The sides of a window on the device. */
export type Sides = Readonly<Record<'left' | 'bottom' | 'right' | 'top', U32>>;

export function sidesAt(sides: ArrayValue<'u32'>, window: U32): Sides {
  const side = (number: number): U32 => sides.at(window.mul(4).add(number));
  return { left: side(0), bottom: side(1), right: side(2), top: side(3) };
}

/** Whether a window has area in common with a square, which is given by its lower left corner and its side. */
export function meetsSquare({ left, bottom, right, top }: Sides, x: U32, y: U32, side: U32): Bool {
  const inColumns = left.max(x).lt(right.min(x.add(side)));
  return inColumns.and(bottom.max(y).lt(top.min(y.add(side))));
}

function stepOf(side: number, from: number, size: number, window: number): number {
  if (Number.isNaN(side)) {
    throw new ArgumentError('queries/windows', 'A side of a window is not a number.', {
      expected: 'a number',
      got: side,
      place: { record: window },
    });
  }
  return Math.min(DOMAIN_STEPS, Math.max(0, Math.round(((side - from) / size) * DOMAIN_STEPS)));
}
