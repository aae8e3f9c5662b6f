import { beginsWith, resized } from '../bytes/byte-arrays.ts';
import { skipJsonSpace } from '../result-sets/json-spans.ts';
import { jsonValueOf } from '../text/json-value.ts';
import {
  type CoordinateColumns,
  CUT_OFF,
  clearCoordinates,
  emptyCoordinates,
  IRREGULAR,
  lastPosition,
  readCoordinates,
  resumeCoordinates,
} from './json-coordinates.ts';

/**
 * A JSON value from a stream, divided into two parts: the coordinates of its polygons, as columns, and the remaining
 * text.
 *
 * In the text, every "coordinates" array that {@link readCoordinates} accepts is replaced by the index of this array in
 * the columns, in brackets: `{"type":"Polygon","coordinates":[0]}`. So `JSON.parse`, which takes 100 ns per vertex,
 * only parses the short remaining text.
 */
export interface JsonRecord {
  readonly coordinates: CoordinateColumns;
  /**
   * Whether the coordinates were moved from the text to the columns. If false, the text is complete, and the columns
   * are empty.
   */
  split: boolean;
  text: Uint8Array;
  textLength: number;
  paused: Pause | undefined;
}

/** An empty record with 4 KiB of text memory, which grows when needed. */
export function emptyRecord(): JsonRecord {
  return {
    coordinates: emptyCoordinates(),
    split: false,
    text: new Uint8Array(4096),
    textLength: 0,
    paused: undefined,
  };
}

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_ARRAY = 91;
const BACKSLASH = 92;
const CLOSE_ARRAY = 93;
const OPEN_OBJECT = 123;
const CLOSE_OBJECT = 125;

/** State of a scan that stopped within an array of coordinates. Positions are relative to the start of the record. */
interface Pause {
  /** Number of bytes of the record that have been copied to `text`. */
  readonly copied: number;
  readonly array: number;
  readonly position: number;
  readonly depth: number;
}

/**
 * Finds the end of the value that begins at `start`, and moves its coordinates to columns on the way. Checks only the
 * syntax that determines the end: strings and the number of open brackets.
 *
 * Arrays inside the "properties" of a feature stay in the text. All coordinates stay in the text if a string outside of
 * "properties" contains a backslash, because a key may spell "coordinates" with escapes. All coordinates also stay in
 * the text if one of the arrays does not have the structure of a polygon.
 *
 * @param end - Position after the last available byte; the byte there is 0.
 * @param resumes - Whether the previous call scanned the same value when fewer bytes were available.
 * @returns The position after the value; −1 if the value does not end before `end`, or if it is a number that may
 * continue at `end`.
 */
export function scanRecord(record: JsonRecord, bytes: Uint8Array, start: number, end: number, resumes = false): number {
  const { coordinates } = record;
  const paused = resumes ? record.paused : undefined;
  record.paused = undefined;
  let [at, copied, depth] = [start, start, 0];
  if (paused === undefined) clearRecord(record);
  else {
    copied = start + paused.copied;
    depth = paused.depth;
    at = start + paused.array;
    const behind = resumeCoordinates(coordinates, bytes, start + paused.position, end);
    if (behind === CUT_OFF) return pause(record, paused, start);
    if (behind === IRREGULAR) record.split = false;
    else at = copied = replaceArray(record, bytes, copied, at, behind);
  }
  let inProperties = false;
  for (;;) {
    const byte = bytes[at]!;
    if (byte === QUOTE) {
      const close = endOfString(bytes, at, end);
      if (close === -1) return -1;
      if (stringEscapes && !inProperties) record.split = false;
      const key = inProperties || depth === 0 ? -1 : keyAt(bytes, at, close);
      at = close;
      if (depth === 0) break;
      if (key === PROPERTIES && depth === 1) inProperties = true;
      if (key !== COORDINATES || !record.split || bytes[valueStart] !== OPEN_ARRAY) continue;
      at = valueStart;
      const behind = readCoordinates(coordinates, bytes, at, end);
      if (behind === CUT_OFF) return pause(record, { copied: copied - start, array: at - start, depth }, start);
      if (behind === IRREGULAR) record.split = false;
      else at = copied = replaceArray(record, bytes, copied, at, behind);
      continue;
    }
    if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) depth++;
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) {
      if (depth === 0) break;
      if (--depth === 0) {
        at++;
        break;
      }
    } else if (byte === COMMA) {
      if (depth === 0) break;
      if (depth === 1) inProperties = false;
    } else if (byte === 0 && at >= end) return -1;
    else if (byte <= 32 && depth === 0) break;
    at++;
  }
  if (record.split && coordinates.arrayEnds.length > 0) appendText(record, bytes, copied, at);
  else holdText(record, bytes, start, at);
  return at;
}

