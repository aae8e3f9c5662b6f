import type { HostColumn } from '../../../algorithms/tables/host-table.ts';
import { FormatError } from '../../../primitives/errors.ts';
import type { LayerInput } from '../../polygon-layers/layer-input.ts';
import { type Chunk, rebatched } from '../rebatch.ts';
import { type StringDictionary, stringDictionary } from '../string-dictionary.ts';
import { checkNames, chosenFields } from '../table-errors.ts';
import type { BatchOptions, DeclaredType, FieldType, TableField, TableFile, TableOptions } from '../table-file.ts';
import { type CsvColumn, cellsOf } from './cells.ts';
import * as infer from './infer.ts';
import {
  ESCAPED,
  type Fields,
  LONGEST_RECORD,
  longRecord,
  openQuote,
  PLAIN,
  type Reading,
  scanRows,
  unescaped,
} from './scan.ts';

const DEFAULT_ROWS = 2 ** 16;

/** Opens a CSV. Reads the whole file once, to determine the types of its columns and its number of rows. */
export async function openCsv(input: LayerInput, options: TableOptions): Promise<TableFile> {
  const { file } = input;
  const head = await readHead(input, options);
  const { fields, rows } = await readTypes(input, head, options);
  const dictionaries = new Map<string, StringDictionary>();

  function columnOf(field: TableField): CsvColumn {
    const index = head.names.indexOf(field.name);
    if (field.type !== 'string') return { field, index, dictionary: undefined };
    const dictionary = dictionaries.get(field.name) ?? stringDictionary(file, field.name);
    dictionaries.set(field.name, dictionary);
    return { field, index, dictionary };
  }

  async function* chunksOf(chosen: readonly CsvColumn[], signal: AbortSignal | undefined): AsyncGenerator<Chunk> {
    for await (const scanned of rowsOf(input, head, signal)) {
      const columns = chosen.map((column): [string, HostColumn] => [
        column.field.name,
        cellsOf(scanned, column, (row) => badCell(file, scanned, column, row)),
      ]);
      yield { rows: scanned.rows, columns: Object.fromEntries(columns) };
    }
  }

  return {
    file,
    format: 'csv',
    fields,
    unread: [],
    rows,
    batches({ columns, rowsPerBatch = DEFAULT_ROWS, signal }: BatchOptions = {}) {
      const chosen = chosenFields(file, fields, [], columns).map(columnOf);
      return rebatched(chunksOf(chosen, signal), rowsPerBatch);
    },
    close: async () => {},
  };
}

/** Data from the first line of a CSV: the names of the columns, and the delimiter. */
interface Head {
  readonly names: readonly string[];
  readonly delimiter: number;
  readonly hasHeader: boolean;
}

async function readHead(input: LayerInput, { delimiter, header = true, signal }: TableOptions): Promise<Head> {
  const { file } = input;
  for await (const bytes of recordsIn(input, signal)) {
    const at = startOf(bytes.bytes, file);
    const first = bytes.bytes.subarray(at);
    const chosen = delimiter === undefined ? likelyDelimiter(first) : delimiter.charCodeAt(0);
    const reading: Reading = { file, delimiter: chosen, columns: undefined, line: 1 };
    const { fields } = scanRows(first, skipEmptyLines(first), bytes.last, reading, 1);
    if (fields.rows === 0) {
      if (bytes.last) throw noRows(file);
      checkLength(bytes, 0, reading);
      continue;
    }
    const names = Array.from(
      { length: fields.columns },
      (_, i) => (header && textOf(fields, i, file)) || `column${i + 1}`,
    );
    checkNames(file, names);
    return { names, delimiter: chosen, hasHeader: header };
  }
  throw noRows(file);
}

function skipEmptyLines(bytes: Buffer): number {
  let at = 0;
  while (bytes[at] === 10 || (bytes[at] === 13 && bytes[at + 1] === 10)) at++;
  return at;
}

function textOf({ bytes, starts, ends, kinds }: Fields, at: number, file: string): string {
  const text = kinds[at] === ESCAPED ? unescaped(bytes, starts[at]!, ends[at]!) : bytes.subarray(starts[at], ends[at]);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(text).trim();
  } catch (cause) {
    throw notUtf8(file, 1, cause);
  }
}

