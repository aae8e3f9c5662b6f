import type { Column } from '../../primitives/columns/column.ts';
import type { U64 } from '../../primitives/functors/standard/wide.ts';
import { I64, isWithin } from './bounds.ts';
import type { TableColumn } from './device-table.ts';
import { tableError } from './errors.ts';
import { addF64, f64OfF32, f64OfInteger, f64OfKey, f64OfRatio, keyOfF64, mulF64, negF64 } from './f64-arithmetic.ts';
import { type FloatPart, f32Bits } from './floats.ts';
import { type IntegerPart, type IntegerValue, integersOf, pairConstant, wideOf } from './integers.ts';
import { combineParts, mapPart, type QuestionPart } from './part.ts';

/**
 * An expression whose value in every row is an f64, as code that computes the two words of its bits. All arithmetic is
 * that of IEEE 754, by integers; see `f64-arithmetic.ts`.
 */
export interface DoublePart {
  readonly bits: QuestionPart<U64>;
  /** Integer keys in the order of the values. */
  readonly keys: IntegerPart;
  readonly validity: readonly (Column<'u32'> | undefined)[];
}

export function doublesOf(column: TableColumn): DoublePart {
  const keys = integersOf(column);
  return { bits: mapPart('of key', keys.part, (key) => f64OfKey(wideOf(key))), keys, validity: keys.validity };
}

/** f64 values with the given bits. */
function doublesOfBits(bits: QuestionPart<U64>, validity: DoublePart['validity']): DoublePart {
  const part = mapPart('key', bits, (made): IntegerValue => ({ kind: 'pair', value: keyOfF64(made) }));
  return { bits, keys: { part, bounds: I64, scale: 0, validity }, validity };
}

export function doubleConstant(value: number): DoublePart {
  const bits = new BigUint64Array(Float64Array.of(value).buffer)[0]!;
  return doublesOfBits(mapPart('', pairConstant(bits), wideOf), []);
}

/** f32 values as f64. Exact. */
export function doublesOfFloats(floats: FloatPart): DoublePart {
  return doublesOfBits(
    mapPart('f64 of f32', f32Bits(floats), (a) => f64OfF32({ a })),
    floats.validity,
  );
}

/** Largest number of decimal places, so that their power of ten fits in 64 bits. */
const MAX_PLACES = 19;

/** Integers and decimals as the nearest f64. */
export function doublesOfIntegers({ part, bounds, scale, validity }: IntegerPart): DoublePart {
  const isSigned = isWithin(bounds, I64);
  if (scale === 0) {
    return doublesOfBits(
      mapPart(`f64 of ${isSigned}`, part, (value) => f64OfInteger(wideOf(value), isSigned)),
      validity,
    );
  }
  if (scale > MAX_PLACES || !isSigned) {
    throw tableError('overflow', `Decimals with ${scale} decimal places cannot be used together with f64.`, {
      expected: `at most ${MAX_PLACES} decimal places`,
      got: scale,
      remedy: 'Use decimals with fewer places, or a column of f64.',
    });
  }
  const divided = combineParts('f64 of decimal', [part, pairConstant(10n ** BigInt(scale))], ([units, divisor]) =>
    f64OfRatio({ units: wideOf(units!), divisor: wideOf(divisor!) }),
  );
  return doublesOfBits(divided, validity);
}

/** Adds, subtracts or multiplies f64 values, each result rounded to the nearest f64, subnormal ones included. */
export function computeDoubles(kind: 'add' | 'sub' | 'mul', left: DoublePart, right: DoublePart): DoublePart {
  const bits = combineParts(`${kind} f64`, [left.bits, right.bits], ([a, b]): U64 => {
    if (kind === 'mul') return mulF64({ a: a!, b: b! });
    return addF64({ a: a!, b: kind === 'add' ? b! : negF64(b!) });
  });
  return doublesOfBits(bits, [...left.validity, ...right.validity]);
}
