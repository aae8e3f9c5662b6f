import { latin1Text } from '../../bytes/byte-arrays.ts';
import { parseTime } from './times.ts';

/**
 * One bit per type. A mask of these bits states to which types a cell can be converted. Strings need no bit, because
 * every cell can be a string.
 */
export const BOOL: number = 1;
export const I32: number = 2;
export const I64: number = 4;
export const U64: number = 8;
export const F64: number = 16;
export const DATE: number = 32;
export const WALL_TIME: number = 64;
export const UTC_TIME: number = 128;
export const ANYTHING: number = 255;
/** The types of numbers. */
export const NUMBER: number = I32 | I64 | U64 | F64;

const ZERO = 48;
const SPACE = 32;
const TAB = 9;
const COMMA = 44;
const POINT = 46;

/** Position of the first byte at or after `from` that is not a blank; `to` if there is none. */
export function skipBlanks(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && (bytes[at] === SPACE || bytes[at] === TAB)) at++;
  return at;
}

/** Position after the last byte in `from … to − 1` that is not a blank; `from` if there is none. */
export function dropBlanks(bytes: Uint8Array, from: number, to: number): number {
  let at = to;
  while (at > from && (bytes[at - 1] === SPACE || bytes[at - 1] === TAB)) at--;
  return at;
}

/**
 * Returns a mask of those types in the mask `possible` to which a cell can be converted. The cell must not have
 * surrounding blanks.
 */
export function typesOf(bytes: Uint8Array, from: number, to: number, possible: number, decimal: string): number {
  const swapped = decimal === ',' ? commaAsPoint(bytes, from, to) : undefined;
  if (swapped === undefined) return ownTypes(bytes, from, to, possible);
  const numbers = ownTypes(swapped, 0, swapped.length, possible) & NUMBER;
  return numbers | (ownTypes(bytes, from, to, possible) & ~NUMBER);
}

/**
 * A copy of a cell in which commas are points and points are commas, so that a number with a decimal comma is one with a
 * decimal point, and the other way round. Returns undefined if the cell has neither.
 */
export function commaAsPoint(bytes: Uint8Array, from: number, to: number): Uint8Array | undefined {
  let copy: Uint8Array | undefined;
  for (let at = from; at < to; at++) {
    if (bytes[at] !== COMMA && bytes[at] !== POINT) continue;
    copy ??= bytes.slice(from, to);
    copy[at - from] = bytes[at] === COMMA ? POINT : COMMA;
  }
  return copy;
}

/** Whether a cell, which may have surrounding blanks, is a number in decimal digits. */
export function isNumber(bytes: Uint8Array, start: number, end: number, decimal: string): boolean {
  return isOf(NUMBER, bytes, start, end, decimal);
}

/** Whether a cell, which may have surrounding blanks, is a number in decimal digits, a date or a time. */
export function isNumberOrTime(bytes: Uint8Array, start: number, end: number, decimal: string): boolean {
  return isOf(NUMBER | DATE | WALL_TIME | UTC_TIME, bytes, start, end, decimal);
}

function isOf(types: number, bytes: Uint8Array, start: number, end: number, decimal: string): boolean {
  const from = skipBlanks(bytes, start, end);
  const to = dropBlanks(bytes, from, end);
  return from < to && bytes[from]! <= 57 && typesOf(bytes, from, to, types, decimal) !== 0;
}

function ownTypes(bytes: Uint8Array, from: number, to: number, possible: number): number {
  const first = bytes[from]!;
  if (first <= 57) {
    const number = possible & NUMBER ? numberTypes(bytes, from, to) : 0;
    return possible & (number | (possible & (DATE | WALL_TIME | UTC_TIME) ? timeTypes(bytes, from, to) : 0));
  }
  const text = latin1Text(bytes, from, Math.min(to, from + 10));
  if (/^(true|false)$/i.test(text)) return possible & BOOL;
  return possible & (NO_NUMBER.test(text) ? F64 : 0);
}

/** The notations of NaN and infinity that are accepted in cells. */
export const NO_NUMBER: RegExp = /^[+-]?(nan|inf|infinity)$/i;

function timeTypes(bytes: Uint8Array, from: number, to: number): number {
  const time = parseTime(bytes, from, to);
  if (time === undefined) return 0;
  return time.isDate ? DATE | WALL_TIME : time.isUtc ? UTC_TIME : WALL_TIME;
}

const MAX_I32 = 2 ** 31 - 1;
const SAFE_DIGITS = 15;

function numberTypes(bytes: Uint8Array, from: number, to: number): number {
  const sign = bytes[from];
  const isNegative = sign === 45;
  const start = isNegative || sign === 43 ? from + 1 : from;
  let [at, value] = [start, 0];
  for (; at < to; at++) {
    const digit = bytes[at]! - ZERO;
    if (!(digit >= 0 && digit <= 9)) break;
    value = value * 10 + digit;
  }
  const digits = at - start;
  // Digits with a leading zero are a code or a name. As a number, they would lose the zero.
  if (digits > 1 && bytes[start] === ZERO) return 0;
  if (at < to)
    return isFraction(bytes, start, at, to)
      ? F64
      : NO_NUMBER.test(latin1Text(bytes, from, Math.min(to, from + 10)))
        ? F64
        : 0;
  if (digits === 0) return 0;
  // −0 can only be a float, because integers have no negative zero.
  if (isNegative && value === 0) return F64;
  if (digits <= SAFE_DIGITS) {
    const narrow = value <= MAX_I32 + (isNegative ? 1 : 0) ? I32 : 0;
    return narrow | I64 | F64 | (isNegative ? 0 : U64);
  }
  return digits > 20 ? 0 : wideTypes(latin1Text(bytes, sign === 43 ? start : from, to));
}

function wideTypes(text: string): number {
  const value = BigInt(text);
  const types = (BigInt.asIntN(64, value) === value ? I64 : 0) | (BigInt.asUintN(64, value) === value ? U64 : 0);
  return types | (BigInt(Number(text)) === value ? F64 : 0);
}

/**
 * Whether the bytes `from … to − 1` complete a decimal number with a fraction, an exponent, or both. The number begins
 * at `start`, after its sign.
 */
function isFraction(bytes: Uint8Array, start: number, from: number, to: number): boolean {
  const hasPoint = bytes[from] === POINT;
  let at = hasPoint ? skipDigits(bytes, from + 1, to) : from;
  if (at - start === (hasPoint ? 1 : 0)) return false;
  if (at < to && (bytes[at]! | 32) === 101) {
    const exponent = bytes[at + 1] === 43 || bytes[at + 1] === 45 ? at + 2 : at + 1;
    at = skipDigits(bytes, exponent, to);
    if (at === exponent) return false;
  }
  return at === to;
}

function skipDigits(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && bytes[at]! >= ZERO && bytes[at]! <= ZERO + 9) at++;
  return at;
}