/**
 * Position after the byte-order mark of UTF-8, or 0 if there is none. Throws if the bytes begin with a byte-order mark
 * of UTF-16, or if one of the first 4096 bytes is 0.
 */
function startOf(bytes: Buffer, file: string): number {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 3;
  const isWide = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (isWide) throw notUtf8(file, 1);
  if (bytes.subarray(0, 4096).includes(0)) {
    throw new FormatError('format/not-table', 'This is not a supported table.', {
      expected: 'Parquet, Arrow IPC, or CSV',
      got: 'bytes that are no text',
      remedy: 'Convert it to one of these.',
      place: { file },
    });
  }
  return 0;
}

const DELIMITERS = [',', ';', '\t', '|'];

/** The delimiter that occurs most often in the first line, outside quotes. */
function likelyDelimiter(bytes: Buffer): number {
  const counts = new Map(DELIMITERS.map((each) => [each.charCodeAt(0), 0]));
  let isQuoted = false;
  for (const byte of bytes.subarray(skipEmptyLines(bytes))) {
    if (byte === 34) isQuoted = !isQuoted;
    else if (!isQuoted && byte === 10) break;
    else if (!isQuoted && counts.has(byte)) counts.set(byte, counts.get(byte)! + 1);
  }
  return [...counts].reduce((best, each) => (each[1] > best[1] ? each : best))[0];
}

/** A block of the file. It begins with the bytes that the previous block has left over. */
interface CsvBlock {
  readonly bytes: Buffer;
  readonly last: boolean;
  /**
   * Position of the first byte that is left for the next block, because its row is not complete; undefined if all bytes
   * were used.
   */
  left: number | undefined;
}

async function* recordsIn(input: LayerInput, signal?: AbortSignal): AsyncGenerator<CsvBlock> {
  let parts: Uint8Array[] = [];
  let [bytes, wanted] = [0, 0];
  for await (const block of input.blocks(signal)) {
    parts.push(block.slice());
    bytes += block.length;
    if (bytes < wanted) continue;
    const whole: CsvBlock = { bytes: Buffer.concat(parts), last: false, left: undefined };
    yield whole;
    const rest = whole.bytes.subarray(whole.left ?? 0);
    // If the block contains no complete row, wait until twice as many bytes are available before scanning again.
    wanted = rest.length === bytes ? 2 * bytes : 0;
    [parts, bytes] = [[rest], rest.length];
  }
  if (bytes > 0) yield { bytes: Buffer.concat(parts), last: true, left: undefined };
}

/** Scans the file block by block, and yields the fields of all rows after the header. */
async function* rowsOf(input: LayerInput, head: Head, signal?: AbortSignal): AsyncGenerator<Fields> {
  const { file } = input;
  const reading: Reading = { file, delimiter: head.delimiter, columns: head.names.length, line: 1 };
  let skipsHeader = head.hasHeader;
  let isFirst = true;
  for await (const block of recordsIn(input, signal)) {
    let at = isFirst ? startOf(block.bytes, file) : 0;
    if (isFirst && head.names.length === 1) {
      // If there is only one column, an empty line is a null. However, empty lines at the start of the file are
      // skipped.
      const skipped = skipEmptyLines(block.bytes.subarray(at));
      reading.line += block.bytes.subarray(at, at + skipped).filter((byte) => byte === 10).length;
      at += skipped;
    }
    if (skipsHeader) {
      const { fields, next } = scanRows(block.bytes, at, block.last, reading, 1);
      if (fields.rows === 0) {
        checkLength(block, 0, reading);
        continue;
      }
      at = next;
      skipsHeader = false;
    }
    isFirst = false;
    const { fields, next } = scanRows(block.bytes, at, block.last, reading);
    block.left = next;
    checkLength(block, next, reading);
    yield fields;
  }
}

function checkLength({ bytes }: CsvBlock, from: number, reading: Reading): void {
  if (bytes.length - from <= LONGEST_RECORD) return;
  throw bytes.subarray(from, from + LONGEST_RECORD).includes(34) ? openQuote(reading) : longRecord(reading);
}

