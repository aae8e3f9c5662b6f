import type { HostTable } from '../algorithms/tables/index.ts';
import { joined } from '../formats/tables/rebatch.ts';
import type { TableField } from '../formats/tables/table-file.ts';
import { rowsAt } from './gather-rows.ts';
import type { Answer } from './table-answer.ts';
import { sortedRows } from './table-columns.ts';
import type { PartAnswer } from './table-part.ts';
import type { Order } from './table-question.ts';

/** A batch of rows to write. */
export interface SomeRows {
  readonly rows: number;
  readonly columns: HostTable;
}

/**
 * Iterates over the selected rows of a part of the file, or of the answer. Yields batches of at most `max` rows, because the text of a
 * batch must not become too long.
 */
export function* chosenRows(
  { rows, ids, columns }: Pick<PartAnswer, 'rows' | 'ids' | 'columns'>,
  fields: readonly TableField[],
  max: number,
): Generator<SomeRows> {
  const wanted = someColumns(columns, fields);
  const count = ids?.length ?? rows;
  for (let from = 0; from < count; from += max) {
    const to = Math.min(count, from + max);
    const places = ids?.subarray(from, to) ?? Uint32Array.from({ length: to - from }, (_, i) => from + i);
    yield { rows: places.length, columns: rowsAt(wanted, places) };
  }
}

function someColumns(columns: HostTable, fields: readonly TableField[]): HostTable {
  return Object.fromEntries(fields.map(({ name }) => [name, columns[name]!]));
}

/** Keeps the rows with the smallest or largest values of a column, over all parts of a file. */
export interface TopTally {
  add(answer: PartAnswer): void;
  end(): Answer;
}

export function topTally({ by, descending }: Order, k: number, fields: readonly TableField[]): TopTally {
  let best: SomeRows | undefined;
  const wanted = (columns: HostTable): HostTable => ({ ...someColumns(columns, fields), [by]: columns[by]! });
  return {
    add({ ids, columns }) {
      const found = { rows: ids!.length, columns: rowsAt(wanted(columns), ids!) };
      const all = best === undefined ? found : joined([best, found], best.rows + found.rows);
      // The sort is stable, so rows with equal values keep the order of the file.
      const places = sortedRows([all.columns[by]!], all.rows, descending).subarray(0, k);
      best = { rows: places.length, columns: rowsAt(all.columns, places) };
    },
    end: () => ({
      fields,
      rows: best?.rows ?? 0,
      columns: best === undefined ? {} : someColumns(best.columns, fields),
    }),
  };
}
