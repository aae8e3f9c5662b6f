import { type Column, commonLength, viewColumn } from '../../primitives/columns/column.ts';
import { fuse } from '../../primitives/columns/program.ts';
import { u32 } from '../../primitives/functors/functor.ts';
import { sub64 } from '../../primitives/functors/standard/wide.ts';
import type { Bool, U32 } from '../../primitives/functors/value.ts';
import { below, partitionPoint } from '../../primitives/search.ts';
import { comparedIntegers, requireCut } from './comparisons.ts';
import { tableError } from './errors.ts';
import type { LiteralValue } from './expressions.ts';
import { type IntegerPart, type IntegerValue, pairConstant, wideOf } from './integers.ts';
import { columnsPart, combineParts, emitPart, mapPart, type QuestionPart } from './part.ts';
import { pairsOf } from './sortable.ts';
import type { DeviceTable } from './table.ts';
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

/**
 * The part of a query that tells whether the value of a row is one of the given values. The values are uploaded in
 * order, and each row searches them by bisection. Undefined if no row can have one of the values.
 */
export function memberPart(
  table: Asked,
  operand: ValueOperand,
  values: readonly Exclude<LiteralValue, null>[],
): QuestionPart<Bool> | undefined {
  const integers = comparedIntegers(operand);
  const isNarrow = integers.bounds.max - integers.bounds.min < 2n ** 32n;
  const found = offsetsOf(operand, integers, values);
  const sorted = isNarrow ? Uint32Array.from(found, Number) : BigUint64Array.from(found);
  const all = distinct(sorted.sort());
  if (all.length === 0) return undefined;
  const words = all instanceof Uint32Array ? [all] : [pairsOf(all).hi, pairsOf(all).lo];
  const list = words.map((each) => table.context.column(each) as Column<'u32'>);
  for (const column of list) table.lists.push(column);
  return columnOfMembers(table, integers, isNarrow, list);
}

/** The integers of the values that rows can have, minus the minimum of all rows. */
function offsetsOf(
  operand: ValueOperand,
  { bounds: { min, max } }: IntegerPart,
  values: readonly Exclude<LiteralValue, null>[],
): bigint[] {
  const offsets: bigint[] = [];
  const add = (at: bigint): void => {
    if (at >= min && at <= max) offsets.push(at - min);
  };
  if (operand.family === 'string') {
    const wanted = new Set(values.map((value) => (typeof value === 'string' ? value : requireCut(operand, value))));
    for (const [code, text] of operand.column.dictionary.entries()) if (wanted.has(text)) add(BigInt(code));
    return offsets;
  }
  const isWhole = operand.family === 'integer' && operand.scale === 0;
  for (const value of values) {
    if (isWhole && typeof value === 'number' && Number.isSafeInteger(value)) add(BigInt(value));
    else {
      const { at, isThere } = requireCut(operand, value);
      if (isThere) add(at);
    }
  }
  return offsets;
}

/** Removes repeated values from a sorted array, in place. */
function distinct<A extends Uint32Array | BigUint64Array>(sorted: A): A {
  let count = 0;
  for (let i = 0; i < sorted.length; i++) if (i === 0 || sorted[i] !== sorted[i - 1]) sorted[count++] = sorted[i]!;
  return sorted.slice(0, count) as A;
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
  const view = fuse(
    'member',
    [],
    ['bool'],
    (index, _, loader) => {
      const own = emitPart(offset, index, loader);
      const at = (place: U32): U32[] => loader.load(list, place) as U32[];
      const count = loader.length(length);
      const place = partitionPoint(u32(0), count, (each) => below(at(each), own));
      // Past the last value, the last value is compared, which is not equal.
      return [at(place.min(count.sub(1))).reduce((same, word, i) => same.and(word.eq(own[i]!)), place.lt(count))];
    },
    {
      by: [columnOfMembers, offset.structure, offset.columns.length],
      columns: [...offset.columns, ...offset.bits, ...list],
      lengths: [length],
      values: offset.constants.map(({ value }) => value),
    },
  );
  return mapPart('member', columnsPart([viewColumn(context, 'bool', rows, view)]), ([holds]) => holds as Bool);
}
