import type { ArrayValue } from '../../primitives/functors/value.ts';
import {
  type ArgumentsOf,
  array,
  type Bool,
  bitsToF32,
  bitsToU32,
  type Column,
  type ColumnOwner,
  exclusiveScan,
  type F32,
  For,
  f32,
  fn,
  If,
  Let,
  map,
  plus,
  select,
  sequence,
  sqrt,
  type U32,
  u32,
  uniform,
  Var,
  While,
} from '../../primitives/index.ts';
import { inFieldUnits } from './field-units.ts';
import { finite } from './finite.ts';
import { type Frame, ofGrey } from './frame.ts';
import type { Direction } from './tracking-options.ts';

/**
 * Number of words that describe a cell's window. The first five words are: the index of the window's first pixel in the
 * concatenation of all windows; the window's width and height in pixels (0 if the cell has no window); and the column
 * and row of the window's upper left pixel in the frame. The other words are bits of f32: the minimum and maximum slope
 * in the window; the cell's centre and expected coordinate across the vessel, relative to the upper left pixel; and the
 * cell's expected radius.
 */
export const WINDOW_WORDS = 11;
/** Index of each word among the words of a window. */
export const WORD = {
  first: 0,
  width: 1,
  height: 2,
  left: 3,
  top: 4,
  min: 5,
  max: 6,
  x: 7,
  y: 8,
  path: 9,
  radius: 10,
} as const;

/**
 * Columns from which windows are made: centres of cells, expected coordinates across the vessel, and radii, in pixels.
 */
export interface CellColumns {
  readonly x: Column<'f32'>;
  readonly y: Column<'f32'>;
  readonly path: Column<'f32'>;
  readonly radius: Column<'f32'>;
}

/** Shape of windows: half sides `x` and `y` in radii of the cell, and maximum sides in pixels. */
export interface WindowShape {
  readonly x: number;
  readonly y: number;
  readonly maxRadius: number;
  readonly maxWidth: number;
  readonly maxHeight: number;
}

/** The shape of windows that enclose an ellipse with half axes of 4 radii along a direction and 2 radii across. */
export function windowShape({ x, y }: Direction, maxRadius: number): WindowShape {
  const [alongX, alongY] = [Math.sqrt(16 * x * x + 4 * y * y), Math.sqrt(16 * y * y + 4 * x * x)];
  const max = (side: number): number => Math.ceil(2 * side * maxRadius) + 1;
  return { x: alongX, y: alongY, maxRadius, maxWidth: max(alongX), maxHeight: max(alongY) };
}

/** Parameters of functors that compute a cell's window in the frame. */
const place = {
  x: array(f32),
  y: array(f32),
  radii: array(f32),
  frameWidth: uniform(u32),
  frameHeight: uniform(u32),
  sideX: uniform(f32),
  sideY: uniform(f32),
  maxRadius: uniform(f32),
  maxWidth: uniform(u32),
  maxHeight: uniform(u32),
};

interface FlowWindow {
  readonly left: U32;
  readonly top: U32;
  readonly width: U32;
  readonly height: U32;
}

/** The window of a cell. The window is empty if the cell is outside the frame, or if its radius is not above 0. */
function windowOf(cell: U32, given: ArgumentsOf<typeof place>): FlowWindow {
  const [x, y, radius] = [given.x.at(cell), given.y.at(cell), given.radii.at(cell)];
  const used = radius.min(given.maxRadius);
  const [left, right] = sidesOf(x, used.mul(given.sideX), given.frameWidth);
  const [top, bottom] = sidesOf(y, used.mul(given.sideY), given.frameHeight);
  const exists = radius.gt(0).and(isWithin(x, given.frameWidth)).and(isWithin(y, given.frameHeight));
  return {
    left,
    top,
    width: select(u32(0), right.sub(left).add(1).min(given.maxWidth), exists),
    height: select(u32(0), bottom.sub(top).add(1).min(given.maxHeight), exists),
  };
}

/**
 * The first and the last pixel of a window along one axis: `centre` ± `distance`, rounded to whole pixels and clipped
 * to the frame, which has `size` pixels.
 */
function sidesOf(centre: F32, distance: F32, size: U32): [U32, U32] {
  return [u32(centre.sub(distance).add(0.5).max(0)), u32(centre.add(distance).add(0.5)).min(size.sub(1))];
}

/** Whether a centre is inside the frame along one axis. False for NaN. */
function isWithin(centre: F32, size: U32): Bool {
  return centre.ge(0).and(centre.le(f32(size.sub(1))));
}

