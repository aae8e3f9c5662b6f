import { quoteName } from '../../algorithms/quoted-names.ts';
import { type ErrorPlace, FormatError, type QuadrilleError } from '../../primitives/checks/errors.ts';
import { latin1Text } from '../bytes/byte-arrays.ts';
import { fileInput } from '../polygons/file-input.ts';
import { numberEnd, readJsonNumber } from '../polygons/json-number.ts';
import type { LayerInput } from '../polygons/layer-input.ts';
import { findHead, type Head, textOf } from '../tables/csv/head.ts';
import { rowsOf } from '../tables/csv/rows.ts';
import type { Fields } from '../tables/csv/scan.ts';

/** Selects the columns to read from a CSV file, and the handling of unreadable rows. */
export interface CsvRowsOptions {
  /** For every column of numbers to read, the names that the column may have in the header, in lower or upper case. */
  readonly numbers: readonly (readonly string[])[];
  /** Whether the columns of numbers are found by these names without a header, too. */
  readonly areNamed?: boolean | undefined;
  /** Name of the column that contains the names of the rows. Default: the column `id`, if there is one. */
  readonly id?: string | undefined;
  /**
   * Whether the first line has the names of columns. If false, columns are called `column1`, `column2`, …, and the first
   * ones are the numbers, in their order, unless `areNamed`.
   */
  readonly header?: boolean | undefined;
  /** The decimal separator of numbers. Default: a point. */
  readonly decimal?: '.' | ',' | undefined;
  /** Checks the numbers of a row. Returns the reason why the numbers are invalid, or undefined if they are valid. */
  readonly faultOf?: ((numbers: readonly number[]) => string | undefined) | undefined;
  /** Returns the maximum number of rows of the next batch. Called before each batch. */
  readonly batchRows: () => number;
  /** Called with the error of each row that cannot be read and is therefore skipped. Default: the error is thrown. */
  readonly onBadRow?: ((error: QuadrilleError) => void) | undefined;
}

/** A batch of consecutive rows from a CSV file. */
export interface CsvRows {
  /** Index of the batch's first row, from 0. Skipped rows of the file are not counted. */
  readonly first: number;
  readonly count: number;
  /** The requested columns of numbers, in the order in which they were requested. */
  readonly numbers: readonly Float64Array[];
  /** Names of the rows; undefined if the file has no column of names. */
  readonly names: readonly string[] | undefined;
  /** Number of bytes of the file read so far. */
  readonly bytesRead: number;
}

/** A CSV file that is opened but not yet read. */
export interface CsvFile {
  readonly size: number;
  /** Reads the rows in batches. Yields at least one batch, which may be empty. */
  batches(signal?: AbortSignal): AsyncIterable<CsvRows>;
}

/**
 * Opens delimited text (RFC 4180) with a header, to read columns of numbers in batches. The text is read by the rules of
 * tables: memory is proportional to the size of a batch, lines end with LF, CR LF or CR, blank lines are skipped, and a
 * first line such as `sep=;` or the first record tells the delimiter. O(bytes).
 *
 * @throws FormatError if the file is missing. Reading throws errors that contain the number of the line:
 * `csv/missing-column` if the header lacks a required column; `csv/bad-row` if a row has another number of fields than
 * the first record, or an invalid number; `csv/bad-quote`; `csv/long-line`; `csv/open-quote`; `format/not-utf8`.
 */
export async function openCsvRows(file: string, options: CsvRowsOptions): Promise<CsvFile> {
  const input = await fileInput(file);
  return { size: input.size, batches: (signal) => readRows(input, options, signal) };
}

/** Positions of the requested columns among those of the file. */
interface Columns {
  readonly numbers: readonly number[];
  /** Position of the column of names; -1 without one. */
  readonly id: number;
}

/** State while a text is read. */
interface Reading {
  readonly file: string;
  readonly options: CsvRowsOptions;
  readonly columns: Columns;
}

async function* readRows(input: LayerInput, options: CsvRowsOptions, signal?: AbortSignal): AsyncGenerator<CsvRows> {
  const { file } = input;
  const { header, decimal } = options;
  const head = await findHead(input, { header, decimal, signal }, 'CSV');
  if (head === undefined) throw missingColumn(file, options, options.numbers[0]![0]!, []);
  const reading = { file, options, columns: columnsOf(head, options, file) };
  let [first, bytesRead] = [0, 0];
  let batch: Batch | undefined;
  const take = (full: Batch): CsvRows => {
    const rows = { ...contentsOf(full), first, bytesRead };
    first += rows.count;
    batch = undefined;
    return rows;
  };
  const counted: LayerInput = {
    ...input,
    async *blocks(given) {
      for await (const block of input.blocks(given)) {
        bytesRead += block.length;
        yield block;
      }
    },
  };
  for await (const fields of rowsOf(counted, head, signal, true)) {
    for (let row = 0; row < fields.rows; row++) {
      batch ??= newBatch(reading.columns, options.batchRows());
      readRow(fields, row, batch, reading);
      if (batch.count === batch.capacity) yield take(batch);
    }
  }
  if (batch !== undefined || first === 0) yield take(batch ?? newBatch(reading.columns, 1));
}

