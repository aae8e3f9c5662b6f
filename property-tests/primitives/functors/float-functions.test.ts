import { afterAll, beforeAll, describe, expect } from 'vitest';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { EXACT_FLOATS } from '../../../bench/functors/exact-floats.ts';
import { Context } from '../../../primitives/context/context.ts';
import { FLOAT_FUNCTIONS } from '../../../primitives/functors/standard/float-functions.ts';
import type { F32 } from '../../../primitives/functors/value.ts';
import { type Column, f32, fn, map, wgsl } from '../../../primitives/index.ts';
import { memoized } from '../../../primitives/ir/memo.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { openTestBackend } from '../../support/webgpu-support.ts';

/** The functions in f64. `fma` has a way of its own here, by integers. */
const EXACT: typeof EXACT_FLOATS = { ...EXACT_FLOATS, fma: fusedByIntegers };

/** How far the functions of f32 may be from these, in units in the last place. */
const UNITS: Readonly<Record<string, number>> = {
  ...{ sin: 1, cos: 1, tan: 2, asin: 2, acos: 2, atan: 2, atan2: 2 },
  ...{ exp: 1, exp2: 2, expm1: 2, log: 1, log2: 1, log1p: 1, pow: 1 },
  ...{ sinh: 2, cosh: 2, tanh: 2, cbrt: 1, hypot: 2 },
  ...{ fma: 0.5, fract: 0.5, sign: 0.5, mix: 0.5, remainder: 0.5 },
};

/** a · b + c by integers in units of 2⁻²⁹⁸, rounded once to f32. */
function fusedByIntegers(a?: number, b?: number, c?: number): number {
  if (![a, b, c].every(Number.isFinite)) return Math.fround(a! * b! + c!);
  const sum = unitsOf(a!) * unitsOf(b!) + (unitsOf(c!) << 149n);
  if (sum === 0n) return a! * b! + c!;
  const size = sum < 0n ? -sum : sum;
  const drop = BigInt(Math.max(size.toString(2).length - 24, 149));
  const [kept, rest, half] = [size >> drop, size & ((1n << drop) - 1n), 1n << (drop - 1n)];
  const isUp = rest > half || (rest === half && (kept & 1n) === 1n);
  return (sum < 0n ? -1 : 1) * Number(isUp ? kept + 1n : kept) * 2 ** (Number(drop) - 298);
}

/** A finite f32 in units of 2⁻¹⁴⁹. */
function unitsOf(x: number): bigint {
  const bits = new Uint32Array(Float32Array.of(x).buffer)[0]!;
  const exponent = (bits >>> 23) & 0xff;
  const significand = BigInt((bits & 0x7fffff) | (exponent > 0 ? 0x800000 : 0));
  const units = significand << BigInt(Math.max(exponent, 1) - 1);
  return bits >>> 31 ? -units : units;
}

const EDGES = [0, 0.5, 1, 1.5, 2, 3, 9, Math.PI, Math.PI / 2, 2 ** -126, 2 ** -149, 2 ** 127, 3.4028234663852886e38]
  .concat([2 ** -13, 2 ** -26, 0.41421357, 0.6, 2 ** 15, 16367173 * 2 ** 72, 88.72284, 103.97, 126, 128, 149, 150])
  .concat([2 ** 24, 2 ** 23 + 0.5, 1 - 2 ** -24, 1 + 2 ** -23, 5.0e-324, Number.POSITIVE_INFINITY, Number.NaN]);
/** Ends of ranges, whose combinations random cases hardly meet. */
const SPECIAL = [0, 2 ** -149, 2 ** -126, 0.5, 1, 1 + 2 ** -23, 1.5, 3, 2 ** 24, 2 ** 127, 2 ** 128 - 2 ** 104]
  .concat([Number.POSITIVE_INFINITY, Number.NaN])
  .flatMap((x) => [x, -x]);
