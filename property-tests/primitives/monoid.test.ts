import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compileJavaScript } from '../../backends/reference/index.ts';
import { ArgumentError, FunctorError } from '../../primitives/checks/errors.ts';
import type { Column } from '../../primitives/columns/column.ts';
import { bool, f32, fn, i32, u32, u64 } from '../../primitives/functors/functor.ts';
import type { Shape } from '../../primitives/functors/shapes.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import {
  type Monoid,
  maximum,
  minimum,
  monoid,
  monoidProgram,
  plus,
  product,
  segmented,
  times,
} from '../../primitives/monoid.ts';
import { reduce } from '../../primitives/reduce.ts';
import { reduceByKey } from '../../primitives/reduce-by-key.ts';
import { exclusiveScan, inclusiveScan, segmentedScan } from '../../primitives/scan.ts';
import { hostColumn, recipe } from '../arbitraries/columns.ts';
import { exactMonoids, inexactMonoids, type Leaves, type MonoidSample } from '../arbitraries/monoids.ts';
import { expectRefusal, openReference } from '../support/reference-context.ts';

type Combine = (a: Leaves, b: Leaves) => Leaves;

/**
 * The operator of a monoid, in the form in which backends receive it. The operator is applied to flat lists of values,
 * in which bools are 0 and 1.
 */
function operatorOf(of: Monoid<Shape>): Combine {
  const { module, types } = monoidProgram(of);
  const run = compileJavaScript(module)(new Map(), new Map());
  const plain = (leaves: Leaves): (number | boolean)[] =>
    leaves.map((value, leaf) => (types[leaf] === 'bool' ? value === 1 : value));
  return (a, b) => run(...plain(a), ...plain(b)).map(Number);
}

const identityOf = (of: Monoid<Shape>): Leaves => monoidProgram(of).identity.map(Number);

type Three = readonly [Leaves, Leaves, Leaves];

/** Three random values of a monoid's shape. */
function three({ fields }: MonoidSample): fc.Arbitrary<Three> {
  const columns = Object.values(fields).map((kind) => recipe.map((each) => hostColumn(kind, 3, each)));
  const row = (all: readonly ArrayLike<unknown>[], i: number): Leaves => all.map((column) => Number(column[i]));
  return fc.tuple(...columns).map((all): Three => [row(all, 0), row(all, 1), row(all, 2)]);
}

describe.each([...exactMonoids, ...inexactMonoids])('$name', (sample) => {
  const combine = operatorOf(sample.monoid);

  test('combines like the same monoid in plain JavaScript', () => {
    fc.assert(
      fc.property(three(sample), ([a, b]) => {
        expect(combine(a, b)).toEqual(sample.combine(a, b));
      }),
    );
  });

  test('has a neutral identity', () => {
    const identity = identityOf(sample.monoid);
    expect(identity).toEqual(sample.identity);
    fc.assert(
      fc.property(three(sample), ([a]) => {
        expect(combine(identity, a)).toEqual(a);
        expect(combine(a, identity)).toEqual(a);
      }),
    );
  });
});

describe.each(exactMonoids)('$name', (sample) => {
  const combine = operatorOf(sample.monoid);

  test('is associative, byte for byte', () => {
    fc.assert(
      fc.property(three(sample), ([a, b, c]) => {
        expect(combine(combine(a, b), c)).toEqual(combine(a, combine(b, c)));
      }),
    );
  });

  test('is associative with heads, and restarts at each', () => {
    const withHeads = operatorOf(segmented(sample.monoid) as unknown as Monoid<Shape>);
    const heads = fc.tuple(fc.nat({ max: 1 }), fc.nat({ max: 1 }), fc.nat({ max: 1 }));
    fc.assert(
      fc.property(three(sample), heads, (values, flags) => {
        const withHead = (i: 0 | 1 | 2): Leaves => [flags[i], ...values[i]];
        const [a, b, c] = [withHead(0), withHead(1), withHead(2)];
        expect(withHeads(withHeads(a, b), c)).toEqual(withHeads(a, withHeads(b, c)));
        expect(withHeads(a, [1, ...values[1]])).toEqual([1, ...values[1]]);
      }),
    );
  });
});

