import { quoteName } from '../algorithms/notes.ts';
import { FormatError, type QuadrilleError } from '../primitives/errors.ts';
import { largestOf } from '../primitives/extremes.ts';
import { separatorLine } from './csv-separator.ts';
import { fileInput, type LayerInput } from './polygon-layers/layer-input.ts';

/** Selects the columns to read from a CSV file, and the handling of unreadable rows. */
export interface CsvRowsOptions {
  /** For every column of numbers to read, the names that the column may have in the header, in lower or upper case. */
  readonly numbers: readonly (readonly string[])[];
  /** Name of the column that contains the names of the rows. Default: the column `id`, if there is one. */
  readonly id?: string | undefined;
  /**
   * Whether the first line has the names of columns. If false, columns are called `column1`, `column2`, …, and the first
   * ones are the numbers, in their order.
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
 * Opens delimited text (RFC 4180) with a header, to read columns of numbers in batches. Memory is proportional to the
 * size of a batch. The delimiter is that of a first line such as `sep=;`, else the first of tab, semicolon and comma that
 * occurs in the header. Lines end with LF, CR LF or CR. Blank lines are skipped. O(bytes).
 *
 * @throws FormatError if the file is missing. Reading throws errors that contain the number of the line:
 * `csv/missing-column` if the header lacks a required column; `csv/bad-row` if a row has too few fields or an invalid
 * number; `csv/long-line`; `csv/open-quote`; `format/not-utf8`.
 */
export async function openCsvRows(file: string, options: CsvRowsOptions): Promise<CsvFile> {
  const input = await fileInput(file);
  return { size: input.size, batches: (signal) => readRows(input, options, signal) };
}

/** State while a text is read. */
interface Reading {
  readonly file: string;
  readonly options: CsvRowsOptions;
  /**
   * Number of the line, from 1, at which the current record begins. `next` is the number of the line at which the next
   * record begins.
   */
  line: number;
  next: number;
}

interface Columns {
  readonly delimiter: string;
  readonly numbers: readonly number[];
  readonly id: number;
  /** Minimum number of fields that a row must have to contain all requested columns. */
  readonly min: number;
}

async function* readRows(input: LayerInput, options: CsvRowsOptions, signal?: AbortSignal): AsyncGenerator<CsvRows> {
  const reading: Reading = { file: input.file, options, line: 1, next: 1 };
  let columns: Columns | undefined;
  let stated: string | undefined;
  let batch: Batch | undefined;
  let [first, bytesRead] = [0, 0];
  const take = (): CsvRows => {
    const rows = { ...rowsOf(batch!), first, bytesRead };
    first += rows.count;
    batch = undefined;
    return rows;
  };
  for await (const { records, bytes } of recordsIn(input, reading, signal)) {
    bytesRead = bytes;
    for (const { text, line } of records) {
      reading.line = line;
      if (columns === undefined) {
        const separator = stated === undefined ? separatorLine(text.replace(/^\uFEFF/, '')) : undefined;
        stated = separator?.delimiter ?? stated;
        if (separator !== undefined) continue;
        columns = columnsOf(text, reading, stated);
        if (options.header !== false) continue;
      }
      batch ??= newBatch(columns, options.batchRows());
      readRow(text, columns, batch, reading);
      if (batch.count === batch.capacity) yield take();
    }
  }
  if (columns === undefined) throw missingColumn(reading, options.numbers[0]![0]!, []);
  if (batch !== undefined || first === 0) {
    batch ??= newBatch(columns, 1);
    yield take();
  }
}

interface TextRecord {
  readonly text: string;
  readonly line: number;
}

/**
 * Maximum length of a record in characters. A longer record indicates an unclosed quote, or a file without line ends.
 */
const LONGEST_RECORD = 2 ** 20;

/** Splits a text into records, block by block. Blank records are left out. */
async function* recordsIn(
  input: LayerInput,
  reading: Reading,
  signal: AbortSignal | undefined,
): AsyncGenerator<{ readonly records: Iterable<TextRecord>; readonly bytes: number }> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const decode = (block?: Uint8Array): string => {
    try {
      return block === undefined ? decoder.decode() : decoder.decode(block, { stream: true });
    } catch (cause) {
      throw notUtf8(input.file, reading.next, cause);
    }
  };
  let [rest, bytes] = ['', 0];
  for await (const block of input.blocks(signal)) {
    bytes += block.length;
    const text = rest + decode(block);
    const end = endOfRecords(text);
    if (text.length - end > LONGEST_RECORD) throw text.includes('"', end) ? openQuote(reading) : longLine(reading);
    rest = text.slice(end);
    yield { records: splitRecords(text, end, reading), bytes };
  }
  const text = rest + decode();
  if (text.trim() !== '') yield { records: splitRecords(`${text}\n`, text.length + 1, reading), bytes };
}

