import { type Column, type ColumnsOf, columnsOf, commonLength, type Table, withColumns } from './columns/column.ts';
import { destination } from './columns/program.ts';
import { wordsOf } from './columns/words.ts';
import { type CapacityOption, expectRows, withCapacity } from './context/capacity-option.ts';
import { inContextOf, requireContext } from './context/context-option.ts';
import { capacityOf } from './contract/backend.ts';
import { copyRows } from './copy-if.ts';
import { u32 } from './functors/functor.ts';
import { assemble, type Shape } from './functors/shapes.ts';
import type { U32 } from './functors/value.ts';
import { type Monoid, monoidProgram, plus } from './monoid.ts';
import { operandsOf } from './reduce.ts';
import { combinedByRun, endsRun, headsOf, startsRun } from './runs.ts';
import { countIn, fusedScan } from './scan.ts';
import { constant } from './sequence.ts';

/**
 * Combines the values of every run of adjacent equal keys. The result has one row for each run, with the key and the
 * combination of the values in order. Only adjacent equal keys are combined; sort by key first to combine all equal
 * keys. Only the device knows the length of the result, which has room for all rows of the input or for those of the
 * option `capacity`; see {@link copyIf}.
 *
 * - The monoid must be associative with a neutral identity; it need not be commutative.
 * - Work O(n), span O(log n), one pass over the input, even if runs are long. Deterministic, as a scan is.
 * - An empty input gives an empty result. Accepts device counts (lengths that only the device knows). f32 keys are
 *   compared by their bits.
 * - Equivalent loop: start a new row if the key changes; `value = combine(value, values[i])`.
 *
 * @example
 * const keys = ctx.column(Uint32Array.of(1, 1, 2));
 * await ctx.read(reduceByKey(keys, ctx.column(Uint32Array.of(5, 6, 7)), plus(u32)));
 * // { keys: Uint32Array [1, 2], values: Uint32Array [11, 7] }
 */
export function reduceByKey<K extends Table, S extends Shape>(
  keys: K,
  values: ColumnsOf<S>,
  monoid: Monoid<S>,
  options?: CapacityOption,
): { readonly keys: K; readonly values: ColumnsOf<S> } {
  return withCapacity('reduceByKey', options, (capacity) => reduceRuns('reduceByKey', keys, values, monoid, capacity));
}

function reduceRuns<K extends Table, S extends Shape>(
  primitive: string,
  keys: K,
  values: ColumnsOf<S>,
  monoid: Monoid<S>,
  capacity = Number.POSITIVE_INFINITY,
): { readonly keys: K; readonly values: ColumnsOf<S> } {
  const keyColumns = columnsOf(keys, primitive, 'keys');
  commonLength(keyColumns, primitive);
  const keyWords = keyColumns.map(wordsOf);
  const valueColumns = operandsOf(primitive, values as Table, monoid, 'values');
  const context = requireContext([...keyColumns, ...valueColumns], primitive);
  const length = commonLength([...keyColumns, ...valueColumns], primitive);
  const byRun = combinedByRun(monoid as unknown as Monoid<Shape>);
  return context.scope(() => {
    const total = context.allocate(monoidProgram(byRun).types.length);
    const runs = countIn(total, 0, Math.min(capacity, capacityOf(length)));
    const stored = [...keyColumns, ...valueColumns].map(({ type }) => context.stored(type, runs));
    fusedScan(primitive, {
      context,
      length,
      monoid: byRun,
      element: (index, loader) => {
        const head = startsRun(keyWords, index, loader);
        return [u32(head), ...loader.load(valueColumns, index)];
      },
      emit: (index, _, [run, ...combined], loader) => {
        const last = endsRun(keyWords, length, index, loader);
        return [last, (run as U32).sub(1), ...loader.load(keyWords, index), ...combined];
      },
      emitted: ['bool', 'u32', ...keyWords.map(() => 'u32' as const), ...valueColumns.map(({ type }) => type)],
      stores: stored.map((column, i) => ({ ...destination(column), guard: 0, index: 1, value: 2 + i })),
      total,
      form: { kind: 'runs', inner: monoidProgram(monoid) },
      keys: {
        element: { by: [reduceRuns, keyWords.length], columns: [...keyWords, ...valueColumns] },
        emit: { by: [reduceRuns], columns: keyWords, lengths: [length] },
      },
    });
    expectRows(primitive, context, runs, capacityOf(length));
    return {
      keys: withColumns(keys, stored),
      values: assemble<Column>(monoid.shape, stored.slice(keyColumns.length)) as ColumnsOf<S>,
    };
  });
}

/**
 * The key and the values of the first row of every run of adjacent equal keys. Only the device knows the length of the
 * result. Cost, determinism and edge cases are those of {@link reduceByKey}.
 *
 * - Equivalent loop: `for (let i = 0; i < n; i++) if (i === 0 || keys[i] !== keys[i - 1]) out.push([keys[i],
 *   values[i]])`.
 *
 * @example
 * const keys = ctx.column(Uint32Array.of(1, 1, 2));
 * await ctx.read(uniqueByKey(keys, { row: sequence(3) })); // { keys: Uint32Array [1, 2], values: { row: Uint32Array [0, 2] } }
 */
export function uniqueByKey<K extends Table, V extends Table>(
  keys: K,
  values: V,
  options?: CapacityOption,
): { readonly keys: K; readonly values: V } {
  columnsOf(values, 'uniqueByKey', 'values');
  return withCapacity('uniqueByKey', options, (capacity) =>
    copyHeads('uniqueByKey', keys, { keys, values }, capacity),
  ) as {
    readonly keys: K;
    readonly values: V;
  };
}

/**
 * The first key of every run of equal keys. If the keys are sorted, the result has every key once. Cost, determinism
 * and edge cases are those of {@link reduceByKey}.
 *
 * - Equivalent loop: `for (let i = 0; i < n; i++) if (i === 0 || keys[i] !== keys[i - 1]) out.push(keys[i])`.
 *
 * @example
 * await ctx.read(unique(ctx.column(Uint32Array.of(4, 4, 2, 4)))); // Uint32Array [4, 2, 4]
 */
export function unique<K extends Table>(keys: K, options?: CapacityOption): K {
  return withCapacity('unique', options, (capacity) => copyHeads('unique', keys, keys, capacity));
}

/** Copies the first row of every run of equal keys. */
function copyHeads<C extends Table>(primitive: string, keys: Table, rows: C, capacity: number | undefined): C {
  const heads = headsOf(primitive, keys);
  return inContextOf(primitive, columnsOf(rows), () => copyRows(primitive, rows, heads, capacity));
}

/**
 * The key and the length of every run of equal keys. Cost, determinism and edge cases are those of {@link reduceByKey}.
 *
 * @example
 * await ctx.read(runLengthEncode(ctx.column(Uint32Array.of(4, 4, 2))));
 * // { keys: Uint32Array [4, 2], values: Uint32Array [2, 1] }
 */
export function runLengthEncode<K extends Table>(
  keys: K,
  options?: CapacityOption,
): { readonly keys: K; readonly values: ColumnsOf<typeof u32> } {
  const columns = columnsOf(keys, 'runLengthEncode', 'keys');
  const ones = constant(u32, 1, commonLength(columns, 'runLengthEncode'));
  return withCapacity('runLengthEncode', options, (capacity) =>
    inContextOf('runLengthEncode', columns, () => reduceRuns('runLengthEncode', keys, ones, plus(u32), capacity)),
  );
}
