import { describe, expect } from 'vitest';
import { orientation32, orientation64 } from '../../../primitives/functors/standard/orientation.ts';
import {
  crossesRightOf32,
  crossesRightOf64,
  edgeMeetsRow32,
  edgeMeetsRow64,
  segmentsIntersect32,
  segmentsIntersect64,
} from '../../../primitives/functors/standard/segments.ts';
import { coordinate32, ofSigned } from '../../arbitraries/integers.ts';
import { fc, test } from '../../law-test.ts';
import { interpretFunctor } from '../../support/ir-interpreter.ts';

interface Point {
  readonly x: bigint;
  readonly y: bigint;
}

/** Points whose coordinates fit in 32 bits, as bigints. */
const point32 = fc.record({ x: coordinate32, y: coordinate32 }).map(({ x, y }) => ({ x: BigInt(x), y: BigInt(y) }));
const coordinate64 = fc.oneof(
  coordinate32.map(BigInt),
  fc.bigInt({ min: -(2n ** 62n - 1n), max: 2n ** 62n - 1n }),
  fc.constantFrom(2n ** 62n - 1n, -(2n ** 62n - 1n), 2n ** 32n, -(2n ** 32n), 2n ** 31n),
);
const point64 = fc.record({ x: coordinate64, y: coordinate64 });

const narrow = ({ x, y }: Point) => ({ x: Number(x), y: Number(y) });
const words = ({ x, y }: Point) => ({ x: ofSigned(x), y: ofSigned(y) });

function orientation(a: Point, b: Point, c: Point): number {
  const determinant = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
  return determinant > 0n ? 1 : determinant < 0n ? -1 : 0;
}

const meetsRow = (from: bigint, to: bigint, y: bigint): boolean => (from <= y && y < to) || (to <= y && y < from);

/**
 * Whether the edge crosses the horizontal line through the point, to the right of the point. The arithmetic is exact.
 */
function crossesRight(from: Point, to: Point, point: Point): boolean {
  if (!meetsRow(from.y, to.y, point.y)) return false;
  const [low, high] = from.y < to.y ? [from, to] : [to, from];
  return (point.x - low.x) * (high.y - low.y) < (high.x - low.x) * (point.y - low.y);
}

const between = (a: bigint, x: bigint, b: bigint): boolean => (a <= x && x <= b) || (b <= x && x <= a);
const onSegment = (a: Point, b: Point, p: Point): boolean =>
  orientation(a, b, p) === 0 && between(a.x, p.x, b.x) && between(a.y, p.y, b.y);

function intersect(a: Point, b: Point, c: Point, d: Point): boolean {
  const proper = orientation(a, b, c) * orientation(a, b, d) < 0 && orientation(c, d, a) * orientation(c, d, b) < 0;
  return proper || onSegment(a, b, c) || onSegment(a, b, d) || onSegment(c, d, a) || onSegment(c, d, b);
}

describe.each([
  { width: 32, point: point32, form: narrow, functors: [orientation32, crossesRightOf32, segmentsIntersect32] },
  { width: 64, point: point64, form: words, functors: [orientation64, crossesRightOf64, segmentsIntersect64] },
])('with coordinates of $width bits', ({ point, form, functors }) => {
  // The functors of both widths have the same parameters. Only the shape of a point differs, which `form` converts.
  const [orient, crosses, meet] = functors as unknown as [
    typeof orientation32,
    typeof crossesRightOf32,
    typeof segmentsIntersect32,
  ];
  const at = (p: Point) => form(p) as ReturnType<typeof narrow>;
  const collinear = fc
    .tuple(point, fc.bigInt({ min: -3n, max: 3n }), fc.bigInt({ min: -3n, max: 3n }))
    .map(
      ([p, i, j]) =>
        [p, { x: p.x / 4n + i * 7n, y: p.y / 4n + i * 5n }, { x: p.x / 4n + j * 7n, y: p.y / 4n + j * 5n }] as const,
    );
  const triple = fc.oneof(fc.tuple(point, point, point), collinear);

  test.prop([triple])('orientation is the sign of the determinant', ([a, b, c]) => {
    expect(interpretFunctor(orient, { a: at(a), b: at(b), c: at(c) })).toBe(orientation(a, b, c));
  });

  test.prop([triple])('orientation changes sign when two points are swapped', ([a, b, c]) => {
    const sign = interpretFunctor(orient, { a: at(a), b: at(b), c: at(c) });
    expect(interpretFunctor(orient, { a: at(b), b: at(a), c: at(c) }) + sign).toBe(0);
    expect(interpretFunctor(orient, { a: at(b), b: at(c), c: at(a) })).toBe(sign);
  });

  test.prop([triple])('edges cross the row to the right of a point by the half-open rule', ([from, to, p]) => {
    const args = { from: at(from), to: at(to), point: at(p) };
    expect(interpretFunctor(crosses, args)).toBe(crossesRight(from, to, p));
    expect(interpretFunctor(crosses, { ...args, from: args.to, to: args.from })).toBe(crossesRight(from, to, p));
  });

  test.prop([triple, point])('closed segments intersect when they have a point in common', ([a, b, c], d) => {
    const args = { a: at(a), b: at(b), c: at(c), d: at(d) };
    expect(interpretFunctor(meet, args)).toBe(intersect(a, b, c, d));
    expect(interpretFunctor(meet, { a: args.b, b: args.a, c: args.c, d: args.d })).toBe(intersect(a, b, c, d));
    expect(interpretFunctor(meet, { a: args.c, b: args.d, c: args.a, d: args.b })).toBe(intersect(a, b, c, d));
  });

  test.prop([triple])('a segment intersects itself and every segment from one of its ends', ([a, b, c]) => {
    expect(interpretFunctor(meet, { a: at(a), b: at(b), c: at(b), d: at(c) })).toBe(true);
    expect(interpretFunctor(meet, { a: at(a), b: at(b), c: at(a), d: at(a) })).toBe(true);
  });
});

