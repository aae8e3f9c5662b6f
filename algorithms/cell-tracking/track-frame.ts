import { aColumn } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aRecord, optional, someOptions } from '../../primitives/checks/kinds.ts';
import { commonLength } from '../../primitives/columns/column.ts';
import { requireContext } from '../../primitives/context/context-option.ts';
import {
  ArgumentError,
  array,
  bool,
  type Column,
  type ColumnOwner,
  constant,
  For,
  f32,
  fn,
  map,
  sequence,
  u32,
  Var,
} from '../../primitives/index.ts';
import { fromFieldUnits, toFieldUnits } from './field-units.ts';
import { flowOfWindows } from './flow.ts';
import { aFrame, contextOfFrame, type Frame } from './frame.ts';
import { evolveSnakes, SNAXELS } from './snake.ts';
import { TRACKING_OPTIONS, type TrackingOptions, unitOf, type WindowFields } from './tracking-options.ts';
import { cutWindows, windowShape, wordOf } from './windows.ts';

/** Cells of an earlier frame, one row per cell. */
export interface CellsBefore {
  /** The centres of the cells, in pixels. 0, 0 is the centre of the upper left pixel. */
  readonly x: Column<'f32'>;
  readonly y: Column<'f32'>;
  /**
   * The expected path of each cell: its mean coordinate across the vessel over the last ten frames. The coordinate is
   * −y′·x + x′·y, where (x′, y′) is the unit direction of the vessel. In a vessel along x, the coordinate is y.
   */
  readonly path: Column<'f32'>;
  /** The expected radii. Default `maxRadius`. Rows whose radius is not above 0 have no cell. */
  readonly radius?: Column<'f32'> | undefined;
  /**
   * Distance of each of the 20 snaxels (points of a snake) of a cell from its centre, 20 rows per cell. Default: the
   * expected radius.
   */
  readonly radii?: Column<'f32'> | undefined;
}

/** Cells tracked into a frame. Row i is the cell in row i of the input. */
export type CellsInFrame = {
  readonly x: Column<'f32'>;
  readonly y: Column<'f32'>;
  /** The mean distance of the snaxels (points of the cell's snake) from the centre. */
  readonly radius: Column<'f32'>;
  /**
   * Whether the cell was not found. The centre of a lost cell is the last centre of its snake, or the given centre if
   * the cell had no snake.
   */
  readonly lost: Column<'bool'>;
  /**
   * Distance of each snaxel (point of the cell's snake) from the centre, 20 rows per cell. The first snaxel is to the
   * right of the centre, and the next ones follow clockwise.
   */
  readonly radii: Column<'f32'>;
  /** Number of rounds that a cell's flow field took. `snakeRounds` is the number of rounds that its snake took. */
  readonly rounds: Column<'u32'>;
  readonly snakeRounds: Column<'u32'>;
  /** The fields of all windows, concatenated, row after row: multiples of 2^-20 from 0 to 1. */
  readonly field: Column<'f32'>;
  /** Data of each window, 11 words per cell; see {@link WINDOW_WORDS}. */
  readonly windows: Column<'u32'>;
};

/**
 * Finds the cells of an earlier frame in a later frame. Each cell has a window, a rectangle of the later frame, in
 * which the motion gradient vector flow is computed. A snake (a closed contour) starts at the cell's last position and
 * moves in this flow field.
 *
 * - **Windows** reach 4 radii along the vessel and 2 radii across, both ways from the centre: 81 × 41 pixels for cells
 *   of radius 10. Windows are never rotated. In a slanted vessel, a window encloses the ellipse with the half axes of 4
 *   radii along the vessel and 2 radii across. Windows are clipped at the frame's edges.
 * - **The field** begins as the slope of the grey values, scaled to 0 to 1 between the minimum and maximum slope in the
 *   window. It is then relaxed with μ 0.5 and λ 5 until the mean change of a round is at most 1e-5.
 * - **The snake** has 20 snaxels, each on a ray of its own from the centre. It follows the field (weight 1) and is
 *   pulled towards the expected radius (0.2) and, across the vessel, towards the expected path (0.05).
 * - **Lost cells** are cells outside the frame, cells whose window has the same slope everywhere, and cells whose snake
 *   has left the window. A snake stops when it leaves the window. All results are finite.
 * - The result has as many rows as the capacity of the cells' columns. A row whose radius is not above 0 counts as a
 *   lost cell without a window. So a table of fixed size can hold a changing number of cells.
 * - Work O(pixels of the windows · rounds), span O(rounds). Deterministic; 13 launches, none of which waits for the
 *   host, so the call can be prepared. Memory: four columns, each with room for a window of the maximum size per row.
 * - Field values are multiples of 2^-20, and snakes sum integers. So on all backends, snakes and fields stop at the
 *   same rounds with the same bytes. In f32 frames, a slope that is not finite, or whose square is not finite, counts
 *   as 0.
 *
 * Source: Ray and Acton, Motion gradient vector flow, 2004; Boyer, Tarjan, Acton and Skadron, Accelerating leukocyte
 * tracking using CUDA, 2009. Constants are those of the program in Rodinia, except `snakeStep`.
 *
 * @throws `ArgumentError` `frame/size` if the number of pixels is not width × height; `tracking/snaxels` if `radii`
 * does not have 20 rows per cell; `tracking/direction`, `tracking/radius`, `tracking/rounds`, `tracking/step`.
 * @example
 * const disc = (x: number, y: number) => 100 / (1 + Math.exp(Math.hypot(x - 21, y - 15) - 4));
 * const grey = ctx.column(Float32Array.from({ length: 40 * 30 }, (_, i) => disc(i % 40, Math.floor(i / 40))));
 * const before = { x: ctx.column(Float32Array.of(20)), y: ctx.column(Float32Array.of(15)), path: ctx.column(Float32Array.of(15)) };
 * const { x, y, lost } = trackFrame({ width: 40, height: 30, grey }, before, { maxRadius: 4 });
 * const found = await ctx.read({ x, y, lost });
 * [Math.round(found.x[0]!), Math.round(found.y[0]!), found.lost[0]]; // [21, 15, 0]
 */
