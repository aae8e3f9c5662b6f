import { type Column, commonLength } from '../../primitives/columns/column.ts';
import { computedColumn } from '../../primitives/columns/views.ts';
import { below, partitionPoint } from '../../primitives/functors/bisection.ts';
import { u32 } from '../../primitives/functors/functor.ts';
import { sub64 } from '../../primitives/functors/standard/wide.ts';
import type { Bool, U32 } from '../../primitives/functors/value.ts';
import type { Stretches } from '../stretches.ts';
import { comparedIntegers, requireCut } from './comparisons.ts';
import type { DeviceTable } from './device-table.ts';
import { tableError } from './errors.ts';
import type { LiteralValue } from './expressions.ts';
import { type IntegerPart, type IntegerValue, pairConstant, wideOf } from './integers.ts';
import { columnsPart, combineParts, emitPart, mapPart, type QuestionPart } from './part.ts';
import { RadixKeys } from './radix-keys.ts';
import type { ValueOperand } from './values.ts';

/** Maximum number of values in a list. */
const MAX_LIST = 1_000_000;

/** A table whose rows are tested, and the columns that were made for this: they are freed after the query. */
export interface Asked extends DeviceTable {
  readonly lists: Column<'u32'>[];
}

/** Throws if a list has too many values. */
export function requireShort(values: readonly LiteralValue[]): void {
  if (values.length <= MAX_LIST) return;
  throw tableError('list', 'A list has too many values.', {
    expected: `at most ${MAX_LIST} values`,
    got: values.length,
    remedy: 'Make a table of the values and join it, or select in several steps.',
  });
}

/** Number of values between two pauses. */
const PAUSE = 1024;
/**
 * The part of a query that tells whether the value of a row is one of the given values. The values are uploaded in
 * order, and each row searches them by bisection. Undefined if no row can have one of the values.
 */
export function* memberPart(
  table: Asked,
  operand: ValueOperand,
  values: readonly Exclude<LiteralValue, null>[],
): Stretches<QuestionPart<Bool> | undefined> {
  const integers = comparedIntegers(operand);
  const isNarrow = integers.bounds.max - integers.bounds.min < 2n ** 32n;
  const { keys, count } = yield* offsetsOf(operand, integers, isNarrow, values);
  if (count === 0) return undefined;
  yield* keys.sort(0, count);
  const words = isNarrow ? [keys.low] : [keys.high, keys.low];
  const list = words.map((each) => table.context.column(each.subarray(0, count)) as Column<'u32'>);
  for (const column of list) table.lists.push(column);
  return columnOfMembers(table, integers, isNarrow, list);
}

/** The integers of the values that rows can have, minus the minimum of all rows: the first `count` keys. */
function* offsetsOf(
  operand: ValueOperand,
  { bounds: { min, max } }: IntegerPart,
  isNarrow: boolean,
  values: readonly Exclude<LiteralValue, null>[],
): Stretches<{ readonly keys: RadixKeys; readonly count: number }> {
  const keys = new RadixKeys(new Uint32Array(values.length));
  const { high, low } = keys;
  let count = 0;
  const add = (at: bigint): void => {
    if (at < min || at > max) return;
    const offset = at - min;
    if (!isNarrow) high[count] = Number(offset >> 32n);
    low[count++] = Number(offset & 0xffffffffn);
  };
  if (operand.family === 'string') {
    for (const code of yield* codesOf(operand, operand.column.dictionary, values)) add(BigInt(code));
    return { keys, count };
  }
  const [first, last] = [Number(min), Number(max)];
  const isWhole = operand.family === 'integer' && operand.scale === 0;
  // Most values are numbers for which no bigint is needed.
  const isPlain = isNarrow && isWhole && Number.isSafeInteger(first) && Number.isSafeInteger(last);
  for (let i = 0; i < values.length; i++) {
    if (i % PAUSE === PAUSE - 1) yield;
    const value = values[i]!;
    if (isPlain && Number.isInteger(value)) {
      if ((value as number) >= first && (value as number) <= last) low[count++] = (value as number) - first;
    } else {
      const { at, isThere } = requireCut(operand, value);
      if (isThere) add(at);
    }
  }
  return { keys, count };
}

/** The codes of the strings of a column that are among the values. */
function* codesOf(
  operand: ValueOperand,
  dictionary: readonly string[],
  values: readonly Exclude<LiteralValue, null>[],
): Stretches<number[]> {
  const wanted = new Set<string>();
  for (let i = 0; i < values.length; i++) {
    if (i % PAUSE === PAUSE - 1) yield;
    const value = values[i]!;
    if (typeof value === 'string') wanted.add(value);
    else requireCut(operand, value);
  }
  const codes: number[] = [];
  for (let code = 0; code < dictionary.length; code++) {
    if (code % PAUSE === PAUSE - 1) yield;
    if (wanted.has(dictionary[code]!)) codes.push(code);
  }
  return codes;
}

function columnOfMembers(
  { context, rows }: DeviceTable,
  { part, bounds }: IntegerPart,
  isNarrow: boolean,
  list: readonly Column<'u32'>[],
): QuestionPart<Bool> {
  const offset = combineParts<IntegerValue, readonly U32[]>(
    `offset ${isNarrow}`,
    [part, pairConstant(bounds.min)],
    ([value, min]) => {
      const [a, b] = [wideOf(value!), wideOf(min!)];
      if (isNarrow) return [a.lo.sub(b.lo)];
      const { lo, hi } = sub64({ a, b });
      return [hi, lo];
    },
  );
  const length = commonLength(list, 'member');
  const key = {
    by: [columnOfMembers, offset.structure, offset.columns.length],
    columns: [...offset.columns, ...offset.bits, ...list],
    lengths: [length],
    values: offset.constants.map(({ value }) => value),
  };
  const view = computedColumn('member', 'bool', { context, length: rows }, key, (index, loader) => {
    const own = emitPart(offset, index, loader);
    const at = (place: U32): U32[] => loader.load(list, place) as U32[];
    const count = loader.length(length);
    const place = partitionPoint(u32(0), count, (each) => below(at(each), own));
    // Past the last value, the last value is compared, which is not equal.
    return at(place.min(count.sub(1))).reduce((same, word, i) => same.and(word.eq(own[i]!)), place.lt(count));
  });
  return mapPart('member', columnsPart([view]), ([holds]) => holds as Bool);
}
