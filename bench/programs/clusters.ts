import {
  array,
  Break,
  copyIf,
  ctz,
  disjointSets,
  exclusiveScan,
  expand,
  For,
  fn,
  gather,
  histogram,
  type I32,
  If,
  i32,
  Let,
  map,
  plus,
  popcount,
  runHeads,
  sequence,
  sortByKey,
  type U32,
  u32,
  uniform,
  Var,
  While,
} from '../../primitives/index.ts';
import { CELL, clustersByGrid, LATER_ROWS, laterCells, MARGIN, RADIUS } from './plain-clusters.ts';
import { evenPoints, onSteps, type Points, pointsInOnePlace, pointsInTowns } from './points.ts';
import type { BenchProgram, Case } from './program.ts';

/**
 * Clusters of points that are connected by steps of at most a radius: every point's label is the first point of its
 * cluster. Evenly spread points have four others within the radius.
 */
export const clusters: BenchProgram = {
  name: 'clusters',
  over: 'points',
  type: 'u32',
  sizes: [200_000],
  cpp: 'clusters.cpp',
  kinds: {
    even: (length) => ofPoints(evenPoints(length)),
    towns: (length) => ofPoints(pointsInTowns(length)),
    'one-cell': (length) => ofPoints(pointsInOnePlace(length)),
  },
  ofPoints,
  plain: clustersByGrid,
  quadrille(context, { inputs, sizes }) {
    const all = { x: context.column(inputs.x as Uint32Array), y: context.column(inputs.y as Uint32Array) };
    const [columns, n] = [sizes.columns!, inputs.x!.length];
    const [cells, later] = [columns * columns, context.column(Uint32Array.from(laterCells(columns)))];
    const run = () => {
      const cellOfPoint = context.materialize(map(cellOf, { ...all, columns }));
      const bits = { from: 0, to: 32 - Math.clz32(cells) };
      const sorted = sortByKey(cellOfPoint, { id: sequence(n) }, { bits });
      const [cell, id] = [sorted.keys, sorted.values.id];
      const starts = exclusiveScan(histogram(cellOfPoint, cells + 1), plus(u32));
      const points = context.materialize(gather(all, id));
      // Each cell belongs to one cluster. It is joined with the later cells that it touches.
      const first = copyIf(sequence(n), runHeads(cell));
      const grid = { starts, later };
      const touched = context.materialize(map(touchedBy, { cell: gather(cell, first), points, cells: cell, ...grid }));
      const edges = expand({ first, cell: gather(cell, first), touched }, map(bitsOf, { touched }), edgeOf, {
        capacity: Math.min(n, cells) * laterCells(columns).length,
        captures: { id, ...grid },
      });
      return { label: disjointSets(edges, n, { links: map(firstOfCell, { cell: cellOfPoint, starts, id }) }) };
    };
    return { held: { all, later }, run };
  },
};

/** The square grows with the points. */
function ofPoints(points: Points): Case {
  const side = Math.ceil(RADIUS * Math.sqrt((points.x.length * Math.PI) / 4));
  return { inputs: onSteps(points, side), sizes: { columns: Math.floor(side / CELL) + 1 + 2 * MARGIN } };
}

const cellOf = fn({ x: u32, y: u32, columns: uniform(u32) }, u32, ({ x, y, columns }) =>
  y.div(CELL).add(MARGIN).mul(columns).add(x.div(CELL)).add(MARGIN),
);
const firstOfCell = fn({ cell: u32, starts: array(u32), id: array(u32) }, u32, ({ cell, starts, id }) =>
  id.at(starts.at(cell)),
);
const bitsOf = fn({ touched: u32 }, u32, ({ touched }) => popcount(touched));

/**
 * For each of the later cells, a bit: whether one of its points is close to one of the points of a cell. The later cells
 * of a row lie side by side, and so do their points, which are looked at one by one: those far from the box of the cell's
 * points are left out, and once one is close, so are the others of its cell.
 */
const touchedBy = fn(
  { cell: u32, points: array({ x: u32, y: u32 }), cells: array(u32), starts: array(u32), later: array(u32) },
  u32,
  ({ cell, points, cells, starts, later }) => {
    const at = (point: U32) => {
      const { x, y } = points.at(point);
      return { x: Let(i32(x)), y: Let(i32(y)) };
    };
    const isClose = (dx: I32, dy: I32) =>
      dx
        .mul(dx)
        .add(dy.mul(dy))
        .le(RADIUS ** 2);
    const [from, to] = [Let(starts.at(cell)), Let(starts.at(cell.add(1)))];
    const box = Var({ left: i32(2 ** 30), right: i32(0), bottom: i32(2 ** 30), top: i32(0) });
    const rows = LATER_ROWS.map(([k, count]) => {
      const first = cell.add(later.at(k));
      return starts.at(first).ne(starts.at(first.add(count)));
    });
    // A cell without later neighbours needs no box, which takes long for very many points.
    If(
      rows.reduce((some, row) => some.or(row)),
      () => {
        For(from, to, (i) => {
          const { x, y } = at(i);
          box.set({ left: box.left.min(x), right: box.right.max(x), bottom: box.bottom.min(y), top: box.top.max(y) });
        });
      },
    );
    const touched = Var(u32(0));
    for (const [k, count] of LATER_ROWS) {
      const first = Let(cell.add(later.at(k)));
      const [j, end] = [Var(starts.at(first)), Let(starts.at(first.add(count)))];
      While(
        () => j.lt(end),
        () => {
          const { x, y } = at(j);
          const next = Var(j.add(1));
          const across = Let(x.max(box.left).min(box.right).sub(x));
          const up = Let(y.max(box.bottom).min(box.top).sub(y));
          If(isClose(across, up), () => {
            For(from, to, (i) => {
              const own = at(i);
              If(isClose(Let(own.x.sub(x)), Let(own.y.sub(y))), () => {
                const other = Let(cells.at(j));
                touched.set(touched.or(u32(1).shl(other.sub(first).add(k))));
                next.set(starts.at(other.add(1)));
                Break();
              });
            });
          });
          j.set(next);
        },
      );
    }
    return touched;
  },
);

const edgeOf = fn(
  { first: u32, cell: u32, touched: u32, rank: u32, id: array(u32), starts: array(u32), later: array(u32) },
  { a: u32, b: u32 },
  ({ first, cell, touched, rank, id, starts, later }) => {
    const rest = Var(touched);
    For(0, rank, () => rest.set(rest.and(rest.sub(1))));
    return { a: id.at(first), b: id.at(starts.at(cell.add(later.at(ctz(rest))))) };
  },
);
