export interface PlainCircle {
  readonly x: number;
  readonly y: number;
  readonly radius: number;
}

export interface PlainPicture {
  readonly width: number;
  readonly height: number;
  readonly grey: ArrayLike<number>;
}

type Point = readonly [x: number, y: number];

const [POINTS, PER_POINT] = [9, 4];
const SAMPLES = POINTS * PER_POINT;

/**
 * Computes the points of a contour after some rounds of refinement, in f64. Control points climb the gradient of a
 * difference: the grey values just outside the contour minus those just inside. The gradient is numerical: each control
 * point is moved a little to both sides along each axis. Points and normals are computed anew for each such move; the
 * slopes of the grey values are not.
 */
export function contourByHand(
  picture: PlainPicture,
  { x, y, radius }: PlainCircle,
  options: { readonly iterations: number; readonly delta: number; readonly step: number },
): Point[] {
  const reach = (4 + 2 * Math.cos((2 * Math.PI) / POINTS)) / 6;
  const angle = (k: number, of: number): Point => [Math.cos((2 * Math.PI * k) / of), Math.sin((2 * Math.PI * k) / of)];
  let control: Point[] = Array.from({ length: POINTS }, (_, k) => {
    const [cos, sin] = angle(k, POINTS);
    return [x + (radius / reach) * cos, y + (radius / reach) * sin];
  });
  let outwards = 0;
  for (let k = 0; k < SAMPLES; k++) {
    const [cos, sin] = angle(k, SAMPLES);
    const [alongX, alongY] = slopeByHand(picture, [x + radius * cos, y + radius * sin]);
    outwards += (alongX * cos + alongY * sin) / SAMPLES;
  }
  for (let round = 0; round < options.iterations; round++) {
    const sides = sidesOf(control, options.delta);
    const slopes = sides.map((point) => slopeByHand(picture, point));
    control = control.map((own, k) => {
      const forces = [0, 1].map((axis) => {
        const width = 1e-4;
        const moved = (by: number) =>
          sidesOf(
            control.map((point, i) =>
              i === k ? (own.map((value, a) => (a === axis ? value + by : value)) as never) : point,
            ),
            options.delta,
          );
        const [after, before] = [moved(width), moved(-width)];
        return sides.reduce((sum, _, i) => {
          const [dx, dy] = [after[i]![0] - before[i]![0], after[i]![1] - before[i]![1]];
          const seen = (slopes[i]![0] * dx + slopes[i]![1] * dy) / (2 * width);
          return i < SAMPLES ? sum + seen : sum - seen;
        }, 0);
      });
      const move = (axis: 0 | 1) => Math.min(1, Math.max(-1, (forces[axis]! * options.step) / outwards));
      return [own[0] + move(0), own[1] + move(1)];
    });
  }
  return Array.from({ length: SAMPLES }, (_, k) => pointByHand(control, k).at);
}

/** Two copies of the control points of a contour: first all moved outwards by `delta`, then all moved inwards. */
function sidesOf(control: readonly Point[], delta: number): Point[] {
  const points = Array.from({ length: SAMPLES }, (_, k) => pointByHand(control, k));
  return [delta, -delta].flatMap((by) =>
    points.map(({ at: [x, y], along: [dx, dy] }): Point => {
      const length = Math.hypot(dx, dy);
      return [x + (by * dy) / length, y - (by * dx) / length];
    }),
  );
}

function pointByHand(control: readonly Point[], sample: number): { readonly at: Point; readonly along: Point } {
  const [piece, s] = [Math.floor(sample / PER_POINT), (sample % PER_POINT) / PER_POINT];
  const four = [-1, 0, 1, 2].map((k) => control[(piece + k + POINTS) % POINTS]!);
  const weights = [(1 - s) ** 3, 3 * s ** 3 - 6 * s ** 2 + 4, -3 * s ** 3 + 3 * s ** 2 + 3 * s + 1, s ** 3];
  const slopes = [-3 * (1 - s) ** 2, 9 * s ** 2 - 12 * s, -9 * s ** 2 + 6 * s + 3, 3 * s ** 2];
  const mixed = (by: readonly number[]): Point => [
    four.reduce((sum, point, i) => sum + (by[i]! * point[0]) / 6, 0),
    four.reduce((sum, point, i) => sum + (by[i]! * point[1]) / 6, 0),
  ];
  return { at: mixed(weights), along: mixed(slopes) };
}

function slopeByHand({ width, height, grey }: PlainPicture, [x, y]: Point): Point {
  const clamped = (value: number, size: number) => Math.min(size - 2, Math.max(1, value));
  const [cx, cy] = [clamped(x, width), clamped(y, height)];
  const [left, top] = [Math.min(width - 3, Math.floor(cx)), Math.min(height - 3, Math.floor(cy))];
  const [a, b] = [cx - left, cy - top];
  const at = (column: number, row: number) => grey[row * width + column]!;
  const mixed = (slope: (column: number, row: number) => number) =>
    (1 - a) * (1 - b) * slope(left, top) +
    a * (1 - b) * slope(left + 1, top) +
    (1 - a) * b * slope(left, top + 1) +
    a * b * slope(left + 1, top + 1);
  return [
    mixed((column, row) => (at(column + 1, row) - at(column - 1, row)) / 2),
    mixed((column, row) => (at(column, row + 1) - at(column, row - 1)) / 2),
  ];
}
