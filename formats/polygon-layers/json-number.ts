const MINUS = 45;
const PLUS = 43;
const POINT = 46;
const ZERO = 48;
const E = 101;

/** An f64 holds integers of up to this many digits exactly. */
const EXACT_DIGITS = 15;
/** Up to this many digits are read in two parts. */
const PAIRED_DIGITS = 19;
/** Powers of ten that f64 holds exactly. */
const TENS: Float64Array = Float64Array.from({ length: PAIRED_DIGITS + 1 }, (_, power) => Number(`1e${power}`));

/**
 * The position after the last number read. It is a separate variable, because an object for every number would cost
 * more than reading it.
 */
export let numberEnd = 0;

/**
 * Reads a number of JSON, and sets {@link numberEnd}. The value equals that of `JSON.parse`.
 *
 * @returns NaN if there is no number.
 */
export function readJsonNumber(bytes: Buffer, start: number): number {
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
  // A single rounding of exact operands gives the nearest f64 (Clinger 1990).
  const value = fraction === 0 ? mantissa : mantissa / TENS[fraction]!;
  return negative ? -value : value;
}

/** Reads a number, whose exponent (if any) begins at `from`, through a string. */
function readAsText(bytes: Buffer, start: number, from: number): number {
  let at = from;
  if ((bytes[at]! | 32) === E) {
    at++;
    if (bytes[at] === MINUS || bytes[at] === PLUS) at++;
    const exponent = at;
    while (bytes[at]! >= ZERO && bytes[at]! <= ZERO + 9) at++;
    if (at === exponent) return Number.NaN;
  }
  numberEnd = at;
  return Number(bytes.toString('latin1', start, at));
}

/**
 * Reads a number with more digits than f64 holds. The first 15 digits and the others are combined and divided by the
 * power of ten in double-double precision (Dekker, A floating-point technique for extending the available precision,
 * 1971). Rounding this once is correct unless the value is so close to the middle of two f64 that the error matters
 * (Ziv's test). In that case the engine parses it.
 */
function readLongNumber(bytes: Buffer, start: number, end: number, fraction: number): number {
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

/** Exceeds the relative error of a correction. */
const DOUBT = 2 ** -48;
/** Splits the 53 bits of an f64 into halves. */
const SPLITTER = 2 ** 27 + 1;

/** The exact rounding error of a product. */
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
