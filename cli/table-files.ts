import type { TableField, TableFile } from '../formats/tables/table-file.ts';
import type { RowsWriter } from '../formats/tables/write/text-writers.ts';
import type { OptionSpec } from './command-line.ts';
import { checkEnding, formatOfName } from './values.ts';

/** Formats of the tables that commands write. */
export type RowsFormat = 'csv' | 'json' | 'arrow';

const ROWS_FORMATS: readonly RowsFormat[] = ['csv', 'json', 'arrow'];

/** The options for the output of rows. */
export function rowsOutSpecs(what: string): readonly OptionSpec[] {
  return [
    {
      name: 'out',
      short: 'o',
      value: 'FILE',
      help: `${what}; - is stdout (default, unless another output uses it)`,
    },
    {
      name: 'format',
      value: ROWS_FORMATS.join('|'),
      help: 'format of --out, if its name does not tell it (default csv)',
      choices: ROWS_FORMATS,
    },
  ];
}

/**
 * The format of an output table: that of the ending of its name, otherwise that of `--format`, otherwise CSV.
 *
 * @throws UsageError `usage/format` if the ending belongs to another format.
 */
export function rowsFormat(path: string, given: string | undefined): RowsFormat {
  const format = formatOfName(path, ROWS_FORMATS) ?? (given as RowsFormat | undefined);
  if (format === undefined) checkEnding(path, '--out', 'csv', 'Name a file that ends in .csv, .json or .arrow.');
  return format ?? 'csv';
}

/** Opens a table: Parquet, Arrow IPC or CSV, recognised by its content. */
export async function openTableFile(path: string, signal: AbortSignal): Promise<TableFile> {
  const { openTable } = await import('../formats/tables/open-table.ts');
  return openTable(path, { signal });
}

/** The writer of a format, loaded on first use. */
export async function rowsWriterOf(format: RowsFormat, fields: readonly TableField[]): Promise<RowsWriter> {
  if (format === 'arrow') return (await import('../formats/tables/write/arrow-rows.ts')).arrowRows(fields);
  const { csvRows, jsonRows } = await import('../formats/tables/write/text-writers.ts');
  return format === 'csv' ? csvRows(fields) : jsonRows(fields);
}
