import { ratio } from '../exact-ratio.ts';
import { filled, piecewise, type Stretches } from '../stretches.ts';
import { I64, isWithin } from './bounds.ts';
import type { TableColumn } from './device-table.ts';
import { sumTooLarge } from './errors.ts';
import { type FloatSums, type FloatTotals, floatTotals } from './exact-floats.ts';
import type { Expression } from './expressions.ts';
import { wordsFor } from './group-keys.ts';
import type { HostColumn } from './host-table.ts';
import { domainOf } from './integers.ts';
import { hostColumn, validityOf } from './rows.ts';
import { countTotal, extremumTotal, sumOfWords, sumTotal, type Total } from './totals.ts';
import { countsWhere, isEveryRow, orderedValues, requireIntegers, type ValueOperand } from './values.ts';

/** An aggregate that one pass over the grouped rows computes. */
export type TotalAggregate =
  | { readonly kind: 'count'; readonly of?: Expression }
  | { readonly kind: 'sum' | 'avg' | 'min' | 'max'; readonly of: Expression };

type Entry = readonly [string, TotalAggregate];
type Arrays = readonly (Uint32Array | Int32Array | Float32Array)[];

/** The totals to compute for every group, and how aggregates are derived from these. */
export interface GroupTotals {
  readonly totals: readonly Total[];
  /** Makes the column of an aggregate from the words of all totals. */
  finish(aggregate: number, words: readonly Arrays[], groups: number): Stretches<HostColumn>;
}

/** Plans the totals that the aggregates need, each once. The plan has at least one total. */
export function totalsOfGroups(
  rows: number,
  entries: readonly Entry[],
  operands: readonly (ValueOperand | undefined)[],
): GroupTotals {
  const totals: Total[] = [];
  const numberOf = (total: Total): number => {
    const name = `${total.name} ${total.element.structure}`;
    const known = totals.findIndex((each) => each.name === name && sameColumns(each, total));
    return known >= 0 ? known : totals.push({ ...total, name }) - 1;
  };
  const plans = entries.map(([, { kind }], i) => {
    const operand = operands[i];
    const counts = countsWhere(undefined, operand);
    const needsCount = kind === 'count' || kind === 'avg' || !isEveryRow(counts);
    const count = needsCount ? numberOf(countTotal(counts)) : undefined;
    const floats = isFloatSum(kind, operand) ? floatTotals(operand, counts, rows, false) : undefined;
    const own = floats?.totals ?? (kind === 'count' ? [] : [totalOf(kind, operand!, counts, rows)]);
    return { kind, operand, count, floats, totals: own.map(numberOf) };
  });
  if (totals.length === 0) numberOf(countTotal(countsWhere(undefined, undefined)));
  return {
    totals,
    *finish(aggregate, words, groups) {
      const { kind, operand, count, floats, totals: own } = plans[aggregate]!;
      const counts = count === undefined ? undefined : (words[count]![0] as Uint32Array).subarray(0, groups);
      if (kind === 'count') return { type: 'u32', values: counts!.slice() };
      const all = own.map((total) => words[total]!.map((each) => each.subarray(0, groups)));
      const some = all[0]!;
      const valid = counts && (yield* filled(new Uint8Array(groups), (i) => Number(counts[i]! > 0)));
      if (floats !== undefined) {
        const result = (sums: FloatSums, i: number): number =>
          kind === 'sum' ? sums.sum() : sums.average(counts![i]!);
        const values = yield* floatResults(floats, all, groups, valid, result);
        return { type: 'f64', values, ...validityOf(valid) };
      }
      if (kind === 'sum') return yield* sumColumn(operand!, some, valid);
      if (kind === 'avg') return yield* averageColumn(operand!, some, counts!, valid!);
      return yield* extremumColumn(operand!, some, valid);
    },
  };
}

function isFloatSum(
  kind: TotalAggregate['kind'],
  operand: ValueOperand | undefined,
): operand is ValueOperand & { readonly family: 'f32' } {
  return (kind === 'sum' || kind === 'avg') && operand?.family === 'f32';
}

/** A result for each group from its exact sums; 0 for a group without values. */
function floatResults(
  floats: FloatTotals,
  words: readonly Arrays[],
  groups: number,
  valid: Uint8Array | undefined,
  result: (sums: FloatSums, group: number) => number,
): Stretches<Float64Array> {
  return filled(new Float64Array(groups), (i) =>
    valid?.[i] === 0 ? 0 : result(floats.read(words.map((each) => wordsAt(each, i))), i),
  );
}

