// Computes the frames of the page: moving points, their density, and the connected components of dense cells.
//
// Every step consists of a few primitives and runs on every backend. All numbers are integers, so a frame has the same
// bytes everywhere.
import { connectedComponents, NO_COMPONENT } from '../../algorithms/components/index.ts';
import {
  array,
  bool,
  type Column,
  type Context,
  constant,
  fill,
  fn,
  histogram,
  i32,
  map,
  neighbours,
  plus,
  product,
  reduce,
  scatterReduce,
  select,
  sequence,
  stencil,
  type U32,
  u32,
  uniform,
} from '../../primitives/index.ts';

export const POINTS = 200_000;
/** Number of cells along a side of the grid. */
export const SIDE = 512;
/** Number of fraction bits of a coordinate: a cell has a width and height of 2^11 units. */
const CELL_BITS = 11;
const WORLD: number = SIDE << CELL_BITS;
const CELLS: number = SIDE * SIDE;
const SWARMS = 40;
/** The smoothed density that all cells would have if every cell contained one point. */
export const ONE_POINT = 256;

/** Positions and velocities of points, in units of 2^-11 cells. */
export type Points = {
  readonly x: Column<'i32'>;
  readonly y: Column<'i32'>;
  readonly vx: Column<'i32'>;
  readonly vy: Column<'i32'>;
};

/** Settings that the visitor may change between frames. */
export interface Controls {
  /** Minimum smoothed density of a dense cell, in points per cell. */
  readonly threshold: number;
  /** The position, in cells, from which points are pushed away; undefined if no points are pushed. */
  readonly push?: { readonly x: number; readonly y: number } | undefined;
  readonly background: 'dark' | 'light';
}

/** A hash of n: every bit of the result depends on every bit of n (Wellons, lowbias32). */
const scramble = fn('scramble', { n: u32 }, u32, ({ n }) => {
  const a = n.xor(n.shr(16)).mul(0x7feb352d);
  const b = a.xor(a.shr(15)).mul(0x846ca68b);
  return b.xor(b.shr(16));
});

/** An approximate sine, made of two parabolas. Values range from −4096 to 4096, and a full turn is a phase of 65536. */
const wave = fn('wave', { phase: u32 }, i32, ({ phase }) => {
  const half = i32(phase.and(0x7fff));
  const bow = half.mul(i32(0x8000).sub(half)).shr(16);
  return select(bow, bow.neg(), phase.and(0x8000).ne(0));
});

/**
 * The position towards which a point moves. Every swarm has a curve, which turns and travels. The goals of the swarm's
 * points lie near the curve or inside the curve.
 */
const goal = fn('goal', { n: u32, frame: u32 }, { x: i32, y: i32 }, ({ n, frame }) => {
  const swarm = n.rem(SWARMS);
  const [own, shape] = [scramble({ n }), scramble({ n: swarm.add(1000) })];
  const place = own.and(0xffff);
  const spread = shape.and(7).add(3);
  const scatter = (bits: U32) =>
    i32(bits.and(0x3ff).add(bits.shr(10).and(0x3ff)))
      .sub(1023)
      .mul(i32(spread));
  // In swarms with odd numbers, goals are spread over the inside of the curve.
  const radius = i32(shape.shr(3).and(15))
    .add(6)
    .mul(select(i32(16), i32(own.shr(28)), swarm.and(1).eq(1)));
  const [loops, turn] = [shape.shr(7).and(1).add(1), shape.shr(8).and(63).add(40).mul(frame)];
  const [speedX, speedY] = [shape.shr(14).and(31).add(25), shape.shr(19).and(31).add(25)];
  const [startX, startY, startTurn] = [shape.mul(77), shape.mul(191), shape.shr(5)];
  const curveX = wave({ phase: place.add(turn) })
    .mul(radius)
    .shr(4);
  const curveY = wave({ phase: place.mul(loops).add(turn.shr(1)).add(startTurn) })
    .mul(radius)
    .shr(4);
  const centreX = wave({ phase: frame.mul(speedX).add(startX) }).mul(108);
  const centreY = wave({ phase: frame.mul(speedY).add(startY) }).mul(108);
  return {
    x: centreX
      .add(curveX)
      .add(scatter(own.shr(8)))
      .add(WORLD / 2),
    y: centreY
      .add(curveY)
      .add(scatter(own.mul(0x9e3779b1).shr(8)))
      .add(WORLD / 2),
  };
});

