import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HOVER, INSIDE, OUTSIDE, positionFunctors } from '../../../algorithms/pixelbox/box-position.ts';
import { uploadPolygonEdges } from '../../../algorithms/pixelbox/polygon-edges.ts';
import { type Context, constant, map, u32 } from '../../../primitives/index.ts';
import { onEveryBackend } from '../../backends.ts';
import {
  anyRings,
  edgesOf,
  gridPolygonsOf,
  holdsPixel,
  type Rings,
  rectilinearRings,
  type Vertex,
} from './pixelbox-support.ts';

interface Box {
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
  readonly top: number;
}

const LIMIT = 2 ** 30;

/**
 * Whether a segment has a point strictly inside a box. The segment has such a point if some open interval of it is on
 * the inner side of all four sides of the box.
 */
function entersBox([[ax, ay], [bx, by]]: [Vertex, Vertex], { left, bottom, right, top }: Box): boolean {
  // For each side of the box, one number for the start of the segment and one for the end. A number is positive if this
  // end point is on the inner side.
  const sides = [
    [ax - left, bx - left],
    [right - ax, right - bx],
    [ay - bottom, by - bottom],
    [top - ay, top - by],
  ].map(([start, end]) => [BigInt(start!), BigInt(end!)] as const);
  if (sides.some(([start, end]) => start <= 0n && end <= 0n)) return false;
  // For every side that the segment crosses, the fraction of the segment's length at which it crosses to the inner side
  // (`enters`) or to the outer side (`leaves`), as numerator and denominator.
  const enters = sides.filter(([start]) => start <= 0n).map(([start, end]) => [-start, end - start] as const);
  const leaves = sides.filter(([, end]) => end <= 0n).map(([start, end]) => [start, start - end] as const);
  return enters.every(([n, d]) => leaves.every(([m, e]) => n * e < m * d));
}

async function positionsOf(
  context: Context,
  rings: Rings,
  boxes: readonly Box[],
  rectilinear: boolean,
): Promise<number[]> {
  const { words } = uploadPolygonEdges(context, gridPolygonsOf([rings]));
  const side = (name: keyof Box) => context.column(Int32Array.from(boxes, (box) => box[name]));
  const columns = { left: side('left'), bottom: side('bottom'), right: side('right'), top: side('top') };
  const polygon = constant(u32, 0, boxes.length);
  const found = await context.read(map(positionFunctors(rectilinear).boxPosition, { polygon, ...columns, words }));
  context.dispose(words, columns);
  return [...found];
}

async function pixelsOf(
  context: Context,
  rings: Rings,
  pixels: readonly Vertex[],
  rectilinear: boolean,
): Promise<boolean[]> {
  const { words } = uploadPolygonEdges(context, gridPolygonsOf([rings]));
  const [x, y] = [0, 1].map((axis) => context.column(Int32Array.from(pixels, (pixel) => pixel[axis as 0 | 1])));
  const polygon = constant(u32, 0, pixels.length);
  const found = await context.read(map(positionFunctors(rectilinear).pixelInPolygon, { polygon, x: x!, y: y!, words }));
  context.dispose(words, x, y);
  return Array.from(found, Boolean);
}

/** Every box with corners from −size to size. */
function everyBox(size: number): Box[] {
  const ends = Array.from({ length: 2 * size + 1 }, (_, i) => i - size);
  const spans = ends.flatMap((low) => ends.filter((high) => high > low).map((high) => [low, high] as const));
  return spans.flatMap(([left, right]) => spans.map(([bottom, top]) => ({ left, bottom, right, top })));
}

function pixelsIn({ left, bottom, right, top }: Box): Vertex[] {
  return Array.from(
    { length: (right - left) * (top - bottom) },
    (_, i): Vertex => [left + (i % (right - left)), bottom + Math.floor(i / (right - left))],
  );
}

function differences<T>(boxes: readonly T[], found: readonly unknown[], expected: readonly unknown[]): unknown[] {
  return boxes.flatMap((box, i) => (found[i] === expected[i] ? [] : [{ box, found: found[i], expected: expected[i] }]));
}

const ALL_BOXES = everyBox(4);
const kinds = [
  { kind: 'rectilinear', rectilinear: true, rings: rectilinearRings(4) },
  { kind: 'rectilinear, by the tests for any', rectilinear: false, rings: rectilinearRings(4) },
  { kind: 'any', rectilinear: false, rings: anyRings(5) },
];

