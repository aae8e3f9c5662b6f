import { wrongArgument } from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { type Column, type ColumnOwner, columnsOf, commonLength, requireType } from './columns/column.ts';
import { destination, type Fusion, storeRows } from './columns/program.ts';
import { memoriesUnder } from './columns/reachable.ts';
import { fuseColumns } from './columns/views.ts';
import { wordsOf } from './columns/words.ts';
import { requireContext } from './context/context-option.ts';
import type { AtomicCombination } from './contract/backend.ts';
import { f32, fn, u32, uniform } from './functors/functor.ts';
import { select } from './functors/standard/choose.ts';
import { f32BitsToSortable, sortableToF32Bits } from './functors/standard/sortable.ts';
import type { Bool, U32 } from './functors/value.ts';
import { gather } from './gather.ts';
import type { ScalarType } from './ir/ir.ts';
import { map } from './map.ts';
import { plus } from './monoid.ts';
import { reduceByKey } from './reduce-by-key.ts';
import { columnsUnder } from './scatter.ts';
import { sortByKey } from './sort.ts';

/**
 * Combines row i of `values` with row `indices[i]` of `onto`, in place:
 * `onto[indices[i]] = onto[indices[i]] ⊕ values[i]`. Records are combined field by field. Any number of rows of
 * `values` may have the same index. Rows whose index is not below the length of `onto` are ignored.
 *
 * - u32 and i32 take all operations, f32 `add`, `min` and `max`. `add` of integers is modulo 2³². `min` and `max` of
 *   f32 are those of functors: −0 is less than 0, and NaN loses against numbers.
 * - Deterministic, whatever the order of the rows. All operations are commutative and exact, but `add` of f32: there the
 *   rows are sorted by index, stably, the values of every index are added as by {@link reduceByKey}, and each sum is
 *   added to its row of `onto`.
 * - Work O(n), span O(n) if all indices are equal. `min` and `max` of i32 and f32 also pass over `onto` twice or three
 *   times, in copies of it. `add` of f32 takes the time of {@link sortByKey}.
 * - Accepts device counts (lengths that only the device knows). No rows change nothing.
 * - Equivalent loop: `for (let i = 0; i < n; i++) if (indices[i] < onto.length) onto[indices[i]] ^= values[i]`.
 *
 * @throws {@link ArgumentError} if `onto` is a view or packed, if the columns of `onto` do not match those of `values`,
 * if `onto` contains a column twice, or if `values` or `indices` read a column of `onto`; `scatter/combination` if the
 * operation is unknown, or `and`, `or`, `xor` of f32.
 * @example
 * const bits = ctx.column(Uint32Array.of(0, 0));
 * scatterReduce(ctx.column(Uint32Array.of(1, 2, 4)), ctx.column(Uint32Array.of(1, 1, 0)), 'xor', bits);
 * await ctx.read(bits); // Uint32Array [4, 3]
 */
export function scatterReduce<C extends WordTable>(
  values: C,
  indices: Column<'u32'>,
  combine: AtomicCombination,
  onto: C,
): void {
  const columns = columnsOf(values, 'scatterReduce', 'values');
  for (const column of columns) requireType(column, TYPES, 'values', 'scatterReduce');
  for (const column of columnsOf(onto, 'scatterReduce', 'onto')) requireType(column, TYPES, 'onto', 'scatterReduce');
  requireType(indices, ['u32'], 'indices', 'scatterReduce');
  requireCombination('scatterReduce', combine);
  const ofFloats = columns.some(({ type }) => type === 'f32');
  if (ofFloats && !FLOAT_COMBINATIONS.includes(combine)) {
    const expected = `${FLOAT_COMBINATIONS.join(', ')} for columns of f32`;
    throw wrongArgument('scatterReduce', 'combine', combine, expected, { code: 'scatter/combination' });
  }
  const targets = columnsUnder('scatterReduce', values, onto);
  const context = requireContext([...columns, indices, ...targets], 'scatterReduce');
  const extent = commonLength([...columns, indices], 'scatterReduce');
  commonLength(targets, 'scatterReduce');
  requireApart(targets);
  const ways = targets.map(({ type }) => wayOf(type, combine));
  const words = columns.map((column, i) => (ways[i] === 'words' ? wordsOf(column) : column));
  const program = fuseColumns('scatterReduce', [indices, ...words]);
  const stores = targets.map((target, i) => ({ ...destination(target), index: 0, value: 1 + i, combine }));
  for (const target of targets) requireUnread('scatterReduce', [program], target);
  const atOnce = stores.filter((_, i) => ways[i] === 'words');
  if (atOnce.length > 0) storeRows(context, extent, program, atOnce);
  if (atOnce.length === stores.length) return;
  const fieldsOf = (way: Way): Field[] =>
    targets.flatMap((onto, i) => (ways[i] === way ? [{ values: columns[i]!, onto }] : []));
  context.scope(() => {
    for (const field of fieldsOf('ordered')) combineOrdered(context, indices, combine as 'min' | 'max', field);
    if (ways.includes('added')) addInOrder(context, indices, fieldsOf('added'));
  });
}

const TYPES = ['u32', 'i32', 'f32'] as const;

/** A column of values and the column with which they are combined. */
interface Field {
  readonly values: Column;
  readonly onto: Column;
}

