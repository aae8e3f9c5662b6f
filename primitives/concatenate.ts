import { requireArray } from './checks/arguments.ts';
import { ArgumentError, type ErrorDetails } from './checks/errors.ts';
import {
  type Column,
  type ColumnOwner,
  columnsAs,
  columnsOf,
  commonLength,
  type DeviceLength,
  shapeOf,
  type Table,
  withColumns,
} from './columns/column.ts';
import { addLengths } from './columns/length.ts';
import { destination, fuse, storeRows } from './columns/program.ts';
import { wordsOf } from './columns/words.ts';
import { type ContextOption, inContext, requireContext } from './context/context-option.ts';

type Length = number | DeviceLength;

/**
 * Concatenates the rows of several tables with the same columns, in the order of the tables. The result is stored.
 *
 * - Work O(total rows), span O(tables). Deterministic. Accepts device counts (lengths that only the device knows): the
 *   count of the result is the sum of the inputs' counts.
 * - Equivalent loop: `out = tables.flat()`.
 *
 * @throws {@link ArgumentError} if there is no table, if a table has other columns than the first, or if the result
 * could have more rows than a column can have.
 * @example
 * const [first, second] = [ctx.column(Uint32Array.of(7, 8)), sequence(2)];
 * await ctx.read(concatenate([first, second])); // Uint32Array [7, 8, 0, 1]
 */
export function concatenate<C extends Table>(tables: readonly C[], options?: ContextOption): C {
  requireArray('concatenate', 'tables', tables, 'an array of tables', 'Write concatenate([a, b]).');
  return inContext('concatenate', options, () => concatenateTables(tables));
}

function concatenateTables<C extends Table>(tables: readonly C[]): C {
  const first = tables[0]!;
  if (tables.length === 0) {
    throw new ArgumentError('concatenate/nothing', 'concatenate was given no table.', {
      remedy: 'Without a table, the columns of the result are unknown: pass at least one table, which may be empty.',
    });
  }
  for (const [i, table] of tables.entries()) columnsOf(table, 'concatenate', `tables[${i}]`);
  const shape = shapeOf(first);
  const parts = tables.map((table, i) => columnsAs(shape, table, (difference) => otherColumns(i, difference)));
  const lengths = parts.map((columns) => commonLength(columns, 'concatenate'));
  const context = requireContext(parts.flat(), 'concatenate');
  return context.scope(() => {
    const starts: Length[] = [0];
    for (const length of lengths) starts.push(addLengths('concatenate', context, starts.at(-1)!, length));
    const stored = columnsOf(first).map(({ type }) => context.stored(type, starts.at(-1)!));
    for (const [i, columns] of parts.entries()) putRows(context, columns, lengths[i]!, starts[i]!, stored);
    return withColumns(first, stored);
  });
}

function otherColumns(table: number, difference: ErrorDetails): ArgumentError {
  return new ArgumentError('concatenate/columns', 'concatenate was given tables with different columns.', {
    ...difference,
    place: { record: table },
  });
}

function putRows(
  context: ColumnOwner,
  columns: readonly Column[],
  length: Length,
  start: Length,
  stored: readonly Column[],
): void {
  const words = columns.map(wordsOf);
  const types = ['u32', ...words.map(() => 'u32')] as 'u32'[];
  const placed = fuse('concatenate', [], types, (index, _, loader) => [
    index.add(loader.length(start)),
    ...loader.load(words, index),
  ]);
  const stores = stored.map((column, i) => ({ ...destination(column), index: 0, value: 1 + i }));
  storeRows(context, length, placed, stores);
}
