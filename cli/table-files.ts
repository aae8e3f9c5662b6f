import type { TableField, TableFile, TableOptions } from '../formats/tables/table-file.ts';
import type { RowsWriter } from '../formats/tables/write/text-writers.ts';
import { type OptionSpec, type OptionValues, QUOTE_FORMULAS_SPEC, text } from './command-line.ts';
import { checkEnding, formatOfName } from './values.ts';

/** Formats in which commands write tables. */
export type RowsFormat = 'csv' | 'json' | 'arrow';

const ROWS_FORMATS: readonly RowsFormat[] = ['csv', 'json', 'arrow'];

/** How a command reads tables, and writes one. */
export interface TableInOut {
  /** Path of the answer, or `-` for stdout; undefined if the answer is not written. */
  readonly out: string | undefined;
  readonly format: RowsFormat;
  /** Whether CSV disarms texts that a spreadsheet would take for formulas. */
  readonly quoteFormulas: boolean;
  readonly csv: CsvReading;
}

/** Descriptions of the options of {@link TableInOut}. `what` describes the table that is written. */
export function tableSpecs(what: string): readonly OptionSpec[] {
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
    ...CSV_SPECS,
  ];
}

/**
 * Parses the options of {@link tableSpecs}. The extension of `out` determines the format. If it indicates none, `--format`
 * determines it; the default is CSV.
 *
 * @throws UsageError `usage/format` if the extension belongs to a format that is not supported.
 */
export function parseTableInOut(values: OptionValues, out: string | undefined): TableInOut {
  const path = out ?? '-';
  const format = formatOfName(path, ROWS_FORMATS) ?? (text(values, 'format') as RowsFormat | undefined);
  if (format === undefined) checkEnding(path, '--out', 'csv', 'Name a file that ends in .csv, .json or .arrow.');
  return {
    out,
    format: format ?? 'csv',
    quoteFormulas: values.has('csv-quote-formulas'),
    csv: parseCsvReading(values),
  };
}

/** How CSV files are read: what their content does not say. */
export type CsvReading = Pick<TableOptions, 'header' | 'decimal'>;

/** Options of commands that read CSV. */
export const CSV_SPECS: readonly OptionSpec[] = [
  {
    name: 'no-header',
    help: 'CSV: the first line is a row, and columns are called column1, column2, …',
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
