import type { Column } from '../../primitives/columns/column.ts';
import { u32 } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import { sub64, type U64 } from '../../primitives/functors/standard/wide.ts';
import type { Bool, U32 } from '../../primitives/functors/value.ts';
import { weightedHistogram } from '../../primitives/weighted-histogram.ts';
import { ratio } from '../exact-ratio.ts';
import { filled, inStretches, piecewise, type Stretches } from '../stretches.ts';
import { I64, isWithin } from './bounds.ts';
import type { DeviceTable } from './device-table.ts';
import { sumTooLarge } from './errors.ts';
import { scaledIntegers } from './float-integers.ts';
import { decodeCodes, type GroupCodes } from './group-keys.ts';
import type { TotalAggregate } from './group-totals.ts';
import type { HostColumn, HostTable } from './host-table.ts';
import { type IntegerPart, type IntegerValue, pairConstant, wideOf } from './integers.ts';
import { bitsPart, combineParts, fixedPart, type QuestionPart, viewsOf } from './part.ts';
import { validityOf } from './rows.ts';
import type { ValueOperand } from './values.ts';

/**
 * Number of sums that fit in the memory of a workgroup or in the L1 cache of a core. A pass computes more sums only if
 * this number allows fewer than `MIN_WEIGHTS` weights.
 */
const MAX_SUMS = 4096;
/** Minimum and maximum number of weights (words that are summed) per pass. */
const [MIN_WEIGHTS, MAX_WEIGHTS] = [2, 8];
/** Maximum number of groups. With more groups, additions go to too many places in memory, and a sort is faster. */
const MAX_GROUPS = 2 ** 22;
/** Maximum number of groups if f64 may not hold every sum exactly, because each sum is then a bigint. */
const MAX_BIG_GROUPS = 2 ** 16;
const MAX_EXACT = 2 ** 53;

type Entries = readonly (readonly [string, TotalAggregate])[];

/**
 * An operand to sum, as integers. The value of a row is `integer · 10^−scale · 2^exponent`, with the scale of
 * `integers`.
 */
interface Summand {
  readonly operand: ValueOperand;
  readonly integers: IntegerPart;
  readonly exponent: number;
  /** Whether f64 holds every sum exactly, so that no bigints are needed. */
  readonly isExact: boolean;
}

/**
 * The distinct summands of a query and, for each aggregate, the index of its summand. The index is undefined for
 * aggregates that only count rows.
 */
interface DensePlan {
  readonly summands: readonly Summand[];
  readonly ofEntry: readonly (number | undefined)[];
}

/**
 * Plans counts, sums and averages of a small number of groups without a sort. The values of each group are added
 * exactly. Values of f32 are added in fixed point. Returns undefined if a sort is faster, if the query has minima or
 * maxima, or if values do not allow exact sums in this way.
 */
export function densePlan(
  rows: number,
  { groups }: GroupCodes,
  entries: Entries,
  operands: readonly (ValueOperand | undefined)[],
): DensePlan | undefined {
  if (entries.some(([, { kind }]) => kind === 'min' || kind === 'max')) return undefined;
  if (groups > MAX_GROUPS || groups > Math.max(MAX_SUMS, rows)) return undefined;
  const summands: Summand[] = [];
  const ofEntry: (number | undefined)[] = [];
  for (const operand of operands) {
    const summand = operand && summandOf(rows, operand);
    if (operand !== undefined && summand === undefined) return undefined;
    if (summand === undefined) ofEntry.push(undefined);
    else {
      const known = summands.findIndex((each) => isSame(each.integers, summand.integers));
      ofEntry.push(known >= 0 ? known : summands.push(summand) - 1);
    }
  }
  if (groups > MAX_BIG_GROUPS && summands.some(({ isExact }) => !isExact)) return undefined;
  return { summands, ofEntry };
}

function summandOf(rows: number, operand: ValueOperand): Summand | undefined {
  const scaled =
    operand.family === 'integer'
      ? { integers: operand, exponent: 0 }
      : operand.family === 'f32'
        ? scaledIntegers(operand, operand.column)
        : undefined;
  if (scaled === undefined || rangeBits(scaled.integers) > 64) return undefined;
  const { min, max } = scaled.integers.bounds;
  const isExact = rows * Math.max(Number(max - min), Math.abs(Number(min))) < MAX_EXACT;
  return { operand, ...scaled, isExact };
}

function isSame(a: IntegerPart, b: IntegerPart): boolean {
  const constants = ({ part }: IntegerPart): string => part.constants.map(({ value }) => `${value}`).join();
  return (
    a.part.structure === b.part.structure &&
    a.scale === b.scale &&
    a.part.columns.every((each, i) => each === b.part.columns[i]) &&
    constants(a) === constants(b)
  );
}

function rangeBits({ bounds: { min, max } }: IntegerPart): number {
  return (max - min).toString(2).length;
}

/**
 * The sums of one weight (a word per row). The sum of a group is in two words, at the index that is the group's code.
 */
