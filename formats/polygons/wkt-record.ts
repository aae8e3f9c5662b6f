import { latin1Text } from '../bytes/byte-arrays.ts';
import type { Steps } from '../bytes/steps.ts';
import { char } from '../result-sets/byte-cursor.ts';
import { kindOfKeyword } from '../result-sets/wkt.ts';
import { type ByteWindow, needMore } from './byte-window.ts';

/** Where a record of well-known text ends. A record is a geometry, a comment or a blank line. */
export interface WktRecord {
  /** Position of the newline after the record, or the end of the text. */
  readonly end: number;
  /** Whether the record is a collection that never closes, so that it may have swallowed the records after it. */
  readonly swallows: boolean;
}

/**
 * Finds the end of the record that begins at `window.at`. Reads more bytes if needed. O(bytes).
 *
 * A geometry ends with the line on which its parentheses balance. If it is cut off, it ends before the next line that
 * can only be another record: a comment, or a line that begins with a keyword that cannot be a member of the geometry.
 */
export function* findRecord(window: ByteWindow): Steps<WktRecord> {
  for (;;) {
    const text = { bytes: window.bytes.subarray(0, window.end), isWhole: window.ended };
    const found = recordAt(text, window.at);
    if (found !== undefined) return found;
    yield* needMore(window);
  }
}

/** Bytes of a text. If `isWhole` is false, more bytes follow. */
interface Text {
  readonly bytes: Uint8Array;
  readonly isWhole: boolean;
}

/** The record that begins at `start`; undefined if its end is not known without more bytes. */
function recordAt(text: Text, start: number): WktRecord | undefined {
  const { bytes, isWhole } = text;
  let at = start;
  while (isBlank(bytes[at])) at++;
  if (bytes[at] !== char.newline && bytes[at] !== char.hash && at < bytes.length) return geometryAt(text, at);
  const end = bytes.indexOf(char.newline, at);
  if (end === -1 && !isWhole) return undefined;
  return { end: end === -1 ? bytes.length : end, swallows: false };
}

function geometryAt(text: Text, start: number): WktRecord | undefined {
  const { bytes, isWhole } = text;
  let depth = 0;
  let head: string | undefined;
  let lines = 1;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte > char.close) continue;
    if (byte === char.open) {
      head ??= headOf(bytes, start, at);
      depth++;
    } else if (byte === char.close) depth--;
    else if (byte === char.newline) {
      if (head === undefined ? !isBegun(headOf(bytes, start, at)) : depth <= 0) return { end: at, swallows: false };
      let next = at + 1;
      while (isBlank(bytes[next]) || bytes[next] === char.newline) next++;
      if (next + LONGEST_KEYWORD > bytes.length && !isWhole) return undefined;
      if (beginsRecord(bytes, next, lastByte(bytes, at), head)) return { end: at, swallows: false };
      at = next - 1;
      lines++;
    }
  }
  if (!isWhole) return undefined;
  return { end: bytes.length, swallows: lines > 1 && depth > 0 && NESTS.test(head!) };
}

const BEGINS = /^(?:SRID ?= ?\d+ ?;?)? ?([A-Z]*)(?: (?:ZM|Z|M))?$/i;
/** Matches the kinds of geometries whose members may begin with keywords. */
const NESTS = /COLLECTION|CURVE|SURFACE/i;
const LONGEST_HEAD = 4096;
const LONGEST_KEYWORD = 24;

/** The text of a geometry before its first parenthesis, with single blanks. */
function headOf(bytes: Uint8Array, start: number, end: number): string {
  return latin1Text(bytes, start, Math.min(end, start + LONGEST_HEAD))
    .replace(/\s+/g, ' ')
    .trim();
}

/** Whether the rest of a geometry may follow, on the next line, a text without parentheses. */
function isBegun(head: string): boolean {
  const word = BEGINS.exec(head)?.[1];
  return word !== undefined && (word === '' || kindOfKeyword(word.toUpperCase()) !== undefined);
}

/**
 * Whether the line whose first byte after blanks is at `next` is another record than the line before.
 *
 * @param last - The last byte of the line before.
 * @param head - The text before the first parenthesis of the geometry; undefined if it had no parenthesis yet.
 */
function beginsRecord(bytes: Uint8Array, next: number, last: number, head: string | undefined): boolean {
  if (bytes[next] === char.hash) return true;
  const word = /^[A-Z]*/i.exec(latin1Text(bytes, next, next + LONGEST_KEYWORD))![0].toUpperCase();
  if (word !== 'SRID' && kindOfKeyword(word) === undefined) return false;
  if (head === undefined) return last !== char.semicolon;
  return !((last === char.open || last === char.comma) && NESTS.test(head));
}

function lastByte(bytes: Uint8Array, end: number): number {
  let at = end - 1;
  while (isBlank(bytes[at])) at--;
  return bytes[at]!;
}

/** Whether a byte is white space, but no newline. */
function isBlank(byte: number | undefined): boolean {
  return (
    byte === char.space || (byte !== undefined && byte >= char.tab && byte <= char.return && byte !== char.newline)
  );
}
