import {
  array,
  bool,
  type Column,
  type ColumnsOf,
  type Context,
  constant,
  For,
  f32,
  fn,
  input,
  Let,
  map,
  select,
  sequence,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import type { FrameSource } from './frame-source.ts';
import { SNAXELS } from './snake.ts';
import { type CellsInFrame, trackInFieldUnits } from './track-frame.ts';
import { type TrackingOptions, unitOf } from './tracking-options.ts';
import { WINDOW_WORDS, windowShape } from './windows.ts';

/** Number of last frames over which the position of a cell is averaged to give its expected path. */
export const PATH_FRAMES = 10;

/** Columns of the table of cells. A row with radius 0 is free. */
const cell: {
  readonly x: typeof f32;
  readonly y: typeof f32;
  readonly radius: typeof f32;
  readonly path: typeof f32;
  readonly age: typeof u32;
} = { x: f32, y: f32, radius: f32, path: f32, age: u32 };

/**
 * The cells of a frame on a device, one row each, with the data from which the next frame starts: snakes (closed
 * contours), windows (rectangles of the frame around the cells), and the flow fields in the windows.
 */
export interface CellState {
  readonly cells: ColumnsOf<typeof cell>;
  /** Each cell's coordinates across the vessel in the last frames, newest first, {@link PATH_FRAMES} rows per cell. */
  readonly history: Column<'f32'>;
  /** Distances of a snake's points (snaxels) from its centre, {@link SNAXELS} rows per cell. */
  readonly radii: Column<'f32'>;
  /** Flow fields of all windows, in units of 2^-20. */
  readonly field: Column<'f32'>;
  readonly windows: Column<'u32'>;
}

/** The columns that the host reads after every frame. */
export type SeenColumns = Pick<CellsInFrame, 'x' | 'y' | 'radius' | 'lost' | 'radii'>;

/** A cell from which tracking starts: the data that the host knows, and the cell's row on the device. */
export interface StartingCell {
  readonly row: number;
  readonly x: number;
  readonly y: number;
  /** The expected radius in pixels. */
  readonly radius: number;
  /** Positions of the cell in the last frames, newest first, at most {@link PATH_FRAMES}. */
  readonly recent: readonly { readonly x: number; readonly y: number }[];
  /** Distances of the snake's points (snaxels) from the centre. If undefined, all equal the expected radius. */
  readonly radii: ArrayLike<number> | undefined;
}

/** The prepared step that tracks cells from one frame to the next, for a fixed number of rows. */
export interface CellStep {
  readonly rows: number;
  /** Makes a state from the host's data. Rows that already had a cell in `before` keep their flow fields. */
  start(cells: readonly StartingCell[], before: CellState | undefined): CellState;
  /**
   * Tracks the cells into the frame `grey`. Returns the new state, and the columns of the result that the host reads.
   */
  next(grey: Column, state: CellState): { readonly state: CellState; readonly seen: SeenColumns };
  dispose(): void;
}

export function prepareCellStep(
  context: Context,
  source: FrameSource,
  rows: number,
  options: Omit<TrackingOptions, 'previous'>,
): CellStep {
  const along = unitOf(options.direction ?? { x: 1, y: 0 });
  const across = { acrossX: -along.y, acrossY: along.x };
  const shape = windowShape(along, options.maxRadius ?? 10);
  const fieldRows = rows * shape.maxWidth * shape.maxHeight;
  const inputs = {
    grey: source.input,
    cells: input(cell, rows),
    history: input(f32, PATH_FRAMES * rows),
    radii: input(f32, SNAXELS * rows),
    field: input(f32, fieldRows),
    windows: input(u32, WINDOW_WORDS * rows),
  };
  const prepared = context.prepare(inputs, ({ grey, cells, history, radii, field, windows }) => {
    const found = trackInFieldUnits(
      source.frameOf(grey),
      { x: cells.x, y: cells.y, path: cells.path, radius: cells.radius, radii },
      options,
      { field, windows },
    );
    const { x, y, radius, lost } = found;
    const place = { x, y, history, ...across };
    return {
      state: {
        cells: {
          x,
          y,
          ...map(nextCell, { index: sequence(rows), lost, expected: cells.radius, age: cells.age, ...place }),
        },
        history: map(nextHistory, { index: sequence(PATH_FRAMES * rows), ...place }),
        radii: found.radii,
        field: found.field,
        windows: found.windows,
      },
      seen: { x, y, radius, lost, radii: found.radii },
    };
  });
  return {
    rows,
    start: (cells, before) => startOf(context, { rows, fieldRows, across }, cells, before),
    next: (grey, state) => prepared({ grey: grey as Column<'u32'>, ...state }),
    dispose: () => prepared.dispose(),
  };
}

/**
 * Computes the row of a cell for the next frame. The cell's expected path is its mean position over the last frames.
 */
const nextCell = fn(
  'nextCell',
  {
    ...{ index: u32, x: array(f32), y: array(f32), lost: array(bool), expected: array(f32), age: array(u32) },
    ...{ history: array(f32), acrossX: uniform(f32), acrossY: uniform(f32) },
  },
  { radius: f32, path: f32, age: u32 },
  ({ index, x, y, lost, expected, age, history, acrossX, acrossY }) => {
    const now = x.at(index).mul(acrossX).add(y.at(index).mul(acrossY));
    const sum = Var(now);
    const known = Let(age.at(index).min(PATH_FRAMES - 1));
    const first = index.mul(PATH_FRAMES);
    For(0, known, (i) => sum.set(sum.add(history.at(first.add(i)))));
    const frames = known.add(1);
    return {
      radius: select(expected.at(index), f32(0), lost.at(index)),
      path: sum.div(f32(frames)),
      age: frames,
    };
  },
);

const nextHistory = fn(
  'nextHistory',
  {
    ...{ index: u32, x: array(f32), y: array(f32) },
    ...{ history: array(f32), acrossX: uniform(f32), acrossY: uniform(f32) },
  },
  f32,
  ({ index, x, y, history, acrossX, acrossY }) => {
    const cell = index.div(PATH_FRAMES);
    const now = x.at(cell).mul(acrossX).add(y.at(cell).mul(acrossY));
    return select(history.at(index.max(1).sub(1)), now, index.eq(cell.mul(PATH_FRAMES)));
  },
);

function startOf(
  context: Context,
  given: {
    readonly rows: number;
    readonly fieldRows: number;
    readonly across: { readonly acrossX: number; readonly acrossY: number };
  },
  starting: readonly StartingCell[],
  before: CellState | undefined,
): CellState {
  const { rows, fieldRows, across } = given;
  const column = () => new Float32Array(rows);
  const cells = { x: column(), y: column(), radius: column(), path: column(), age: new Uint32Array(rows) };
  const [history, radii] = [new Float32Array(PATH_FRAMES * rows), new Float32Array(SNAXELS * rows)];
  for (const { row, x, y, radius, recent, radii: own } of starting) {
    cells.x[row] = x;
    cells.y[row] = y;
    cells.radius[row] = radius;
    const coordinates = (recent.length === 0 ? [{ x, y }] : recent).map((place) => acrossOf(place, across));
    cells.path[row] = meanOf(coordinates);
    cells.age[row] = recent.length;
    if (recent.length > 0) history.set(coordinates, PATH_FRAMES * row);
    if (own === undefined) radii.fill(radius, SNAXELS * row, SNAXELS * (row + 1));
    else radii.set(own, SNAXELS * row);
  }
  context.dispose(...(before === undefined ? [] : [before.cells, before.history, before.radii]));
  return {
    cells: {
      ...{ x: context.column(cells.x), y: context.column(cells.y), radius: context.column(cells.radius) },
      ...{ path: context.column(cells.path), age: context.column(cells.age) },
    },
    history: context.column(history),
    radii: context.column(radii),
    field: before?.field ?? context.materialize(constant(f32, 0, fieldRows)),
    windows: before?.windows ?? context.materialize(constant(u32, 0, WINDOW_WORDS * rows)),
  };
}

/** Coordinate of a point across the vessel, with the same f32 roundings as on the device. */
function acrossOf(
  { x, y }: { readonly x: number; readonly y: number },
  { acrossX, acrossY }: { readonly acrossX: number; readonly acrossY: number },
): number {
  const f = Math.fround;
  return f(f(x * f(acrossX)) + f(y * f(acrossY)));
}

function meanOf(values: readonly number[]): number {
  return Math.fround(values.reduce((sum, value) => Math.fround(sum + value), 0) / values.length);
}
