import type { Column } from '../../primitives/columns/column.ts';
import { bitsToI32, bitsToU32 } from '../../primitives/functors/standard/bits.ts';
import {
  add64,
  eq64,
  i64OfI32,
  ltI64,
  ltU64,
  sub64,
  u64OfU32,
  type U64 as Wide,
} from '../../primitives/functors/standard/wide.ts';
import { mul64, mulI32 } from '../../primitives/functors/standard/wide-products.ts';
import type { Bool, I32 as I32Value, U32 as U32Value } from '../../primitives/functors/value.ts';
import { addBounds, type Bounds, I32, I64, isWithin, multiplyBounds, subtractBounds, U32, U64 } from './bounds.ts';
import type { TableColumn } from './device-table.ts';
import { tableError } from './errors.ts';
import { columnsPart, combineParts, constantPart, mapPart, type QuestionPart } from './part.ts';

/**
 * An integer in a functor, in as few words as its bounds need. Pairs of words are unsigned or two's complement,
 * depending on the bounds.
 */
export type IntegerValue =
  | { readonly kind: 'i32'; readonly value: I32Value }
  | { readonly kind: 'u32'; readonly value: U32Value }
  | { readonly kind: 'pair'; readonly value: Wide };

/**
 * An expression whose value in every row is a number, as code that computes an integer. The number is `integer ·
 * 10^−scale`.
 */
export interface IntegerPart {
  readonly part: QuestionPart<IntegerValue>;
  readonly bounds: Bounds;
  readonly scale: number;
  readonly validity: readonly (Column<'u32'> | undefined)[];
}

/** A column as integers. Values of types other than integers are represented by integers with the same order. */
export function integersOf({ key, words, bounds, scale, validity }: TableColumn): IntegerPart {
  const narrow = isWithin(bounds, I32);
  const part = mapPart(`${key}${narrow ? 'n' : ''}`, columnsPart(words), ([low, high]): IntegerValue => {
    if (key === 'i32') return { kind: 'i32', value: low as I32Value };
    if (narrow) return { kind: 'i32', value: bitsToI32(low as U32Value) };
    if (key === 'u32') return { kind: 'u32', value: low as U32Value };
    const hi = key === 'i64' ? bitsToU32(high as I32Value) : (high as U32Value);
    return { kind: 'pair', value: { lo: low as U32Value, hi } };
  });
  return { part, bounds, scale, validity: [validity] };
}

export function integerConstant(value: bigint, scale: number): IntegerPart {
  const bounds = { min: value, max: value };
  return { part: constantOf(value, bounds), bounds, scale, validity: [] };
}

function constantOf(value: bigint, bounds: Bounds): QuestionPart<IntegerValue> {
  if (isWithin(bounds, I32)) {
    return mapPart('', constantPart('i32', Number(value)), (made): IntegerValue => ({ kind: 'i32', value: made }));
  }
  if (!isWithin(bounds, I64) && !isWithin(bounds, U64)) throw overflow(`The constant ${value}`, bounds);
  return pairConstant(value);
}

export function pairConstant(value: bigint): QuestionPart<IntegerValue> {
  const words = [value & 0xffffffffn, (value >> 32n) & 0xffffffffn].map((word) => constantPart('u32', Number(word)));
  return combineParts('', words, ([lo, hi]): IntegerValue => ({ kind: 'pair', value: { lo: lo!, hi: hi! } }));
}

const operations = {
  add: { symbol: '+', bounds: addBounds },
  sub: { symbol: '−', bounds: subtractBounds },
  mul: { symbol: '·', bounds: multiplyBounds },
} as const;

/** Adds, subtracts or multiplies integers exactly. Throws if a result may need more than 64 bits. */
export function computeIntegers(kind: 'add' | 'sub' | 'mul', left: IntegerPart, right: IntegerPart): IntegerPart {
  if (kind !== 'mul' && left.scale !== right.scale) {
    const scale = Math.max(left.scale, right.scale);
    return computeIntegers(kind, rescaled(left, scale), rescaled(right, scale));
  }
  const { symbol, bounds: boundsOf } = operations[kind];
  const bounds = boundsOf(left.bounds, right.bounds);
  const narrow = isWithin(bounds, I32);
  if (!narrow && !isWithin(bounds, I64)) throw overflow(`A result of ${symbol}`, bounds);
  const halves = isWithin(left.bounds, I32) && isWithin(right.bounds, I32);
  const name = `${kind}${narrow ? 'n' : halves ? 'h' : ''}`;
  // If the result fits in an i32, the low words suffice: they are correct modulo 2^32 whatever the high words are.
  const part = combineParts(name, [signed(left), signed(right)], ([a, b]): IntegerValue => {
    if (narrow) return { kind: 'i32', value: lowOf(a!)[kind](lowOf(b!)) };
    if (kind === 'mul' && halves) return { kind: 'pair', value: mulI32({ a: lowOf(a!), b: lowOf(b!) }) };
    return { kind: 'pair', value: { add: add64, sub: sub64, mul: mul64 }[kind]({ a: wideOf(a!), b: wideOf(b!) }) };
  });
  const scale = kind === 'mul' ? left.scale + right.scale : left.scale;
  return { part, bounds, scale, validity: [...left.validity, ...right.validity] };
}