function clearRecord(record: JsonRecord): void {
  clearCoordinates(record.coordinates);
  record.textLength = 0;
  record.split = true;
}

function pause(record: JsonRecord, where: Omit<Pause, 'position'>, start: number): -1 {
  record.paused = { ...where, position: lastPosition - start };
  return -1;
}

/**
 * Appends the bytes `copied … array − 1` to the text, and then `[index]` instead of the array of coordinates in the
 * bytes `array … behind − 1`. Returns `behind`.
 */
function replaceArray(record: JsonRecord, bytes: Uint8Array, copied: number, array: number, behind: number): number {
  appendText(record, bytes, copied, array);
  const text = `[${record.coordinates.arrayEnds.length - 1}]`;
  reserveText(record, text.length);
  for (let at = 0; at < text.length; at++) record.text[record.textLength++] = text.charCodeAt(at);
  return behind;
}

/** Makes the bytes `start … end − 1` the complete text of a record, so that no coordinates are in columns. */
export function holdText(record: JsonRecord, bytes: Uint8Array, start: number, end: number): void {
  record.split = false;
  record.textLength = 0;
  appendText(record, bytes, start, end);
}

/** Whether the string found by the last call of `endOfString` contains a backslash. */
let stringEscapes = false;

/** The position after the quote that closes the string at `start`; −1 if the string does not end before `end`. */
function endOfString(bytes: Uint8Array, start: number, end: number): number {
  stringEscapes = false;
  let at = start + 1;
  while (bytes[at] !== QUOTE) {
    if (bytes[at] === BACKSLASH) {
      stringEscapes = true;
      at++;
    }
    at++;
    if (at >= end) return -1;
  }
  return at < end ? at + 1 : -1;
}

const COORDINATES = 1;
const PROPERTIES = 2;
const encoder = new TextEncoder();
const KEYS: readonly (readonly [Uint8Array, number])[] = [
  [encoder.encode('"coordinates"'), COORDINATES],
  [encoder.encode('"properties"'), PROPERTIES],
];

/** Position of the value that follows the key found by the last call of `keyAt`. */
let valueStart = 0;

/**
 * Returns `COORDINATES` or `PROPERTIES` if the string in the bytes `start … end − 1` is the key "coordinates" or
 * "properties" of an object; otherwise −1. For these two keys, also sets `valueStart`.
 */
function keyAt(bytes: Uint8Array, start: number, end: number): number {
  for (const [key, kind] of KEYS) {
    if (end - start !== key.length || !beginsWith(bytes, start, key)) continue;
    const colon = skipJsonSpace(bytes, end);
    if (bytes[colon] !== COLON) return -1;
    valueStart = skipJsonSpace(bytes, colon + 1);
    return kind;
  }
  return -1;
}

function appendText(record: JsonRecord, bytes: Uint8Array, from: number, to: number): void {
  reserveText(record, to - from);
  record.text.set(bytes.subarray(from, to), record.textLength);
  record.textLength += to - from;
}

function reserveText(record: JsonRecord, length: number): void {
  const needed = record.textLength + length;
  if (needed <= record.text.length) return;
  record.text = resized(record.text, Math.max(needed, 2 * record.text.length));
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses the text of a record with {@link jsonValueOf}. If the text is not UTF-8, throws the error of `TextDecoder`; if it is not JSON, throws
 * the error of `JSON.parse`.
 */
export function parseRecord({ text, textLength }: JsonRecord): unknown {
  return jsonValueOf(decoder.decode(text.subarray(0, textLength)));
}
