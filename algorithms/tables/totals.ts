import type { Column } from '../../primitives/columns/column.ts';
import { i32, u32, u64 } from '../../primitives/functors/functor.ts';
import { assemble, leafTypes, type Scalar, type Shape } from '../../primitives/functors/shapes.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { maxI64, maxU64, minI64, minU64, sub64, type U64 } from '../../primitives/functors/standard/wide.ts';
import { mulU32 } from '../../primitives/functors/standard/wide-products.ts';
import type { Bool, U32, Value } from '../../primitives/functors/value.ts';
import type { ScalarType } from '../../primitives/ir/ir.ts';
import { type AnyMonoid, maximum, minimum, monoid, plus, product } from '../../primitives/monoid.ts';
import { reduce } from '../../primitives/reduce.ts';
import { type Bounds, I32, I64, isWithin } from './bounds.ts';
import type { DeviceTable } from './device-table.ts';
import { asI32, type Domain, domainOf, type IntegerPart, type IntegerValue, pairConstant, wideOf } from './integers.ts';
import { combineParts, mapPart, type QuestionPart, viewsOf } from './part.ts';

type Values = readonly Value<ScalarType>[];

/** A total over rows, such as a sum: the element that each row contributes, and the monoid that combines elements. */
export interface Total {
  /** Identifies a total: totals with the same name are computed once. */
  readonly name: string;
  /** The element of a row. Rows that are not included contribute the identity. */
  readonly element: QuestionPart<Values>;
  readonly monoid: AnyMonoid;
}

/** Counts the included rows. */
export function countTotal(counts: QuestionPart<Bool>): Total {
  return { name: 'count', element: mapPart('n', counts, (holds): Values => [u32(holds)]), monoid: plus(u32) };
}

/** The total that sums integers. The sum has 1, 2 or 3 words: as many as the sum of `rows` rows may need. */
export function sumTotal({ part, bounds }: IntegerPart, counts: QuestionPart<Bool>, rows: number): Total {
  const max = BigInt(rows);
  const total: Bounds = { min: max * minOf(bounds.min, 0n), max: max * maxOf(bounds.max, 0n) };
  const kind = isWithin(total, I32) ? 'i32' : isWithin(total, I64) ? 'i64' : 'i96';
  const isSigned = isWithin(bounds, I64);
  const element = combineParts<IntegerValue | Bool, Values>(
    `sum ${kind}${isSigned}`,
    [part, counts],
    ([made, holds]) => {
      const [value, counted] = [made as IntegerValue, holds as Bool];
      if (kind === 'i32') return [select(i32(0), asI32(value), counted)];
      const { lo, hi } = wideOf(value);
      const words = [lo, hi, ...(kind === 'i64' ? [] : [isSigned ? signOf(hi) : u32(0)])];
      return words.map((word) => select(u32(0), word, counted));
    },
  );
  return { name: 'sum', element, monoid: sums[kind] };
}

/** Sums of unsigned integers of any number of words, lowest word first. */
export function unsignedSum(words: number): AnyMonoid {
  const known = unsignedSums.get(words);
  if (known !== undefined) return known;
  const names = Array.from({ length: words }, (_, i) => `w${i}`);
  const of = Object.fromEntries(names.map((name) => [name, u32]));
  const made = monoid({
    of,
    identity: Object.fromEntries(names.map((name) => [name, 0])),
    combine: ({ a, b }) => {
      let carry = u32(0);
      const sums = names.map((name): [string, U32] => {
        const sum = a[name]!.add(b[name]!);
        const total = sum.add(carry);
        carry = u32(sum.lt(b[name]!)).add(u32(total.lt(carry)));
        return [name, total];
      });
      return Object.fromEntries(sums);
    },
    commutative: true,
    name: `add${32 * words}`,
  });
  unsignedSums.set(words, made);
  return made;
}

const unsignedSums = new Map<number, AnyMonoid>();

/** The integer types in which sums are computed. Each has as many words as the sum may need. */
const sums = { i32: plus(i32), i64: plus(u64), i96: unsignedSum(3) } as const;

/**
 * The totals that sum the distances of integers from their minimum, and the squares of these distances, exactly. A square
 * has up to 128 bits.
 */
