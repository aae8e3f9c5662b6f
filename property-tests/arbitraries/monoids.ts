import fc from 'fast-check';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { anInstance, aRecord, aText, type Kind, optional, where } from '../../primitives/checks/kinds.ts';
import { For, Let, Var, While } from '../../primitives/functors/control.ts';
import { bool, f32, i32, u32, u64 } from '../../primitives/functors/functor.ts';
import { LocalArray } from '../../primitives/functors/local-arrays.ts';
import type { Shape } from '../../primitives/functors/shapes.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import {
  bitAnd,
  bitOr,
  bitXor,
  type Monoid,
  maximum,
  minimum,
  monoid,
  plus,
  product,
  saturatingPlus,
  times,
} from '../../primitives/monoid.ts';
import { type HostRows, rowsOf } from './columns.ts';
import { type HostKind, someFields } from './host-kinds.ts';

/** The scalars of a value as a flat list of numbers, in the order of the shape of the value; bools are 0 and 1. */
export type Leaves = readonly number[];

/**
 * A monoid to test, together with the column kinds of its fields, and with its identity and operator in plain
 * JavaScript.
 */
export interface MonoidSample {
  readonly name: string;
  readonly monoid: Monoid<Shape>;
  /** The kind of each field. A monoid of scalars has one field. */
  readonly fields: { readonly [name: string]: HostKind };
  readonly identity: Leaves;
  readonly combine: (a: Leaves, b: Leaves) => Leaves;
}

const aSample: Kind = aRecord<Pick<MonoidSample, 'name' | 'fields'>>({ name: aText, fields: someFields });

function sample(
  name: string,
  of: unknown,
  fields: MonoidSample['fields'],
  identity: Leaves,
  combine: MonoidSample['combine'],
): MonoidSample {
  return { name, monoid: of as Monoid<Shape>, fields, identity, combine };
}

const scalar = (
  name: string,
  of: unknown,
  kind: HostKind,
  identity: number,
  combine: (a: number, b: number) => number,
): MonoidSample => sample(name, of, { value: kind }, [identity], ([a], [b]) => [combine(a!, b!)]);

/** The smaller of two f32 by the rules of the functor IR. If one of them is NaN, the result is the other one. */
const minOf = (a: number, b: number): number => (Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.min(a, b));
const maxOf = (a: number, b: number): number => -minOf(-a, -b);

/** Products of 2 × 2 matrices of u32, which do not commute. */
const matrices = monoid({
  of: { a: u32, b: u32, c: u32, d: u32 },
  identity: { a: 1, b: 0, c: 0, d: 1 },
  combine: ({ a: x, b: y }) => ({
    a: x.a.mul(y.a).add(x.b.mul(y.c)),
    b: x.a.mul(y.b).add(x.b.mul(y.d)),
    c: x.c.mul(y.a).add(x.d.mul(y.c)),
    d: x.c.mul(y.b).add(x.d.mul(y.d)),
  }),
});

/** Composition of maps x ↦ m·x + c; the left operand is applied first. */
const affine = monoid({
  of: { m: u32, c: u32 },
  identity: { m: 1, c: 0 },
  combine: ({ a, b }) => ({ m: a.m.mul(b.m), c: b.m.mul(a.c).add(b.c) }),
});

/**
 * The bicyclic monoid. Its values describe a text of brackets: the numbers of closing and of opening brackets without a
 * partner.
 */
const bicyclic = monoid({
  of: { closing: u32, opening: u32 },
  identity: { closing: 0, opening: 0 },
  combine: ({ a, b }) => {
    const pairs = a.opening.min(b.closing);
    return { closing: a.closing.add(b.closing).sub(pairs), opening: b.opening.add(a.opening).sub(pairs) };
  },
});

/** The greatest common divisor, computed in a loop. The operator commutes. */
const commonDivisor = monoid({
  of: u32,
  identity: 0,
  combine: ({ a, b }) => {
    const [divisor, rest] = [Var(a), Var(b)];
    While(
      () => rest.ne(0),
      () => {
        const left = Let(divisor.rem(rest));
        divisor.set(rest);
        rest.set(left);
      },
    );
    return divisor;
  },
  commutative: true,
});

