import { roundEven } from '../../../primitives/ir/semantics.ts';

/** A cell with its position in the previous frame. */
export interface PlainCell {
  readonly x: number;
  readonly y: number;
  readonly path: number;
  readonly radius: number;
  readonly radii: readonly number[];
}

export interface PlainFrame {
  readonly width: number;
  readonly height: number;
  readonly grey: ArrayLike<number>;
}

export interface PlainOptions {
  /** A unit vector. */
  readonly direction: { readonly x: number; readonly y: number };
  readonly flow: { readonly x: number; readonly y: number };
  readonly maxRadius: number;
  readonly maxRounds: number;
  readonly maxSnakeRounds: number;
  readonly snakeStep: number;
  readonly minMove: number;
}

/**
 * The result of tracking a cell in one frame. `window` is the rectangle of pixels that is searched, `field` has a value
 * for each of these pixels. `rounds` counts the iterations that compute the field, `snakeRounds` those of the snake.
 */
export interface PlainResult {
  readonly window: PlainWindow;
  readonly field: readonly number[];
  readonly rounds: number;
  readonly x: number;
  readonly y: number;
  readonly radius: number;
  readonly radii: readonly number[];
  readonly lost: boolean;
  readonly snakeRounds: number;
}

const f = Math.fround;
const SNAXELS = 20;

/**
 * Tracks a cell in a frame by plain loops over pixels and snaxels (the points of a snake). Every operation is rounded
 * to f32.
 */
export function trackByHand(frame: PlainFrame, cell: PlainCell, options: PlainOptions): PlainResult {
  const window = windowByHand(frame, cell, options);
  const image = imageByHand(frame, window);
  const { field, rounds } = flowByHand(image.values, window, options);
  const snake = snakeByHand(field, window, image.isFlat, cell, options);
  return { window, field, rounds, ...snake };
}