const begin = fn('begin', { n: u32 }, { x: i32, y: i32, vx: i32, vy: i32 }, ({ n }) => {
  const bits = scramble({ n: n.add(POINTS) });
  return { x: i32(bits.and(0xffff).mul(WORLD >> 16)), y: i32(bits.shr(16).mul(WORLD >> 16)), vx: i32(0), vy: i32(0) };
});

const NOWHERE = -(2 ** 30);
/** Points are pushed if they are nearer than this to the position `push`. The unit is cells. */
const REACH = 56;

/**
 * Moves a point by one frame: a spring pulls it towards its goal, friction slows it down, and the visitor may push it
 * away.
 */
const move = fn(
  'move',
  { n: u32, x: i32, y: i32, vx: i32, vy: i32, frame: uniform(u32), pushX: uniform(i32), pushY: uniform(i32) },
  { x: i32, y: i32, vx: i32, vy: i32 },
  ({ n, x, y, vx, vy, frame, pushX, pushY }) => {
    const to = goal({ n, frame });
    const [fromX, fromY] = [x.sub(pushX), y.sub(pushY)];
    const [cellsX, cellsY] = [fromX.shr(CELL_BITS), fromY.shr(CELL_BITS)];
    const isNear = cellsX
      .abs()
      .max(cellsY.abs())
      .lt(REACH)
      .and(
        cellsX
          .mul(cellsX)
          .add(cellsY.mul(cellsY))
          .lt(REACH * REACH),
      );
    const next = (v: typeof x, at: typeof x, goal: typeof x, from: typeof x) =>
      v
        .sub(v.shr(4))
        .add(goal.sub(at).shr(8))
        .add(select(i32(0), from.shr(5), isNear));
    const [nextVx, nextVy] = [next(vx, x, to.x, fromX), next(vy, y, to.y, fromY)];
    return { x: x.add(nextVx), y: y.add(nextVy), vx: nextVx, vy: nextVy };
  },
);

/** Creates the points of the first frame. */
export function firstPoints(context: Context): Points {
  return context.scope(() => context.materialize(map(begin, { n: sequence(POINTS) })));
}

/** Computes the points of the next frame. */
export function movePoints(context: Context, points: Points, frame: number, { push }: Controls): Points {
  const [pushX, pushY] = push === undefined ? [NOWHERE, NOWHERE] : [push.x << CELL_BITS, push.y << CELL_BITS];
  return context.scope(() => context.materialize(map(move, { n: sequence(POINTS), ...points, frame, pushX, pushY })));
}

/** The index of the cell that contains a point; `CELLS` if the point is outside the grid. */
const cellOf = fn('cellOf', { x: i32, y: i32 }, u32, ({ x, y }) => {
  const [column, row] = [u32(x.shr(CELL_BITS)), u32(y.shr(CELL_BITS))];
  return select(u32(CELLS), row.mul(SIDE).add(column), column.max(row).lt(SIDE));
});

const smoothAlongRow = fn('smoothAlongRow', { count: neighbours(u32) }, u32, ({ count }) => {
  const ends = count.at(-2).add(count.at(2));
  return ends.add(count.at(-1).add(count.at(1)).mul(4)).add(count.at(0).mul(6));
});
/**
 * The density of points in every cell, and whether the cell is dense. The density is the number of points, smoothed
 * with binomial weights over five cells along each axis.
 */
export type Density = { readonly density: Column<'u32'>; readonly dense: Column<'bool'> };

const smoothDown = fn(
  'smoothDown',
  { count: neighbours(u32), threshold: uniform(u32) },
  { density: u32, dense: bool },
  ({ count, threshold }) => {
    const ends = count.at(0, -2).add(count.at(0, 2));
    const density = ends.add(count.at(0, -1).add(count.at(0, 1)).mul(4)).add(count.at(0).mul(6));
    return { density, dense: density.ge(threshold) };
  },
);

/** Computes the density of every cell, and whether the cell is dense. */
export function densityOf(context: Context, { x, y }: Points, controls: Controls): Density {
  const grid = { width: SIDE, boundary: 'constant' } as const;
  const threshold = Math.round(controls.threshold * ONE_POINT);
  return context.scope(() => {
    const counts = histogram(map(cellOf, { x, y }), CELLS);
    const along = context.materialize(stencil(smoothAlongRow, { count: counts }, grid));
    return context.materialize(stencil(smoothDown, { count: along, threshold }, grid));
  });
}

