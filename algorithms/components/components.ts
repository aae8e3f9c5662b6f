import { aColumn, aContext } from '../../primitives/argument-kinds.ts';
import { requireArguments } from '../../primitives/arguments.ts';
import {
  ArgumentError,
  array,
  type Bool,
  bool,
  type Column,
  type Context,
  fn,
  If,
  Let,
  map,
  sequence,
  type U32,
  u32,
  uniform,
  Var,
  While,
} from '../../primitives/index.ts';
import { aWhole, optional, someOptions, where } from '../../primitives/kinds.ts';

export interface ComponentsOptions {
  /** The cells of a row of the grid. */
  readonly width: number;
  /** Whether a cell is connected with the four that share a side with it, the default, or also with those at its corners. */
  readonly connectivity?: 4 | 8 | undefined;
}

/** The label of a cell that is not set. */
export const NO_COMPONENT: number = 2 ** 32 - 1;

/**
 * The connected components of the cells of a grid that are set: for every cell the index of the first cell of its component,
 * row by row, or {@link NO_COMPONENT} where the cell is not set. A cell whose label is its own index is the first of its
 * component, so that there are as many components as such cells.
 *
 * Two launches, whatever the shapes: one finds for every cell an earlier cell of its component, the other follows these to the
 * first. The earlier cell is a neighbour where one is set. A cell without one is an upper left corner; from there the outline is
 * followed clockwise until it comes to an earlier cell, or back to the corner, which is then the first cell.
 *
 * - Work O(n + the sum of what the corners follow), span O(the longest outline). Outlines of compact shapes are short; a spiral
 *   that fills the grid has one of O(n) steps, which a single thread follows. Deterministic.
 * - Of no cells: none. Accepts device counts: cells at and past the count are not set.
 *
 * @throws `ArgumentError` `components/width` where the cells are no whole number of rows.
 * @example
 * const cells = ctx.column([true, true, false, true, false, false, false, true, true, false, true, false]);
 * await ctx.read(connectedComponents(ctx, cells, { width: 4 }));
 * // Uint32Array [0, 0, 4294967295, 3, 4294967295, 4294967295, 4294967295, 3, 8, 4294967295, 10, 4294967295]
 */
export function connectedComponents(
  context: Context,
  cells: Column<'bool'>,
  options: ComponentsOptions,
): Column<'u32'> {
  requireArguments('connectedComponents', { context, cells, options }, ARGUMENTS);
  const { width, connectivity = 4 } = options;
  requireRows(cells, width);
  return context.scope(() => {
    const cell = sequence(cells.length);
    const earlier = map(connectivity === 4 ? earlierOf4 : earlierOf8, { cell, cells, width });
    return context.materialize(map(firstOf, { cell, earlier }));
  });
}

const ARGUMENTS = {
  context: aContext,
  cells: aColumn('bool'),
  options: someOptions<ComponentsOptions>({
    width: aWhole(1, 2 ** 32 - 1, 'components/width'),
    connectivity: optional(where('4 or 8', (given) => given === 4 || given === 8)),
  }),
};

function requireRows({ length }: Column, width: number): void {
  if (typeof length !== 'number' || length % width === 0) return;
  throw new ArgumentError('components/width', 'connectedComponents was given cells that are no whole number of rows.', {
    expected: `a multiple of ${width} cells`,
    got: length,
  });
}

type IsSet = (x: U32, y: U32) => Bool;

const earlierOf4 = earlierCell(4);
const earlierOf8 = earlierCell(8);

/** The neighbours of a cell that come before it, as steps to the right and down. */
const EARLIER = {
  4: [
    [0, -1],
    [-1, 0],
  ],
  8: [
    [0, -1],
    [-1, 0],
    [1, -1],
    [-1, -1],
  ],
} as const;

/** An earlier cell of the same component; the cell itself where it is the first, and none where it is not set. */
function earlierCell(connectivity: 4 | 8) {
  return fn(
    `earlierOf${connectivity}`,
    { cell: u32, cells: array(bool), width: uniform(u32) },
    u32,
    ({ cell, cells, width }) => {
      const isSet: IsSet = (x, y) => x.lt(width).and(cells.at(y.mul(width).add(x)));
      const [x, y] = [cell.rem(width), cell.div(width)];
      const found = Var(u32(NO_COMPONENT));
      If(cells.at(cell), () => {
        found.set(cell);
        for (const [right, down] of EARLIER[connectivity]) {
          const [nextX, nextY] = [x.add(right >>> 0), y.add(down >>> 0)];
          If(found.eq(cell).and(isSet(nextX, nextY)), () => found.set(nextY.mul(width).add(nextX)));
        }
        If(found.eq(cell), () => found.set(earlierOnOutline(x, y, width, isSet, connectivity)));
      });
      return found;
    },
  );
}

/**
 * The first cell before a corner that the outline through the corner's upper side passes, going clockwise with the component on
 * the right; the corner itself where there is none.
 *
 * The outline is that of the component against one part of what surrounds it. If this is the outside, the outline passes the
 * component's first cell. If it is a hole, then so is the cell above the corner: the outline passes the cell above the hole's
 * topmost cell, which lies at least two rows higher than the corner. So only the first cell of a component finds none.
 */
function earlierOnOutline(startX: U32, startY: U32, width: U32, isSet: IsSet, connectivity: 4 | 8): U32 {
  const start = startY.mul(width).add(startX);
  const [x, y, cell] = [Var(startX), Var(startY), Var(start)];
  // Eastwards along the upper side; 2³² − 1 is a step to the west or north.
  const [dx, dy] = [Var(u32(1)), Var(u32(0))];
  const goesOn = Var(bool(true));
  const turn = (right: boolean): void => {
    const before = Let(dx);
    dx.set(right ? dy.neg() : dy);
    dy.set(right ? before : before.neg());
  };
  const goTo = (toX: U32, toY: U32): void => {
    x.set(toX);
    y.set(toY);
  };
  While(
    () => goesOn,
    () => {
      const [aheadX, aheadY] = [x.add(dx), y.add(dy)];
      const [leftX, leftY] = [aheadX.add(dy), aheadY.sub(dx)];
      const [ahead, left] = [isSet(aheadX, aheadY), isSet(leftX, leftY)];
      const turnsLeft = connectivity === 8 ? left : left.and(ahead);
      If(turnsLeft, () => {
        goTo(leftX, leftY);
        turn(false);
      })
        .ElseIf(
          () => ahead,
          () => goTo(aheadX, aheadY),
        )
        .Else(() => turn(true));
      cell.set(y.mul(width).add(x));
      const isBack = cell.eq(start).and(dx.eq(1));
      goesOn.set(cell.ge(start).and(isBack.not()));
    },
  );
  return cell;
}

const firstOf = fn('firstOf', { cell: u32, earlier: array(u32) }, u32, ({ cell, earlier }) => {
  const first = Var(cell);
  const next = Var(earlier.at(cell));
  If(next.eq(NO_COMPONENT), () => first.set(NO_COMPONENT)).Else(() => {
    While(
      () => next.ne(first),
      () => {
        first.set(next);
        next.set(earlier.at(first));
      },
    );
  });
  return first;
});
