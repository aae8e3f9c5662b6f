import { circleTables, WEIGHT_BITS } from '../../algorithms/cell-tracking/circles.ts';
import { DEFAULT_RADII } from '../../algorithms/cell-tracking/detection-options.ts';
import { isWithin, spreadOf } from '../../algorithms/cell-tracking/gicov.ts';
import { detectPeaks, type Frame, gicov } from '../../algorithms/cell-tracking/index.ts';
import { disc, MIDDLE, peakAt } from '../../algorithms/cell-tracking/peaks.ts';
import { packSlopes } from '../../algorithms/cell-tracking/slopes.ts';
import { largestOf } from '../../primitives/host/extremes.ts';
import {
  array,
  bool,
  type Column,
  type Context,
  constant,
  copyIf,
  dotOfHalves,
  type F32,
  For,
  f32,
  fn,
  type I32,
  If,
  i32,
  input,
  Let,
  map,
  select,
  sequence,
  sqrt,
  type Table,
  type U32,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import type { CellVideoFrame } from './cell-video.ts';
import { type Ladder, requireSameBytes } from './leukocyte-ladder.ts';
import { type HostPeaks, plainPeaks } from './leukocyte-plain.ts';

const [POINTS, DILATION, THRESHOLD] = [150, 12, 1.8];
/** A circle counts only if its `ratioOf` exceeds this value, which means that its score exceeds THRESHOLD. */
const MIN_COUNT = (THRESHOLD ** 2 * POINTS ** 2) / (POINTS - 1);
const UNIT = (POINTS - 1) / POINTS ** 2;

/**
 * Versions of the detection, slowest first. The first three use one launch for every pair of samples, for every circle,
 * and for all circles, and store every intermediate column. The last versions skip unnecessary work.
 */
export function detectionLadder(context: Context, host: CellVideoFrame['frame']): Ladder {
  const { width, height } = host;
  const grey = context.column(host.grey) as Column<'u32'>;
  const frame: Frame = { width, height, grey };
  const tables = circleTables(DEFAULT_RADII, POINTS, width);
  const margin = Math.ceil(largestOf(DEFAULT_RADII)) + 2;
  const place = { width, height, margin };
  const expected = plainPeaks(host, { radii: DEFAULT_RADII, points: POINTS, dilation: DILATION, threshold: THRESHOLD });

  const byPairs = (circle: number, slopes: Column<'u32'>): Sums => {
    let sums: Sums = context.materialize({ total: constant(i32, 0, width * height), squares: zeros() });
    for (let pair = circle * tables.pairs; pair < (circle + 1) * tables.pairs; pair++) {
      const [offset, weight] = [tables.offsets[pair]!, tables.weights[pair]!];
      const cell = sequence(width * height);
      const next = context.materialize(map(addPair, { cell, ...sums, slopes, offset, weight, ...place }));
      context.dispose(sums);
      sums = next;
    }
    return sums;
  };
  const inOneLaunch = (circle: number, slopes: Column<'u32'>): Sums =>
    context.materialize(
      map(sumsOfCircle, { ...circlesFor(slopes), start: circle * tables.pairs, pairs: tables.pairs, ...place }),
    );
  const zeros = () => constant(f32, 0, width * height);
  const circlesFor = (slopes: Column<'u32'>) => ({
    cell: sequence(width * height),
    slopes,
    offsets: context.column(tables.offsets),
    weights: context.column(tables.weights),
  });

  /**
   * Processes one circle after another. After each circle, stores the best circle so far for every pixel. Finally
   * computes the scores.
   */
  const circleByCircle = (sumsOf: (circle: number, slopes: Column<'u32'>) => Sums): Scores => {
    const slopes = packSlopes(context, frame);
    let best: Best = context.materialize({
      best: constant(f32, MIN_COUNT, width * height),
      ...{ sum: zeros(), radius: zeros() },
    });
    for (const [circle, candidate] of DEFAULT_RADII.entries()) {
      const sums = sumsOf(circle, slopes);
      const next = context.materialize(map(betterCircle, { ...sums, ...best, candidate, inverse: 1 / POINTS }));
      context.dispose(best, sums);
      best = next;
    }
    return context.materialize(map(scoreOf, { ...best, unit: UNIT }));
  };
  const allCircles = (): Scores => {
    const slopes = packSlopes(context, frame);
    const radii = context.column(Float32Array.from(DEFAULT_RADII));
    const numbers = {
      circles: DEFAULT_RADII.length,
      pairs: tables.pairs,
      inverse: 1 / POINTS,
      min: MIN_COUNT,
      unit: UNIT,
    };
    return context.materialize(map(scoreOfAll, { ...circlesFor(slopes), radii, ...numbers, ...place }));
  };

  /** Finds peaks by storing a column with the maximum absolute score around every pixel. */
  const peaksOf = ({ score, radius }: Scores): Table => {
    const around = disc(DILATION);
    const cell = sequence(width * height);
    const shape = { around: context.column(around), count: around.length, width, height };
    const max = context.materialize(map(dilated, { cell, score, ...shape }));
    const found = copyIf(cell, map(isGreatest, { score, max }));
    return context.materialize(map(peakAt, { cell: found, score, radius, width }));
  };
  const scored = (scores: () => Scores) => () => context.scope(() => peaksOf(scores()));
  const shipped = (seen: Frame) => detectPeaks(seen, { threshold: THRESHOLD });
  const prepared = context.prepare({ grey: input(u32, width * height, { storage: 'u8' }) }, ({ grey }) =>
    shipped({ width, height, grey }),
  );

  return {
    steps: [
      { name: 'a launch for every two samples', run: scored(() => circleByCircle(byPairs)) },
      { name: 'a launch for every circle', run: scored(() => circleByCircle(inOneLaunch)) },
      { name: 'one launch for all circles', run: scored(allCircles) },
      {
        name: 'only half of the samples where these suffice',
        run: scored(() => gicov(frame, { threshold: THRESHOLD })),
      },
      { name: 'dilation stops at a greater score: `detectPeaks`', run: () => shipped(frame) },
      { name: '`detectPeaks`, prepared', run: () => prepared({ grey }) },
    ],
    plain: () => plainPeaks(host, { radii: DEFAULT_RADII, points: POINTS, dilation: DILATION, threshold: THRESHOLD }),
    async check(step, result) {
      const got = (await context.read(result)) as unknown as HostPeaks;
      for (const key of ['x', 'y', 'score', 'radius'] as const)
        requireSameBytes(`${step}: ${key}`, got[key], expected[key]);
    },
  };
}

interface Sums {
  readonly total: Column<'i32'>;
  readonly squares: Column<'f32'>;
}

interface Best {
  readonly best: Column<'f32'>;
  readonly sum: Column<'f32'>;
  readonly radius: Column<'f32'>;
}

interface Scores {
  readonly score: Column<'f32'>;
  readonly radius: Column<'f32'>;
}

const PLACE = { width: uniform(u32), height: uniform(u32), margin: uniform(u32) };

function isInside(cell: U32, { width, height, margin }: { readonly [name in keyof typeof PLACE]: U32 }) {
  const row = cell.div(width);
  return isWithin(cell.sub(row.mul(width)), width, margin).and(isWithin(row, height, margin));
}

/** The slopes at two opposite points of a circle, each in the direction away from the circle's centre. */
function samplesOf(slopes: { at(index: U32): U32 }, cell: U32, offset: U32, weight: U32): [I32, I32] {
  return [cell.add(offset), cell.sub(offset)].map((at) => dotOfHalves(slopes.at(at), weight).shr(WEIGHT_BITS)) as [
    I32,
    I32,
  ];
}

const addPair = fn(
  'addPair',
  {
    ...{ cell: u32, total: i32, squares: f32, slopes: array(u32), offset: uniform(u32), weight: uniform(u32) },
    ...PLACE,
  },
  { total: i32, squares: f32 },
  (given) => {
    const [total, squares] = [Var(given.total), Var(given.squares)];
    If(isInside(given.cell, given), () => {
      const [a, b] = samplesOf(given.slopes, given.cell, given.offset, given.weight);
      total.set(total.add(a).sub(b));
      squares.set(squares.add(f32(a.mul(a).add(b.mul(b)))));
    });
    return { total: Let(total), squares: Let(squares) };
  },
);

const CIRCLES = { cell: u32, slopes: array(u32), offsets: array(u32), weights: array(u32) };

const sumsOfCircle = fn(
  'sumsOfCircle',
  { ...CIRCLES, start: uniform(u32), pairs: uniform(u32), ...PLACE },
  { total: i32, squares: f32 },
  (given) => {
    const [total, squares] = [Var(i32(0)), Var(f32(0))];
    If(isInside(given.cell, given), () => {
      For(given.start, given.start.add(given.pairs), (pair) => {
        const [a, b] = samplesOf(given.slopes, given.cell, given.offsets.at(pair), given.weights.at(pair));
        total.set(total.add(a).sub(b));
        squares.set(squares.add(f32(a.mul(a).add(b.mul(b)))));
      });
    });
    return { total: Let(total), squares: Let(squares) };
  },
);

/** The squared mean of a circle's samples divided by their variance, up to a constant factor. */
function ratioOf(found: F32, squares: F32, inverse: F32): F32 {
  return found.mul(found).div(spreadOf(found, squares, inverse).max(2 ** -24));
}

const betterCircle = fn(
  'betterCircle',
  {
    ...{ total: i32, squares: f32, best: f32, sum: f32, radius: f32 },
    ...{ candidate: uniform(f32), inverse: uniform(f32) },
  },
  { best: f32, sum: f32, radius: f32 },
  ({ total, squares, best, sum, radius, candidate, inverse }) => {
    const found = f32(total);
    const ratio = ratioOf(found, squares, inverse);
    const isBetter = ratio.gt(best);
    return {
      best: select(best, ratio, isBetter),
      sum: select(sum, found, isBetter),
      radius: select(radius, candidate, isBetter),
    };
  },
);

function scoreBy(best: F32, sum: F32, radius: F32, unit: F32): F32 {
  const size = sqrt(best.mul(unit));
  return select(select(size, size.neg(), sum.lt(0)), f32(0), radius.eq(0));
}

const scoreOf = fn(
  'scoreOf',
  { best: f32, sum: f32, radius: f32, unit: uniform(f32) },
  { score: f32, radius: f32 },
  ({ best, sum, radius, unit }) => ({ score: scoreBy(best, sum, radius, unit), radius }),
);

const scoreOfAll = fn(
  'scoreOfAll',
  {
    ...{ ...CIRCLES, radii: array(f32), circles: uniform(u32), pairs: uniform(u32) },
    ...{ inverse: uniform(f32), min: uniform(f32), unit: uniform(f32), ...PLACE },
  },
  { score: f32, radius: f32 },
  (given) => {
    const [best, sum, radius] = [Var(given.min), Var(f32(0)), Var(f32(0))];
    If(isInside(given.cell, given), () => {
      For(0, given.circles, (circle) => {
        const [total, squares] = [Var(i32(0)), Var(f32(0))];
        const start = circle.mul(given.pairs);
        For(start, start.add(given.pairs), (pair) => {
          const [a, b] = samplesOf(given.slopes, given.cell, given.offsets.at(pair), given.weights.at(pair));
          total.set(total.add(a).sub(b));
          squares.set(squares.add(f32(a.mul(a).add(b.mul(b)))));
        });
        const found = f32(total);
        const ratio = ratioOf(found, Let(squares), given.inverse);
        If(ratio.gt(best), () => {
          best.set(ratio);
          sum.set(found);
          radius.set(given.radii.at(circle));
        });
      });
    });
    return { score: scoreBy(Let(best), Let(sum), Let(radius), given.unit), radius: Let(radius) };
  },
);

const dilated = fn(
  'dilated',
  {
    ...{ cell: u32, score: array(f32), around: array(u32) },
    ...{ count: uniform(u32), width: uniform(u32), height: uniform(u32) },
  },
  f32,
  ({ cell, score, around, count, width, height }) => {
    const row = cell.div(width);
    const column = cell.sub(row.mul(width));
    const max = Var(f32(0));
    For(0, count, (i) => {
      const step = around.at(i);
      const [x, y] = [column.add(step.and(0xffff)).sub(MIDDLE), row.add(step.shr(16)).sub(MIDDLE)];
      If(x.lt(width).and(y.lt(height)), () => {
        max.set(max.max(score.at(y.mul(width).add(x)).abs()));
      });
    });
    return Let(max);
  },
);

const isGreatest = fn('isGreatest', { score: f32, max: f32 }, bool, ({ score, max }) =>
  score.abs().gt(0).and(score.abs().ge(max)),
);