const anyNumber = fc.oneof(
  fc.constantFrom(...EDGES, ...EDGES.map((x) => -x)).map(Math.fround),
  fc.float(),
  fc.float({ min: -8, max: 8 }),
  fc.integer({ min: -300, max: 300 }),
  // Products of these are about as small as normal numbers can be.
  fc
    .tuple(fc.constantFrom(-126, -125, -64, -63, -62, -32), fc.integer({ min: -(2 ** 24), max: 2 ** 24 }))
    .map(([exponent, significand]) => (significand * 2 ** exponent) / 2 ** 23),
);

type Numbers = [number, number, number];
/** Powers that are about the least normal number. */
const leastPowers = fc
  .tuple(fc.float({ min: 1.0625, max: 2 }), fc.integer({ min: -2, max: 2 }))
  .map(([y, more]): Numbers => [2 ** (-126 / y) * (1 + more * 2 ** -24), y, 0]);
const someNumbers = fc.tuple(anyNumber, anyNumber, anyNumber) as fc.Arbitrary<Numbers>;
const many = fc.array(fc.oneof({ weight: 5, arbitrary: someNumbers }, leastPowers), {
  minLength: 64,
  maxLength: 256,
});

/** A functor of each function, which is recorded once. */
const functorCalled = memoized((own: (typeof FLOAT_FUNCTIONS)[string]) => {
  const fields = ['x', 'y', 'z'].slice(0, own.length);
  const parameters = Object.fromEntries(fields.map((field) => [field, f32]));
  return { fields, functor: fn('f', parameters, f32, (values) => own(...(Object.values(values) as F32[]))) };
});

/** Runs a function over rows of numbers. */
async function computed(context: Context, name: string, rows: readonly Numbers[]): Promise<Float32Array> {
  const { fields, functor } = functorCalled(FLOAT_FUNCTIONS[name]!);
  const result = context.scope(() => {
    const columns = fields.map((field, at) => [field, context.column(Float32Array.from(rows, (row) => row[at]!))]);
    return context.materialize(map(functor, Object.fromEntries(columns)) as Column<'f32'>);
  });
  const found = await context.read(result);
  context.dispose(result);
  return found;
}

const TINY = 2 ** -126;
const isSubnormal = (x: number): boolean => x !== 0 && Math.abs(x) < TINY;

function unitOf(x: number): number {
  return 2 ** (Math.max((new Uint32Array(Float32Array.of(Math.abs(x)).buffer)[0]! >>> 23) & 0xff || 1, 1) - 150);
}

