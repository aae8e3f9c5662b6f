import { quoteName } from '../../algorithms/quoted-names.ts';
import { FormatError, GeometryError } from '../../primitives/checks/errors.ts';
import { latin1Text } from '../bytes/byte-arrays.ts';
import { numberEnd, readJsonNumber } from '../polygons/json-number.ts';

/** A position in a text that is given as bytes. The text as a whole is never decoded to a string. */
export interface ByteCursor {
  readonly bytes: Uint8Array;
  /** Position after the last byte of the text. */
  readonly end: number;
  at: number;
}

/** Byte values of the characters that the text formats use. */
export const char = {
  tab: 9,
  newline: 10,
  return: 13,
  space: 32,
  quote: 34,
  hash: 35,
  open: 40,
  close: 41,
  plus: 43,
  comma: 44,
  minus: 45,
  point: 46,
  zero: 48,
  colon: 58,
  semicolon: 59,
  equals: 61,
  e: 101,
  bar: 124,
} as const;

/** A cursor at the start of a text, after the byte-order mark if there is one. */
export function startOf(bytes: Uint8Array): ByteCursor {
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return { bytes, end: bytes.length, at: marked ? 3 : 0 };
}

/** Returns the byte at the cursor, or a newline at the end of the text. Does not move the cursor. */
export function peek({ bytes, at, end }: ByteCursor): number {
  return at < end ? bytes[at]! : char.newline;
}

/** Moves the cursor past spaces and tabs. */
export function skipBlanks(cursor: ByteCursor): void {
  const { bytes, end } = cursor;
  let at = cursor.at;
  while (at < end && (bytes[at] === char.space || bytes[at] === char.tab)) at++;
  cursor.at = at;
}

/** Moves the cursor to the start of the next line. */
export function skipLine(cursor: ByteCursor): void {
  const newline = cursor.bytes.indexOf(char.newline, cursor.at);
  cursor.at = newline === -1 || newline >= cursor.end ? cursor.end : newline + 1;
}

/** Whether a byte ends a line. */
export function isLineEnd(byte: number): boolean {
  return byte === char.newline || byte === char.return;
}

/**
 * Reads a decimal number, such as `-12`, `1.5` or `.5e+3`, and moves the cursor past it. Gives the same value as
 * `Number`. If there is no number at the cursor, returns NaN and does not move the cursor.
 */
export function readNumber(cursor: ByteCursor): number {
  const { bytes, at, end } = cursor;
  const value = readJsonNumber(bytes, at);
  if (Number.isNaN(value) || numberEnd > end) return readDecimal(cursor);
  cursor.at = numberEnd;
  return value;
}

/** Reads a number that JSON does not allow, such as `+1`, `01`, `1.` or `.5`. Returns NaN if there is no number. */
function readDecimal(cursor: ByteCursor): number {
  const { bytes, end, at: from } = cursor;
  const signed = from < end && (bytes[from] === char.minus || bytes[from] === char.plus);
  const start = signed ? from + 1 : from;
  const point = skipDigits(bytes, start, end);
  const fraction = point < end && bytes[point] === char.point ? point + 1 : point;
  const mantissaEnd = fraction > point ? skipDigits(bytes, fraction, end) : point;
  if (point === start && mantissaEnd === fraction) return Number.NaN;
  cursor.at = endOfExponent(bytes, mantissaEnd, end);
  return Number(latin1Text(bytes, from, cursor.at));
}

function skipDigits(bytes: Uint8Array, from: number, end: number): number {
  let at = from;
  while (at < end && bytes[at]! >= char.zero && bytes[at]! <= char.zero + 9) at++;
  return at;
}

/**
 * Position after the exponent that begins at `at`. Returns `at` if no exponent begins there. An `e` without digits is
 * not an exponent.
 */
function endOfExponent(bytes: Uint8Array, at: number, end: number): number {
  if (at >= end || (bytes[at]! | 32) !== char.e) return at;
  const signed = at + 1 < end && (bytes[at + 1] === char.minus || bytes[at + 1] === char.plus);
  const start = signed ? at + 2 : at + 1;
  const after = skipDigits(bytes, start, end);
  return after === start ? at : after;
}

/** Reads a coordinate, and moves the cursor past it. Throws if there is no number, or if the number is not finite. */
export function readCoordinate(cursor: ByteCursor, file: string): number {
  const start = cursor.at;
  const value = readNumber(cursor);
  if (value - value === 0) return value;
  throw notANumber(cursor, start, file);
}

function notANumber({ bytes }: ByteCursor, at: number, file: string): GeometryError {
  return new GeometryError('geometry/not-finite', 'A coordinate is not a finite number.', {
    expected: 'a decimal number',
    got: quoteHere(bytes, at),
    remedy: 'Correct or remove the polygon.',
    place: placeIn(bytes, at, file),
  });
}

/** The error for a text that violates its format at the cursor. */
export function malformedText(
  { bytes, at }: ByteCursor,
  file: string,
  sentence: string,
  expected: string,
  remedy: string,
): FormatError {
  return new FormatError('format/malformed-text', sentence, {
    expected,
    got: quoteHere(bytes, at),
    remedy,
    place: placeIn(bytes, at, file),
  });
}

/** File, line and column of a byte, for error messages. Lines and columns count from 1; columns count bytes. */
export function placeIn(bytes: Uint8Array, at: number, file: string): { file: string; line: number; column: number } {
  let line = 1;
  let start = 0;
  for (let next = 0; next < at; next++) {
    if (!endsLine(bytes, next)) continue;
    line++;
    start = next + 1;
  }
  return { file, line, column: at - start + 1 };
}

/** Whether the byte at a position is the last one of a line end: LF, CR LF, or CR alone. */
export function endsLine(bytes: Uint8Array, at: number): boolean {
  const byte = bytes[at]!;
  return byte === char.newline || (byte === char.return && bytes[at + 1] !== char.newline);
}

const SHOWN = 24;

function quoteHere(bytes: Uint8Array, at: number): string {
  if (at >= bytes.length) return 'the end of the text';
  let end = at;
  while (end < bytes.length && end < at + SHOWN && !isLineEnd(bytes[end]!)) end++;
  return end === at ? 'the end of the line' : quoteName(textBetween(bytes, at, end));
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Decodes the UTF-8 text between two positions. */
export function textBetween(bytes: Uint8Array, from: number, to: number): string {
  return decoder.decode(bytes.subarray(from, to));
}