export interface PlainWindow {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

function windowByHand(
  frame: PlainFrame,
  { x, y, radius }: PlainCell,
  { direction, maxRadius }: PlainOptions,
): PlainWindow {
  const [along, across] = [16, 4];
  const sideX = Math.sqrt(along * direction.x ** 2 + across * direction.y ** 2);
  const sideY = Math.sqrt(along * direction.y ** 2 + across * direction.x ** 2);
  const used = f(Math.min(radius, f(maxRadius)));
  const sides = (centre: number, distance: number, size: number): [number, number] => [
    Math.trunc(Math.max(0, f(f(centre - distance) + 0.5))),
    Math.min(size - 1, Math.max(0, Math.trunc(f(f(centre + distance) + 0.5)))),
  ];
  const [left, right] = sides(x, f(used * f(sideX)), frame.width);
  const [top, bottom] = sides(y, f(used * f(sideY)), frame.height);
  const max = (side: number) => Math.ceil(2 * side * maxRadius) + 1;
  const exists = radius > 0 && x >= 0 && x <= frame.width - 1 && y >= 0 && y <= frame.height - 1;
  return exists
    ? { left, top, width: Math.min(right - left + 1, max(sideX)), height: Math.min(bottom - top + 1, max(sideY)) }
    : { left, top, width: 0, height: 0 };
}

type At = (x: number, y: number) => number;

function slopesByHand(at: At, x: number, y: number, width: number, height: number): [number, number] {
  const [left, right] = [Math.max(0, x - 1), Math.min(width - 1, x + 1)];
  const [above, below] = [Math.max(0, y - 1), Math.min(height - 1, y + 1)];
  const halved = (difference: number, places: number) => (places === 2 ? f(difference / 2) : difference);
  return [halved(f(at(right, y) - at(left, y)), right - left), halved(f(at(x, below) - at(x, above)), below - above)];
}

function imageByHand(frame: PlainFrame, { left, top, width, height }: PlainWindow) {
  const at: At = (x, y) => f(frame.grey[(y + top) * frame.width + x + left]!);
  const slopes = Array.from({ length: width * height }, (_, i) => {
    const [x, y] = slopesByHand(at, i % width, Math.floor(i / width), width, height);
    const square = f(f(x * x) + f(y * y));
    return square < Number.POSITIVE_INFINITY ? f(Math.sqrt(square)) : 0;
  });
  const [min, max] = [slopes.reduce((a, b) => Math.min(a, b), Infinity), slopes.reduce((a, b) => Math.max(a, b), 0)];
  const isFlat = !(max > min);
  const values = slopes.map((slope) => (isFlat ? 0 : roundEven(f(f(slope - min) / f(max - min)) * UNITS)));
  return { values, isFlat };
}

const SIDES: readonly (readonly [number, number])[] = [
  ...([[1, 0], [0, 1], [1, 1], [-1, 0], [0, -1], [-1, -1], [1, -1], [-1, 1]] as const), // biome-ignore format: one line
];

/** The value that represents 1 in images and fields, which range from 0 to 1. */
const UNITS = 2 ** 20;

/** Computes the field from the image of a window. Both consist of integers; weighted terms are rounded to integers. */
function flowByHand(image: readonly number[], { width, height }: PlainWindow, { flow, maxRounds }: PlainOptions) {
  let field = [...image];
  let rounds = 0;
  const length = Math.hypot(flow.x, flow.y);
  const weighted = (value: number, weight: number) => roundEven(f(f(value) * weight));
  while (rounds < maxRounds && image.length > 0) {
    let total = 0;
    const next = field.map((own, i) => {
      const [x, y] = [i % width, Math.floor(i / width)];
      const drawn = SIDES.map(([dx, dy]) => {
        const [nextX, nextY] = [Math.min(width - 1, Math.max(0, x + dx)), Math.min(height - 1, Math.max(0, y + dy))];
        const difference = field[nextY * width + nextX]! - own;
        const along = flow.x * dx + flow.y * dy;
        if (Math.abs(along) <= 1e-6 * length) return difference;
        return 2 * (along > 0 ? Math.max(0, difference) : Math.min(0, difference));
      });
      const doubled = drawn.reduce((a, b) => a + b);
      const h = own + weighted(doubled, f(0.05));
      const after = h - weighted(h - image[i]!, f(f(image[i]!) * f(0.2 / UNITS)));
      total += Math.abs(after - own);
      return after;
    });
    field = next;
    rounds++;
    if (total <= Math.trunc(f(image.length * f(1e-5 * 2 ** 20)))) break;
  }
  return { field, rounds };
}

const ANGLES = Array.from({ length: SNAXELS }, (_, k) => (k * 2 * Math.PI) / SNAXELS);
const RAYS = ANGLES.map((angle): [number, number] => [f(Math.cos(angle)), f(Math.sin(angle))]);
const SAMPLE = 2 ** 26;

function snakeByHand(
  field: readonly number[],
  { left, top, width, height }: PlainWindow,
  isFlat: boolean,
  cell: PlainCell,
  { direction, maxSnakeRounds, snakeStep, minMove }: PlainOptions,
) {
  const at: At = (x, y) => field[y * width + x] ?? 0;
  const normals = field.map((_, i) => {
    const [x, y] = slopesByHand(at, i % width, Math.floor(i / width), width, height);
    const size = f(Math.sqrt(f(f(x * x) + f(y * y))));
    return size > 0 ? [f(x / size), f(y / size)] : [0, 0];
  });
  /** Samples the field and the x and y of its normal at a point, as integers. Undefined outside of the window. */
  const seenAt = (x: number, y: number): [number, number, number] | undefined => {
    const inside = !isFlat && width >= 2 && height >= 2 && x >= 0 && x <= width - 1 && y >= 0 && y <= height - 1;
    if (!inside) return undefined;
    const [column, row] = [Math.min(width - 2, Math.trunc(x)), Math.min(height - 2, Math.trunc(y))];
    const [a, b] = [f(x - column), f(y - row)];
    const corners = [
      [0, 0, f(f(1 - a) * f(1 - b))],
      [1, 0, f(a * f(1 - b))],
      [0, 1, f(f(1 - a) * b)],
      [1, 1, f(a * b)],
    ] as const;
    const sum = (of: (place: number) => number, scale: number): number => {
      const parts = corners.map(([dx, dy, weight]) => f(of((row + dy) * width + column + dx) * weight));
      return roundEven(f(parts.reduce((x, y) => f(x + y)) * scale));
    };
    return [
      sum((i) => field[i]!, SAMPLE / UNITS),
      sum((i) => normals[i]![0]!, SAMPLE),
      sum((i) => normals[i]![1]!, SAMPLE),
    ];
  };
  const [acrossX, acrossY] = [f(-direction.y), f(direction.x)];
  const share = (weight: number) => f((snakeStep * weight) / (1 + snakeStep * weight));
  const step = f(snakeStep);
  let [x, y] = [f(cell.x - left), f(cell.y - top)];
  const path = f(cell.path - f(f(acrossX * left) + f(acrossY * top)));
  let radii = [...cell.radii];
  let rounds = 0;
  let lost = false;
  while (rounds < maxSnakeRounds) {
    const points = radii.map((radius, k) => [f(x + f(radius * RAYS[k]![0])), f(y + f(radius * RAYS[k]![1]))] as const);
    const seen = points.map(([x, y]) => seenAt(x, y));
    rounds++;
    const pieces = points.map(([x, y], k) => {
      const [nextX, nextY] = points[(k + 1) % SNAXELS]!;
      const [dx, dy] = [f(nextX - x), f(nextY - y)];
      return roundEven(f(Math.min(1000, f(Math.sqrt(f(f(dx * dx) + f(dy * dy))))) * 2 ** 16));
    });
    const length = f(f(pieces.reduce((a, b) => a + b)) * 2 ** -16);
    if (seen.some((each) => each === undefined) || length === 0) break;
    const mean = (part: 0 | 1 | 2) => f(f(f(seen.reduce((sum, each) => sum + each![part], 0)) / SAMPLE) / length);
    const [movedX, movedY] = [f(x + f(mean(1) * step)), f(y + f(mean(2) * step))];
    const pull = f(f(path - f(f(movedX * acrossX) + f(movedY * acrossY))) * share(0.05));
    const [toX, toY] = [f(movedX + f(acrossX * pull)), f(movedY + f(acrossY * pull))];
    const next = radii.map((radius, k) => {
      const [value, slopeX, slopeY] = seen[k]!.map((part) => f(f(part) / SAMPLE)) as [number, number, number];
      const [alongX, alongY] = [f(radius * RAYS[k]![0]), f(radius * RAYS[k]![1])];
      const all = f(f(value + f(slopeX * alongX)) + f(slopeY * alongY));
      const moved = f(radius + f(f(f(all - mean(0)) / length) * step));
      return f(moved + f(f(cell.radius - moved) * share(0.2)));
    });
    const centre = f(f(Math.abs(f(toX - x))) + f(Math.abs(f(toY - y))));
    const moves = next.map((radius, k) => {
      const move = f(f(Math.abs(f(radius - radii[k]!))) + f(centre * f(1 / SNAXELS)));
      return roundEven(f(Math.min(50, move) * 2 ** 18));
    });
    [x, y, radii] = [toX, toY, next];
    if (moves.reduce((a, b) => a + b) <= Math.floor(minMove * 2 ** 18)) break;
  }
  lost = radii.some(
    (radius, k) => seenAt(f(x + f(radius * RAYS[k]![0])), f(y + f(radius * RAYS[k]![1]))) === undefined,
  );
  const radius = f(radii.reduce((sum, each) => f(sum + each), 0) * f(1 / SNAXELS));
  return { x: f(x + left), y: f(y + top), radius, radii, lost, snakeRounds: rounds };
}
