import type { ArrayValue } from '../../primitives/functors/value.ts';
import {
  array,
  bool,
  type Column,
  type ColumnOwner,
  type ColumnsOf,
  constant,
  type F32,
  For,
  f32,
  fn,
  If,
  map,
  neighbours,
  plus,
  relax,
  round,
  select,
  sequence,
  sqrt,
  type U32,
  u32,
  uniform,
  Var,
} from '../../primitives/index.ts';
import { finite } from './finite.ts';
import { type Frame, ofGrey } from './frame.ts';

/** Contours of cells. Row i is the contour of the cell in row i of the input. */
export type Contours = {
  /** The centroid of the area inside the contour, in pixels. */
  readonly x: Column<'f32'>;
  readonly y: Column<'f32'>;
  /** The radius in pixels of a circle with the same area as the contour. */
  readonly radius: Column<'f32'>;
  /** Whether no contour was found. If so, position and radius are those of the input circle. */
  readonly lost: Column<'bool'>;
  /**
   * Points along each contour, 36 rows per cell. The first point is to the right of the centre, and the next ones
   * follow clockwise. A lost cell has the points of its last contour.
   */
  readonly points: ColumnsOf<{ x: typeof f32; y: typeof f32 }>;
};

/**
 * Number of control points of a contour. `PER_POINT` is the number of sample points from one control point to the next.
 */
const POINTS = 9;
const PER_POINT = 4;
const SAMPLES = POINTS * PER_POINT;

/** Distance of the knots of a closed spline from its centre, if its control points lie on a circle with radius 1. */
const REACH = (4 + 2 * Math.cos((2 * Math.PI) / POINTS)) / 6;
/** A mean slope below this counts as 0. */
const FLAT = 2 ** -60;
/** Length of a tangent in pixels below which the contour is treated as having no normal. */
const SHORTEST = 2 ** -10;
/** Number of fractional bits of moves, which are summed as fixed-point numbers. */
const CHANGE_BITS = 10;

interface Vector {
  readonly x: F32;
  readonly y: F32;
}

interface Picture {
  readonly grey: ArrayValue<'f32'>;
  readonly width: U32;
  readonly height: U32;
}

/**
 * The slopes of the grey values at a point, interpolated between the four pixels around it. The slope at a pixel is
 * half of the difference of its two neighbours. Frames must be at least four pixels wide and high. A point less than a
 * pixel from an edge is moved to one pixel from it.
 */
function slopeAt({ grey, width, height }: Picture, point: Vector): Vector {
  const along = (value: F32, size: U32) => {
    const inside = value.max(1).min(f32(size.sub(2)));
    const first = u32(inside).min(size.sub(3));
    return { first, share: inside.sub(f32(first)) };
  };
  const [column, row] = [along(point.x, width), along(point.y, height)];
  const corner = row.first.sub(1).mul(width).add(column.first.sub(1));
  const rows = [0, 1, 2, 3].map((y) => corner.add(width.mul(y)));
  const at = (x: number, y: number): F32 => f32(grey.at(rows[y]!.add(x)));
  const between = (a: F32, b: F32, share: F32): F32 => a.add(b.sub(a).mul(share));
  const mixed = (difference: (x: number, y: number) => F32): F32 =>
    between(
      between(difference(1, 1), difference(2, 1), column.share),
      between(difference(1, 2), difference(2, 2), column.share),
      row.share,
    ).mul(0.5);
  const x = mixed((x, y) => at(x + 1, y).sub(at(x - 1, y)));
  const y = mixed((x, y) => at(x, y + 1).sub(at(x, y - 1)));
  const isNumber = x.mul(x).add(y.mul(y)).lt(Number.POSITIVE_INFINITY);
  return { x: select(f32(0), x, isNumber), y: select(f32(0), y, isNumber) };
}

/**
 * Functor that prepares the circle of a cell. Replaces numbers that are not finite by 0, and computes the rate, a
 * factor for the forces on the contour. The rate is negative around bright cells, and 0 if the circle is lost.
 */