/**
 * Composition of maps of the numbers from 0 to 15 to such numbers; the left operand is applied first. A map is the list
 * of its values, of four bits each. A local array holds those of the right operand.
 */
const maps = monoid({
  of: { lo: u32, hi: u32 },
  identity: { lo: 0x76543210, hi: 0xfedcba98 },
  combine: ({ a, b }) => {
    const values = LocalArray(16, u32(0));
    const [lo, hi] = [Var(u32(0)), Var(u32(0))];
    For(0, 8, (k) => {
      values.set(k, b.lo.shr(k.mul(4)).and(15));
      values.set(k.add(8), b.hi.shr(k.mul(4)).and(15));
    });
    For(0, 8, (k) => {
      lo.set(lo.or(values.at(a.lo.shr(k.mul(4)).and(15)).shl(k.mul(4))));
      hi.set(hi.or(values.at(a.hi.shr(k.mul(4)).and(15)).shl(k.mul(4))));
    });
    return { lo, hi };
  },
});

/** The first nonzero number. */
const first = monoid({ of: u32, identity: 0, combine: ({ a, b }) => select(b, a, a.ne(0)) });

/** The last nonzero number. */
const last = monoid({ of: u32, identity: 0, combine: ({ a, b }) => select(a, b, b.ne(0)) });

const add = (a: number, b: number): number => (a + b) >>> 0;
const multiply = (a: number, b: number): number => Math.imul(a, b) >>> 0;

function addWide([aLo, aHi]: Leaves, [bLo, bHi]: Leaves): Leaves {
  const sum = BigInt(aLo!) + BigInt(bLo!) + ((BigInt(aHi!) + BigInt(bHi!)) << 32n);
  return [Number(BigInt.asUintN(32, sum)), Number(BigInt.asUintN(32, sum >> 32n))];
}

/** Exact monoids: every bracketing gives the same bytes. Half of them do not commute. */
export const exactMonoids: readonly MonoidSample[] = [
  scalar('plus(u32)', plus(u32), 'u32', 0, add),
  scalar('plus(i32)', plus(i32), 'i32', 0, (a, b) => (a + b) | 0),
  scalar('times(u32)', times(u32), 'u32', 1, multiply),
  scalar('minimum(u32)', minimum(u32), 'u32', 2 ** 32 - 1, Math.min),
  scalar('maximum(i32)', maximum(i32), 'i32', -(2 ** 31), Math.max),
  scalar('minimum(f32)', minimum(f32), 'normal', Number.NaN, minOf),
  scalar('maximum(f32)', maximum(f32), 'normal', Number.NaN, maxOf),
  scalar('bitAnd(u32)', bitAnd(u32), 'u32', 2 ** 32 - 1, (a, b) => (a & b) >>> 0),
  scalar('bitOr(i32)', bitOr(i32), 'i32', 0, (a, b) => a | b),
  scalar('bitXor(bool)', bitXor(bool), 'bool', 0, (a, b) => a ^ b),
  scalar('bitAnd(bool)', bitAnd(bool), 'bool', 1, (a, b) => a & b),
  scalar('saturatingPlus', saturatingPlus, 'u32', 0, (a, b) => Math.min(a + b, 2 ** 32 - 1)),
  sample('plus(u64)', plus(u64), { lo: 'u32', hi: 'u32' }, [0, 0], addWide),
  sample(
    'product',
    product({ sum: plus(u32), max: maximum(i32) }),
    { sum: 'u32', max: 'i32' },
    [0, -(2 ** 31)],
    (a, b) => [add(a[0]!, b[0]!), Math.max(a[1]!, b[1]!)],
  ),
  sample(
    'matrices',
    matrices,
    { a: 'u32', b: 'u32', c: 'u32', d: 'u32' },
    [1, 0, 0, 1],
    ([a, b, c, d], [e, f, g, h]) => [
      add(multiply(a!, e!), multiply(b!, g!)),
      add(multiply(a!, f!), multiply(b!, h!)),
      add(multiply(c!, e!), multiply(d!, g!)),
      add(multiply(c!, f!), multiply(d!, h!)),
    ],
  ),
  sample('affine', affine, { m: 'u32', c: 'u32' }, [1, 0], ([m, c], [n, d]) => [
    multiply(m!, n!),
    add(multiply(n!, c!), d!),
  ]),
  sample('bicyclic', bicyclic, { closing: 'tiny', opening: 'tiny' }, [0, 0], ([p, q], [r, s]) => {
    const pairs = Math.min(q!, r!);
    return [p! + r! - pairs, s! + q! - pairs];
  }),
  scalar('common divisor', commonDivisor, 'u32', 0, (a, b) => {
    let [divisor, rest] = [a, b];
    while (rest !== 0) [divisor, rest] = [rest, divisor % rest];
    return divisor;
  }),
  sample('maps', maps, { lo: 'u32', hi: 'u32' }, [0x76543210, 0xfedcba98], (a, b) =>
    a.map((word) => {
      const digits = Array.from({ length: 8 }, (_, k) => (word >>> (4 * k)) & 15);
      return digits.reduce((sum, digit, k) => sum + ((b[digit >> 3]! >>> (4 * (digit & 7))) & 15) * 16 ** k, 0);
    }),
  ),
  scalar('first', first, 'tiny', 0, (a, b) => (a === 0 ? b : a)),
  scalar('last', last, 'tiny', 0, (a, b) => (b === 0 ? a : b)),
];

