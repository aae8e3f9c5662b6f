import { aColumn, aContext } from '../../primitives/argument-kinds.ts';
import { requireArguments } from '../../primitives/arguments.ts';
import {
  ArgumentError,
  array,
  type Bool,
  Break,
  bool,
  type Column,
  type Context,
  For,
  fn,
  If,
  Let,
  map,
  sequence,
  type U32,
  u32,
  uniform,
  Var,
  type Variable,
  While,
} from '../../primitives/index.ts';
import { aWhole, optional, someOptions, where } from '../../primitives/kinds.ts';

export interface ComponentsOptions {
  /** Number of cells in a row of the grid. */
  readonly width: number;
  /** Whether a cell is connected to the 4 cells that share a side with it, or to all 8 cells around it. Default 4. */
  readonly connectivity?: 4 | 8 | undefined;
}

/** The label of a cell that is not set. */
export const NO_COMPONENT: number = 2 ** 32 - 1;

/**
 * Labels the connected components of the set cells of a grid. The label of a cell is the index of the first cell of its
 * component, in row order, or {@link NO_COMPONENT} if the cell is not set. A cell whose label is its own index is the
 * first of its component, so the number of such cells is the number of components.
 *
 * One launch finds an earlier cell of the component for every cell, and log₆₄ n more launches follow these links to the
 * first cell, for all shapes. The earlier cell is found among the neighbours. A cell without an earlier neighbour is an
 * upper left corner. From there the outline is followed in both directions in parallel until an earlier cell is
 * reached. If the walk returns to the corner, the corner is the first cell.
 *
 * - Work O(n log n), because few corners of an outline are far from an earlier cell in both directions. Span O(the
 *   longest outline): a spiral that fills the grid has an outline of O(n) steps, which a single thread follows.
 *   Deterministic.
 * - Without cells, the result is empty. Accepts device counts: cells at or after the count are not set.
 *
 * @throws `ArgumentError` `components/width` if the number of cells is not a multiple of the width.
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
    // With all cells in one row, indices of neighbouring rows would wrap around into it.
    const fitting = Math.min(width, Math.max(1, cells.capacity));
    const earlier = connectivity === 4 ? earlierOf4 : earlierOf8;
    let labels = context.materialize(map(earlier, { cell, cells, width: fitting }));
    for (let reach = 1; reach < cells.capacity; reach *= STEPS) {
      labels = context.materialize(map(follow, { label: labels, labels }));
    }
    return labels;
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

/** Maximum steps of a launch towards the first cell. */
const STEPS = 64;

type IsSet = (x: U32, y: U32) => Bool;

/** The neighbours of a cell that come before it, as steps to the right and down. */
// biome-ignore format: two lines.
const EARLIER = {
  4: [[0, -1], [-1, 0]],
  8: [[0, -1], [-1, 0], [1, -1], [-1, -1]],
} as const;

const earlierOf4 = earlierCell(4);
const earlierOf8 = earlierCell(8);

/** An earlier cell of the same component; the cell itself if it is the first; NO_COMPONENT if it is not set. */
function earlierCell(connectivity: 4 | 8) {
  return fn(
    `earlierOf${connectivity}`,
    { cell: u32, cells: array(bool), width: uniform(u32) },
    u32,
    ({ cell, cells, width }) => {
      const isSet: IsSet = (x, y) => x.lt(width).and(cells.at(y.mul(width).add(x)));
      const found = Var(u32(NO_COMPONENT));
      If(cells.at(cell), () => {
        const [x, y] = [Var(cell.rem(width)), Var(cell.div(width))];
        found.set(cell);
        For(0, STEPS, () => {
          const before = Let(found);
          for (const [right, down] of EARLIER[connectivity]) {
            If(found.eq(before), () => {
              const [nextX, nextY] = [x.add(right >>> 0), y.add(down >>> 0)];
              If(isSet(nextX, nextY), () => {
                x.set(nextX);
                y.set(nextY);
                found.set(nextY.mul(width).add(nextX));
              });
            });
          }
          If(found.eq(before), () => Break());
        });
        If(found.eq(cell), () => found.set(earlierOnOutline(x, y, width, isSet, connectivity)));
      });
      return found;
    },
  );
}