const circleOfCell = ofGrey((grey) =>
  fn(
    'circleOfCell',
    {
      ...{ x: f32, y: f32, radius: f32, grey, width: uniform(u32), height: uniform(u32) },
      ...{ border: uniform(f32), step: uniform(f32) },
    },
    { x: f32, y: f32, radius: f32, rate: f32 },
    ({ x, y, radius, border, step, ...picture }) => {
      const { width, height } = picture;
      const isInside = (centre: F32, size: U32) =>
        centre
          .sub(radius)
          .gt(border)
          .and(centre.add(radius).lt(f32(size).sub(border)))
          .and(size.ge(4));
      const rate = Var(f32(0));
      If(radius.gt(0).and(isInside(x, width)).and(isInside(y, height)), () => {
        const slope = slopeOutwards(picture, { x, y }, radius);
        If(slope.abs().gt(FLAT), () => rate.set(step.div(slope)));
      });
      return { x: finite(x), y: finite(y), radius: finite(radius), rate };
    },
  ),
);

/** The mean slope in outward direction on a circle. The direction is rotated step by step, without trigonometry. */
function slopeOutwards(picture: Picture, { x, y }: Vector, radius: F32): F32 {
  const angle = (2 * Math.PI) / SAMPLES;
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const [alongX, alongY, sum] = [Var(f32(1)), Var(f32(0)), Var(f32(0))];
  For(0, SAMPLES, () => {
    const slope = slopeAt(picture, { x: x.add(alongX.mul(radius)), y: y.add(alongY.mul(radius)) });
    sum.set(sum.add(slope.x.mul(alongX).add(slope.y.mul(alongY))));
    const turned = alongX.mul(cos).sub(alongY.mul(sin));
    alongY.set(alongX.mul(sin).add(alongY.mul(cos)));
    alongX.set(turned);
  });
  return sum.mul(1 / SAMPLES);
}

const ANGLES = Array.from({ length: POINTS }, (_, k) => (2 * Math.PI * k) / POINTS);
const [COSINES, SINES] = [ANGLES.map(Math.cos), ANGLES.map(Math.sin)];

/**
 * Functor of an initial control point. All control points together describe a contour that is a circle, to within a
 * thousandth of its radius.
 */
const firstControlPoint = fn(
  'firstControlPoint',
  { index: u32, x: array(f32), y: array(f32), radius: array(f32), rate: array(f32) },
  { x: f32, y: f32, rate: f32 },
  ({ index, x, y, radius, rate }) => {
    const cell = index.div(POINTS);
    const point = index.sub(cell.mul(POINTS));
    const chosen = (table: readonly number[]): F32 =>
      table.reduce<F32>((value, each, k) => select(value, f32(each), point.eq(k)), f32(0));
    const reach = radius.at(cell).mul(1 / REACH);
    return {
      x: x.at(cell).add(reach.mul(chosen(COSINES))),
      y: y.at(cell).add(reach.mul(chosen(SINES))),
      rate: rate.at(cell),
    };
  },
);

/**
 * Weights of four consecutive control points for a point of a uniform cubic B-spline, and the derivatives of the
 * weights. The point is at the fraction `share` of the way from the second to the third control point.
 */
function weightsAt(share: F32): { readonly weights: readonly F32[]; readonly slopes: readonly F32[] } {
  const rest = f32(1).sub(share);
  const [square, restSquare] = [share.mul(share), rest.mul(rest)];
  const ends = [restSquare.mul(rest), square.mul(share)].map((cube) => cube.mul(1 / 6)) as [F32, F32];
  const inner = (square: F32, share: F32): F32 => square.mul(share.mul(0.5).sub(1)).add(2 / 3);
  return {
    weights: [ends[0], inner(square, share), inner(restSquare, rest), ends[1]],
    slopes: [
      restSquare.mul(-0.5),
      square.mul(1.5).sub(share.mul(2)),
      rest.mul(2).sub(restSquare.mul(1.5)),
      square.mul(0.5),
    ],
  };
}

function weighted(weights: readonly F32[], values: readonly F32[]): F32 {
  return weights.map((weight, i) => weight.mul(values[i]!)).reduce((a, b) => a.add(b));
}

const controlPoint = { x: f32, y: f32 } as const;