async function readTypes(
  input: LayerInput,
  head: Head,
  { types = {}, signal }: TableOptions,
): Promise<{ readonly fields: readonly TableField[]; readonly rows: number }> {
  const { names } = head;
  checkDeclared(input.file, names, types);
  const possible = names.map((name) => (Object.hasOwn(types, name) ? 0 : infer.ANYTHING));
  const hasNulls = names.map(() => false);
  const hasCells = names.map(() => false);
  let rows = 0;
  for await (const fields of rowsOf(input, head, signal)) {
    rows += fields.rows;
    for (const index of names.keys()) inferColumn(fields, index, possible, hasNulls, hasCells);
  }
  const fields = names.map((name, i): TableField => {
    const declared = Object.hasOwn(types, name) ? declaredType(types[name]!) : undefined;
    return { ...(declared ?? inferred(hasCells[i] ? possible[i]! : 0)), name, nullable: hasNulls[i]! };
  });
  return { fields, rows };
}

function inferColumn(
  { bytes, rows, columns, starts, ends, kinds }: Fields,
  index: number,
  possible: number[],
  hasNulls: boolean[],
  hasCells: boolean[],
): void {
  let types = possible[index]!;
  let nulls = 0;
  for (let row = 0, at = index; row < rows; row++, at += columns) {
    const [start, end] = [starts[at]!, ends[at]!];
    if (start === end) {
      if (kinds[at] === PLAIN || types !== 0) nulls++;
      continue;
    }
    if (types === 0) continue;
    const from = infer.skipBlanks(bytes, start, end);
    const to = infer.dropBlanks(bytes, from, end);
    types = from === to ? 0 : infer.typesOf(bytes, from, to, types);
  }
  possible[index] = types;
  if (nulls > 0) hasNulls[index] = true;
  if (nulls < rows) hasCells[index] = true;
}

/** The narrowest of the types in the mask `possible`, in which each type is a bit. */
function inferred(possible: number): FieldType {
  if (possible & infer.BOOL) return { type: 'bool' };
  if (possible & infer.I32) return { type: 'i32' };
  if (possible & infer.I64) return { type: 'i64' };
  if (possible & infer.U64) return { type: 'u64' };
  if (possible & infer.F64) return { type: 'f64' };
  if (possible & infer.DATE) return { type: 'date' };
  if (possible & infer.WALL_TIME) return { type: 'timestamp', unit: 'us', utc: false };
  if (possible & infer.UTC_TIME) return { type: 'timestamp', unit: 'us', utc: true };
  return { type: 'string' };
}

function declaredType(type: DeclaredType): FieldType {
  if (type === 'timestamp') return { type, unit: 'us', utc: false };
  const scale = /^decimal\((\d+)\)$/.exec(type)?.[1];
  if (scale !== undefined) return { type: 'decimal', scale: Number(scale) };
  return { type: type as Exclude<FieldType['type'], 'decimal' | 'timestamp'> };
}

function checkDeclared(file: string, names: readonly string[], types: object): void {
  const other = Object.keys(types).find((name) => !names.includes(name));
  if (other === undefined) return;
  throw new FormatError('format/unknown-column', `There is no column "${other}", whose type is declared.`, {
    expected: names.join(', '),
    got: other,
    remedy: 'Name a column of the table.',
    place: { file },
  });
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
  const text = bytes.toString('utf8', starts[at]!, Math.min(ends[at]!, starts[at]! + 40));
  return new FormatError('csv/bad-cell', `A cell of the column "${field.name}" does not have its type.`, {
    expected: field.type === 'decimal' ? `a decimal with at most ${field.scale} digits after the point` : field.type,
    got: JSON.stringify(text),
    remedy: 'Correct it, leave it empty, or declare another type of the column.',
    place: { file, line },
  });
}

function noRows(file: string): FormatError {
  return new FormatError('csv/empty', 'The CSV has no line.', {
    expected: 'a line with the names of the columns',
    got: 'nothing',
    remedy: 'Write the names of the columns into the first line.',
    place: { file },
  });
}

function notUtf8(file: string, line: number, cause?: unknown): FormatError {
  return new FormatError('format/not-utf8', 'The text is not UTF-8.', {
    remedy: 'Write it as UTF-8.',
    place: { file, line },
    cause,
  });
}