/**
 * The slopes along x and y at a pixel. A slope is half of the difference of the two neighbours. At an edge of the
 * window, it is the difference of the pixel and its only neighbour.
 */
export function slopesAt(at: (x: U32, y: U32) => F32, x: U32, y: U32, width: U32, height: U32): { x: F32; y: F32 } {
  const [left, right] = [x.max(1).sub(1), x.add(1).min(width.sub(1))];
  const [above, below] = [y.max(1).sub(1), y.add(1).min(height.sub(1))];
  const halved = (difference: F32, places: U32) => select(difference, difference.mul(0.5), places.eq(2));
  return {
    x: halved(at(right, y).sub(at(left, y)), right.sub(left)),
    y: halved(at(x, below).sub(at(x, above)), below.sub(above)),
  };
}

/** The squared length of the slope at a pixel of a window; 0 if the squared length is not finite. */
function squaredSlope(
  grey: ArrayValue<'f32'>,
  frameWidth: U32,
  { left, top, width, height }: FlowWindow,
  x: U32,
  y: U32,
): F32 {
  const at = (column: U32, row: U32) => f32(grey.at(row.add(top).mul(frameWidth).add(column.add(left))));
  const slopes = slopesAt(at, x, y, width, height);
  const square = slopes.x.mul(slopes.x).add(slopes.y.mul(slopes.y));
  return select(f32(0), square, square.lt(Number.POSITIVE_INFINITY));
}

const areaOfWindow = fn('areaOfWindow', { cell: u32, ...place }, u32, (given) => {
  const { width, height } = windowOf(given.cell, given);
  return width.mul(height);
});

/** Minimum and maximum squared slope in one row of a window. `windowWord` combines the rows. */
const rowExtremes = ofGrey((grey) =>
  fn('rowExtremes', { index: u32, grey, ...place }, { min: f32, max: f32 }, (given) => {
    const [cell, row] = [given.index.div(given.maxHeight), given.index.rem(given.maxHeight)];
    const window = windowOf(cell, given);
    const [min, max] = [Var(f32(Number.POSITIVE_INFINITY)), Var(f32(0))];
    If(row.lt(window.height), () => {
      For(0, window.width, (x) => {
        const square = squaredSlope(given.grey, given.frameWidth, window, x, row);
        min.set(min.min(square));
        max.set(max.max(square));
      });
    });
    return { min, max };
  }),
);

/** Computes one of the {@link WINDOW_WORDS} words of a cell's window. */
const windowWord = fn(
  'windowWord',
  {
    index: u32,
    firsts: array(u32),
    min: array(f32),
    max: array(f32),
    path: array(f32),
    /** Unit vector across the vessel. */
    acrossX: uniform(f32),
    acrossY: uniform(f32),
    ...place,
  },
  u32,
  (given) => {
    const [cell, word] = [given.index.div(WINDOW_WORDS), given.index.rem(WINDOW_WORDS)];
    const { left, top, width, height } = windowOf(cell, given);
    const [x, y, radius] = [given.x.at(cell), given.y.at(cell), given.radii.at(cell)].map(finite) as [F32, F32, F32];
    const extreme = Var(f32(0));
    const fold = (values: ArrayValue<'f32'>, combine: (a: F32, b: F32) => F32, start: number) => {
      extreme.set(start);
      const rows = cell.mul(given.maxHeight);
      For(0, height, (row) => extreme.set(combine(Let(extreme), values.at(rows.add(row)))));
    };
    If(word.eq(WORD.min), () => fold(given.min, (a, b) => a.min(b), Number.POSITIVE_INFINITY)).ElseIf(
      () => word.eq(WORD.max),
      () => fold(given.max, (a, b) => a.max(b), 0),
    );
    const [fromLeft, fromTop] = [x.sub(f32(left)), y.sub(f32(top))];
    const path = finite(given.path.at(cell)).sub(given.acrossX.mul(f32(left)).add(given.acrossY.mul(f32(top))));
    const slope = bitsToU32(sqrt(select(f32(0), extreme, extreme.lt(Number.POSITIVE_INFINITY))));
    const words = {
      ...{ first: given.firsts.at(cell), width, height, left, top, min: slope, max: slope },
      ...{ x: bitsToU32(fromLeft), y: bitsToU32(fromTop), path: bitsToU32(path), radius: bitsToU32(radius) },
    };
    return chosen(word, words);
  },
);