describe('functions of f32', () => {
  let contexts: { readonly reference: Context; readonly workers: Context; readonly webgpu: Context };
  beforeAll(async () => {
    contexts = {
      reference: new Context(createReferenceBackend()),
      workers: new Context(await createWorkersBackend({ workers: 2 })),
      webgpu: new Context(await openTestBackend()),
    };
  }, 60_000);
  afterAll(() => Promise.all(Object.values(contexts ?? {}).map((context) => context.close())));

  test('are all compared', () => {
    for (const names of [EXACT, UNITS]) expect(Object.keys(names).sort()).toEqual(Object.keys(FLOAT_FUNCTIONS).sort());
  });

  describe.each(Object.keys(EXACT))('%s', (name) => {
    const [exact, units] = [EXACT[name]!, UNITS[name]!];
    const given = FLOAT_FUNCTIONS[name]!.length;
    const expectNear = (row: Numbers, found: number): void => {
      const expected = exact(...row.slice(0, given).map(Math.fround));
      const rounded = Math.fround(expected);
      const place = `${name}(${row.slice(0, given)})`;
      if (Number.isNaN(rounded) || rounded === 0 || units === 0.5) expect(found, place).toBe(rounded);
      else if (isSubnormal(rounded)) expect(Math.abs(found - expected), place).toBeLessThanOrEqual(2 ** -148);
      else if (Number.isFinite(rounded) && Number.isFinite(found))
        expect(Math.abs(found - expected) / unitOf(expected), place).toBeLessThanOrEqual(units);
      else expect(Math.fround(expected * (1 + 2 ** -22)), place).toBe(Math.fround(found * (1 + 2 ** -22)));
    };

    test('is as near for all combinations of special values', async () => {
      const rows = SPECIAL.flatMap((x) =>
        (given > 1 ? SPECIAL : [0]).flatMap((y) => (given > 2 ? SPECIAL : [0]).map((z): Numbers => [x, y, z])),
      );
      const found = await computed(contexts.workers, name, rows);
      for (const [at, row] of rows.entries()) expectNear(row, found[at]!);
    });

    test.prop([many], { numRuns: caseCount(8) })(
      'is as near as it says, with the bits of IEEE 754 elsewhere',
      async (rows) => {
        const found = await computed(contexts.workers, name, rows);
        for (const [at, row] of rows.entries()) expectNear(row, found[at]!);
      },
    );

    test.prop([many], { numRuns: caseCount(3) })(
      'has the same bits everywhere where numbers are normal',
      async (rows) => {
        const expected = await computed(contexts.reference, name, rows);
        const bits = new Uint32Array(expected.buffer);
        for (const backend of ['workers', 'webgpu'] as const) {
          const found = await computed(contexts[backend], name, rows);
          const own = new Uint32Array(found.buffer);
          rows.forEach((row, at) => {
            const numbers = [...row.slice(0, given).map(Math.fround), expected[at]!];
            if (numbers.some(isSubnormal)) return;
            const isSame = own[at] === bits[at] || (Number.isNaN(expected[at]) && Number.isNaN(found[at]));
            expect(isSame ? expected[at] : found[at], `${backend} ${name}(${row.slice(0, given)})`).toBe(expected[at]);
          });
        }
      },
    );
  });

  test.prop([fc.integer({ min: -4096, max: 4096 }), fc.nat(24)])(
    'whole powers that f32 has are exact',
    async (x, y) => {
      const power = x ** y;
      fc.pre(Math.fround(power) === power);
      expect((await computed(contexts.reference, 'pow', [[x, y, 0]]))[0]).toBe(power);
    },
  );

  test('are those of the device in fast functors, and the same as ever on other backends', async () => {
    const numbers = Float32Array.of(0.3, 0.7, 0.95);
    for (const [name, own] of Object.entries(FLOAT_FUNCTIONS)) {
      const functors = [false, true].map((fast) =>
        // A call of constants alone is one, too.
        fn('f', { x: f32 }, f32, ({ x }) => own(x, f32(0.5), f32(0.25)).add(own(f32(0.5), f32(0.75), f32(0.25))), {
          fast,
        }),
      );
      const found = async (context: Context): Promise<Float32Array[]> =>
        Promise.all(functors.map((functor) => context.read(map(functor, { x: context.column(numbers) }))));
      const [exact, quick] = await found(contexts.webgpu);
      const [calm] = await found(contexts.reference);
      expect(exact, name).toEqual(calm);
      // WGSL allows errors of 2⁻¹¹ in sin and cos.
      for (const [at, value] of quick!.entries()) expect(value, name).toBeCloseTo(exact![at]!, 2);
      for (const context of [contexts.reference, contexts.workers])
        expect((await found(context))[1], name).toEqual(calm);
    }
  });

  test('can be called in text', async () => {
    const f = wgsl('fn f(x: f32) -> f32 { return sin(x) + pow(x, 2) + mix(1, x, 0.5); }');
    const x = contexts.reference.column(Float32Array.of(2));
    const [found] = (await contexts.reference.read(map(f, { x } as never) as never)) as unknown as Float32Array;
    expect(found).toBe(Math.fround(Math.fround(Math.fround(Math.sin(2)) + 4) + 1.5));
  });
});