export function trackFrame(frame: Frame, cells: CellsBefore, options: TrackingOptions = {}): CellsInFrame {
  requireArguments('trackFrame', { frame, cells, options }, ARGUMENTS);
  const { previous, ...others } = options;
  const context = contextOf(frame, cells, previous);
  return context.scope(() => {
    const before = previous && { ...previous, field: map(toFieldUnits, { value: previous.field }) };
    const { field, ...found } = trackInFieldUnits(frame, cells, others, before);
    return { ...found, field: context.materialize(map(fromFieldUnits, { units: field })) };
  });
}

/** Cells in a frame, with their flow fields, from which the fields of the next frame start. */
export type CellsInFieldUnits = Omit<CellsInFrame, 'field'> & {
  /** Flow fields of all windows, in units of 2^-20. */
  readonly field: Column<'f32'>;
};

/**
 * Same as {@link trackFrame}, but takes and returns fields in units of 2^-20, and does not check the kinds of its
 * arguments.
 */
export function trackInFieldUnits(
  frame: Frame,
  cells: CellsBefore,
  options: Omit<TrackingOptions, 'previous'>,
  previous: WindowFields | undefined,
): CellsInFieldUnits {
  const { maxRadius = 10, maxRounds = 500, maxSnakeRounds = 1000, snakeStep = 1, minMove = 0.1 } = options;
  const { direction = { x: 1, y: 0 }, flow = options.direction ?? { x: 1, y: 1 } } = options;
  const length = commonLength(givenOf(cells), 'trackFrame');
  const [capacity, radii] = [cells.x.capacity, cells.radii];
  const context = contextOf(frame, cells, previous);
  const along = unitOf(direction);
  const across = { x: -along.y, y: along.x };
  const shape = windowShape(along, maxRadius);
  return context.scope(() => {
    const { x: beforeX, y: beforeY, path, radius = constant(f32, maxRadius, length) } = cells;
    const placed = context.materialize({ x: beforeX, y: beforeY, path, radius });
    const { windows, image } = cutWindows(context, frame, placed, shape, across);
    const { field, rounds } = flowOfWindows(image, windows, shape, { flow, maxRounds, cells: capacity, previous });
    const snakes = evolveSnakes(field, windows, radii, {
      ...{ cells: capacity, across, step: snakeStep, minChange: minMove, maxRounds: maxSnakeRounds },
    });
    const {
      x,
      y,
      radius: mean,
      lost,
    } = context.materialize(
      map(cellOfSnake, {
        ...{ cell: sequence(capacity), windows, x: snakes.x, y: snakes.y },
        ...{ radii: snakes.radius, outside: snakes.outside },
      }),
    );
    return { x, y, radius: mean, lost, radii: snakes.radius, rounds, snakeRounds: snakes.rounds, field, windows };
  });
}

function givenOf({ x, y, path, radius }: CellsBefore): Column<'f32'>[] {
  return [x, y, path, ...(radius === undefined ? [] : [radius])];
}

function contextOf(frame: Frame, cells: CellsBefore, previous: WindowFields | undefined): ColumnOwner {
  requireSnaxels(cells.x.capacity, cells.radii);
  contextOfFrame('trackFrame', frame);
  const others = [cells.radii, previous?.field, previous?.windows].filter((column) => column !== undefined);
  return requireContext([frame.grey, ...givenOf(cells), ...others], 'trackFrame');
}

const ARGUMENTS = {
  frame: aFrame,
  cells: aRecord<CellsBefore>({
    x: aColumn('f32'),
    y: aColumn('f32'),
    path: aColumn('f32'),
    radius: optional(aColumn('f32')),
    radii: optional(aColumn('f32')),
  }),
  options: someOptions<TrackingOptions>(TRACKING_OPTIONS),
};

function requireSnaxels(cells: number, radii: Column | undefined): void {
  if (radii === undefined || radii.capacity === SNAXELS * cells) return;
  throw new ArgumentError('tracking/snaxels', 'trackFrame was given a wrong number of radii.', {
    expected: `${SNAXELS} rows per cell, ${SNAXELS * cells} in all`,
    got: radii.capacity,
  });
}

const cellOfSnake = fn(
  'cellOfSnake',
  { cell: u32, windows: array(u32), x: array(f32), y: array(f32), radii: array(f32), outside: array(u32) },
  { x: f32, y: f32, radius: f32, lost: bool },
  ({ cell, windows, x, y, radii, outside }) => {
    const first = cell.mul(SNAXELS);
    const [sum, outsides] = [Var(f32(0)), Var(u32(0))];
    For(first, first.add(SNAXELS), (snaxel) => {
      sum.set(sum.add(radii.at(snaxel)));
      outsides.set(outsides.add(outside.at(snaxel)));
    });
    return {
      x: x.at(first).add(f32(wordOf(windows, cell, 'left'))),
      y: y.at(first).add(f32(wordOf(windows, cell, 'top'))),
      radius: sum.mul(1 / SNAXELS),
      lost: outsides.gt(0),
    };
  },
);