export function distanceTotals(
  { part, bounds: { min, max } }: IntegerPart,
  counts: QuestionPart<Bool>,
  rows: number,
): readonly [sum: Total, squares: Total] {
  const isNarrow = max - min < 2n ** 32n;
  const parts = [part, pairConstant(min), counts];
  const distance = combineParts<IntegerValue | Bool, U64>(`distance ${isNarrow}`, parts, (made) => {
    const [value, from, holds] = made as [IntegerValue, IntegerValue, Bool];
    const [a, b] = [wideOf(value), wideOf(from)];
    const { lo, hi } = isNarrow ? { lo: a.lo.sub(b.lo), hi: u32(0) } : sub64({ a, b });
    return { lo: select(u32(0), lo, holds), hi: select(u32(0), hi, holds) };
  });
  const total = (name: string, largest: bigint, words: (value: U64) => readonly U32[]): Total => {
    const count = Math.max(1, Math.ceil((largest * BigInt(rows)).toString(2).length / 32));
    const element = mapPart(`${name} ${count}`, distance, (value): Values => {
      const made = words(value);
      return Array.from({ length: count }, (_, i) => made[i] ?? u32(0));
    });
    return { name, element, monoid: unsignedSum(count) };
  };
  return [
    total('distances', max - min, ({ lo, hi }) => [lo, hi]),
    total('squares', (max - min) ** 2n, (value) => squareOf(value, isNarrow)),
  ];
}

/** The square of an unsigned integer, lowest word first. */
function squareOf({ lo, hi }: U64, isNarrow: boolean): readonly U32[] {
  const low = mulU32({ a: lo, b: lo });
  if (isNarrow) return [low.lo, low.hi];
  const [cross, high] = [mulU32({ a: lo, b: hi }), mulU32({ a: hi, b: hi })];
  const second = sumWithCarry([low.hi, cross.lo, cross.lo]);
  const third = sumWithCarry([high.lo, cross.hi, cross.hi, second.carry]);
  return [low.lo, second.sum, third.sum, high.hi.add(third.carry)];
}

function sumWithCarry([first, ...others]: readonly U32[]): { readonly sum: U32; readonly carry: U32 } {
  return others.reduce(
    ({ sum, carry }, each) => {
      const next = sum.add(each);
      return { sum: next, carry: carry.add(u32(next.lt(each))) };
    },
    { sum: first!, carry: u32(0) },
  );
}

const minOf = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const maxOf = (a: bigint, b: bigint): bigint => (a > b ? a : b);

function signOf(high: U32): U32 {
  return u32(0).sub(high.shr(31));
}

/** Converts the words of a sum, low word first, to an integer. The last word is signed. */
export function sumOfWords(words: readonly number[]): bigint {
  const total = words.reduceRight((above, word) => (above << 32n) | BigInt(word >>> 0), 0n);
  return BigInt.asIntN(32 * words.length, total);
}

const extrema = {
  min: {
    i32: minimum(i32),
    u32: minimum(u32),
    i64: wideExtremum(minI64, I64.max),
    u64: wideExtremum(minU64, -1n),
  },
  max: { i32: maximum(i32), u32: maximum(u32), i64: wideExtremum(maxI64, I64.min), u64: wideExtremum(maxU64, 0n) },
} as const;

function wideExtremum(combine: typeof minI64, identity: bigint): AnyMonoid {
  const [lo, hi] = [Number(identity & 0xffffffffn), Number((identity >> 32n) & 0xffffffffn)];
  return monoid({ of: u64, identity: { lo, hi }, combine, commutative: true, name: 'extremum' });
}

/** Minimum or maximum of integers. The result is the identity of the monoid if no row is included. */
export function extremumTotal(kind: 'min' | 'max', integers: IntegerPart, counts: QuestionPart<Bool>): Total {
  const [domain] = domainOf(integers.bounds);
  const of = extrema[kind][domain];
  const types = leafTypes(of.shape);
  const element = combineParts<IntegerValue | Bool, Values>(
    `${kind} ${domain}`,
    [integers.part, counts],
    ([made, holds]) => {
      const neutral = neutralOf(of, types);
      return wordsIn(domain, made as IntegerValue).map((word, i) => select(neutral[i]!, word, holds as Bool));
    },
  );
  return { name: kind, element, monoid: of };
}

