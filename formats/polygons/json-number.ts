import { latin1Text } from '../bytes/byte-arrays.ts';

const MINUS = 45;
const PLUS = 43;
const POINT = 46;
const ZERO = 48;
const E = 101;

/** Integers with up to this many digits are exact in f64. */
const EXACT_DIGITS = 15;
/** Numbers with up to this many digits are read in two parts. Each of the parts is exact in f64. */
const PAIRED_DIGITS = 19;
/** Powers of ten. All of them are exact in f64. */
const TENS: Float64Array = Float64Array.from({ length: PAIRED_DIGITS + 1 }, (_, power) => Number(`1e${power}`));

/**
 * The position after the last number read. It is a module variable, because creating an object for each result would
 * cost more than reading the number.
 */
export let numberEnd = 0;

/**
 * Reads a JSON number, and sets {@link numberEnd}. Gives the same value as `JSON.parse`.
 *
 * @returns NaN if there is no number.
 */
export function readJsonNumber(bytes: Uint8Array, start: number): number {
  const negative = bytes[start] === MINUS;
  const first = negative ? start + 1 : start;
  let at = first;
  let mantissa = 0;
  let digit = bytes[at]! - ZERO;
  while (digit >= 0 && digit <= 9) {
    mantissa = mantissa * 10 + digit;
    digit = bytes[++at]! - ZERO;
  }
  let digits = at - first;
  if (digits === 0 || (digits > 1 && bytes[first] === ZERO)) return Number.NaN;
  let fraction = 0;
  if (bytes[at] === POINT) {
    const point = ++at;
    digit = bytes[at]! - ZERO;
    while (digit >= 0 && digit <= 9) {
      mantissa = mantissa * 10 + digit;
      digit = bytes[++at]! - ZERO;
    }
    fraction = at - point;
    if (fraction === 0) return Number.NaN;
    digits += fraction;
  }
  numberEnd = at;
  if ((bytes[at]! | 32) === E) return readAsText(bytes, start, at);
  if (digits > EXACT_DIGITS) return readLongNumber(bytes, start, at, fraction);
  // Both operands are exact, so a single division gives the nearest f64 (Clinger, 1990).
  const value = fraction === 0 ? mantissa : mantissa / TENS[fraction]!;
  return negative ? -value : value;
}

/**
 * Reads a number by converting its text with `Number`. `from` is the position after the digits, where an exponent may
 * begin.
 */
function readAsText(bytes: Uint8Array, start: number, from: number): number {
  let at = from;
  if ((bytes[at]! | 32) === E) {
    at++;
    if (bytes[at] === MINUS || bytes[at] === PLUS) at++;
    const exponent = at;
    while (bytes[at]! >= ZERO && bytes[at]! <= ZERO + 9) at++;
    if (at === exponent) return Number.NaN;
  }
  numberEnd = at;
  return Number(latin1Text(bytes, start, at));
}

/**
 * Reads a number with more digits than f64 holds. The first 15 digits and the remaining ones are combined, and divided
 * by a power of ten, in double-double precision (Dekker, A floating-point technique for extending the available
 * precision, 1971). The result is then rounded to f64. If the result is so close to the middle between two f64 numbers
 * that it cannot be rounded reliably (Ziv's test), `Number` reads the text instead.
 */
function readLongNumber(bytes: Uint8Array, start: number, end: number, fraction: number): number {
  const negative = bytes[start] === MINUS;
  const first = negative ? start + 1 : start;
  const digits = end - first - (fraction > 0 ? 1 : 0);
  if (digits > PAIRED_DIGITS) return readAsText(bytes, start, end);
  let head = 0;
  let tail = 0;
  let left = EXACT_DIGITS;
  for (let at = first; at < end; at++) {
    const digit = bytes[at]! - ZERO;
    if (digit < 0) continue;
    if (left > 0) head = head * 10 + digit;
    else tail = tail * 10 + digit;
    left--;
  }
  const scale = TENS[digits - EXACT_DIGITS]!;
  const product = head * scale;
  const high = product + tail;
  const low = productError(head, scale, product) + (tail - (high - product));
  const divisor = TENS[fraction]!;
  const quotient = high / divisor;
  const back = quotient * divisor;
  const correction = (high - back - productError(quotient, divisor, back) + low) / divisor;
  const doubt = correction * DOUBT;
  const value = quotient + (correction + doubt);
  if (value !== quotient + (correction - doubt)) return readAsText(bytes, start, end);
  return negative ? -value : value;
}

/** Upper bound of the relative error of `correction` in `readLongNumber`. */
const DOUBT = 2 ** -48;
/** Multiplier that splits the 53 bits of an f64 into two halves (Veltkamp). */
const SPLITTER = 2 ** 27 + 1;

/** The exact rounding error of `product`, which is the rounded value of `a * b` (Dekker). */
function productError(a: number, b: number, product: number): number {
  const aHigh = upperHalf(a);
  const bHigh = upperHalf(b);
  const aLow = a - aHigh;
  const bLow = b - bHigh;
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
}

function upperHalf(value: number): number {
  const spread = SPLITTER * value;
  return spread - (spread - value);
}
