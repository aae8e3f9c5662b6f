import type { Column } from '../../primitives/columns/column.ts';
import { u32 } from '../../primitives/functors/functor.ts';
import { bitsToU32 } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { eq64, shrU64, sub64 } from '../../primitives/functors/standard/wide.ts';
import type { Bool, U32 } from '../../primitives/functors/value.ts';
import { histogram } from '../../primitives/histogram.ts';
import type { DeviceTable } from './device-table.ts';
import { word } from './group-keys.ts';
import { type IntegerPart, type IntegerValue, wideOf } from './integers.ts';
import { combineParts, constantPart, type QuestionPart, rowPart, viewsOf } from './part.ts';
import { isEveryRow } from './values.ts';

/** Maximum number of bits that one pass finds. */
const MAX_BITS = 11;
const NONE = 2 ** 32 - 1;

/**
 * The state of the search for one place among the sorted integers: the leading bits found so far, and the rank among
 * the integers with these bits.
 */
interface Sought {
  readonly prefix: bigint;
  readonly rank: number;
}

/**
 * Finds the integers at given places (ranks from 0) in the sorted order of the included rows. `placesOf` returns the
 * places, given the number of included rows.
 *
 * Finds the bits of an integer from the top, without a sort. Each pass counts the values of the next digit among the
 * integers that start with the bits found so far. These counts give the digit at the place. The minimum is subtracted
 * from all integers, so that only the bits of `max − min` need to be found. Govindaraju et al. find one bit per pass;
 * here a histogram finds up to eleven bits.
 */
export async function integersAt(
  table: DeviceTable,
  integers: IntegerPart,
  counts: QuestionPart<Bool>,
  placesOf: (count: number) => readonly number[],
): Promise<readonly bigint[]> {
  const { min, max } = integers.bounds;
  const bits = Math.max(1, (max - min).toString(2).length);
  const passes = Math.ceil(bits / MAX_BITS);
  let sought: readonly Sought[] | undefined;
  let left = bits;
  for (let pass = 0; pass < passes; pass++) {
    const digits = Math.ceil(left / (passes - pass));
    left -= digits;
    const prefixes = sought === undefined ? [0n] : [...new Set(sought.map(({ prefix }) => prefix))];
    const tables = await Promise.all(
      prefixes.map((prefix) =>
        countDigits(table, integers, counts, { prefix, digits, left, isFirst: pass === 0, wide: bits > 32 }),
      ),
    );
    if (sought === undefined) {
      const total = tables[0]!.reduce((sum, count) => sum + count, 0);
      sought = placesOf(total).map((rank) => ({ prefix: 0n, rank }));
    }
    sought = sought.map((each) => learn(each, tables[prefixes.indexOf(each.prefix)]!, digits));
  }
  return sought!.map(({ prefix }) => prefix + min);
}

function learn({ prefix, rank }: Sought, counts: Uint32Array, digits: number): Sought {
  let [digit, left] = [0, rank];
  while (left >= counts[digit]! && digit < counts.length - 1) left -= counts[digit++]!;
  return { prefix: (prefix << BigInt(digits)) | BigInt(digit), rank: left };
}

/**
 * What a pass over all rows counts: a digit of `digits` bits, in integers whose bits above the digit are `prefix`.
 * There are `left` bits below the digit.
 */
interface Pass {
  readonly prefix: bigint;
  readonly digits: number;
  readonly left: number;
  readonly isFirst: boolean;
  /** Whether the integers minus the minimum need more than 32 bits, that is, two words. */
  readonly wide: boolean;
}

async function countDigits(
  { context, rows }: DeviceTable,
  { part, bounds }: IntegerPart,
  counts: QuestionPart<Bool>,
  pass: Pass,
): Promise<Uint32Array> {
  const bins = 2 ** pass.digits;
  const digit = pass.wide ? wideDigit(part, bounds.min, pass) : narrowDigit(part, bounds.min, pass);
  // The first pass counts excluded rows in extra bins after the bins of the digits. Skipping these rows would need a
  // branch that is hard to predict.
  const spare = pass.isFirst && !isEveryRow(counts) ? SPARE : 0;
  const others = [rowPart, constantPart('u32', bins)] as const;
  const name = `counted ${spare > 0}`;
  const counted = combineParts<U32 | Bool, readonly [U32]>(name, [digit, counts, ...others], (made) => {
    const [bin, holds, row, first] = made as [U32, Bool, U32, U32];
    return [select(spare > 0 ? row.and(SPARE - 1).add(first) : u32(NONE), bin, holds)];
  });
  const table = context.scope(() => {
    const [bin] = viewsOf(context, rows, ['u32'], counted);
    return histogram(bin as Column<'u32'>, bins + spare, { context });
  });
  const read = await context.read(table);
  context.dispose(table);
  return read.subarray(0, bins);
}

/** Number of bins for excluded rows. With a single bin, additions would wait for each other. */
const SPARE = 16;

/**
 * The digit of an integer. It is NONE if the integer does not have the prefix of the pass. Used if all integers are
 * less than 2³² above `min`.
 */
function narrowDigit(
  part: QuestionPart<IntegerValue>,
  min: bigint,
  { prefix, digits, left, isFirst }: Pass,
): QuestionPart<U32> {
  const constants = [min, BigInt(left), BigInt(digits), prefix].map(word);
  return combineParts<IntegerValue | U32, U32>(`digit${isFirst}`, [part, ...constants], ([value, ...given]) => {
    const [base, shift, more, begin] = given as [U32, U32, U32, U32];
    const above = lowWord(value as IntegerValue)
      .sub(base)
      .shr(shift);
    if (isFirst) return above;
    return select(u32(NONE), above.sub(begin.shl(more)), above.shr(more).eq(begin));
  });
}

/** The low word of an integer. */
export function lowWord(value: IntegerValue): U32 {
  return value.kind === 'i32' ? bitsToU32(value.value) : value.kind === 'u32' ? value.value : value.value.lo;
}

function wideDigit(
  part: QuestionPart<IntegerValue>,
  min: bigint,
  { prefix, digits, left, isFirst }: Pass,
): QuestionPart<U32> {
  const constants = [min, min >> 32n, BigInt(left), BigInt(digits), prefix, prefix >> 32n].map(word);
  return combineParts<IntegerValue | U32, U32>(`wide digit${isFirst}`, [part, ...constants], ([value, ...given]) => {
    const [baseLo, baseHi, shift, more, lo, hi] = given as [U32, U32, U32, U32, U32, U32];
    const apart = sub64({ a: wideOf(value as IntegerValue), b: { lo: baseLo, hi: baseHi } });
    const above = shrU64({ a: apart, count: shift });
    if (isFirst) return above.lo;
    const digit = above.lo.and(u32(1).shl(more).sub(1));
    return select(u32(NONE), digit, eq64({ a: shrU64({ a: above, count: more }), b: { lo, hi } }));
  });
}