/**
 * The nearest cell before a corner in index order, on the outline through the corner's upper side, in either direction;
 * the corner itself if there is none.
 *
 * The outline separates the component from one part of its surroundings. If this part is the outside, the outline
 * passes the component's first cell. If it is a hole, then so is the cell above the corner: the outline passes the cell
 * above the hole's topmost cell, which lies at least two rows higher than the corner. So only the first cell of a
 * component finds none.
 *
 * With both directions in parallel, the corners of an outline of m sides take O(m log m) steps in total: a corner that
 * takes k steps has no earlier cell within k sides, and there are at most m / k such corners.
 */
function earlierOnOutline(x: U32, y: U32, width: U32, isSet: IsSet, connectivity: 4 | 8): U32 {
  const start = y.mul(width).add(x);
  const [clockwise, back] = [walker(x, y, 1), walker(x, y, -1)];
  const found = Var(start);
  const goesOn = Var(bool(true));
  While(
    () => goesOn,
    () => {
      for (const each of [clockwise, back]) {
        goOn(each, isSet, connectivity);
        found.set(found.min(each.y.mul(width).add(each.x)));
      }
      const isBack = clockwise.dx.eq(1).and(clockwise.x.eq(x)).and(clockwise.y.eq(y));
      goesOn.set(found.eq(start).and(isBack.not()));
    },
  );
  return found;
}

/** A walker along an outline: a cell of the component beside the path, and the direction of the path. */
interface Walker {
  readonly x: Variable<'u32'>;
  readonly y: Variable<'u32'>;
  readonly dx: Variable<'u32'>;
  readonly dy: Variable<'u32'>;
  /** 1: clockwise, with the component on the right. −1: backwards, with the component on the left. */
  readonly side: 1 | -1;
}

/** On the upper side of a cell. A step to the west or north is 2³² − 1. */
function walker(x: U32, y: U32, side: 1 | -1): Walker {
  return { x: Var(x), y: Var(y), dx: Var(u32(side >>> 0)), dy: Var(u32(0)), side };
}

/** Moves to the next side of a cell. */
function goOn({ x, y, dx, dy, side }: Walker, isSet: IsSet, connectivity: 4 | 8): void {
  const go = (toX: U32, toY: U32): void => {
    x.set(toX);
    y.set(toY);
  };
  const turn = (toX: U32, toY: U32): void => {
    dx.set(toX);
    dy.set(toY);
  };
  // Directions away from the component and towards it.
  const [right, left] = [[dy.neg(), Let(dx)] as const, [Let(dy), dx.neg()] as const];
  const [away, towards] = side === 1 ? [left, right] : [right, left];
  const [aheadX, aheadY] = [x.add(dx), y.add(dy)];
  const [besideX, besideY] = [aheadX.add(away[0]), aheadY.add(away[1])];
  const [ahead, beside] = [isSet(aheadX, aheadY), isSet(besideX, besideY)];
  If(connectivity === 8 ? beside : beside.and(ahead), () => {
    go(besideX, besideY);
    turn(...away);
  })
    .ElseIf(
      () => ahead,
      () => go(aheadX, aheadY),
    )
    .Else(() => turn(...towards));
}

/** Follows up to `STEPS` links from a label to ever earlier cells, towards the first cell of the component. */
const follow = fn('follow', { label: u32, labels: array(u32) }, u32, ({ label, labels }) => {
  const first = Var(label);
  If(label.ne(NO_COMPONENT), () => {
    For(0, STEPS, () => {
      const next = labels.at(first);
      If(next.eq(first), () => Break());
      first.set(next);
    });
  });
  return first;
});