/** The state of a running mean: a sum of f32 and a count. */
const mean = monoid({
  of: { sum: f32, rows: u32 },
  identity: { sum: 0, rows: 0 },
  combine: ({ a, b }) => ({ sum: a.sum.add(b.sum), rows: a.rows.add(b.rows) }),
});

/** Composition of maps x ↦ ±x + c on f32; the left operand is applied first. */
const flips = monoid({
  of: { m: f32, c: f32 },
  identity: { m: 1, c: 0 },
  combine: ({ a, b }) => ({ m: a.m.mul(b.m), c: b.m.mul(a.c).add(b.c) }),
});

/** Inexact monoids: the result depends on the bracketing, which the canonical tree prescribes. */
export const inexactMonoids: readonly MonoidSample[] = [
  scalar('plus(f32)', plus(f32), 'calm', 0, (a, b) => Math.fround(a + b)),
  sample('mean', mean, { sum: 'calm', rows: 'tiny' }, [0, 0], ([s, m], [t, n]) => [Math.fround(s! + t!), add(m!, n!)]),
  sample('flips', flips, { m: 'sign', c: 'calm' }, [1, 0], ([m, c], [n, d]) => [m! * n!, Math.fround(n! * c! + d!)]),
];

/** A monoid and rows of values for it. In a counterexample, the recipe of the rows is printed instead of the rows. */
export interface SampleRows {
  readonly sample: MonoidSample;
  readonly rows: HostRows<MonoidSample['fields']>;
}

/**
 * Picks one of the monoids and generates rows for it.
 *
 * @example
 * const [{ sample, rows }] = fc.sample(rowsForAny(exactMonoids, fc.constant(3)), 1);
 * [sample.monoid.exact, Object.values(rows)[0].length]; // [true, 3]
 */
export function rowsForAny(samples: readonly MonoidSample[], size?: fc.Arbitrary<number>): fc.Arbitrary<SampleRows> {
  const kinds = {
    samples: where(
      'one sample at least',
      (all) => Array.isArray(all) && all.length > 0 && all.every((each) => aSample(each, '', new Map()) === undefined),
    ),
    size: optional(anInstance(fc.Arbitrary)),
  };
  requireArguments('rowsForAny', { samples, size }, kinds);
  return fc.constantFrom(...samples).chain((sample) =>
    rowsOf(sample.fields, size).map((rows) =>
      Object.defineProperty({ sample, rows }, fc.toStringMethod, {
        value: () => `${sample.name} over ${fc.stringify(rows)}`,
      }),
    ),
  );
}