describe('edges', () => {
  test.prop([point64, point64, point64])(
    'intersect a row when one end is at or below it and the other above',
    (a, b, c) => {
      const args = { fromY: ofSigned(a.y), toY: ofSigned(b.y), y: ofSigned(c.y) };
      expect(interpretFunctor(edgeMeetsRow64, args)).toBe(meetsRow(a.y, b.y, c.y));
    },
  );

  test.prop([coordinate32, coordinate32, coordinate32])(
    'of 32 bits intersect a row by the same rule',
    (fromY, toY, y) => {
      const expected = meetsRow(BigInt(fromY), BigInt(toY), BigInt(y));
      expect(interpretFunctor(edgeMeetsRow32, { fromY, toY, y })).toBe(expected);
      expect(interpretFunctor(edgeMeetsRow32, { fromY: y, toY, y })).toBe(toY > y);
    },
  );
});

describe('orientation at its limits', () => {
  const limit = 2 ** 30;
  test('distinguishes one unit at the far corners of the 32-bit grid', () => {
    const [a, b] = [
      { x: -limit, y: -limit },
      { x: limit - 1, y: limit - 1 },
    ];
    const sign = (c: { x: number; y: number }): number => interpretFunctor(orientation32, { a, b, c });
    expect([sign({ x: limit - 2, y: limit - 1 }), sign({ x: 0, y: 0 }), sign({ x: limit - 1, y: limit - 2 })]).toEqual([
      1, 0, -1,
    ]);
  });

  test('distinguishes one unit where the products are largest', () => {
    const a = { x: -(2 ** 30), y: -(2 ** 30) };
    const span = 2 ** 31 - 1;
    const b = { x: a.x + span, y: a.y + span - 1 };
    const c = { x: a.x + span - 1, y: a.y + span };
    expect(interpretFunctor(orientation32, { a, b, c })).toBe(1);
    expect(interpretFunctor(orientation32, { a, b: c, c: b })).toBe(-1);
  });

  test('distinguishes one unit at the far corners of the 64-bit grid', () => {
    const far = 2n ** 62n - 1n;
    const a = words({ x: -far, y: -far });
    const b = words({ x: far, y: far });
    const sign = (x: bigint, y: bigint): number => interpretFunctor(orientation64, { a, b, c: words({ x, y }) });
    expect([sign(far - 1n, far), sign(0n, 0n), sign(far, far - 1n)]).toEqual([1, 0, -1]);
  });
});

describe('the half-open rule', () => {
  test.prop([
    fc.uniqueArray(fc.integer({ min: -3, max: 3 }), { minLength: 2, maxLength: 2 }),
    fc.integer({ min: -4, max: 4 }),
    fc.integer({ min: -4, max: 4 }),
  ])(
    'puts points on left and bottom edges of a rectangle inside, and on right and top edges outside',
    (corners, x, y) => {
      const [low, high] = corners.sort((p, q) => p - q) as [number, number];
      const ring = [
        { x: low, y: low },
        { x: high, y: low },
        { x: high, y: high },
        { x: low, y: high },
      ];
      const crossings = ring.filter((from, i) =>
        interpretFunctor(crossesRightOf32, { from, to: ring[(i + 1) % 4]!, point: { x, y } }),
      );
      expect(crossings.length % 2 === 1).toBe(low <= x && x < high && low <= y && y < high);
    },
  );
});