/**
 * Functor that moves a control point in one round, along the gradient of a sum. The sum is over the sample points of
 * the four spline pieces that the control point influences. A sample point p with the normal n = (y′, −x′)/|p′|
 * contributes the grey value at p + δn minus the grey value at p − δn.
 */
const climb = ofGrey((grey) =>
  fn(
    'climbContour',
    {
      ...{ point: neighbours(controlPoint), rate: f32, grey },
      ...{ width: uniform(u32), height: uniform(u32), delta: uniform(f32) },
    },
    controlPoint,
    ({ point, rate, delta, ...picture }) => {
      const own = point.at(0);
      const around = Array.from({ length: 7 }, (_, k) => point.at(k - 3));
      const [forceX, forceY] = [Var(f32(0)), Var(f32(0))];
      If(rate.ne(0), () => {
        For(0, SAMPLES_OF_POINT, (sample) => {
          const piece = sample.shr(2);
          const ofPiece = (values: readonly F32[]): F32 =>
            values.reduce((chosen, value, k) => select(chosen, value, piece.eq(k)));
          const four = (of: (point: Vector) => F32): F32[] =>
            [0, 1, 2, 3].map((k) => ofPiece(around.slice(k, k + 4).map(of)));
          const [xs, ys] = [four(({ x }) => x), four(({ y }) => y)];
          const { weights, slopes } = weightsAt(f32(sample.and(PER_POINT - 1)).mul(1 / PER_POINT));
          const ofOwn = (values: readonly F32[]): F32 => ofPiece([...values].reverse());
          const [weight, share] = [ofOwn(weights), ofOwn(slopes)];
          const [x, y, alongX, alongY] = [
            weighted(weights, xs),
            weighted(weights, ys),
            weighted(slopes, xs),
            weighted(slopes, ys),
          ];
          const length = sqrt(alongX.mul(alongX).add(alongY.mul(alongY)));
          const inverse = select(f32(0), f32(1).div(length), length.gt(SHORTEST));
          const normal = { x: alongY.mul(inverse), y: alongX.mul(inverse).neg() };
          const seen = (side: number): Vector => {
            const reach = delta.mul(side);
            return slopeAt(picture, { x: x.add(normal.x.mul(reach)), y: y.add(normal.y.mul(reach)) });
          };
          const [outside, inside] = [seen(1), seen(-1)];
          // Moving the control point also turns the normal. This term is the effect of that turn on the sum.
          const turn = share
            .mul(inverse)
            .mul(delta)
            .mul(outside.x.add(inside.x).mul(normal.y).sub(outside.y.add(inside.y).mul(normal.x)));
          forceX.set(forceX.add(outside.x.sub(inside.x).mul(weight)).add(turn.mul(normal.x)));
          forceY.set(forceY.add(outside.y.sub(inside.y).mul(weight)).add(turn.mul(normal.y)));
        });
      });
      const move = (force: F32): F32 => force.mul(rate).max(-1).min(1);
      return { x: own.x.add(move(forceX)), y: own.y.add(move(forceY)) };
    },
  ),
);

/** Number of sample points on the four pieces that a control point influences. */
const SAMPLES_OF_POINT = 4 * PER_POINT;

/** How far a control point moved, in fixed point. The changes are summed to find contours that no longer move. */
const change = fn('contourChange', { before: controlPoint, after: controlPoint }, u32, ({ before, after }) => {
  const moved = after.x.sub(before.x).abs().add(after.y.sub(before.y).abs());
  return u32(round(moved.mul(2 ** CHANGE_BITS)));
});

const isStill = fn('contourIsStill', { total: u32 }, bool, ({ total }) => total.eq(0));

/** The sample point `sample` of a cell's contour. */
function pointOn(control: { readonly [name in 'controlX' | 'controlY']: ArrayValue<'f32'> }, cell: U32, sample: U32) {
  const piece = sample.div(PER_POINT);
  const { weights } = weightsAt(f32(sample.sub(piece.mul(PER_POINT))).mul(1 / PER_POINT));
  const first = cell.mul(POINTS);
  const places = [POINTS - 1, 0, 1, 2].map((k) => {
    const place = piece.add(k);
    return first.add(select(place, place.sub(POINTS), place.ge(POINTS)));
  });
  const of = (values: ArrayValue<'f32'>): F32 =>
    weighted(
      weights,
      places.map((place) => values.at(place)),
    );
  return { x: of(control.controlX), y: of(control.controlY) };
}

