import { requireFunctor, requireOptions } from './checks/arguments.ts';
import { anything, someRecord } from './checks/kinds.ts';
import {
  Column,
  type ColumnOwner,
  columnsOf,
  commonLength,
  type DeviceLength,
  type Memory,
  requireLength,
  requireType,
  type Table,
  withColumns,
} from './columns/column.ts';
import { contextOf } from './columns/current-context.ts';
import type { FusionKey } from './columns/known-fusions.ts';
import { destination, fuse, type Loader, storeWord } from './columns/program.ts';
import { wordsOf } from './columns/words.ts';
import { type CapacityOption, expectRows, withCapacity } from './context/capacity-option.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import { capacityOf, type Store } from './contract/backend.ts';
import { type bool, u32 } from './functors/functor.ts';
import type { Bool, U32 } from './functors/value.ts';
import { mapRows, type RowFunctor } from './map.ts';
import { plus } from './monoid.ts';
import { countIn, fusedScan } from './scan.ts';

/** Selects rows of a table: a column with a flag for each row, or a functor of the row that returns bool. */
export type Predicate = Column<'bool'> | RowFunctor<typeof bool>;

/**
 * The rows for which the predicate holds, in order. Only the device knows the length of the result. The result has room
 * for all rows of the input or, with the option `capacity`, for that many: if more rows hold, every read of the result,
 * and of columns derived from it, throws a {@link CapacityError} with the capacity needed.
 *
 * - Work O(n), span O(log n), one pass over the input. Deterministic, stable.
 * - An empty input gives an empty result. Accepts device counts (lengths that only the device knows).
 * - Equivalent loop: `for (const row of rows) if (keep(row)) out.push(row)`.
 *
 * @example
 * const odd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));
 * await ctx.read(copyIf(ctx.column(Uint32Array.of(1, 2, 3)), odd)); // Uint32Array [1, 3]
 */
export function copyIf<C extends Table>(table: C, keep: Predicate, options?: CapacityOption): C {
  return withCapacity('copyIf', options, (capacity) =>
    compact('copyIf', table, choiceOf('copyIf', table, keep), capacity),
  );
}

/** As {@link copyIf}, for another primitive, which error messages name. */
export function copyRows<C extends Table>(
  primitive: string,
  table: C,
  flags: Column<'bool'>,
  capacity: number | undefined,
): C {
  return compact(primitive, table, choiceOf(primitive, table, flags), capacity);
}

/** Options of {@link partition}. */
export interface PartitionOptions extends ContextOption {
  /** The maximum number of rows of one table or of both; see the option of {@link copyIf}. */
  readonly capacity?: { readonly selected?: number | undefined; readonly rejected?: number | undefined } | undefined;
}

/**
 * The rows for which the predicate holds and the other rows, both in order: a stable partition into two tables, in
 * one pass. Cost, determinism and edge cases are those of {@link copyIf}. A table that outgrows its capacity does not
 * concern the other.
 *
 * - Equivalent loop: `for (const row of rows) (keep(row) ? selected : rejected).push(row)`.
 *
 * @example
 * const odd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));
 * const { selected, rejected } = partition(ctx.column(Uint32Array.of(1, 2, 3)), odd);
 * await ctx.read({ selected, rejected }); // { selected: Uint32Array [1, 3], rejected: Uint32Array [2] }
 */
export function partition<C extends Table>(
  table: C,
  keep: Predicate,
  options: PartitionOptions = {},
): { readonly selected: C; readonly rejected: C } {
  requireOptions<PartitionOptions>('partition', { context: anything, capacity: someRecord }, options);
  const { capacity = {} } = options;
  requireOptions<Capacities>(
    'partition',
    { selected: anything, rejected: anything },
    capacity,
    undefined,
    'options.capacity',
  );
  for (const [side, rows] of Object.entries(capacity)) {
    if (rows !== undefined) requireLength(rows, 'partition', `the option capacity.${side}`);
  }
  return inNamedContext('partition', options, () => split(table, choiceOf('partition', table, keep), capacity));
}

/**
 * The rows for which the predicate does not hold, in order. Cost, determinism and edge cases are those of
 * {@link copyIf}.
 *
 * - Equivalent loop: `for (const row of rows) if (!remove(row)) out.push(row)`.
 *
 * @example
 * const odd = fn({ x: u32 }, bool, ({ x }) => x.and(1).eq(1));
 * await ctx.read(removeIf(ctx.column(Uint32Array.of(1, 2, 3)), odd)); // Uint32Array [2]
 */
export function removeIf<C extends Table>(table: C, remove: Predicate, options?: CapacityOption): C {
  return withCapacity('removeIf', options, (capacity) =>
    compact('removeIf', table, choiceOf('removeIf', table, remove, false), capacity),
  );
}