/** The same numbers with a larger scale, that is, with more decimal places. */
export function rescaled(integers: IntegerPart, scale: number): IntegerPart {
  if (integers.scale === scale) return integers;
  const factor = integerConstant(10n ** BigInt(scale - integers.scale), scale - integers.scale);
  return computeIntegers('mul', integers, factor);
}

/** Returns the code of the integers unchanged. Throws if they may not fit in signed 64-bit integers. */
function signed({ part, bounds }: IntegerPart): QuestionPart<IntegerValue> {
  if (isWithin(bounds, I64)) return part;
  throw overflow('A u64 from 2^63 on, of which something is computed,', bounds);
}

function overflow(what: string, { min, max }: Bounds): Error {
  return tableError('overflow', `${what} may not fit in 64 bits.`, {
    expected: 'numbers from −2^63 to 2^63 − 1',
    got: min === max ? min : `numbers from ${min} to ${max}`,
    remedy: 'Use columns of smaller numbers, or fewer decimal places.',
  });
}

function lowOf({ kind, value }: IntegerValue): I32Value {
  if (kind === 'i32') return value;
  return bitsToI32(kind === 'u32' ? value : value.lo);
}

/** Converts an integer to two words. */
export function wideOf({ kind, value }: IntegerValue): Wide {
  if (kind === 'i32') return i64OfI32(value);
  return kind === 'u32' ? u64OfU32(value) : value;
}

/** The integer type in which two integers are compared. */
export type Domain = 'i32' | 'u32' | 'i64' | 'u64';

const DOMAINS: readonly (readonly [Domain, Bounds])[] = [
  ['i32', I32],
  ['u32', U32],
  ['i64', I64],
  ['u64', U64],
];

/**
 * Returns the first type of `DOMAINS` that contains all given bounds, and the bounds of that type. Throws if there is
 * none.
 */
export function domainOf(...bounds: readonly Bounds[]): readonly [Domain, Bounds] {
  const found = DOMAINS.find(([, all]) => bounds.every((each) => isWithin(each, all)));
  if (found !== undefined) return found;
  throw tableError('type', 'Negative numbers cannot be compared with numbers of 2^63 or more.');
}

const isLess = {
  i32: (a: IntegerValue, b: IntegerValue): Bool => lowOf(a).lt(lowOf(b)),
  u32: (a: IntegerValue, b: IntegerValue): Bool => bitsToU32(lowOf(a)).lt(bitsToU32(lowOf(b))),
  i64: (a: IntegerValue, b: IntegerValue): Bool => ltI64({ a: wideOf(a), b: wideOf(b) }),
  u64: (a: IntegerValue, b: IntegerValue): Bool => ltU64({ a: wideOf(a), b: wideOf(b) }),
};

export function lessInteger(domain: Domain, a: IntegerValue, b: IntegerValue): Bool {
  return isLess[domain](a, b);
}

export function sameInteger(domain: Domain, a: IntegerValue, b: IntegerValue): Bool {
  if (domain === 'i32' || domain === 'u32') return lowOf(a).eq(lowOf(b));
  return eq64({ a: wideOf(a), b: wideOf(b) });
}

/** A constant in the integer type of a domain. It is passed as a uniform, so another value needs no new compilation. */
export function constantIn(domain: Domain, value: bigint): QuestionPart<IntegerValue> {
  if (domain === 'i64' || domain === 'u64') return pairConstant(value);
  const word = constantPart('u32', Number(value & 0xffffffffn));
  return mapPart('', word, (made): IntegerValue => ({ kind: 'u32', value: made }));
}

/** Converts an integer to an i32. The integer must fit. */
export function asI32(value: IntegerValue): I32Value {
  return lowOf(value);
}
