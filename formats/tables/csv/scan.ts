import { FormatError } from '../../../primitives/checks/errors.ts';
import { resized } from '../../bytes/byte-arrays.ts';
import { endsLine } from '../../result-sets/byte-cursor.ts';

/** The byte ranges of the fields of some rows. Fields are stored row by row. */
export interface Fields {
  readonly bytes: Uint8Array;
  rows: number;
  readonly columns: number;
  starts: Uint32Array;
  ends: Uint32Array;
  /** For each field: PLAIN, QUOTED or ESCAPED. */
  kinds: Uint8Array;
  /** Number of the line in which each row begins, from 1. */
  lines: Uint32Array;
  /** Number of fields of the rows that have not as many fields as there are columns. */
  readonly ragged: Map<number, number>;
}

/** Kinds of fields: without quotes, in double quotes, or in double quotes with doubled quotes inside. */
export const PLAIN = 0;
const QUOTED = 1;
export const ESCAPED = 2;

/** The syntax of a CSV, and the number of the line that was reached. */
export interface Reading {
  readonly file: string;
  readonly delimiter: number;
  /** Number of columns; undefined until the first row has been read. */
  readonly columns: number | undefined;
  /** Number of the next line, from 1. */
  line: number;
  /** Whether rows with another number of fields than there are columns are kept. Default: they are errors. */
  readonly keepsRagged?: boolean;
  /** Maximum length of a record in bytes. Default: {@link LONGEST_RECORD}. */
  readonly longest?: number;
}

/** Maximum length of a record in bytes. A longer record indicates an unclosed quote, or a file without line ends. */
export const LONGEST_RECORD: number = 2 ** 24;

const QUOTE = 34;
const SPACE = 32;
const TAB = 9;
const LINE_FEED = 10;
const RETURN = 13;

const FIRST_ROWS = 1024;

/**
 * Finds the fields of all complete rows in the bytes, according to RFC 4180. Quoted fields may contain line ends and
 * doubled quotes. Lines end with LF, CR LF or CR alone. The last line may have no line end. Lines that are empty or blank are
 * skipped, unless there is only one column.
 *
 * @param last - Whether these are the last bytes of the file.
 * @param maxRows - Maximum number of rows to find.
 * @returns The fields, and the position of the next row.
 * @throws FormatError `csv/ragged-row`, `csv/open-quote`, `csv/bad-quote`, `csv/long-line`.
 */
export function scanRows(
  bytes: Uint8Array,
  start: number,
  last: boolean,
  reading: Reading,
  maxRows: number = Number.POSITIVE_INFINITY,
): { readonly fields: Fields; readonly next: number } {
  const { delimiter } = reading;
  const columns = reading.columns ?? headWidth(bytes, start, reading);
  const fields = newFields(bytes, columns);
  const end = bytes.length;
  let { starts, ends, kinds } = fields;
  let next = start;
  while (next < end && fields.rows < maxRows) {
    if (fields.rows === fields.lines.length) ({ starts, ends, kinds } = grow(fields));
    const base = fields.rows * columns;
    let [at, field, line] = [next, 0, reading.line];
    let isWhole = false;
    for (;;) {
      let [from, to, kind] = [at, at, PLAIN];
      if (bytes[at] === QUOTE && at < end) {
        kind = QUOTED;
        from = ++at;
        for (;;) {
          while (at < end && bytes[at] !== QUOTE) if (endsLine(bytes, at++)) line++;
          if (at + 1 >= end || bytes[at + 1] !== QUOTE) break;
          kind = ESCAPED;
          at += 2;
        }
        if (at >= end) {
          if (last) throw openQuote(reading);
          return { fields, next };
        }
        to = at++;
        if (at < end && bytes[at] !== delimiter && !isLineEnd(bytes[at]!)) throw badQuote(reading);
      } else {
        let byte = bytes[at]!;
        while (at < end && byte !== delimiter && (byte > RETURN || !isLineEnd(byte))) byte = bytes[++at]!;
        to = at;
      }
      // A CR may be the first half of a line end, whose second half is in the next block.
      if (!last && (at >= end || (at + 1 === end && bytes[at] === RETURN))) return { fields, next };
      if (field < columns) {
        starts[base + field] = from;
        ends[base + field] = to;
        kinds[base + field] = kind;
      }
      field++;
      if (at < end && bytes[at] === delimiter) {
        at++;
        continue;
      }
      isWhole = field > 1 || kind !== PLAIN || columns === 1 || !isBlank(bytes, from, to);
      at += lineEndBytes(bytes, at);
      break;
    }
    if (at - next > (reading.longest ?? LONGEST_RECORD)) throw longRecord(reading);
    if (isWhole) {
      if (field !== columns && !reading.keepsRagged) throw raggedRow(reading, columns, field);
      if (field !== columns) fields.ragged.set(fields.rows, field);
      fields.lines[fields.rows++] = reading.line;
    }
    reading.line = line + 1;
    next = Math.min(at, end);
  }
  return { fields, next };
}

