import type { TableField, TableOptions } from '../formats/tables/table-file.ts';
import type { RowsWriter, Screen } from '../formats/tables/write/text-writers.ts';
import { type OptionSpec, type OptionValues, QUOTE_FORMULAS_SPEC, text } from './command-line.ts';
import { checkEnding, formatOfName } from './values.ts';

/** Formats in which commands write tables. */
const TABLE_FORMATS = ['csv', 'json', 'arrow'] as const;
export type TableFormat = (typeof TABLE_FORMATS)[number];

/** Description of the option that {@link parseTableFormat} reads. */
export const FORMAT_SPEC: OptionSpec = {
  name: 'format',
  group: 'Output',
  value: TABLE_FORMATS.join('|'),
  help: 'format of --out, if its name does not show it (default csv)',
  choices: TABLE_FORMATS,
};

/**
 * The format of a table. The extension of its path determines it. If it indicates none, `--format` does; the default is
 * CSV.
 *
 * @throws UsageError `usage/format` if the extension belongs to a format that is not supported.
 */
export function parseTableFormat(values: OptionValues, path: string, option: string): TableFormat {
  const format = formatOfName(path, TABLE_FORMATS) ?? (text(values, 'format') as TableFormat | undefined);
  if (format === undefined) checkEnding(path, option, 'csv', 'Name a file that ends in .csv, .json or .arrow.');
  return format ?? 'csv';
}

/** How a command reads tables, and writes one. */
export interface TableInOut {
  /** Path of the answer, or `-` for stdout; undefined if the answer is not written. */
  readonly out: string | undefined;
  readonly format: TableFormat;
  /** Whether CSV disarms texts that a spreadsheet would take for formulas. */
  readonly quoteFormulas: boolean;
  readonly csv: CsvReading;
}

/** Descriptions of the options of {@link TableInOut}. `what` describes the table that is written. */
export function tableSpecs(what: string): readonly OptionSpec[] {
  return [
    {
      name: 'out',
      group: 'Output',
      short: 'o',
      value: 'FILE',
      help: `${what}; - is stdout (default, unless another output uses it)`,
    },
    FORMAT_SPEC,
    QUOTE_FORMULAS_SPEC,
    ...CSV_SPECS,
  ];
}

/**
 * Parses the options of {@link tableSpecs}.
 *
 * @throws UsageError `usage/format`, as {@link parseTableFormat} does.
 */
export function parseTableInOut(values: OptionValues, out: string | undefined): TableInOut {
  return {
    out,
    format: parseTableFormat(values, out ?? '-', '--out'),
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
    group: 'Input',
    help: 'CSV: the first line is a row, and columns are called column1, column2, …',
  },
  {
    name: 'decimal',
    group: 'Input',
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

/** Creates the writer of a format, or of rows on a screen. The code of each writer is imported when first needed. */
export async function rowsWriterOf(
  { format, quoteFormulas }: { readonly format: TableFormat; readonly quoteFormulas: boolean },
  fields: readonly TableField[],
  screen?: Screen,
): Promise<RowsWriter> {
  if (format === 'arrow') return (await import('../formats/tables/write/arrow-rows.ts')).arrowRows(fields);
  const { csvRows, jsonRows, screenRows } = await import('../formats/tables/write/text-writers.ts');
  if (screen !== undefined) return screenRows(fields, screen);
  return format === 'csv' ? csvRows(fields, { quoteFormulas }) : jsonRows(fields);
}