/** How a column is combined: word by word, all such columns at once; as words of the same order; sorted by index. */
type Way = 'words' | 'ordered' | 'added';

function wayOf(type: ScalarType, combine: AtomicCombination): Way {
  if (type === 'u32') return 'words';
  if (combine === 'min' || combine === 'max') return 'ordered';
  return type === 'f32' ? 'added' : 'words';
}

/** Combines u32 keys that sort as the values do, and writes them back. */
function combineOrdered(context: ColumnOwner, indices: Column<'u32'>, combine: 'min' | 'max', field: Field): void {
  const isFloat = field.onto.type === 'f32';
  const keysOf = (column: Column): Column<'u32'> =>
    isFloat
      ? map(floatKey, { word: wordsOf(column), ofNaN: combine === 'min' ? NO_KEY : 0 })
      : map(otherSign, { word: wordsOf(column) });
  const keys = context.materialize(keysOf(field.onto));
  scatterReduce(keysOf(field.values), indices, combine, keys);
  // Stored before it is written to `onto`, which it reads: a NaN that meets no number keeps its bits.
  const words = isFloat
    ? context.materialize(map(floatOfKey, { key: keys, before: keysOf(field.onto), word: wordsOf(field.onto) }))
    : map(otherSign, { word: keys });
  storeRows(context, field.onto.length, fuseColumns('scatterReduce', [words]), [
    { ...destination(field.onto), value: 0 },
  ]);
}

const NO_KEY = 2 ** 32 - 1;
const otherSign = fn('otherSign', { word: u32 }, u32, ({ word }) => word.xor(2 ** 31));
const isNotNumber = (word: U32): Bool => word.and(0x7fffffff).gt(0x7f800000);
const floatKey = fn('floatKey', { word: u32, ofNaN: uniform(u32) }, u32, ({ word, ofNaN }) =>
  select(f32BitsToSortable({ bits: word }), ofNaN, isNotNumber(word)),
);
/** The bits of a number from its key, or the bits from before if the key is still the same. */
const floatOfKey = fn('floatOfKey', { key: u32, before: u32, word: u32 }, u32, ({ key, before, word }) =>
  select(sortableToF32Bits({ key }), word, key.eq(before)),
);

/** Adds values of f32 in the order of their rows, index by index. */
function addInOrder(context: ColumnOwner, indices: Column<'u32'>, fields: readonly Field[]): void {
  const rows = fields[0]!.onto.capacity;
  if (rows === 0) return;
  // Rows without a place go to the end, so that the sort looks at few bits.
  const places = map(placeWithin, { index: indices, rows });
  const values = Object.fromEntries(fields.map((field, i) => [`v${i}`, field.values as Column<'f32'>]));
  const sorted = sortByKey(places, values, { bits: { from: 0, to: 32 - Math.clz32(rows) } });
  for (const [i, { onto }] of fields.entries()) {
    const { keys, values: sums } = reduceByKey(sorted.keys, sorted.values[`v${i}`]!, plus(f32));
    const next = context.materialize(map(addF32, { a: gather(onto as Column<'f32'>, keys), b: sums }));
    const program = fuseColumns('scatterReduce', [keys, wordsOf(next)]);
    storeRows(context, keys.length, program, [{ ...destination(onto), index: 0, value: 1 }]);
  }
}

const placeWithin = fn('placeWithin', { index: u32, rows: uniform(u32) }, u32, ({ index, rows }) => index.min(rows));
const addF32 = fn('addF32', { a: f32, b: f32 }, f32, ({ a, b }) => a.add(b));

/**
 * Requires that the columns to be written are distinct. They are not distinct if the same view was materialized
 * several times, because every call then returns the same column.
 */
function requireApart(targets: readonly Column[]): void {
  const memories = targets.flatMap(({ source }) => (source.kind === 'view' ? [] : [source.memory]));
  if (new Set(memories).size === memories.length) return;
  throw new ArgumentError('scatter/aliased', 'Argument onto of scatterReduce must not have the same column twice.', {
    remedy: 'Make a separate column for each, for example with fill(context, …).',
  });
}

/** A column of u32, i32 or f32, or a record of such columns, nested to any depth. */
export type WordTable = Column<'u32' | 'i32' | 'f32'> | { readonly [name: string]: WordTable };

const combinations: readonly AtomicCombination[] = ['add', 'and', 'or', 'xor', 'min', 'max'];
const FLOAT_COMBINATIONS: readonly AtomicCombination[] = ['add', 'min', 'max'];

export function requireCombination(primitive: string, combine: AtomicCombination): void {
  if (combinations.includes(combine)) return;
  throw wrongArgument(primitive, 'combine', combine, combinations.join(', '), { code: 'scatter/combination' });
}

/**
 * Throws if a program reads the column that its launch writes in place, because the order of reads and writes is
 * undefined.
 */
export function requireUnread(primitive: string, programs: readonly Fusion[], onto: Column): void {
  const { source } = onto;
  if (source.kind === 'view' || !memoriesUnder(programs).has(source.memory)) return;
  throw new ArgumentError(
    'scatter/aliased',
    `The rows given to ${primitive} must not read the column that it writes.`,
    {
      remedy: 'Read a copy of the column instead.',
    },
  );
}
