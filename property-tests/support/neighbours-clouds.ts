import { fc } from '../law-test.ts';

const NORMAL = 2 ** -126;
/** The largest f32. */
export const LARGEST: number = (2 - 2 ** -23) * 2 ** 127;

/** f32 of all magnitudes, of a few near each other, on a lattice, subnormal, or not finite. */
const coordinate = (kind: number) =>
  [
    fc.tuple(fc.integer({ min: -9, max: 9 }), fc.integer({ min: -126, max: 124 })).map(([x, e]) => x * 2 ** e),
    fc.float({ noNaN: true, min: -1, max: 1 }),
    fc.integer({ min: -3, max: 3 }),
    fc.tuple(fc.float({ noNaN: true, min: 1, max: 2 }), fc.integer({ min: -4, max: 4 })).map(([x, e]) => x * 2 ** e),
    fc.oneof(fc.float(), fc.constantFrom(LARGEST, -LARGEST, NORMAL, -NORMAL, NORMAL / 2, NORMAL * 1.5)),
    fc.integer({ min: -6, max: 6 }).map((x) => x * 1e-20),
  ][kind]!.map(Math.fround);

/** Clouds of points at all scales, in one dimension or more. */
export const clouds: fc.Arbitrary<{ dimensions: number; count: number; elements: Float32Array }> = fc
  .tuple(fc.constantFrom(1, 2, 3, 3, 2, 5, 40), fc.nat(5), fc.integer({ min: 1, max: 30 }))
  .chain(([dimensions, kind, count]) =>
    fc
      .array(coordinate(kind), { minLength: count * dimensions, maxLength: count * dimensions })
      .map((elements) => ({ dimensions, count, elements: Float32Array.from(elements) })),
  );

/** A number, or 0 if it is below the normal numbers of f32. */
export function withoutSubnormals(x: number): number {
  return Math.abs(x) < NORMAL ? 0 : x;
}
