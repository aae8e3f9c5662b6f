import {
  asGrid,
  f32,
  floor,
  fn,
  histogram,
  i32,
  Let,
  map,
  neighbours,
  select,
  stencil,
  u32,
} from '../../primitives/index.ts';
import { ACROSS, countByHexagon, latticeOf, MARGIN, PART_OF_SEVEN, UPWARDS } from './plain-hexagons.ts';
import { evenPoints, inSquare, type Points, pointsInOnePlace, pointsInTowns } from './points.ts';
import type { BenchProgram, Case } from './program.ts';

/**
 * How many points are in each hexagon of a lattice, and how dense they are: points for each square metre of a hexagon and
 * the six around it.
 */
export const hexagons: BenchProgram = {
  name: 'hexagons',
  over: 'points',
  type: 'f32',
  sizes: [10_000_000],
  cpp: 'hexagons.cpp',
  kinds: {
    even: (length) => ofPoints(evenPoints(length)),
    towns: (length) => ofPoints(pointsInTowns(length)),
    'one-place': (length) => ofPoints(pointsInOnePlace(length)),
  },
  ofPoints,
  plain: countByHexagon,
  quadrille(context, { inputs, sizes }) {
    const points = {
      x: context.column(inputs.x as Float32Array),
      y: context.column(inputs.y as Float32Array),
    };
    const { columns, rows } = sizes as { columns: number; rows: number };
    const hexagonOf = fn({ x: f32, y: f32 }, u32, ({ x, y }) => {
      const [u, v] = [Let(x.mul(ACROSS)), Let(y.mul(UPWARDS))];
      const lines = Let(floor(u.add(v)).add(2));
      const row = Let(i32(lines.add(floor(v.sub(u))).div(3)));
      const slanted = i32(lines.add(floor(u.add(u))).div(3));
      return u32(row.add(MARGIN).mul(columns).add(slanted).sub(row.add(1).shr(1)).add(MARGIN));
    });
    const run = () => {
      const count = histogram(map(hexagonOf, points), columns * rows);
      const lattice = asGrid(count, { rows, columns });
      return { count, density: context.materialize(stencil(densityOf, { count: lattice }, { boundary: 'constant' })) };
    };
    return { held: points, run };
  },
};

/** The box grows with the points, so that a hexagon of a size has about a hundred. */
function ofPoints(points: Points): Case {
  const side = Math.max(200, Math.sqrt(10 * points.x.length));
  return { inputs: inSquare(points, side), sizes: latticeOf(side) };
}

/** Each odd row is half a hexagon to the right of even ones. */
const densityOf = fn({ count: neighbours(u32) }, f32, ({ count }) => {
  const inRow = (dy: number) =>
    select(count.at(-1, dy).add(count.at(0, dy)), count.at(0, dy).add(count.at(1, dy)), count.y.and(1).eq(1));
  const own = count.at(-1, 0).add(count.at(0, 0)).add(count.at(1, 0));
  return f32(own.add(inRow(-1)).add(inRow(1))).mul(PART_OF_SEVEN);
});