function chosen(word: U32, words: { readonly [name in keyof typeof WORD]: U32 }): U32 {
  return Object.entries(words).reduce((value, [name, each]) => {
    return select(value, each, word.eq(WORD[name as keyof typeof WORD]));
  }, u32(0));
}

/** Emits the code that reads a word of a cell's window. */
export function wordOf(windows: ArrayValue<'u32'>, cell: U32, name: keyof typeof WORD): U32 {
  return windows.at(cell.mul(WINDOW_WORDS).add(WORD[name]));
}

export function numberOf(windows: ArrayValue<'u32'>, cell: U32, name: keyof typeof WORD): F32 {
  return bitsToF32(wordOf(windows, cell, name));
}

/**
 * The slope at a pixel of the concatenated windows, scaled to 0 to 2^20 in each window. It is 0 in flat windows and
 * after the last window.
 */
const imageOfWindows = ofGrey((grey) =>
  fn(
    'imageOfWindows',
    { pixel: u32, grey, windows: array(u32), cells: uniform(u32), maxArea: uniform(u32), frameWidth: uniform(u32) },
    f32,
    ({ pixel, grey, windows, cells, maxArea, frameWidth }) => {
      const cell = cellAt(pixel, windows, cells, maxArea);
      const [left, top, width, height] = (['left', 'top', 'width', 'height'] as const).map((name) =>
        wordOf(windows, cell, name),
      ) as [U32, U32, U32, U32];
      const [min, max] = [numberOf(windows, cell, 'min'), numberOf(windows, cell, 'max')];
      const place = pixel.sub(wordOf(windows, cell, 'first'));
      const row = place.div(width);
      const value = Var(f32(0));
      If(row.lt(height).and(width.gt(0)).and(max.gt(min)), () => {
        const window = { left, top, width, height };
        const slope = sqrt(squaredSlope(grey, frameWidth, window, place.sub(row.mul(width)), row));
        value.set(inFieldUnits(slope.sub(min).div(max.sub(min))));
      });
      return value;
    },
  ),
);

/**
 * The cell whose window contains a pixel: the last cell whose window begins at or before the pixel. No window has more
 * than `maxArea` pixels, so the search starts at the cell with the index pixel / `maxArea` and goes only upwards.
 * Usually this cell or the next one is the right cell.
 */
export function cellAt(pixel: U32, windows: ArrayValue<'u32'>, cells: U32, maxArea: U32): U32 {
  const cell = Var(pixel.div(maxArea));
  const step = Var(u32(1));
  While(
    () => step.gt(0),
    () => {
      const next = Let(cell.add(step));
      If(next.lt(cells).and(wordOf(windows, next, 'first').le(pixel)), () => {
        cell.set(next);
        step.set(step.shl(1));
      }).Else(() => step.set(step.shr(1)));
    },
  );
  return cell;
}

/**
 * Makes the windows of all cells, and concatenates the slopes of their pixels into `image`. The column `image` has room
 * for a window of the maximum size per cell.
 */
export function cutWindows(
  context: ColumnOwner,
  { width, height, grey }: Frame,
  cells: CellColumns,
  shape: WindowShape,
  across: Direction,
): { readonly windows: Column<'u32'>; readonly image: Column<'f32'> } {
  const capacity = cells.x.capacity;
  const placing = {
    ...{ x: cells.x, y: cells.y, radii: cells.radius, frameWidth: width, frameHeight: height },
    ...{ sideX: shape.x, sideY: shape.y, maxRadius: shape.maxRadius },
    ...{ maxWidth: shape.maxWidth, maxHeight: shape.maxHeight },
  };
  const firsts = exclusiveScan(map(areaOfWindow, { cell: sequence(capacity), ...placing }), plus(u32));
  // `grey.type` chooses the functors for u32 or for f32 frames below, so the cast is safe.
  const seen = grey as Column<'f32'>;
  const rows = context.materialize(
    map(rowExtremes[grey.type], { index: sequence(capacity * shape.maxHeight), grey: seen, ...placing }),
  );
  const windows = context.materialize(
    map(windowWord, {
      ...{ index: sequence(capacity * WINDOW_WORDS), firsts, min: rows.min, max: rows.max },
      ...{ path: cells.path, acrossX: across.x, acrossY: across.y, ...placing },
    }),
  );
  const maxArea = shape.maxWidth * shape.maxHeight;
  const image = context.materialize(
    map(imageOfWindows[grey.type], {
      ...{ pixel: sequence(capacity * maxArea), grey: seen, windows, cells: capacity, maxArea, frameWidth: width },
    }),
  );
  return { windows, image };
}
