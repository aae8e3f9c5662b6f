import { describe, expect } from 'vitest';
import { ratio } from '../../../algorithms/exact-ratio.ts';
import {
  addF64,
  f32OfF64,
  f64OfF32,
  f64OfInteger,
  f64OfRatio,
  mulF64,
  negF64,
} from '../../../algorithms/tables/f64-arithmetic.ts';
import type { Context } from '../../../primitives/context/context.ts';
import { fn, u32, u64 } from '../../../primitives/functors/functor.ts';
import { map } from '../../../primitives/map.ts';
import { onEveryBackend } from '../../backends.ts';
import { fc, test } from '../../law-test.ts';

const TIMEOUT_MS = 120_000;
const MIN = Number.MIN_VALUE;
const NORMAL = 2 ** -1022;
/** Numbers around every edge of f64, of f32 and of integers. */
const edges = [0, MIN, 3 * MIN, NORMAL - MIN, NORMAL, NORMAL + MIN, 2 ** -537, 3e-200, 2 ** -150, 2 ** -149, 2 ** -127]
  .concat([2 ** -126, 1e-40, 1e-20, 0.1, 0.3, 1 - 2 ** -53, 1, 1 + 2 ** -52, 3, 2 ** 24 + 1, 2 ** 53 - 1, 2 ** 53])
  .concat([2 ** 53 + 2, 3.4e38, 3.4028235677973366e38, 2 ** 128, 1e200, 2 ** 1023, Number.MAX_VALUE, Infinity, NaN])
  .flatMap((value) => [value, -value]);
const pairsOfEdges = edges.flatMap((a) => edges.map((b): [number, number] => [a, b]));

/** Doubles of any bits, and pairs whose exponents are close, so that sums cancel and products underflow. */
const someDouble = fc.double({ noDefaultInfinity: false });
const someBits = fc
  .bigInt({ min: 0n, max: 2n ** 64n - 1n })
  .map((bits) => new Float64Array(BigUint64Array.of(bits).buffer)[0]!);
const closePair = fc
  .tuple(someBits, fc.integer({ min: -60, max: 60 }), someBits)
  .map(([a, apart, b]): [number, number] => [a, withExponentOf(b, a, apart)]);
const somePairs = fc.array(
  fc.oneof(closePair, fc.tuple(fc.oneof(someDouble, someBits), fc.oneof(someDouble, someBits))),
  {
    minLength: 1,
    maxLength: 500,
  },
);

function withExponentOf(value: number, other: number, apart: number): number {
  const words = new BigUint64Array(Float64Array.of(value, other).buffer);
  const field = (words[1]! >> 52n) & 0x7ffn;
  const moved = BigInt(Math.min(2046, Math.max(0, Number(field) + apart)));
  return new Float64Array(BigUint64Array.of((words[0]! & ~(0x7ffn << 52n)) | (moved << 52n)).buffer)[0]!;
}

const operations = fn(
  { a: u64, b: u64, short: u32 },
  { sum: u64, difference: u64, product: u64, widened: u64, narrowed: u32, signed: u64, unsigned: u64 },
  ({ a, b, short }) => ({
    sum: addF64({ a, b }),
    difference: addF64({ a, b: negF64(b) }),
    product: mulF64({ a, b }),
    widened: f64OfF32({ a: short }),
    narrowed: f32OfF64({ a }),
    signed: f64OfInteger(a, true),
    unsigned: f64OfInteger(a, false),
  }),
);

function wordsOf(context: Context, values: BufferSource & { readonly buffer: ArrayBufferLike }) {
  const words = new Uint32Array(values.buffer);
  return {
    lo: context.column(words.filter((_, i) => i % 2 === 0)),
    hi: context.column(words.filter((_, i) => i % 2 === 1)),
  };
}

function joined({ lo, hi }: { readonly lo: Uint32Array; readonly hi: Uint32Array }): Float64Array {
  const words = new Uint32Array(2 * lo.length);
  for (let i = 0; i < lo.length; i++) words.set([lo[i]!, hi[i]!], 2 * i);
  return new Float64Array(words.buffer);
}

describe('arithmetic of f64 by integers', () => {
  onEveryBackend((opened, { runs }) => {
    async function check(pairs: readonly (readonly [number, number])[]): Promise<void> {
      const [a, b] = [Float64Array.from(pairs, ([x]) => x), Float64Array.from(pairs, ([, y]) => y)];
      const shorts = Float32Array.from(b);
      const made = await opened().run((context) =>
        map(operations, {
          a: wordsOf(context, a),
          b: wordsOf(context, b),
          short: context.column(new Uint32Array(shorts.buffer)),
        }),
      );
      const integers = new BigInt64Array(a.buffer);
      expect(joined(made.sum)).toEqual(a.map((x, i) => x + b[i]!));
      expect(joined(made.difference)).toEqual(a.map((x, i) => x - b[i]!));
      expect(joined(made.product)).toEqual(a.map((x, i) => x * b[i]!));
      expect(joined(made.widened)).toEqual(Float64Array.from(shorts));
      expect(new Float32Array(made.narrowed.buffer, made.narrowed.byteOffset, a.length)).toEqual(Float32Array.from(a));
      expect(joined(made.signed)).toEqual(Float64Array.from(integers, Number));
      expect(joined(made.unsigned)).toEqual(Float64Array.from(integers, (each) => Number(BigInt.asUintN(64, each))));
    }

    test('is that of JavaScript at all pairs of edges', () => check(pairsOfEdges), TIMEOUT_MS);
    test(
      'is that of JavaScript for all bits',
      () => fc.assert(fc.asyncProperty(somePairs, check), { numRuns: 4 * runs }),
      TIMEOUT_MS,
    );

    const divided = fn({ units: u64, divisor: u64 }, u64, ({ units, divisor }) => f64OfRatio({ units, divisor }));
    const someUnits = fc.oneof(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      fc.bigInt({ min: -999n, max: 999n }),
    );
    const someScale = fc.integer({ min: 0, max: 19 });
    const ratios = fc.asyncProperty(
      fc.array(fc.tuple(someUnits, someScale), { minLength: 1, maxLength: 200 }),
      async (cases) => {
        const units = BigInt64Array.from(cases, ([each]) => each);
        const divisors = BigUint64Array.from(cases, ([, scale]) => 10n ** BigInt(scale));
        const made = await opened().run((context) =>
          map(divided, { units: wordsOf(context, units), divisor: wordsOf(context, divisors) }),
        );
        expect(joined(made)).toEqual(Float64Array.from(cases, ([each, scale]) => ratio(each, 10n ** BigInt(scale))));
      },
    );
    test('rounds decimals once', () => fc.assert(ratios, { numRuns: 4 * runs }), TIMEOUT_MS);
  });
});
