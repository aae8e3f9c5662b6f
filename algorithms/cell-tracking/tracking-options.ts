import { aColumn } from '../../primitives/checks/argument-kinds.ts';
import {
  aFiniteNumber,
  aNumberWithin,
  aRecord,
  aWhole,
  type FieldKinds,
  optional,
  where,
} from '../../primitives/checks/kinds.ts';
import type { Column } from '../../primitives/index.ts';

/** A direction in the frame: x points to the right, y down. Its length does not matter, but must not be 0. */
export interface Direction {
  readonly x: number;
  readonly y: number;
}

/**
 * Flow fields and windows of an earlier frame, from which the fields of a later frame start: `field` and `windows` of
 * {@link CellsInFrame}.
 */
export interface WindowFields {
  /** The flow fields of all windows, concatenated, row after row. */
  readonly field: Column<'f32'>;
  /** Position and size of each window, {@link WINDOW_WORDS} words per cell. */
  readonly windows: Column<'u32'>;
}

export interface TrackingOptions {
  /** The direction in which cells move, along the vessel. Default: to the right. */
  readonly direction?: Direction | undefined;
  /**
   * The direction v in which the flow pulls the edges of cells. Default: `direction` if given, else (1, 1), as in the
   * paper for a vessel along x.
   */
  readonly flow?: Direction | undefined;
  /**
   * The size of a window grows with the radius of its cell, up to this radius in pixels. Cells with a larger radius get
   * windows of the size for this radius. Default 10.
   */
  readonly maxRadius?: number | undefined;
  /** Maximum number of rounds of a flow field. Default 500. */
  readonly maxRounds?: number | undefined;
  /** Maximum number of rounds of a snake. Default 1,000. */
  readonly maxSnakeRounds?: number | undefined;
  /**
   * Step length of a snake in a round. Default 1. The program in the Rodinia benchmark suite has 0.2. With 0.2, a
   * centre moves by at most 0.04 pixels per round, so snakes stop before they reach the cell.
   */
  readonly snakeStep?: number | undefined;
  /**
   * A snake stops if the moves of its centre and its snaxels in a round add up to at most this many pixels. Default
   * 0.1.
   */
  readonly minMove?: number | undefined;
  /**
   * The result of an earlier call of {@link trackFrame} with the same cells in the same rows. The flow fields start
   * from the fields of that result.
   */
  readonly previous?: WindowFields | undefined;
}

const isLong = (given: unknown): boolean => {
  const { x, y } = given as Direction;
  return x !== 0 || y !== 0;
};

const aDirection = (code: string) => (given: unknown, path: string, homes: Map<string, object>) =>
  aRecord<Direction>({ x: aFiniteNumber, y: aFiniteNumber })(given, path, homes) ??
  where('a direction, not 0, 0', isLong, { code })(given, path, homes);

/** Maximum radius, which limits the sides of windows to about 500 pixels. */
export const MAX_RADIUS = 64;

export const TRACKING_OPTIONS: FieldKinds<TrackingOptions> = {
  direction: optional(aDirection('tracking/direction')),
  flow: optional(aDirection('tracking/direction')),
  maxRadius: optional(aNumberWithin(1, MAX_RADIUS, 'tracking/radius')),
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

/** Scales a direction to length 1. */
export function unitOf({ x, y }: Direction): Direction {
  // Scaled by hand instead of with `Math.hypot`, whose last bit depends on the JavaScript engine.
  const [scale] = [Math.max(Math.abs(x), Math.abs(y))];
  const [a, b] = [x / scale, y / scale];
  const length = Math.sqrt(a * a + b * b);
  return { x: a / length, y: b / length };
}
