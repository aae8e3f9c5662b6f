const MINUS = 45;
const PLUS = 43;
const POINT = 46;
const ZERO = 48;
const E = 101;

/** So many digits make a whole number that an f64 holds exactly. */
const EXACT_DIGITS = 15;
/** So many digits are taken in two parts. */
const PAIRED_DIGITS = 19;
/** Powers of ten, which an f64 holds exactly. */
const TENS: Float64Array = Float64Array.from({ length: PAIRED_DIGITS + 1 }, (_, power) => Number(`1e${power}`));

/** One behind the number that was read last. Beside the result, as an object for every number would cost more than the number. */
export let numberEnd = 0;

/**
 * Reads a number of JSON, and sets {@link numberEnd}. The value is that of `JSON.parse` of the same characters.
 *
 * @returns NaN where there is no number.
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
  // One rounding of exact operands: the nearest f64, as Clinger 1990 has it.
  const value = fraction === 0 ? mantissa : mantissa / TENS[fraction]!;
  return negative ? -value : value;
}

/** Reads a number whose exponent stands at `from`, or has none, by way of a string. */
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
 * A number of more digits than an f64 holds: the first 15 and the others are put together, and divided by the power of
 * ten, in twice the precision of an f64 (Dekker, A floating-point technique for extending the available precision, 1971).
 * Rounding that once is right unless the value lies so near to the middle of two f64 that the error could decide (Ziv's
 * test): then the engine reads it.
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

/** More than the relative error of a correction. */
const DOUBT = 2 ** -48;
/** Splits the 53 bits of an f64 into halves. */
const SPLITTER = 2 ** 27 + 1;

/** What a product lost in rounding, exactly. */
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
