import type { TableField, TableFile, TableOptions } from '../formats/tables/table-file.ts';
import type { RowsWriter } from '../formats/tables/write/text-writers.ts';
import { type OptionSpec, type OptionValues, QUOTE_FORMULAS_SPEC, text } from './command-line.ts';
import { checkEnding, formatOfName } from './values.ts';

/** Formats in which commands write tables. */
export type RowsFormat = 'csv' | 'json' | 'arrow';

const ROWS_FORMATS: readonly RowsFormat[] = ['csv', 'json', 'arrow'];

/** Descriptions of the options `--out` and `--format` for a table. `what` describes the table. */
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
      help: 'format of --out, if its name does not show it (default csv)',
      choices: ROWS_FORMATS,
    },
    QUOTE_FORMULAS_SPEC,
  ];
}

/** How CSV files are read: what their content does not say. */
export type CsvReading = Pick<TableOptions, 'header' | 'decimal'>;

/** Options of commands that read CSV. */
export const CSV_SPECS: readonly OptionSpec[] = [
  {
    name: 'no-header',
    help: 'CSV: the first line is a row, and columns have no names (in tables: column1, column2, …)',
  },
  {
    name: 'decimal',
    value: '.|,',
    help: 'CSV: the decimal separator of numbers (default .)',
    choices: ['.', ','],
  },
];

export function parseCsvReading(values: OptionValues): CsvReading {
  return {
    header: values.has('no-header') ? false : undefined,
    decimal: text(values, 'decimal') as CsvReading['decimal'],
  };
}

/**
 * The format of an output table. The extension of the path determines the format. If the extension indicates no format,
 * `--format` determines it; the default is CSV.
 *
 * @throws UsageError `usage/format` if the extension belongs to a format that is not supported.
 */
export function rowsFormat(path: string, given: string | undefined): RowsFormat {
  const format = formatOfName(path, ROWS_FORMATS) ?? (given as RowsFormat | undefined);
  if (format === undefined) checkEnding(path, '--out', 'csv', 'Name a file that ends in .csv, .json or .arrow.');
  return format ?? 'csv';
}

/** Opens a table in Parquet, Arrow IPC or CSV. The format is detected from the content. */
export async function openTableFile(path: string, signal: AbortSignal, csv: CsvReading): Promise<TableFile> {
  const { openTable } = await import('../formats/tables/open-table.ts');
  return openTable(path, { ...csv, signal });
}

/** Creates the writer of a format. The code of each writer is imported when first needed. */
export async function rowsWriterOf(
  { format, quoteFormulas }: { readonly format: RowsFormat; readonly quoteFormulas: boolean },
  fields: readonly TableField[],
): Promise<RowsWriter> {
  if (format === 'arrow') return (await import('../formats/tables/write/arrow-rows.ts')).arrowRows(fields);
  const { csvRows, jsonRows } = await import('../formats/tables/write/text-writers.ts');
  return format === 'csv' ? csvRows(fields, { quoteFormulas }) : jsonRows(fields);
}
