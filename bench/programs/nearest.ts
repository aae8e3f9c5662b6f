import {
  array,
  type Bool,
  bool,
  exclusiveScan,
  type F32,
  For,
  f32,
  fn,
  gather,
  histogram,
  type I32,
  If,
  i32,
  Let,
  map,
  plus,
  scatter,
  select,
  sequence,
  sortPermutation,
  type U32,
  u32,
  uniform,
  Var,
  While,
} from '../../primitives/index.ts';
import { CELL, NEIGHBOURS, nearestByGrid } from './plain-nearest.ts';
import { evenPoints, inSquare, type Points, pointsInTowns } from './points.ts';
import type { BenchProgram, Case } from './program.ts';

const RANKS: readonly number[] = Array.from({ length: NEIGHBOURS }, (_, k) => k);

/** The nearest eight other points of every point, found by a grid with two points a cell. */
export const nearest: BenchProgram = {
  name: 'nearest',
  over: 'points',
  type: 'f32',
  sizes: [100_000],
  cpp: 'nearest.cpp',
  kinds: {
    even: (length) => ofPoints(evenPoints(length)),
    towns: (length) => ofPoints(pointsInTowns(length)),
  },
  ofPoints,
  plain: nearestByGrid,
  quadrille(context, { inputs, sizes }) {
    const all = { x: context.column(inputs.x as Float32Array), y: context.column(inputs.y as Float32Array) };
    const side = sizes.side!;
    const run = () => {
      const cell = context.materialize(map(cellOf, { ...all, side }));
      const id = sortPermutation(cell, { bits: { from: 0, to: 32 - Math.clz32(side * side) } });
      const points = context.materialize({ ...gather(all, id), id });
      const starts = exclusiveScan(histogram(cell, side * side + 1), plus(u32));
      const query = sequence(all.x.length);
      return scatter(map(search, { query, points, starts, side }), id, all.x.length);
    };
    return { held: all, run };
  },
};

function ofPoints(points: Points): Case {
  const side = Math.max(1, Math.ceil(Math.sqrt(points.x.length / 2)));
  return { inputs: inSquare(points, side * CELL), sizes: { side } };
}

const cellOf = fn({ x: f32, y: f32, side: uniform(u32) }, u32, ({ x, y, side }) =>
  u32(y.div(CELL))
    .mul(side)
    .add(u32(x.div(CELL))),
);

const search = fn(
  { query: u32, points: array({ x: f32, y: f32, id: u32 }), starts: array(u32), side: uniform(u32) },
  Object.fromEntries(RANKS.map((k) => [`near${k}`, u32])),
  ({ query, points, starts, side }) => {
    const own = points.at(query);
    const cell = (at: F32) => i32(at.div(CELL));
    const [column, row, last] = [Let(cell(own.x)), Let(cell(own.y)), Let(i32(side).sub(1))];
    const found = RANKS.map(() => Var({ distance: f32(Infinity), id: i32(-1) }));
    const farthest = found.at(-1)!;
    const isBefore = (a: { distance: F32; id: I32 }, b: { distance: F32; id: I32 }) =>
      a.distance.lt(b.distance).or(a.distance.eq(b.distance).and(a.id.lt(b.id)));
    const take = (at: U32) => {
      const { x, y } = points.at(at);
      const [dx, dy] = [Let(x.sub(own.x)), Let(y.sub(own.y))];
      const distance = Let(dx.mul(dx).add(dy.mul(dy)));
      If(distance.le(farthest.distance).and(at.ne(query)), () => {
        // Everything behind the place of the new one moves on by a rank.
        const one = { distance, id: Let(i32(points.at(at).id)) };
        const isAhead = found.map((each) => Let(isBefore(one, each)));
        for (const [k, each] of [...found.entries()].toReversed()) {
          const before = k === 0 ? one : found[k - 1]!;
          const isMoved = isAhead[Math.max(0, k - 1)]!;
          each.distance.set(select(each.distance, select(one.distance, before.distance, isMoved), isAhead[k]!));
          each.id.set(select(each.id, select(one.id, before.id, isMoved), isAhead[k]!));
        }
      });
    };
    const ring = Var(i32(1));
    const isOpen = Var(bool(true));
    While(
      () => isOpen,
      () => {
        const [left, right] = [Let(column.sub(ring)), Let(column.add(ring))];
        const [bottom, top] = [Let(row.sub(ring)), Let(row.add(ring))];
        const [from, to] = [Let(left.max(0)), Let(right.min(last))];
        For({ from: bottom.max(0), to: top.min(last).add(1) }, (y) => {
          const isWhole = Let(ring.eq(1).or(y.eq(bottom)).or(y.eq(top)));
          const first = Let(y.mul(i32(side)));
          For({ from: i32(0), to: select(i32(2), i32(1), isWhole) }, (part) => {
            const isLeft = part.eq(0);
            If(isWhole.or(select(right.le(last), left.ge(0), isLeft)), () => {
              const start = starts.at(u32(first.add(select(to, from, isLeft))));
              const end = starts.at(u32(first.add(select(from, to, isWhole.or(isLeft.not()))).add(1)));
              For(start, end, take);
            });
          });
        });
        const beyond = (isThere: Bool, far: F32) => select(f32(Infinity), far, isThere);
        const edge = (cell: I32) => f32(cell).mul(CELL);
        const bound = Let(
          beyond(left.gt(0), own.x.sub(edge(left)))
            .min(beyond(right.lt(last), edge(right.add(1)).sub(own.x)))
            .min(beyond(bottom.gt(0), own.y.sub(edge(bottom))))
            .min(beyond(top.lt(last), edge(top.add(1)).sub(own.y))),
        );
        isOpen.set(bound.lt(Infinity).and(farthest.distance.lt(bound.mul(bound)).not()));
        ring.set(ring.add(1));
      },
    );
    return Object.fromEntries(found.map(({ id }, k) => [`near${k}`, u32(id)]));
  },
);