interface Sums {
  readonly lo: Uint32Array;
  readonly hi: Uint32Array;
}

/** Computes counts, sums and averages of groups without sorting rows. */
export async function denseGroups(
  table: DeviceTable,
  keys: readonly string[],
  codes: GroupCodes,
  entries: Entries,
  { summands, ofEntry }: DensePlan,
): Promise<HostTable> {
  const one = fixedPart('one', () => u32(1));
  const weights = [one, ...summands.flatMap(({ integers }) => weightsOf(integers))];
  const sums = await sumsByGroup(table, codes, weights);
  return inStretches(groupColumns(keys, codes, entries, { summands, ofEntry }, sums));
}

function* groupColumns(
  keys: readonly string[],
  codes: GroupCodes,
  entries: Entries,
  { summands, ofEntry }: DensePlan,
  sums: readonly Sums[],
): Stretches<HostTable> {
  const rows = sums[0]!.lo;
  const present = yield* placesOf(rows);
  let next = 1;
  const found: Found[] = [];
  for (const summand of summands) {
    const own = sums.slice(next, next + weightsOf(summand.integers).length);
    next += own.length;
    found.push(yield* foundOf(summand, rows, own, present));
  }
  const keyColumns = yield* decodeCodes(codes, present);
  const columns = keys.map((name, k): [string, HostColumn] => [name, keyColumns[k]!]);
  for (const [i, [name, { kind }]] of entries.entries()) {
    const place = ofEntry[i];
    if (place === undefined) columns.push([name, { type: 'u32', values: yield* countsAt(present, rows) }]);
    else if (kind === 'count') columns.push([name, { type: 'u32', values: found[place]!.counts }]);
    else columns.push([name, yield* (kind === 'sum' ? sumColumn : averageColumn)(summands[place]!, found[place]!)]);
  }
  return Object.fromEntries(columns);
}

/** The counts of some groups, which are given by their codes. */
function countsAt(present: Uint32Array, counts: Uint32Array): Stretches<Uint32Array> {
  return filled(new Uint32Array(present.length), (i) => counts[present[i]!]!);
}

/** Codes of the groups that have at least one row. */
function* placesOf(rows: Uint32Array): Stretches<Uint32Array> {
  const places = new Uint32Array(rows.length);
  let found = 0;
  yield* piecewise(0, rows.length, (from, to) => {
    for (let code = from; code < to; code++) if (rows[code]! > 0) places[found++] = code;
  });
  return places.slice(0, found);
}

/** Number of bits of a digit. A digit is shorter than a word, so that sums rarely carry into their second word. */
const DIGIT_BITS = 24;
const DIGIT_MASK = 2 ** DIGIT_BITS - 1;

/** Number of digits of the integers after their minimum is subtracted. */
function digitsOf(integers: IntegerPart): number {
  return Math.ceil(rangeBits(integers) / DIGIT_BITS);
}

/**
 * The words that are summed for a summand. If values may be null, the first word is a flag of valid rows. Then come the
 * digits of the integer minus the minimum, lowest digit first.
 */
function weightsOf(integers: IntegerPart): QuestionPart<U32>[] {
  const { part, bounds, validity } = integers;
  const isValid = bitsPart(validity);
  const [bits, count] = [rangeBits(integers), digitsOf(integers)];
  const counts = mapBool(isValid);
  const digits = Array.from({ length: count }, (_, digit) => {
    const name = `digit ${digit} of ${bits > 32 ? 'pairs' : count > 1 ? 'words' : 'narrow words'}`;
    const parts = [part, pairConstant(bounds.min), isValid];
    return combineParts<IntegerValue | Bool, U32>(name, parts, (made) => {
      const [value, min, valid] = made as [IntegerValue, IntegerValue, Bool];
      const [a, b] = [wideOf(value), wideOf(min)];
      const above = bits > 32 ? sub64({ a, b }) : { lo: a.lo.sub(b.lo), hi: u32(0) };
      return select(u32(0), count === 1 ? above.lo : digitAt(above, digit), valid);
    });
  });
  return counts === undefined ? digits : [counts, ...digits];
}

function digitAt({ lo, hi }: U64, digit: number): U32 {
  if (digit === 0) return lo.and(DIGIT_MASK);
  if (digit === 2) return hi.shr(2 * DIGIT_BITS - 32);
  return lo
    .shr(DIGIT_BITS)
    .or(hi.shl(32 - DIGIT_BITS))
    .and(DIGIT_MASK);
}

function mapBool(isValid: QuestionPart<Bool>): QuestionPart<U32> | undefined {
  if (isValid.structure === 'true') return undefined;
  return combineParts('counts', [isValid], ([valid]) => u32(valid!));
}