/**
 * Position after the last line end outside quotes, where the last complete record ends. Misplaced quotes are detected
 * later. A CR at the end of the text does not count, because it may be the first half of CR LF.
 */
function endOfRecords(text: string): number {
  const length = text.endsWith('\r') ? text.length - 1 : text.length;
  if (!text.includes('"')) {
    return Math.max(text.lastIndexOf('\n', length - 1), length === 0 ? -1 : text.lastIndexOf('\r', length - 1)) + 1;
  }
  let [end, quoted] = [0, false];
  for (let at = 0; at < length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) quoted = !quoted;
    else if ((code === NEWLINE || code === RETURN) && !quoted) end = at + 1;
  }
  return end;
}

const QUOTE = 34;
const NEWLINE = 10;

function* splitRecords(text: string, end: number, reading: Reading): Generator<TextRecord> {
  // Position of the next quote. The position is kept, because otherwise the whole remaining text would be searched for
  // every line.
  let quote = nextOf('"', text, 0);
  for (let at = 0; at < end; ) {
    const start = reading.next;
    let open = false;
    let [to, behind] = [at, at];
    for (let from = at; ; from = behind) {
      to = lineEnd(text, from);
      behind = to + (text.startsWith('\r\n', to) ? 2 : 1);
      if (to >= end) {
        reading.line = start;
        throw openQuote(reading);
      }
      reading.next++;
      for (; quote < to; quote = nextOf('"', text, quote + 1)) open = !open;
      if (!open) break;
    }
    const record = text.slice(at, to);
    if (record.trim() !== '') yield { text: record, line: start };
    at = behind;
  }
}

const RETURN = 13;

/** Position of the first line end from a position on; infinity if there is none. */
function lineEnd(text: string, from: number): number {
  LINE_END.lastIndex = from;
  return LINE_END.exec(text)?.index ?? Number.POSITIVE_INFINITY;
}

const LINE_END = /[\r\n]/g;

/** Position of the next occurrence of a character; infinity if there is none. */
function nextOf(character: string, text: string, from: number): number {
  const at = text.indexOf(character, from);
  return at === -1 ? Number.POSITIVE_INFINITY : at;
}

function columnsOf(header: string, reading: Reading, stated: string | undefined): Columns {
  const unquoted = header.replaceAll(/"[^"]*"/g, '');
  const delimiter = stated ?? ['\t', ';'].find((each) => unquoted.includes(each)) ?? ',';
  const { numbers, id, header: hasHeader = true } = reading.options;
  const names = fieldsOf(header.replace(/^\uFEFF/, ''), delimiter).map((name, i) =>
    hasHeader ? name.trim().toLowerCase() : `column${i + 1}`,
  );
  const find = (wanted: readonly string[]): number =>
    wanted.map((name) => names.indexOf(name.toLowerCase())).find((at) => at >= 0) ?? -1;
  const at = numbers.map((wanted, i) => (hasHeader ? find(wanted) : i));
  const missing = at.indexOf(-1);
  if (missing >= 0) throw missingColumn(reading, numbers[missing]!.join(' or '), names);
  const idAt = find([id ?? 'id']);
  if (id !== undefined && idAt < 0) throw missingColumn(reading, id, names);
  return { delimiter, numbers: at, id: idAt, min: largestOf(at, idAt) + 1 };
}

