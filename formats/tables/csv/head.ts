import type { Note } from '../../../algorithms/notes.ts';
import { FormatError } from '../../../primitives/checks/errors.ts';
import { latin1Text } from '../../bytes/byte-arrays.ts';
import type { LayerInput } from '../../polygons/layer-input.ts';
import { checkNames } from '../table-errors.ts';
import type { TableOptions } from '../table-file.ts';
import { blocksOf, checkLength } from './blocks.ts';
import { isNumberOrTime } from './infer.ts';
import {
  bytesOfFirstLine,
  ESCAPED,
  type Fields,
  type Reading,
  SEPARATOR_LINE,
  scanRows,
  separatorLine,
  skipBlankLines,
  unescaped,
} from './scan.ts';

/** What the first lines of a CSV say: the names of the columns, the delimiter, and where rows begin. */
export interface Head {
  readonly names: readonly string[];
  readonly delimiter: number;
  /** Whether the first record at `start` has the names of the columns. */
  readonly hasHeader: boolean;
  /** Position of the first record, after a byte-order mark, a line `sep=;` and blank lines. */
  readonly start: number;
  /** Number of the line of the first record, from 1. */
  readonly line: number;
}

/** Reads the head of a table, and notes names that look like a row. Throws if there is no line, or a repeated name. */
export async function readHead(
  input: LayerInput,
  options: TableOptions,
): Promise<Head & { readonly notes: readonly Note[] }> {
  const { file } = input;
  const head = await findHead(input, options);
  if (head === undefined) throw noRows(file);
  const isDoubtful = options.header === undefined && head.isNumbers;
  checkNames(file, head.names, isDoubtful ? NO_HEADER : undefined);
  return { ...head, notes: isDoubtful ? [numbersNote(file, head.names)] : [] };
}

/**
 * Reads the head of a CSV; undefined if there is no line. `isNumbers` tells whether all fields of the first record are
 * numbers or times.
 *
 * @param formats - The formats that are expected, for the error about a file that is no text.
 */
export async function findHead(
  input: LayerInput,
  options: Pick<TableOptions, 'delimiter' | 'decimal' | 'header' | 'signal'>,
  formats = 'Parquet, Arrow IPC, or CSV',
): Promise<(Head & { readonly isNumbers: boolean }) | undefined> {
  const { file } = input;
  const { delimiter, decimal = '.', header, signal } = options;
  for await (const block of blocksOf(input, signal)) {
    const { bytes } = block;
    const mark = startOf(bytes, file, formats);
    const stated = separatorLine(latin1Text(bytes, mark, mark + SEPARATOR_LINE));
    const from = mark + (stated?.length ?? 0);
    const likely = () => likelyDelimiter(bytes, skipBlankLines(bytes, from).at, decimal);
    const chosen = (delimiter ?? stated?.delimiter)?.charCodeAt(0) ?? likely();
    const { at: start, lines } = skipBlankLines(bytes, from, chosen);
    const line = lines + (stated === undefined ? 1 : 2);
    const reading: Reading = { file, delimiter: chosen, columns: undefined, line };
    const { fields } = scanRows(bytes, start, block.last, reading, 1);
    if (fields.rows === 0) {
      if (block.last) return undefined;
      checkLength(block, 0, reading);
      continue;
    }
    const hasHeader = header ?? true;
    const names = Array.from(
      { length: fields.columns },
      (_, i) => (hasHeader && textOf(fields, i, file).trim()) || `column${i + 1}`,
    );
    return { names, delimiter: chosen, hasHeader, start, line, isNumbers: areNumbers(fields, decimal) };
  }
  return undefined;
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const NO_HEADER = 'If the first line is a row, read the file with --no-header (header: false).';

function numbersNote(file: string, names: readonly string[]): Note {
  const message = `The first line of ${file} has only numbers or times, and was taken for the names of columns (${names.slice(0, 3).join(', ')}${names.length > 3 ? ', …' : ''}). ${NO_HEADER}`;
  return { code: 'csv/header-of-numbers', message };
}

/** Whether all fields of the first record that are not empty are numbers or times, and there is one. */
function areNumbers({ bytes, columns, starts, ends }: Fields, decimal: string): boolean {
  const indices = Array.from({ length: columns }, (_, i) => i).filter((i) => starts[i] !== ends[i]);
  return indices.length > 0 && indices.every((i) => isNumberOrTime(bytes, starts[i]!, ends[i]!, decimal));
}

/** The text of a field. Throws if it is not UTF-8. */
export function textOf({ bytes, starts, ends, kinds }: Fields, at: number, file: string, line = 1): string {
  const text = kinds[at] === ESCAPED ? unescaped(bytes, starts[at]!, ends[at]!) : bytes.subarray(starts[at], ends[at]);
  try {
    return decoder.decode(text);
  } catch (cause) {
    throw notUtf8(file, line, cause);
  }
}

/**
 * Position after the byte-order mark of UTF-8, or 0 if there is none. Throws if the bytes begin with a byte-order mark
 * of UTF-16, or if one of the first 4096 bytes is 0.
 */
function startOf(bytes: Uint8Array, file: string, formats: string): number {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 3;
  const isWide = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  if (isWide) throw notUtf8(file, 1);
  if (bytes.subarray(0, 4096).includes(0)) {
    throw new FormatError('format/not-table', 'This is not a supported table.', {
      expected: formats,
      got: 'bytes that are no text',
      remedy: 'Convert it.',
      place: { file },
    });
  }
  return 0;
}

const DELIMITERS: readonly number[] = [...',;\t|'].map((each) => each.charCodeAt(0));

/**
 * The delimiter that occurs most often in the first line, outside quotes. Where a comma is the decimal separator, it is
 * the delimiter only if none of the others occurs.
 */
function likelyDelimiter(bytes: Uint8Array, start: number, decimal: string): number {
  const found = bytesOfFirstLine(bytes, start, DELIMITERS);
  const counts = DELIMITERS.map((each) => [each, found[each]!] as const);
  const most = (all: typeof counts) => all.reduce((best, each) => (each[1] > best[1] ? each : best));
  if (decimal !== ',') return most(counts)[0];
  const [delimiter, count] = most(counts.slice(1));
  return count === 0 && counts[0]![1] > 0 ? counts[0]![0] : delimiter;
}

function noRows(file: string): FormatError {
  return new FormatError('csv/empty', 'The CSV has no line.', {
    expected: 'a line with the names of the columns',
    got: 'nothing',
    remedy: 'Write the names of the columns into the first line.',
    place: { file },
  });
}

export function notUtf8(file: string, line: number, cause?: unknown): FormatError {
  return new FormatError('format/not-utf8', 'The text is not UTF-8.', {
    remedy: 'Write it as UTF-8.',
    place: { file, line },
    cause,
  });
}
