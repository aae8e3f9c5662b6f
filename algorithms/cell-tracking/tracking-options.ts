import { aColumn } from '../../primitives/argument-kinds.ts';
import type { Column } from '../../primitives/index.ts';
import { aFiniteNumber, aRecord, aWhole, type FieldKinds, optional, where } from '../../primitives/kinds.ts';

/** A direction in the frame, of any length but 0: x to the right, y down. */
export interface Direction {
  readonly x: number;
  readonly y: number;
}

/** The motion gradient vector flow of a frame's windows, for a later frame to start from: `field` and `windows` of {@link CellsInFrame}. */
export interface WindowFields {
  /** The fields of all windows, one behind the other, row after row. */
  readonly field: Column<'f32'>;
  /** {@link WINDOW_WORDS} words a cell; see there. */
  readonly windows: Column<'u32'>;
}

export interface TrackingOptions {
  /** Where cells go: along the vessel. To the right unless given. */
  readonly direction?: Direction | undefined;
  /**
   * Where the flow draws the edges of cells: v of the field. The paper has (1, 1) in a vessel along x; that is what it is where
   * neither `flow` nor `direction` is given, and `direction` where that is.
   */
  readonly flow?: Direction | undefined;
  /** The greatest radius that windows are made for, in pixels; 10 unless given. Larger cells have windows of this one. */
  readonly maxRadius?: number | undefined;
  /** Rounds of a field at most; 500 unless given. */
  readonly maxRounds?: number | undefined;
  /** Rounds of a snake at most; 1,000 unless given. */
  readonly maxSnakeRounds?: number | undefined;
  /**
   * How far a snake goes in a round; 1 unless given. With 0.2, which is that of Rodinia's program, a centre moves by 0.04 pixels
   * in a round at most, so that the rule by which snakes end holds before they are where the cell is.
   */
  readonly snakeStep?: number | undefined;
  /** A snake ends where the moves of its centre and of its snaxels add up to at most so many pixels in a round; 0.1 unless given. */
  readonly minMove?: number | undefined;
  /** What an earlier call returned of the same cells in the same rows: fields start from there. */
  readonly previous?: WindowFields | undefined;
}

const isLong = (given: unknown): boolean => {
  const { x, y } = given as Direction;
  return x !== 0 || y !== 0;
};

const aDirection = (code: string) => (given: unknown, path: string, homes: Map<string, object>) =>
  aRecord<Direction>({ x: aFiniteNumber, y: aFiniteNumber })(given, path, homes) ??
  where('a direction, not 0, 0', isLong, { code })(given, path, homes);

/** No window is larger than some 500 pixels. */
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
  // Without hypot, whose last bit is each engine's own.
  const [scale] = [Math.max(Math.abs(x), Math.abs(y))];
  const [a, b] = [x / scale, y / scale];
  const length = Math.sqrt(a * a + b * b);
  return { x: a / length, y: b / length };
}
