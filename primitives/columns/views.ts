import type { U32, Value } from '../functors/value.ts';
import type { ScalarType } from '../ir/ir.ts';
import { type Column, type ColumnOwner, type DeviceLength, sameLength, viewColumn } from './column.ts';
import type { FusionKey } from './known-fusions.ts';
import { destination, type Fusion, fuse, type Loader, storeRows } from './program.ts';
import { wordsAtHand } from './words.ts';

/** A fusion whose results are the values of columns. */
export function fuseColumns(name: Parameters<typeof fuse>[0], columns: readonly Column[]): Fusion {
  const types = columns.map(({ type }) => type);
  return fuse(name, [], types, (index, _, loader) => loader.load(columns, index), { by: [fuseColumns], columns });
}

/** A view with a value for every row of `rows`; {@link fuse} says what the key is for. */
export function computedColumn<T extends ScalarType>(
  name: string,
  type: T,
  { context, length }: Pick<Column, 'context' | 'length'>,
  key: FusionKey | undefined,
  body: (index: U32, loader: Loader) => Value<T>,
): Column<T> {
  const view = fuse(name, [], [type], (index, _, loader) => [body(index, loader)], key);
  return viewColumn(context, type, length, view);
}

/**
 * Evaluates columns of the same length, and stores their elements in new columns, in one launch. `call` names the
 * function that was called.
 */
export function storeColumns(
  context: ColumnOwner,
  columns: readonly Column[],
  length: number | DeviceLength,
  call: string,
): Column[] {
  const stored = columns.map(({ type, grid }) => context.stored(type, length, grid));
  const fusion = fuseColumns({ name: 'materialize', kind: call }, columns.map(wordsAtHand));
  const stores = stored.map((column, value) => ({ ...destination(column), value }));
  storeRows(context, length, fusion, stores);
  return stored;
}

/** Returns the columns, with views replaced by stored columns. One launch stores all views of the same length. */
export function storeViews(context: ColumnOwner, columns: readonly Column[], call: 'materialize' | 'read'): Column[] {
  return context.scope(() => {
    const stored = new Map<Column, Column>();
    let views = [...new Set(columns)].filter(({ source }) => source.kind === 'view');
    while (views.length > 0) {
      const { length } = views[0]!;
      const alike = views.filter((view) => sameLength(view.length, length));
      storeColumns(context, alike, length, call).forEach((column, i) => {
        stored.set(alike[i]!, column);
      });
      views = views.filter((view) => !stored.has(view));
    }
    return columns.map((column) => stored.get(column) ?? column);
  });
}

/** The elements of a column as stored 32-bit words. Views and packed columns are copied to new memory. */
export function storedWords(context: ColumnOwner, column: Column): Column {
  const { source } = column;
  if (source.kind === 'stored' && source.storage === column.type) return column;
  if (source.kind === 'view') return context.materialize(column);
  return storeColumns(context, [column], column.length, 'storedWords')[0]!;
}