describe.each(kinds)('polygons: $kind', ({ rectilinear, rings }) => {
  onEveryBackend((opened, { runs }) => {
    test('a box hovers exactly when an edge enters it; otherwise all of its pixels are inside or all outside', async () => {
      await fc.assert(
        fc.asyncProperty(rings, async (polygon) => {
          const found = await positionsOf(opened().context, polygon, ALL_BOXES, rectilinear);
          const inside = new Map(
            pixelsIn(ALL_BOXES.find((box) => box.right - box.left === 8 && box.top - box.bottom === 8)!).map(
              ([x, y]) => [`${x} ${y}`, holdsPixel(polygon, x, y)],
            ),
          );
          const expected = ALL_BOXES.map((box) => {
            if (edgesOf(polygon).some((edge) => entersBox(edge, box))) return HOVER;
            const answers = new Set(pixelsIn(box).map(([x, y]) => inside.get(`${x} ${y}`)));
            return answers.size > 1 ? 'not one' : answers.has(true) ? INSIDE : OUTSIDE;
          });
          expect(differences(ALL_BOXES, found, expected)).toEqual([]);
        }),
        { numRuns: runs },
      );
    }, 120_000);
  });
});

/** Coordinates near their limits, near 0, and anywhere. */
const far = fc.oneof(
  fc.integer({ min: -LIMIT, max: LIMIT }),
  fc.integer({ min: 0, max: 3 }).chain((from) => fc.constantFrom(LIMIT - from, -LIMIT + from, from, -from)),
);
const farVertex = fc.tuple(far, far);
const farBox = fc
  .tuple(far, far, far, far)
  .filter(([a, b, c, d]) => a !== c && b !== d)
  .map(
    ([a, b, c, d]): Box => ({
      left: Math.min(a, c),
      right: Math.max(a, c),
      bottom: Math.min(b, d),
      top: Math.max(b, d),
    }),
  );

describe('coordinates up to ±2^30', () => {
  onEveryBackend((opened, { runs }) => {
    const polygon = fc.array(fc.array(farVertex, { minLength: 2, maxLength: 6 }), { minLength: 1, maxLength: 2 });
    test('a box hovers exactly when an edge enters it; otherwise its position is that of its middle pixel', async () => {
      await fc.assert(
        fc.asyncProperty(polygon, fc.array(farBox, { minLength: 1, maxLength: 40 }), async (rings, boxes) => {
          const found = await positionsOf(opened().context, rings, boxes, false);
          const middle = (low: number, high: number): number => low + Math.floor((high - low) / 2);
          const expected = boxes.map((box) => {
            if (edgesOf(rings).some((edge) => entersBox(edge, box))) return HOVER;
            return holdsPixel(rings, middle(box.left, box.right), middle(box.bottom, box.top)) ? INSIDE : OUTSIDE;
          });
          expect(found).toEqual(expected);
        }),
        { numRuns: runs * 4 },
      );
    }, 120_000);
    test('the position of a pixel equals the even-odd rule in exact integers', async () => {
      const pixels = fc.array(farVertex, { minLength: 1, maxLength: 60 });
      // Pixels next to an edge. For such pixels, the sign of a cross product decides.
      const beside = fc.tuple(
        farVertex,
        farVertex,
        fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: -2, max: 2 })), {
          minLength: 1,
          maxLength: 40,
        }),
      );
      await fc.assert(
        fc.asyncProperty(polygon, pixels, beside, async (rings, some, [from, to, steps]) => {
          const all = [...rings, [from, to, [0, 7] as const]];
          const near = steps.map(
            ([way, off]): Vertex => [
              Math.max(-LIMIT, Math.min(LIMIT - 1, Math.floor(from[0] + (to[0] - from[0]) * way) + off)),
              Math.max(-LIMIT, Math.min(LIMIT - 1, Math.floor(from[1] + (to[1] - from[1]) * way))),
            ],
          );
          const tested = [...some.map(([x, y]): Vertex => [Math.min(x, LIMIT - 1), Math.min(y, LIMIT - 1)]), ...near];
          const found = await pixelsOf(opened().context, all, tested, false);
          expect(found).toEqual(tested.map(([x, y]) => holdsPixel(all, x, y)));
        }),
        { numRuns: runs * 4 },
      );
    }, 120_000);
  });
});