/** Whether a range of bytes has only spaces and tabs. */
export function isBlank(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at] !== SPACE && bytes[at] !== TAB) return false;
  return true;
}

function isLineEnd(byte: number): boolean {
  return byte === LINE_FEED || byte === RETURN;
}

/** Number of bytes of the line end at a position: 1 for LF and CR, 2 for CR LF. */
function lineEndBytes(bytes: Uint8Array, at: number): number {
  return bytes[at] === RETURN && bytes[at + 1] === LINE_FEED ? 2 : 1;
}

/**
 * Skips lines that are empty, or have only spaces, and tabs if these are not the delimiter. Returns the position after
 * them, and their number.
 */
export function skipBlankLines(
  bytes: Uint8Array,
  start: number,
  delimiter?: number,
): { readonly at: number; readonly lines: number } {
  for (let [at, to, lines] = [start, start, 0]; ; at = to, lines++) {
    while (bytes[to] === SPACE || (bytes[to] === TAB && delimiter !== TAB)) to++;
    if (to >= bytes.length) return { at: to, lines };
    if (!isLineEnd(bytes[to]!)) return { at, lines };
    to += lineEndBytes(bytes, to);
  }
}

/** How often each byte occurs in the first line, outside quotes. Quotes that do not begin a field are text. */
export function bytesOfFirstLine(bytes: Uint8Array, start: number, delimiters: readonly number[]): Uint32Array {
  const counts = new Uint32Array(256);
  let [isQuoted, mayOpen] = [false, true];
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE && (isQuoted || mayOpen)) {
      isQuoted = !isQuoted;
      // A quote after a closing quote is a doubled quote.
      mayOpen = !isQuoted;
    } else if (!isQuoted) {
      if (isLineEnd(byte)) break;
      counts[byte]!++;
      mayOpen = delimiters.includes(byte);
    }
  }
  return counts;
}

/** Number of fields in the first row. */
function headWidth(bytes: Uint8Array, start: number, { delimiter }: Reading): number {
  return 1 + bytesOfFirstLine(bytes, start, [delimiter])[delimiter]!;
}

function newFields(bytes: Uint8Array, columns: number): Fields {
  const [size, lines] = [FIRST_ROWS * columns, new Uint32Array(FIRST_ROWS)];
  return {
    bytes,
    rows: 0,
    columns,
    starts: new Uint32Array(size),
    ends: new Uint32Array(size),
    kinds: new Uint8Array(size),
    lines,
    ragged: new Map(),
  };
}

function grow(fields: Fields): Fields {
  fields.starts = resized(fields.starts, 2 * fields.starts.length);
  fields.ends = resized(fields.ends, 2 * fields.ends.length);
  fields.kinds = resized(fields.kinds, 2 * fields.kinds.length);
  fields.lines = resized(fields.lines, 2 * fields.lines.length);
  return fields;
}

/** The bytes of a field, with each doubled quote replaced by a single one. */
export function unescaped(bytes: Uint8Array, from: number, to: number): Uint8Array {
  const text = new Uint8Array(to - from);
  let length = 0;
  for (let at = from; at < to; at++) {
    text[length++] = bytes[at]!;
    if (bytes[at] === QUOTE) at++;
  }
  return text.subarray(0, length);
}

function raggedRow({ file, line }: Reading, columns: number, got: number): FormatError {
  return new FormatError('csv/ragged-row', 'A row does not have as many fields as the first row.', {
    expected: columns,
    got,
    remedy: 'Correct the row; put fields that contain delimiters in double quotes.',
    place: { file, line },
  });
}

export function openQuote({ file, line }: Pick<Reading, 'file' | 'line'>): FormatError {
  return new FormatError('csv/open-quote', 'A quote is opened and not closed.', {
    remedy: 'Close it; write double quotes inside fields twice.',
    place: { file, line },
  });
}

function badQuote({ file, line }: Reading): FormatError {
  return new FormatError('csv/bad-quote', 'There is text between a closing quote and the end of its field.', {
    remedy: 'Write double quotes inside fields twice.',
    place: { file, line },
  });
}

export function longRecord({ file, line }: Reading): FormatError {
  return new FormatError('csv/long-line', 'A line is too long to be a row.', {
    expected: `at most ${LONGEST_RECORD} bytes`,
    remedy: 'Check that the file is a CSV with one row per line.',
    got: 'more',
    place: { file, line },
  });
}

/**
 * Reads a first line such as `sep=;`, by which spreadsheets state the delimiter of a CSV.
 *
 * @returns The delimiter, and the number of characters of the line with its end; undefined if there is no such line.
 */
export function separatorLine(text: string): { readonly delimiter: string; readonly length: number } | undefined {
  const found = /^("?)sep=([\t -~])\1(?:\r\n|\r|\n|$)/i.exec(text);
  return found === null ? undefined : { delimiter: found[2]!, length: found[0].length };
}

/** Number of characters at the start of a text that can be such a line. */
export const SEPARATOR_LINE = 10;
