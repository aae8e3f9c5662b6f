import { type Column, type ColumnOwner, type DeviceLength, sameLength } from '../columns/column.ts';
import { destination, fuse, storeRows } from '../columns/program.ts';
import { wordsAtHand } from '../columns/words.ts';

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
  const stored = columns.map(({ type }) => context.stored(type, length));
  const words = columns.map(wordsAtHand);
  const types = words.map(({ type }) => type);
  const fusion = fuse({ name: 'materialize', kind: call }, [], types, (index, _, loader) => loader.load(words, index), {
    by: [storeColumns],
    columns: words,
  });
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