/** Sums the weights of all rows by group, with several weights per pass. */
async function sumsByGroup(
  { context, rows }: DeviceTable,
  { code, groups }: GroupCodes,
  weights: readonly QuestionPart<U32>[],
): Promise<readonly Sums[]> {
  const count = Number(groups);
  const width = Math.min(MAX_WEIGHTS, Math.max(MIN_WEIGHTS, Math.floor(MAX_SUMS / count)));
  const sums = context.scope(() => {
    const passes = Array.from({ length: Math.ceil(weights.length / width) }, (_, pass) => {
      const some = weights.slice(pass * width, (pass + 1) * width);
      const row = combineParts('group weights', [code, ...some], (made) => made);
      const types = ['u32' as const, ...some.map(() => 'u32' as const)];
      const [bin, ...columns] = viewsOf(context, rows, types, row) as Column<'u32'>[];
      const named = Object.fromEntries(columns.map((column, i) => [`w${pass * width + i}`, column]));
      return weightedHistogram(bin!, count, named, { context });
    });
    return Object.fromEntries(passes.flatMap((pass) => Object.entries(pass)));
  });
  const read = await context.read(sums).finally(() => context.dispose(sums));
  return weights.map((_, i) => read[`w${i}`] as Sums);
}

/**
 * Counts and sums of a summand, for the groups that have rows. Sums are JavaScript numbers if f64 holds every sum
 * exactly, else bigints.
 */
interface Found {
  readonly counts: Uint32Array;
  readonly sums: Float64Array | readonly bigint[];
}

function* foundOf(
  { integers, isExact }: Summand,
  rows: Uint32Array,
  sums: readonly Sums[],
  present: Uint32Array,
): Stretches<Found> {
  const count = digitsOf(integers);
  const { min } = integers.bounds;
  const counted = sums.length > count ? sums[0]!.lo : rows;
  const digits = sums.slice(sums.length - count);
  const counts = yield* countsAt(present, counted);
  if (!isExact) {
    const values = Array.from(present, (code, i) => {
      const above = digits.reduceRight((sum, digit) => (sum << BigInt(DIGIT_BITS)) + BigInt(numberOf(digit, code)), 0n);
      return above + min * BigInt(counts[i]!);
    });
    return { counts, sums: values };
  }
  const lowest = Number(min);
  const values = yield* filled(new Float64Array(present.length), (i) => {
    let above = 0;
    for (let digit = count - 1; digit >= 0; digit--)
      above = above * 2 ** DIGIT_BITS + numberOf(digits[digit]!, present[i]!);
    return above + lowest * counts[i]!;
  });
  return { counts, sums: values };
}

/** Returns the sum of a digit for a group, given by its code. The sum is exact in f64, because digits are narrow. */
function numberOf({ lo, hi }: Sums, code: number): number {
  return hi[code]! * 2 ** 32 + lo[code]!;
}

function* sumColumn(
  { operand, integers: { scale }, exponent }: Summand,
  { counts, sums }: Found,
): Stretches<HostColumn> {
  const validity = validityOf(counts);
  if (operand.family === 'f32') {
    const values = yield* filled(new Float64Array(sums.length), (i) => Number(sums[i]!) * 2 ** exponent);
    return { type: 'f64', values, ...validity };
  }
  const values = sums instanceof Float64Array ? yield* wordsOfNumbers(sums) : fitting(sums);
  return scale > 0 ? { type: 'decimal', values, scale, ...validity } : { type: 'i64', values, ...validity };
}

/** Converts integers in f64 to 64-bit integers. Avoids a bigint per integer, which would be slow. */
function* wordsOfNumbers(sums: Float64Array): Stretches<BigInt64Array> {
  const values = new BigInt64Array(sums.length);
  const words = new Int32Array(values.buffer);
  yield* piecewise(0, sums.length, (from, to) => {
    for (let i = from; i < to; i++) {
      words[2 * i] = sums[i]!;
      words[2 * i + 1] = Math.floor(sums[i]! / 2 ** 32);
    }
  });
  return values;
}

function fitting(sums: readonly bigint[]): BigInt64Array {
  const large = sums.find((each) => !isWithin({ min: each, max: each }, I64));
  if (large === undefined) return BigInt64Array.from(sums);
  throw sumTooLarge(large);
}

function* averageColumn({ integers: { scale }, exponent }: Summand, { counts, sums }: Found): Stretches<HostColumn> {
  const [by, tens] = [2 ** exponent, 10 ** scale];
  const values = yield* filled(new Float64Array(counts.length), (i) => {
    const [count, sum] = [counts[i]!, sums[i]!];
    if (count === 0) return 0;
    if (typeof sum === 'number' && count * tens <= MAX_EXACT) return (sum * by) / (count * tens);
    // Rounding the sum or the divisor to f64 would round the average twice.
    const average = [BigInt(sum) << BigInt(Math.max(0, exponent)), BigInt(count) << BigInt(Math.max(0, -exponent))];
    return ratio(average[0]!, average[1]! * 10n ** BigInt(scale));
  });
  return { type: 'f64', values, ...validityOf(counts) };
}