describe.each(exactMonoids.filter(({ monoid }) => monoid.commutative))('$name', (sample) => {
  const combine = operatorOf(sample.monoid);

  test('is commutative, byte for byte, as declared', () => {
    fc.assert(
      fc.property(three(sample), ([a, b]) => {
        expect(combine(a, b)).toEqual(combine(b, a));
      }),
    );
  });
});

describe('monoid', () => {
  test('is exact unless it has an f32 field, or as declared', () => {
    expect([plus(u32), plus(u64), minimum(f32), times(i32)].map(({ exact }) => exact)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect([plus(f32), times(f32)].map(({ exact }) => exact)).toEqual([false, false]);
    expect(product({ a: plus(u32), b: plus(f32) }).exact).toBe(false);
    expect(segmented(plus(f32)).exact).toBe(false);
  });

  test('is commutative only when known to be', () => {
    const known = [plus(u32), plus(u64), minimum(f32), times(i32), product({ a: plus(u32), b: plus(u64) })];
    expect(known.map(({ commutative }) => commutative)).toEqual(known.map(() => true));
    const left = monoid({ of: u32, identity: 0, combine: ({ a, b }) => select(b, a, a.ne(0)) });
    expect([left, segmented(plus(u32)), product({ a: plus(u32), left })].map(({ commutative }) => commutative)).toEqual(
      [false, false, false],
    );
  });

  test('of a scalar type is created once, and so is its segmented form', () => {
    expect(plus(u32)).toBe(plus(u32));
    expect(segmented(plus(u32))).toBe(segmented(plus(u32)));
    expect(monoidProgram(plus(u32))).toBe(monoidProgram(plus(u32)));
  });

  test('refuses an identity that lacks a field or has another type', () => {
    const combine = fn({ a: u64, b: u64 }, u64, ({ a }) => a);
    const lacking = { shape: u64, identity: { lo: 0 }, combine, exact: true, commutative: false };
    expect(() => monoidProgram(lacking)).toThrow(expect.objectContaining({ code: 'monoid/identity' }));
    expect(() => monoidProgram(lacking)).toThrow(ArgumentError);
    const half = monoid({ of: u32, identity: 0.5, combine: ({ a, b }) => a.add(b) });
    expect(() => monoidProgram(half)).toThrow(FunctorError);
    const flag = monoid({ of: bool, identity: 0 as never, combine: ({ a, b }) => a.and(b) });
    expect(() => monoidProgram(flag)).toThrow(FunctorError);
  });

  test('combines columns by the names of its fields, and refuses other names', async () => {
    await using context = openReference();
    const column = (...values: number[]): Column<'u32'> => context.column(Uint32Array.from(values));
    const both = product({ max: maximum(u32), sum: plus(u32) });
    const [sum, max] = [column(1, 2), column(20, 10)];
    expect(await context.read(reduce({ sum, max }, both))).toEqual({
      max: Uint32Array.of(20),
      sum: Uint32Array.of(3),
    });
    const strangers = [
      { sum, min: max },
      { sum, max, other: sum },
      { sum },
      sum,
      { sum, max: context.column([true, true]) },
    ];
    const heads = context.column([true, true]);
    for (const table of strangers) {
      const calls = [
        () => reduce(table as never, both),
        () => inclusiveScan(table as never, both),
        () => exclusiveScan(table as never, both),
        () => segmentedScan(table as never, heads, both),
        () => reduceByKey(sum, table as never, both),
      ];
      for (const call of calls) expectRefusal(context, 'monoid/types', call);
    }
    expectRefusal(context, 'monoid/types', () => reduce({ sum } as never, plus(u32)));
    expectRefusal(context, 'scan/kind', () => segmentedScan(sum, heads, plus(u32), { kind: 'inclusve' as never }));
  });

  test('converts a negative identity to u32', () => {
    const all = monoid({ of: u32, identity: -1, combine: ({ a, b }) => a.and(b) });
    expect(monoidProgram(all).identity).toEqual([2 ** 32 - 1]);
  });
});