function columnsOf({ names, hasHeader }: Head, options: CsvRowsOptions, file: string): Columns {
  const { numbers, areNamed = false, id } = options;
  const lower = names.map((name) => name.toLowerCase());
  const find = (wanted: readonly string[]): number =>
    wanted.map((name) => lower.indexOf(name.toLowerCase())).find((at) => at >= 0) ?? -1;
  const at = numbers.map((wanted, i) => (hasHeader || areNamed ? find(wanted) : i < names.length ? i : -1));
  const missing = at.indexOf(-1);
  if (missing >= 0) throw missingColumn(file, options, numbers[missing]!.join(' or '), lower);
  const idAt = find([id ?? 'id']);
  if (id !== undefined && idAt < 0) throw missingColumn(file, options, id, lower);
  return { numbers: at, id: idAt };
}

/** A batch that is being filled. */
interface Batch {
  readonly capacity: number;
  count: number;
  readonly numbers: readonly Float64Array[];
  readonly names: string[] | undefined;
}

function newBatch({ numbers, id }: Columns, capacity: number): Batch {
  return {
    capacity,
    count: 0,
    numbers: numbers.map(() => new Float64Array(capacity)),
    names: id < 0 ? undefined : [],
  };
}

function contentsOf({ count, numbers, names }: Batch): Omit<CsvRows, 'first' | 'bytesRead'> {
  return { count, numbers: numbers.map((column) => column.subarray(0, count)), names };
}

function readRow(fields: Fields, row: number, batch: Batch, reading: Reading): void {
  const { file, columns, options } = reading;
  const line = fields.lines[row];
  const fault = fillRow(fields, row, batch, reading);
  if (fault === undefined) {
    batch.names?.push(textOf(fields, row * fields.columns + columns.id, file, line));
    batch.count++;
    return;
  }
  const error = badRow(fault, { file, line });
  if (options.onBadRow === undefined) throw error;
  options.onBadRow(error);
}

/** The error of a row that cannot be read. */
export function badRow(fault: string, place: ErrorPlace): FormatError {
  return new FormatError('csv/bad-row', `The row cannot be read: ${fault}.`, {
    remedy: 'Correct it, or leave such rows out with --on-bad-record skip.',
    place,
  });
}

function fillRow(fields: Fields, row: number, batch: Batch, { file, options, columns }: Reading): string | undefined {
  const width = fields.ragged.get(row);
  if (width !== undefined) return `it has ${width} of ${fields.columns} fields`;
  for (const [column, index] of columns.numbers.entries()) {
    const at = row * fields.columns + index;
    const value = numberAt(fields, at, options.decimal);
    if (!Number.isFinite(value)) {
      const given = quoteName(textOf(fields, at, file, fields.lines[row]));
      return `${options.numbers[column]![0]} is ${given}, no finite number`;
    }
    batch.numbers[column]![batch.count] = value;
  }
  return options.faultOf?.(batch.numbers.map((column) => column[batch.count]!));
}

const NUMBER = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;

/** The number in a field; NaN if it has none. */
function numberAt({ bytes, starts, ends }: Fields, at: number, decimal: CsvRowsOptions['decimal']): number {
  const [from, to] = [starts[at]!, ends[at]!];
  if (decimal !== ',') {
    const value = readJsonNumber(bytes, from);
    if (Number.isFinite(value) && numberEnd === to) return value;
  }
  const given = latin1Text(bytes, from, to);
  const text = decimal === ',' ? swapped(given) : given;
  return NUMBER.test(text) ? Number(text) : Number.NaN;
}

/** Exchanges commas and points, so that a number with a decimal comma is one with a point, and the other way round. */
function swapped(field: string): string {
  return field.replaceAll(/[.,]/g, (each) => (each === ',' ? '.' : ','));
}

function missingColumn(
  file: string,
  { header }: CsvRowsOptions,
  wanted: string,
  names: readonly string[],
): FormatError {
  return new FormatError('csv/missing-column', `The CSV has no column ${wanted}.`, {
    expected: header === false ? 'one of the columns' : `a header with ${wanted}`,
    got: names.length === 0 ? 'an empty file' : names.slice(0, 20).map(quoteName).join(', '),
    remedy: remedyOfMissing(header, names),
    place: { file, line: 1 },
  });
}

function remedyOfMissing(header: boolean | undefined, names: readonly string[]): string {
  if (header === false) return 'Without a header, columns are called column1, column2 and so on.';
  const remedy = 'Name the columns by --columns, or write the usual names into the first line';
  return names.some((name) => NUMBER.test(name))
    ? `${remedy}, or give --no-header if the columns are in this order.`
    : `${remedy}.`;
}
