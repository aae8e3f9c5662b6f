import fc from 'fast-check';
import { crossReduce } from '../../primitives/cross-reduce.ts';
import { f32, fn, i32, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { copyIf } from '../../primitives/index.ts';
import { maximum, minimum, monoid, plus } from '../../primitives/monoid.ts';
import { present, presentation } from '../arbitraries/presentations.ts';
import { assertSame } from './compare.ts';
import { type Law, law } from './law.ts';

/**
 * Numbers of rows of the left or right table. They cover no rows, one row, several lanes, several tiles, and more than
 * one run (consecutive rows that are reduced together).
 */
const rows = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 13 }), weight: 6 },
  { arbitrary: fc.constantFrom(16, 17, 31, 33, 63, 64, 65, 130, 260), weight: 4 },
);
const dimensions = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constantFrom(16, 17, 33));
const runs = fc.constantFrom(undefined, 1, 3, 8, 32, 100);

/** Pseudorandom integers below `max`; equal seeds give equal numbers. */
function numbers(length: number, seed: number, max: number): number[] {
  let state = seed >>> 0;
  return Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % max;
  });
}

/**
 * For each row of the left table, combines the values of its pairs with each run (consecutive rows) of the right table.
 * Row r · left + i of the result belongs to run r and left row i. Without `run`, each left row has one result, which
 * combines all runs.
 */
function folded<T>(
  [left, right]: readonly [number, number],
  run: number | undefined,
  value: (i: number, j: number) => T,
  identity: T,
  combine: (a: T, b: T) => T,
): T[] {
  const size = run ?? 1024;
  const parts = Array.from({ length: Math.ceil(right / size) }, (_, r) =>
    Array.from({ length: left }, (_, i) => {
      let sum = identity;
      for (let j = r * size; j < Math.min(right, r * size + size); j++) sum = combine(sum, value(i, j));
      return sum;
    }),
  );
  if (run !== undefined) return parts.flat();
  if (parts.length === 1) return parts[0]!;
  return Array.from({ length: left }, (_, i) => parts.reduce((sum, part) => combine(sum, part[i]!), identity));
}

const { fround } = Math;

