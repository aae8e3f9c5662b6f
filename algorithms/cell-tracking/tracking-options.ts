import { aColumn } from '../../primitives/argument-kinds.ts';
import type { Column } from '../../primitives/index.ts';
import { aFiniteNumber, aRecord, aWhole, type FieldKinds, optional, where } from '../../primitives/kinds.ts';

/** A direction in the frame, of any length except 0: x to the right, y down. */
export interface Direction {
  readonly x: number;
  readonly y: number;
}

/** The motion gradient vector flow of a frame's windows, for a later frame to start from: `field` and `windows` of {@link CellsInFrame}. */
export interface WindowFields {
  /** The fields of all windows, concatenated, row after row. */
  readonly field: Column<'f32'>;
  /** {@link WINDOW_WORDS} words per cell; see there. */
  readonly windows: Column<'u32'>;
}

export interface TrackingOptions {
  /** The direction in which cells move, along the vessel. Default: to the right. */
  readonly direction?: Direction | undefined;
  /**
   * The direction in which the flow pulls the edges of cells: v of the field. Default: `direction` if given, else (1,
   * 1), as in the paper for a vessel along x.
   */
  readonly flow?: Direction | undefined;
  /** The maximum radius that windows are made for, in pixels. Larger cells get windows of this radius. Default 10. */
  readonly maxRadius?: number | undefined;
  /** Maximum rounds of a field. Default 500. */
  readonly maxRounds?: number | undefined;
  /** Maximum rounds of a snake. Default 1,000. */
  readonly maxSnakeRounds?: number | undefined;
  /**
   * Step length of a snake in a round. Default 1. With 0.2, as in Rodinia's program, a centre moves by at most 0.04
   * pixels per round, so snakes meet the stopping rule before they reach the cell.
   */
  readonly snakeStep?: number | undefined;
  /**
   * A snake stops if the moves of its centre and its snaxels in a round add up to at most this many pixels. Default
   * 0.1.
   */
  readonly minMove?: number | undefined;
  /** The result of an earlier call with the same cells in the same rows. Fields start from there. */
  readonly previous?: WindowFields | undefined;
}

const isLong = (given: unknown): boolean => {
  const { x, y } = given as Direction;
  return x !== 0 || y !== 0;
};

const aDirection = (code: string) => (given: unknown, path: string, homes: Map<string, object>) =>
  aRecord<Direction>({ x: aFiniteNumber, y: aFiniteNumber })(given, path, homes) ??
  where('a direction, not 0, 0', isLong, { code })(given, path, homes);

/** Keeps windows below about 500 pixels. */
export const MAX_RADIUS = 64;

export const TRACKING_OPTIONS: FieldKinds<TrackingOptions> = {
  direction: optional(aDirection('tracking/direction')),
  flow: optional(aDirection('tracking/direction')),
  maxRadius: optional(
    where(
      `a number from 1 to ${MAX_RADIUS}`,
      (given) => typeof given === 'number' && given >= 1 && given <= MAX_RADIUS,
      { code: 'tracking/radius' },
    ),
  ),
  maxRounds: optional(aWhole(0, 2 ** 20, 'tracking/rounds')),
  maxSnakeRounds: optional(aWhole(0, 2 ** 20, 'tracking/rounds')),
  snakeStep: optional(
    where('a number above 0, to 4', (given) => typeof given === 'number' && given > 0 && given <= 4, {
      code: 'tracking/step',
    }),
  ),
  minMove: optional(
    where('a number from 0 to 1,000', (given) => typeof given === 'number' && given >= 0 && given <= 1000, {
      code: 'tracking/step',
    }),
  ),
  previous: optional(aRecord<WindowFields>({ field: aColumn('f32'), windows: aColumn('u32') })),
};

/** A direction of length 1. */
export function unitOf({ x, y }: Direction): Direction {
  // Without hypot, whose last bit depends on the engine.
  const [scale] = [Math.max(Math.abs(x), Math.abs(y))];
  const [a, b] = [x / scale, y / scale];
  const length = Math.sqrt(a * a + b * b);
  return { x: a / length, y: b / length };
}