/**
 * Labels the connected components of dense cells. The label of a dense cell is the index of the first cell of the
 * cell's component. All other cells get `NO_COMPONENT`.
 */
export function labelsOf(context: Context, { dense }: Density): Column<'u32'> {
  return connectedComponents(context, dense, { width: SIDE });
}

/**
 * The number of points in every component, and the sums of their colours. Both are stored at the index of the
 * component's first cell.
 */
export type Sums = {
  readonly count: Column<'u32'>;
  readonly red: Column<'u32'>;
  readonly green: Column<'u32'>;
  readonly blue: Column<'u32'>;
};

/** The colour of point n, which is the colour of its swarm. */
const colourOf = fn('colourOf', { n: u32 }, { red: u32, green: u32, blue: u32 }, ({ n }) => {
  const hue = n
    .rem(SWARMS)
    .mul(5)
    .rem(SWARMS)
    .mul(Math.floor(65536 / SWARMS));
  const shade = (turn: number) =>
    u32(
      wave({ phase: hue.add(turn) })
        .add(4096)
        .mul(225)
        .shr(13),
    ).add(30);
  return { red: shade(0), green: shade(0x5555), blue: shade(0xaaaa) };
});

const labelAt = fn('labelAt', { x: i32, y: i32, labels: array(u32) }, u32, ({ x, y, labels }) => {
  const cell = cellOf({ x, y });
  return select(u32(NO_COMPONENT), labels.at(cell), cell.lt(CELLS));
});

/**
 * Adds up the points and colours of every component. A component with points of several swarms gets a mixture of their
 * colours.
 */
export function sumsOf(context: Context, { x, y }: Points, labels: Column<'u32'>): Sums {
  return context.scope(() => {
    const shape = { count: u32, red: u32, green: u32, blue: u32 };
    const sums = fill(context, shape, { count: 0, red: 0, green: 0, blue: 0 }, CELLS);
    const points = { count: constant(u32, 1, POINTS), ...map(colourOf, { n: sequence(POINTS) }) };
    scatterReduce(points, map(labelAt, { x, y, labels }), 'add', sums);
    return sums;
  });
}

const paint = fn(
  'paint',
  {
    density: u32,
    label: u32,
    light: uniform(bool),
    count: array(u32),
    red: array(u32),
    green: array(u32),
    blue: array(u32),
  },
  u32,
  ({ density, label, light, count, red, green, blue }) => {
    const points = count.at(label).max(1);
    const thin = density.shr(3).min(64);
    const ground = select(thin.add(14), u32(244).sub(thin), light);
    // The brightness grows with the density, from three fifths of the component's colour to the full colour.
    const strength = density.shr(4).min(102).add(154);
    const channel = (sum: U32): U32 => {
      const full = sum.div(points).mul(strength).shr(8);
      return select(full, ground, label.eq(NO_COMPONENT));
    };
    const [r, g, b] = [channel(red.at(label)), channel(green.at(label)), channel(blue.at(label))];
    return r.or(g.shl(8)).or(b.shl(16)).or(0xff000000);
  },
);

/**
 * Computes the picture, with four bytes per cell, red first. A cell of a component gets the mean colour of the
 * component's points.
 */
export function pixelsOf(
  context: Context,
  { density }: Density,
  labels: Column<'u32'>,
  sums: Sums,
  { background }: Controls,
): Column<'u32'> {
  const light = background === 'light';
  return context.scope(() => context.materialize(map(paint, { density, label: labels, light, ...sums })));
}

/** The number of components of a frame, and a checksum over all bits of its labels and densities. */
export type Summary = { readonly components: Column<'u32'>; readonly checksum: Column<'u32'> };

const look = fn(
  'look',
  { cell: u32, label: u32, density: u32 },
  { components: u32, checksum: u32 },
  ({ cell, label, density }) => ({
    components: u32(label.eq(cell)),
    checksum: scramble({ n: scramble({ n: cell.xor(density.shl(18)) }).xor(label) }),
  }),
);

const both = product({ components: plus(u32), checksum: plus(u32) });

export function summaryOf(context: Context, { density }: Density, labels: Column<'u32'>): Summary {
  return context.scope(() => reduce(map(look, { cell: sequence(CELLS), label: labels, density }), both));
}