export const crossReduceLaws: readonly Law[] = [
  law(
    'crossReduce of vectors rounds f32 in the order of their elements, and a nearest-neighbour monoid keeps the first',
    [rows, rows, dimensions, runs, presentation, fc.nat(2 ** 20)],
    async (run, left, right, dimensions, size, how, seed) => {
      const a = Float32Array.from(numbers(left * dimensions, seed, 4096), (value) => value / 97);
      const b = Float32Array.from(numbers(right * dimensions, seed + 1, 4096), (value) => value / 89);
      const nearest = monoid({
        of: { distance: f32, id: u32 },
        identity: { distance: Number.POSITIVE_INFINITY, id: 2 ** 32 - 1 },
        combine: ({ a, b }) => select(a, b, b.distance.lt(a.distance)),
        exact: true,
      });
      const step = fn({ sum: f32, a: f32, b: f32 }, f32, ({ sum, a, b }) => sum.add(a.sub(b).mul(a.sub(b))));
      const value = fn({ sum: f32, id: u32 }, { distance: f32, id: u32 }, ({ sum, id }) => ({ distance: sum, id }));
      const result = await run((context) => {
        // With `size`, the positions of results depend on the capacity of the left column. So this capacity must equal
        // the number of left rows.
        const elements = present(context, { a }, size === undefined ? how : 'slice');
        const id = Uint32Array.from({ length: right }, (_, j) => j);
        return crossReduce(
          { a: { elements: elements.a, dimensions } },
          { b: { elements: context.column(b), dimensions }, id: context.column(id) },
          { start: 0, step, value },
          nearest,
          { run: size },
        );
      });
      const distance = (i: number, j: number): number => {
        let sum = 0;
        for (let d = 0; d < dimensions; d++) {
          const between = fround(a[i * dimensions + d]! - b[j * dimensions + d]!);
          sum = fround(sum + fround(between * between));
        }
        return sum;
      };
      const none = { distance: Number.POSITIVE_INFINITY, id: 2 ** 32 - 1 };
      const expected = folded(
        [left, right],
        size,
        (i, j) => ({ distance: distance(i, j), id: j }),
        none,
        (x, y) => (y.distance < x.distance ? y : x),
      );
      assertSame(result, {
        distance: Float32Array.from(expected, ({ distance }) => distance),
        id: Uint32Array.from(expected, ({ id }) => id),
      });
    },
  ),
  law(
    'crossReduce of vectors and columns of both sides gives the maximum of each run, within tiles and across them',
    [
      fc.oneof(rows, fc.constantFrom(127, 128, 129, 260)),
      fc.oneof(rows, fc.constantFrom(127, 128, 129, 260)),
      fc.oneof(dimensions, fc.constantFrom(4, 12, 20, 32)),
      fc.constantFrom(undefined, 8, 16, 20, 64, 127, 128, 130, 256),
      presentation,
      fc.nat(2 ** 20),
    ],
    async (run, left, right, dimensions, size, how, seed) => {
      const a = Float32Array.from(numbers(left * dimensions, seed, 4096), (value) => value / 97);
      const b = Float32Array.from(numbers(right * dimensions, seed + 1, 4096), (value) => value / 89);
      const [from, to] = [numbers(left, seed + 2, 1000), numbers(right, seed + 3, 1000)];
      const step = fn({ sum: f32, a: f32, b: f32 }, f32, ({ sum, a, b }) => sum.add(a.mul(b)));
      const value = fn({ sum: f32, from: u32, to: u32 }, u32, ({ sum, from, to }) => u32(sum).add(from).xor(to));
      const result = await run((context) => {
        const elements = present(context, { a }, size === undefined ? how : 'slice');
        return crossReduce(
          { a: { elements: elements.a, dimensions }, from: context.column(Uint32Array.from(from)) },
          { b: { elements: context.column(b), dimensions }, to: context.column(Uint32Array.from(to)) },
          { start: 1.5, step, value },
          maximum(u32),
          { run: size },
        );
      });
      const worth = (i: number, j: number): number => {
        let sum = 1.5;
        for (let d = 0; d < dimensions; d++) {
          sum = fround(sum + fround(a[i * dimensions + d]! * b[j * dimensions + d]!));
        }
        return ((Math.trunc(sum) + from[i]!) ^ to[j]!) >>> 0;
      };
      assertSame(result, Uint32Array.from(folded([left, right], size, worth, 0, Math.max)));
    },
  ),
  law(
    'crossReduce of vectors with device counts uses only the rows there are, and gives the identity for none',
    [
      fc.constantFrom(64, 127, 129, 200),
      fc.constantFrom(64, 128, 130, 300),
      fc.constantFrom(4, 5, 12, 16),
      fc.constantFrom(undefined, 8, 16, 64, 128, 130, 256),
      fc.tuple(fc.constantFrom(1, 2, 65, 300), fc.constantFrom(1, 2, 65, 300)),
      fc.nat(2 ** 20),
    ],
    async (run, left, right, dimensions, size, [eachLeft, eachRight], seed) => {
      const sideOf = (rows: number, each: number, from: number) => {
        const kept = Array.from({ length: rows }, (_, row) => row % each === each - 1);
        const elements = Float32Array.from(numbers(rows * dimensions, seed + from, 64), (value) => value - 32);
        const own = Uint32Array.from(numbers(rows, seed + from + 1, 1000));
        return { kept, elements, own, numbers: [...kept.keys()].filter((row) => kept[row]) };
      };
      const [a, b] = [sideOf(left, eachLeft, 0), sideOf(right, eachRight, 2)];
      // All elements are small integers, so the sum of their products is exact in any order.
      const step = fn('step', { sum: f32, a: f32, b: f32 }, f32, ({ sum, a, b }) => sum.add(a.mul(b)), {
        fast: true,
      });
      const value = fn({ sum: f32, from: u32, to: u32 }, u32, ({ sum, from, to }) => u32(sum.abs()).add(from).xor(to));
      const result = await run((context) => {
        const chosen = ({ kept, elements, own }: typeof a) => {
          const ofElements = kept.flatMap((is) => Array.from({ length: dimensions }, () => is));
          return {
            elements: copyIf(context.column(elements), context.column(ofElements)),
            own: copyIf(context.column(own), context.column(kept)),
          };
        };
        const [x, y] = [chosen(a), chosen(b)];
        return crossReduce(
          { a: { elements: x.elements, dimensions }, from: x.own },
          { b: { elements: y.elements, dimensions }, to: y.own },
          { start: 0, step, value },
          minimum(u32),
          { run: size },
        );
      });
      const worth = (i: number, j: number): number => {
        const [x, y] = [a.numbers[i]!, b.numbers[j]!];
        let sum = 0;
        for (let d = 0; d < dimensions; d++) sum += a.elements[x * dimensions + d]! * b.elements[y * dimensions + d]!;
        return ((Math.abs(sum) + a.own[x]!) ^ b.own[y]!) >>> 0;
      };
      const none = 2 ** 32 - 1;
      const runs = size === undefined ? 1 : Math.ceil(right / size);
      const rows = size === undefined ? a.numbers.length : left;
      const expected = Array.from({ length: runs * rows }, (_, at) => {
        const [r, i] = [Math.floor(at / Math.max(1, rows)), at % Math.max(1, rows)];
        if (i >= a.numbers.length) return none;
        const last = Math.min(b.numbers.length, size === undefined ? right : (r + 1) * size);
        let min = none;
        for (let j = r * (size ?? 0); j < last; j++) min = Math.min(min, worth(i, j));
        return min;
      });
      assertSame(result, Uint32Array.from(expected));
    },
  ),
  law(
    'crossReduce folds columns of both sides in the order of the right rows',
    [rows, rows, runs, fc.nat(2 ** 20), fc.integer({ min: 1, max: 9 })],
    async (run, left, right, size, seed, by) => {
      const [m, c] = [numbers(left, seed, 7), numbers(right, seed + 1, 100)];
      const affine = monoid({
        of: { m: u32, c: u32 },
        identity: { m: 1, c: 0 },
        combine: ({ a, b }) => ({ m: a.m.mul(b.m), c: b.m.mul(a.c).add(b.c) }),
      });
      const pair = fn({ m: u32, c: u32, by: uniform(u32) }, { m: u32, c: u32 }, ({ m, c, by }) => ({
        m: m.add(by),
        c: c.xor(m),
      }));
      const result = await run((context) =>
        crossReduce(
          { m: context.column(Uint32Array.from(m)) },
          { c: context.column(Uint32Array.from(c)) },
          pair,
          affine,
          {
            run: size,
            captures: { by },
          },
        ),
      );
      const expected = folded(
        [left, right],
        size,
        (i, j) => ({ m: m[i]! + by, c: (c[j]! ^ m[i]!) >>> 0 }),
        { m: 1, c: 0 },
        (a, b) => ({ m: Math.imul(a.m, b.m) >>> 0, c: (Math.imul(b.m, a.c) + b.c) >>> 0 }),
      );
      assertSame(result, {
        m: Uint32Array.from(expected, ({ m }) => m),
        c: Uint32Array.from(expected, ({ c }) => c),
      });
    },
  ),
  law(
    'crossReduce sums f32 to the same bytes on every backend, and keeps several integer sums per pair',
    [rows, rows, dimensions, runs, fc.nat(2 ** 20)],
    async (run, left, right, dimensions, size, seed) => {
      const a = Int32Array.from(numbers(left * dimensions, seed, 2001), (value) => value - 1000);
      const b = Int32Array.from(numbers(right * dimensions, seed + 1, 2001), (value) => value - 1000);
      const weight = Float32Array.from(numbers(right, seed + 2, 1000), (value) => value / 7);
      const sums = { min: i32, dot: i32 } as const;
      const step = fn({ sum: sums, a: i32, b: i32 }, sums, ({ sum, a, b }) => ({
        min: sum.min.min(a.sub(b)),
        dot: sum.dot.add(a.mul(b)),
      }));
      const value = fn({ sum: sums, weight: f32 }, f32, ({ sum, weight }) => f32(sum.dot.add(sum.min)).mul(weight));
      const result = await run((context) =>
        crossReduce(
          { a: { elements: context.column(a), dimensions } },
          { b: { elements: context.column(b), dimensions }, weight: context.column(weight) },
          { start: { min: 5, dot: 0 }, step, value },
          plus(f32),
          { run: size },
        ),
      );
      const worth = (i: number, j: number): number => {
        let [min, dot] = [5, 0];
        for (let d = 0; d < dimensions; d++) {
          const [x, y] = [a[i * dimensions + d]!, b[j * dimensions + d]!];
          min = Math.min(min, x - y);
          dot += x * y;
        }
        return fround(fround(dot + min) * weight[j]!);
      };
      const expected = folded([left, right], size, worth, 0, (x, y) => fround(x + y));
      assertSame(result, Float32Array.from(expected));
    },
  ),
  law(
    'crossReduce with device counts on both sides gives the identity when there are no rows',
    [fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 70 }), presentation, presentation, fc.nat(2 ** 20)],
    async (run, left, right, how, other, seed) => {
      const [x, y] = [numbers(left, seed, 1000), numbers(right, seed + 1, 1000)];
      const apart = fn({ x: u32, y: u32 }, u32, ({ x, y }) => x.max(y).sub(x.min(y)));
      const result = await run((context) =>
        crossReduce(
          present(context, { x: Uint32Array.from(x) }, how),
          present(context, { y: Uint32Array.from(y) }, other),
          apart,
          minimum(u32),
        ),
      );
      const expected = folded([left, right], undefined, (i, j) => Math.abs(x[i]! - y[j]!), 2 ** 32 - 1, Math.min);
      assertSame(result, Uint32Array.from(expected));
    },
  ),
];