function neutralOf({ identity }: AnyMonoid, types: readonly ScalarType[]): Values {
  const words = typeof identity === 'number' ? [identity] : Object.values(identity as { lo: number; hi: number });
  return words.map((word, i) => (types[i] === 'i32' ? i32(word) : u32(word)));
}

function wordsIn(domain: Domain, value: IntegerValue): Values {
  if (domain === 'i32') return [asI32(value)];
  if (domain === 'u32') return [wideOf(value).lo];
  const { lo, hi } = wideOf(value);
  return [lo, hi];
}

/** Converts the words of a minimum or maximum, low word first, to an integer. */
export function integerOfWords(isSigned: boolean, words: readonly number[]): bigint {
  const integer = sumOfWords(words);
  return isSigned ? integer : BigInt.asUintN(32 * words.length, integer);
}

const products = new Map<string, AnyMonoid>();

/** Combines the monoids of several totals into one monoid over a record, so that one pass computes all totals. */
export function monoidOf(totals: readonly Total[]): AnyMonoid {
  const name = totals.map(({ monoid: of }) => numberOf(of)).join();
  const known = products.get(name) ?? product(Object.fromEntries(totals.map(({ monoid: of }, i) => [`t${i}`, of])));
  products.set(name, known);
  return known;
}

const numbers = new Map<AnyMonoid, number>();

function numberOf(of: AnyMonoid): number {
  const number = numbers.get(of) ?? numbers.size;
  numbers.set(of, number);
  return number;
}

/** Concatenates the elements that a row contributes to several totals. */
export function elementOf(totals: readonly Total[]): {
  readonly types: readonly ScalarType[];
  readonly part: QuestionPart<Values>;
} {
  const types = totals.flatMap(({ monoid: { shape } }) => leafTypes(shape));
  return {
    types,
    part: combineParts(
      'totals',
      totals.map(({ element }) => element),
      (made) => made.flat(),
    ),
  };
}

/** Arranges columns as the record that a monoid combines. */
export function tableOf(of: AnyMonoid, columns: readonly Column[]): never {
  return assemble<Column>(of.shape as Shape & Scalar<ScalarType>, columns) as never;
}

/** Maximum number of words that one pass over the columns computes, unless a single total has more. */
const MAX_WORDS = 32;

/** Totals after reduction, in as many passes as their words need. */
export interface ReducedTotals {
  readonly totals: readonly (readonly Total[])[];
  readonly columns: { readonly [pass: string]: { readonly [name: string]: Column } };
}

export function reducedTotals(table: DeviceTable, totals: readonly Total[]): ReducedTotals {
  const named = [...new Map(totals.map((total) => [total.name, total])).values()];
  const passes: Total[][] = [];
  let words = MAX_WORDS;
  for (const total of named) {
    const own = leafTypes(total.monoid.shape).length;
    words += own;
    if (words <= MAX_WORDS) passes.at(-1)!.push(total);
    else {
      passes.push([total]);
      words = own;
    }
  }
  return { totals: passes, columns: Object.fromEntries(passes.map((some, i) => [`p${i}`, reduceTotals(table, some)])) };
}

function reduceTotals({ context, rows }: DeviceTable, totals: readonly Total[]): { readonly [name: string]: Column } {
  const of = monoidOf(totals);
  const { types, part } = elementOf(totals);
  return reduce<never>(tableOf(of, viewsOf(context, rows, types, part)), of as never);
}

type Read = ArrayLike<number> | { readonly [name: string]: Read };

/** Words of all totals by name, from the values that were read. */
export function wordsOfTotals({ totals }: ReducedTotals, read: unknown): Map<string, readonly number[]> {
  const words = new Map<string, readonly number[]>();
  totals.forEach((some, pass) => {
    const rows = (read as { readonly [pass: string]: { readonly [name: string]: Read } })[`p${pass}`]!;
    for (const [k, total] of some.entries()) words.set(total.name, leavesOf(rows[`t${k}`]!));
  });
  return words;
}

function leavesOf(read: Read): number[] {
  return ArrayBuffer.isView(read)
    ? [(read as unknown as ArrayLike<number>)[0]!]
    : Object.values(read as { readonly [name: string]: Read }).flatMap(leavesOf);
}