function fieldsOf(record: string, delimiter: string): string[] {
  if (!record.includes('"')) return record.split(delimiter);
  const fields: string[] = [];
  for (let at = 0; at <= record.length; ) {
    let end = at;
    let field = '';
    if (record[at] === '"') {
      const quoted = /"((?:[^"]|"")*)"/y;
      quoted.lastIndex = at;
      const found = quoted.exec(record);
      field = (found?.[1] ?? '').replaceAll('""', '"');
      end = found === null ? record.length : quoted.lastIndex;
    }
    const next = record.indexOf(delimiter, end);
    const to = next === -1 ? record.length : next;
    fields.push(field + record.slice(end, to));
    at = to + 1;
  }
  return fields;
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

function rowsOf({ count, numbers, names }: Batch): Omit<CsvRows, 'first' | 'bytesRead'> {
  return { count, numbers: numbers.map((column) => column.subarray(0, count)), names };
}

const NUMBER = /^\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*$/i;

function readRow(text: string, columns: Columns, batch: Batch, reading: Reading): void {
  const fields = fieldsOf(text, columns.delimiter);
  const fault = fillRow(fields, columns, batch, reading);
  if (fault === undefined) {
    batch.names?.push(fields[columns.id]!);
    batch.count++;
    return;
  }
  const { file, line, options } = reading;
  const error = new FormatError('csv/bad-row', `The row cannot be read: ${fault}.`, {
    remedy: 'Correct it, or leave such rows out with --on-bad-record skip.',
    place: { file, line },
  });
  if (options.onBadRow === undefined) throw error;
  options.onBadRow(error);
}

function fillRow(
  fields: readonly string[],
  { numbers, min }: Columns,
  batch: Batch,
  { options }: Reading,
): string | undefined {
  if (fields.length < min) return `it has ${fields.length} of ${min} fields`;
  for (let column = 0; column < numbers.length; column++) {
    const given = fields[numbers[column]!]!;
    const field = options.decimal === ',' ? swapped(given) : given;
    const value = NUMBER.test(field) ? Number(field) : Number.NaN;
    if (!Number.isFinite(value)) return `${options.numbers[column]![0]} is ${quoteName(given)}, no finite number`;
    batch.numbers[column]![batch.count] = value;
  }
  return options.faultOf?.(batch.numbers.map((column) => column[batch.count]!));
}

/** Exchanges commas and points, so that a number with a decimal comma is one with a point, and the other way round. */
function swapped(field: string): string {
  return field.replaceAll(/[.,]/g, (each) => (each === ',' ? '.' : ','));
}

function missingColumn({ file, options }: Reading, wanted: string, names: readonly string[]): FormatError {
  return new FormatError('csv/missing-column', `The CSV has no column ${wanted}.`, {
    expected: options.header === false ? 'one of the columns' : `a header with ${wanted}`,
    got: names.length === 0 ? 'an empty file' : names.slice(0, 20).map(quoteName).join(', '),
    remedy: remedyOfMissing(options.header, names),
    place: { file, line: 1 },
  });
}

function remedyOfMissing(header: boolean | undefined, names: readonly string[]): string {
  if (header === false) return 'Without a header, columns are named by their numbers, from 1.';
  const remedy = 'Write the names of the columns into the first line';
  return names.some((name) => NUMBER.test(name))
    ? `${remedy}, or give --no-header if the columns are in this order.`
    : `${remedy}.`;
}

function longLine({ file, line }: Reading): FormatError {
  return new FormatError('csv/long-line', 'A line is too long to be a row.', {
    expected: `at most ${LONGEST_RECORD} characters`,
    remedy: 'Check that the file is a CSV with one row per line.',
    place: { file, line },
  });
}

function openQuote({ file, line }: Reading): FormatError {
  return new FormatError('csv/open-quote', 'A quote is opened and not closed.', {
    remedy: 'Close it; write double quotes inside fields twice.',
    place: { file, line },
  });
}

function notUtf8(file: string, line: number, cause: unknown): FormatError {
  return new FormatError('format/not-utf8', 'The text is not UTF-8.', {
    remedy: 'Write it as UTF-8.',
    place: { file, line },
    cause,
  });
}