/**
 * The centroid and the radius of a contour's area; for a lost cell, the centre and the radius of the initial circle.
 */
const cellOfContour = fn(
  'cellOfContour',
  {
    ...{ cell: u32, x: f32, y: f32, radius: f32, rate: f32 },
    ...{ controlX: array(f32), controlY: array(f32) },
  },
  { x: f32, y: f32, radius: f32, lost: bool },
  ({ cell, x, y, radius, rate, ...control }) => {
    const [area, momentX, momentY] = [Var(f32(0)), Var(f32(0)), Var(f32(0))];
    const fromCentre = (sample: U32): Vector => {
      const point = pointOn(control, cell, sample);
      return { x: point.x.sub(x), y: point.y.sub(y) };
    };
    const lost = Var(rate.eq(0));
    const found = [Var(x), Var(y), Var(radius)] as const;
    If(rate.ne(0), () => {
      const last = fromCentre(u32(SAMPLES - 1));
      const [beforeX, beforeY] = [Var(last.x), Var(last.y)];
      For(0, SAMPLES, (sample) => {
        const point = fromCentre(sample);
        const part = beforeX.mul(point.y).sub(point.x.mul(beforeY));
        area.set(area.add(part));
        momentX.set(momentX.add(part.mul(beforeX.add(point.x))));
        momentY.set(momentY.add(part.mul(beforeY.add(point.y))));
        beforeX.set(point.x);
        beforeY.set(point.y);
      });
      const mean = sqrt(area.max(0).mul(0.5 / Math.PI));
      const [movedX, movedY] = [momentX, momentY].map((moment) => moment.div(area.mul(3))) as [F32, F32];
      const isKept = mean
        .ge(radius.mul(0.5))
        .and(mean.le(radius.mul(2)))
        .and(movedX.abs().le(radius))
        .and(movedY.abs().le(radius));
      lost.set(isKept.not());
      If(isKept, () => {
        found[0].set(x.add(movedX));
        found[1].set(y.add(movedY));
        found[2].set(mean);
      });
    });
    return { x: found[0], y: found[1], radius: found[2], lost };
  },
);

/** The functor of one sample point of a contour. */
const pointOfContour = fn(
  'pointOfContour',
  { index: u32, controlX: array(f32), controlY: array(f32) },
  controlPoint,
  ({ index, ...control }) => {
    const cell = index.div(SAMPLES);
    return pointOn(control, cell, index.sub(cell.mul(SAMPLES)));
  },
);

/** Moves contours from circles to edges; see `refineContours`, which checks the arguments. */
export function climbContours(
  context: ColumnOwner,
  { width, height, grey: given }: Frame,
  cells: { readonly [name in 'x' | 'y' | 'radius']: Column<'f32'> },
  options: {
    readonly length: Column['length'];
    readonly iterations: number;
    readonly delta: number;
    readonly step: number;
    readonly border: number;
  },
): Contours {
  const { length, iterations, delta, step, border } = options;
  const { capacity } = cells.x;
  // A union of column types does not satisfy the generic parameters below, so the column is cast to one of them.
  const [grey, { type }] = [given as Column<'f32'>, given];
  const circles = context.materialize(map(circleOfCell[type], { ...cells, grey, width, height, border, step }));
  const start = map(firstControlPoint, { index: sequence(capacity * POINTS), ...circles });
  const { state } = relax(
    { width: constant(u32, POINTS, length), height: constant(u32, 1, length) },
    climb[type],
    { point: { x: start.x, y: start.y }, rate: start.rate, grey, width, height, delta },
    { change, total: plus(u32), until: isStill },
    { maxRounds: iterations, maxWidth: POINTS, maxHeight: 1, boundary: 'wrap' },
  );
  const control = { controlX: state.x, controlY: state.y };
  const found = context.materialize(map(cellOfContour, { cell: sequence(length), ...circles, ...control }));
  return { ...found, points: map(pointOfContour, { index: sequence(capacity * SAMPLES), ...control }) };
}