function sameColumns(a: Total, b: Total): boolean {
  const [x, y] = [a.element, b.element];
  return (
    x.columns.every((each, i) => each === y.columns[i]) &&
    x.bits.every((each, i) => each === y.bits[i]) &&
    x.constants.every(({ value }, i) => Object.is(value, y.constants[i]!.value))
  );
}

function totalOf(
  kind: 'sum' | 'avg' | 'min' | 'max',
  operand: ValueOperand,
  counts: ReturnType<typeof countsWhere>,
  rows: number,
): Total {
  if (kind === 'min' || kind === 'max') return extremumTotal(kind, orderedValues(operand).integers, counts);
  return sumTotal(requireIntegers(kind, operand), counts, rows);
}

function* sumColumn(operand: ValueOperand, words: Arrays, valid: Uint8Array | undefined): Stretches<HostColumn> {
  const [low, high] = yield* wideWords(words);
  const pair = { key: 'i64', dictionary: [], scale: 'scale' in operand ? operand.scale : 0 } as const;
  return yield* hostColumn({ ...pair, kind: pair.scale > 0 ? 'decimal' : 'i64' }, [low, high], valid);
}

/** The words of one group. */
function wordsAt(words: Arrays, group: number): number[] {
  return words.map((each) => each[group]!);
}

/** Converts sums of up to three words to two words each. Throws if a sum does not fit. */
function* wideWords([low, high, top]: Arrays): Stretches<readonly [Uint32Array, Int32Array]> {
  const { length } = low!;
  const lo = yield* filled(new Uint32Array(length), (i) => low![i]!);
  if (high === undefined) return [lo, yield* filled(new Int32Array(length), (i) => low![i]! >> 31)];
  const hi = yield* filled(new Int32Array(length), (i) => high[i]!);
  let wide = -1;
  yield* piecewise(0, top === undefined ? 0 : length, (from, to) => {
    for (let i = from; i < to && wide < 0; i++) if ((top![i]! | 0) !== hi[i]! >> 31) wide = i;
  });
  if (wide < 0) return [lo, hi];
  throw sumTooLarge(sumOfWords([low![wide]!, high![wide]!, top![wide]!]));
}

function* averageColumn(
  operand: ValueOperand,
  words: Arrays,
  counts: Uint32Array,
  valid: Uint8Array,
): Stretches<HostColumn> {
  const [low, high, top] = words;
  const scale = 'scale' in operand ? operand.scale : 0;
  const values = yield* filled(new Float64Array(counts.length), (i) => {
    const lo = low![i]!;
    const hi = high === undefined ? lo >> 31 : high[i]! | 0;
    const divisor = counts[i]! * 10 ** scale;
    const isExact = top === undefined && Math.abs(hi) < 2 ** 20 && divisor <= Number.MAX_SAFE_INTEGER;
    if (isExact || divisor === 0) return (hi * 2 ** 32 + (lo >>> 0)) / divisor;
    return ratio(sumOfWords(wordsAt(words, i)), BigInt(counts[i]!) * 10n ** BigInt(scale));
  });
  return { type: 'f64', values, ...validityOf(valid) };
}

/** A column of values of an operand, from the words of their integers. */
export function* extremumColumn(
  operand: ValueOperand,
  words: Arrays,
  valid: Uint8Array | undefined,
): Stretches<HostColumn> {
  const column = columnLike(operand);
  const [first, second] = words;
  const low = yield* filled(new Uint32Array(first!.length), (i) => first![i]!);
  const highAt =
    second === undefined ? (i: number) => (column.isSigned ? low[i]! >> 31 : 0) : (i: number) => second[i]!;
  const high = yield* filled(new Int32Array(low.length), highAt);
  return yield* hostColumn(column, wordsFor(column, low, high), valid);
}

/** Describes a column that can hold the values of an operand. */
function columnLike(
  operand: ValueOperand,
): Pick<TableColumn, 'kind' | 'key' | 'dictionary' | 'scale'> & { readonly isSigned: boolean } {
  const [domain] = domainOf(orderedValues(operand).integers.bounds);
  const isSigned = domain.startsWith('i');
  if (operand.column !== undefined) return { ...operand.column, isSigned };
  const none = { dictionary: [], isSigned };
  if (operand.family === 'f32') return { ...none, kind: 'f32', key: 'i32', scale: 0 };
  if (operand.family === 'f64') return { ...none, kind: 'f64', key: 'i64', scale: 0 };
  const { scale, bounds } = operand as ValueOperand & { readonly family: 'integer' };
  const isWide = !isWithin(bounds, I64);
  return { ...none, kind: scale > 0 ? 'decimal' : isWide ? 'u64' : 'i64', key: isWide ? 'u64' : 'i64', scale };
}
