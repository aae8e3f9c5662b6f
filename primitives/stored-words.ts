import type { Column, ColumnOwner } from './columns/column.ts';
import { destination, fuse, storeRows } from './columns/program.ts';

/** The elements of a column as stored 32-bit words. Views and packed columns are copied to new memory. */
export function storedWords(context: ColumnOwner, column: Column): Column {
  const { source } = column;
  if (source.kind === 'stored' && source.storage === column.type) return column;
  if (source.kind === 'view') return context.materialize(column);
  const words = context.stored(column.type, column.length);
  const fusion = fuse('storedWords', [], [column.type], (index, _, loader) => loader.load([column], index));
  storeRows(context, column.length, fusion, [{ ...destination(words), value: 0 }]);
  return words;
}
