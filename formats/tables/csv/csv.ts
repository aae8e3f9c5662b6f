import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import { FormatError } from '../../../primitives/checks/errors.ts';
import { turn } from '../../../primitives/host/turn.ts';
import { utf8Text } from '../../bytes/byte-arrays.ts';
import type { LayerInput } from '../../polygons/layer-input.ts';
import { type Chunk, rebatched } from '../rebatch.ts';
import { type StringDictionary, stringDictionary } from '../string-dictionary.ts';
import { chosenFields } from '../table-errors.ts';
import type { BatchOptions, TableField, TableFile, TableOptions } from '../table-file.ts';
import { type CsvColumn, cellsOf } from './cells.ts';
import { notUtf8, readHead } from './head.ts';
import { rowsOf } from './rows.ts';
import type { Fields } from './scan.ts';
import { readTypes } from './types.ts';

const DEFAULT_ROWS = 2 ** 16;

/** Opens a CSV. Reads the whole file once, to determine the types of its columns and its number of rows. */
export async function openCsv(input: LayerInput, options: TableOptions): Promise<TableFile> {
  const { file } = input;
  const head = await readHead(input, options);
  const { fields, rows, notes } = await readTypes(input, head, options);
  const hasComma = options.decimal === ',';
  const dictionaries = new Map<string, StringDictionary>();

  function columnOf(field: TableField): CsvColumn {
    const index = head.names.indexOf(field.name);
    if (field.type !== 'string') return { field, index, hasComma, dictionary: undefined };
    const dictionary = dictionaries.get(field.name) ?? stringDictionary(file, field.name);
    dictionaries.set(field.name, dictionary);
    return { field, index, hasComma, dictionary };
  }

  async function* chunksOf(chosen: readonly CsvColumn[], signal: AbortSignal | undefined): AsyncGenerator<Chunk> {
    for await (const scanned of rowsOf(input, head, signal)) {
      const columns: [string, HostColumn][] = [];
      for (const column of chosen) {
        // The cells of a column take tens of milliseconds, after which other events come first.
        await turn();
        const cells = cellsOf(scanned, column, (row) => badCell(file, scanned, column, row));
        columns.push([column.field.name, cells]);
      }
      yield { rows: scanned.rows, columns: Object.fromEntries(columns) };
    }
  }

  return {
    file,
    format: 'csv',
    fields,
    unread: [],
    notes: [...head.notes, ...notes],
    rows,
    batches({ columns, rowsPerBatch = DEFAULT_ROWS, signal }: BatchOptions = {}) {
      const chosen = chosenFields(file, fields, [], columns).map(columnOf);
      return rebatched(chunksOf(chosen, signal), rowsPerBatch);
    },
    close: async () => {},
  };
}

function badCell(
  file: string,
  { bytes, columns, starts, ends, lines }: Fields,
  { field, index }: CsvColumn,
  row: number,
): FormatError {
  const at = row * columns + index;
  const line = lines[row]!;
  if (field.type === 'string') return notUtf8(file, line);
  const text = utf8Text(bytes.subarray(starts[at]!, Math.min(ends[at]!, starts[at]! + 40)));
  return new FormatError('csv/bad-cell', `A cell of the column "${field.name}" does not have its type.`, {
    expected: field.type === 'decimal' ? `a decimal with at most ${field.scale} digits after the point` : field.type,
    got: JSON.stringify(text),
    remedy: 'Correct it, leave it empty, or declare another type of the column.',
    place: { file, line },
  });
}
