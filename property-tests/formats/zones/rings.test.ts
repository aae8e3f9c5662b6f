import { describe, expect } from 'vitest';
import { isFlat } from '../../../formats/polygons/rings.ts';
import { fc, test } from '../../law-test.ts';

type Vertex = readonly [x: number, y: number];

const column = (ring: readonly Vertex[], axis: 0 | 1): Float64Array =>
  Float64Array.from(ring, (vertex) => vertex[axis]);

const flat = (ring: readonly Vertex[]): boolean =>
  isFlat({ x: column(ring, 0), y: column(ring, 1), length: ring.length }, 0);

/**
 * Whether a ring is flat by definition: up to rounding errors, all vertices are on the line from the first vertex to
 * the vertex farthest from it.
 */
function isFlatByDefinition(ring: readonly Vertex[]): boolean {
  const [first] = ring;
  const offsets = ring.map(([x, y]) => [x - first![0], y - first![1]] as const);
  const length = ([x, y]: Vertex): number => Math.abs(x) + Math.abs(y);
  const [alongX, alongY] = offsets.reduce((far, each) => (length(each) > length(far) ? each : far));
  return offsets.every(([x, y]) => Math.abs(alongX * y - alongY * x) <= 2 ** -40 * Math.abs(alongX * alongY));
}

const coordinate = fc.oneof(
  fc.integer({ min: -4, max: 4 }),
  fc.double({ min: -1e9, max: 1e9, noNaN: true }),
  fc.constantFrom(2 ** 39, 2 ** 40, 2 ** 41, 2 ** -40, 2 ** 42),
);
const anyRing = fc.array(fc.tuple(coordinate, coordinate), { minLength: 3, maxLength: 8 });

/** Rings that start with a horizontal and a vertical edge, in either order. */
const squareRing = fc
  .tuple(coordinate, coordinate, coordinate, coordinate, fc.boolean(), anyRing)
  .map(([x, y, width, height, levelFirst, rest]): Vertex[] => [
    [x, y],
    levelFirst ? [x + width, y] : [x, y + height],
    [x + width, y + height],
    ...rest,
  ]);

describe('rings count as flat', () => {
  test.prop([fc.oneof(anyRing, squareRing)])('exactly when the definition says so, for any first vertices', (ring) => {
    expect(flat(ring)).toBe(isFlatByDefinition(ring));
  });

  test('despite a square corner when the rest is so far away that only rounding remains', () => {
    const ring: Vertex[] = [
      [0, 0],
      [1, 0],
      [1, 1],
      [2 ** 42, 2 ** 42],
    ];
    expect(flat(ring)).toBe(true);
    expect(flat(ring.slice(0, 3))).toBe(false);
  });
});
