import type { Column } from '../../primitives/columns/column.ts';
import { u32 } from '../../primitives/functors/functor.ts';
import { bitsToU32 } from '../../primitives/functors/standard/bits.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { eq64, shrU64, sub64 } from '../../primitives/functors/standard/wide.ts';
import type { Bool, U32 } from '../../primitives/functors/value.ts';
import { histogram } from '../../primitives/histogram.ts';
import { type IntegerPart, type IntegerValue, wideOf } from './integers.ts';
import { combineParts, constantPart, type QuestionPart, rowPart, viewsOf } from './part.ts';
import type { DeviceTable } from './table.ts';
import { isEveryRow } from './values.ts';

/** Bits that a pass learns at most. */
const MAX_BITS = 11;
const NONE = 2 ** 32 - 1;

/** A place that is sought among the sorted integers: its bits so far, and its place among those that begin with them. */
interface Sought {
  readonly prefix: bigint;
  readonly rank: number;
}

/**
 * The integers at places, counted from 0, among those of the rows that count, sorted; the host says which places when it knows
 * how many rows count.
 *
 * By bits from the top, without a sort: every pass counts how often each of the next digits occurs among the integers that
 * begin with the bits known so far; the counts tell the digit at the place. Leading bits that no integer has are left out.
 * Govindaraju et al. learn one bit a pass; a histogram learns eleven.
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

/** What a pass looks at: the digits above the `left` lowest bits, of integers that begin with a prefix. */
interface Pass {
  readonly prefix: bigint;
  readonly digits: number;
  readonly left: number;
  readonly isFirst: boolean;
  /** Whether integers differ in more than 32 bits. */
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
  // Rows that do not count are counted behind the digits at first: to leave out every other row is a branch that nobody foresees.
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

/** Bins for rows that do not count: one alone would have to wait for itself. */
const SPARE = 16;

const word = (value: bigint): QuestionPart<U32> => constantPart('u32', Number(value & 0xffffffffn));

/** The digit of integers that differ in 32 bits at most. */
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