/** Returns a column with one flag for each row of the table: whether the predicate holds for the row. */
export function flagsOf(primitive: string, table: Table, predicate: Predicate): Column<'bool'> {
  const rows = columnsOf(table, primitive, 'table');
  if (!(predicate instanceof Column)) requireFunctor(primitive, 'predicate', predicate);
  const flags = predicate instanceof Column ? predicate : (mapRows(predicate, table) as Column<'bool'>);
  requireType(flags, ['bool'], 'predicate', primitive);
  const columns = [...rows, flags];
  commonLength(columns, primitive);
  contextOf(columns, primitive);
  return flags;
}

/** The rows of a table, and the flags that select some of them. */
interface Choice {
  readonly context: ColumnOwner;
  readonly length: Column['length'];
  /** The columns of the rows as 32-bit words, which are moved without any conversion. */
  readonly columns: readonly Column[];
  readonly flag: (index: U32, loader: Loader) => Bool;
  readonly flagKey: FusionKey;
}

function choiceOf(primitive: string, table: Table, predicate: Predicate, wanted = true): Choice {
  const flags = flagsOf(primitive, table, predicate);
  const columns = columnsOf(table).map(wordsOf);
  return {
    context: requireContext([...columns, flags], primitive),
    length: flags.length,
    columns,
    flag: (index, loader) => {
      const [flag] = loader.load([flags], index) as [Bool];
      return wanted ? flag : flag.not();
    },
    flagKey: { by: [choiceOf, wanted], columns: [flags] },
  };
}

/** Memory for the selected rows and for their number. */
interface Chosen<C extends Table> {
  readonly count: Memory;
  readonly length: DeviceLength;
  readonly rows: C;
}

type Capacities = NonNullable<PartitionOptions['capacity']>;

function compact<C extends Table>(primitive: string, table: C, choice: Choice, capacity: number | undefined): C {
  const { context, length, columns, flag, flagKey } = choice;
  return context.scope(() => {
    const { count, length: chosen, rows } = reserve(table, choice, capacity);
    fusedScan(primitive, {
      context,
      length,
      monoid: plus(u32),
      element: (index, loader) => [u32(flag(index, loader))],
      emit: (index, [before], [after], loader) => [after!.ne(before!), before!, ...loader.load(columns, index)],
      emitted: ['bool', 'u32', ...columns.map(() => 'u32' as const)],
      stores: storesOf(rows, 0, 2),
      total: count,
      form: { kind: 'compact', selected: 0 },
      keys: { element: flagKey, emit: { by: [compact], columns } },
    });
    expectRows(primitive, context, chosen, capacityOf(length));
    return rows;
  });
}

function split<C extends Table>(
  table: C,
  choice: Choice,
  capacity: Capacities,
): { readonly selected: C; readonly rejected: C } {
  const { context, length, columns, flag, flagKey } = choice;
  return context.scope(() => {
    const selected = reserve(table, choice, capacity.selected);
    const rejected = reserve(table, choice, capacity.rejected);
    fusedScan('partition', {
      context,
      length,
      monoid: plus(u32),
      element: (index, loader) => [u32(flag(index, loader))],
      emit: (index, exclusive, inclusive, loader) => {
        const [before] = exclusive as [U32];
        const [after] = inclusive as [U32];
        const chosen = after.ne(before);
        return [chosen, before, chosen.not(), index.sub(before), ...loader.load(columns, index)];
      },
      emitted: ['bool', 'u32', 'bool', 'u32', ...columns.map(() => 'u32' as const)],
      stores: [...storesOf(selected.rows, 0, 4), ...storesOf(rejected.rows, 2, 4)],
      total: selected.count,
      form: { kind: 'compact', selected: 0, rejected: 2 },
      keys: { element: flagKey, emit: { by: [split], columns } },
    });
    countOthers(choice, selected.count, rejected.count);
    for (const side of [selected, rejected]) expectRows('partition', context, side.length, capacityOf(length));
    return { selected: selected.rows, rejected: rejected.rows };
  });
}

function reserve<C extends Table>(
  table: C,
  { context, length }: Choice,
  capacity = Number.POSITIVE_INFINITY,
): Chosen<C> {
  const count = context.allocate(1);
  const chosen = countIn(count, 0, Math.min(capacity, capacityOf(length)));
  return {
    count,
    length: chosen,
    rows: withColumns(
      table,
      columnsOf(table).map(({ type }) => context.stored(type, chosen)),
    ),
  };
}

/**
 * Returns stores (rules that say where a program's results are written). They write one result to each column of
 * `rows`, starting with result number `values`. Result number `guard` says whether to write; result number `guard + 1`
 * is the row to write to.
 */
function storesOf(rows: Table, guard: number, values: number): Store[] {
  return columnsOf(rows).map((column, i) => ({ ...destination(column), guard, index: guard + 1, value: values + i }));
}

function countOthers({ context, length }: Choice, some: Memory, others: Memory): void {
  const difference = fuse('countOthers', [], ['u32'], (_index, _, loader) => [
    loader.length(length).sub(loader.length(countIn(some, 0, 2 ** 32 - 1))),
  ]);
  storeWord(context, difference, others);
}
