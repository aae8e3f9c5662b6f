/**
 * Sums of two f64, `high + low`, with |low| at most half an ulp of `high`: numbers of some 106 bits. An operation leaves
 * its result in {@link dd}, so that loops allocate nothing.
 *
 * Source: Dekker, A Floating-Point Technique for Extending the Available Precision, 1971; Hida, Li and Bailey,
 * Algorithms for Quad-Double Precision Floating Point Arithmetic, 2001.
 */
export const dd = { high: 0, low: 0 };

/** Relative error of a sum or product of non-negative numbers. */
export const DD_ROUNDING: number = 2 ** -102;

/** Sets {@link dd} to a + b, without error. */
export function twoSum(a: number, b: number): void {
  const high = a + b;
  const of = high - a;
  dd.low = a - (high - of) + (b - of);
  dd.high = high;
}

/** Sets {@link dd} to a · b, without error as long as no part leaves the range of f64. */
export function twoProduct(a: number, b: number): void {
  const high = a * b;
  const [wideA, wideB] = [SPLITTER * a, SPLITTER * b];
  const [topA, topB] = [wideA - (wideA - a), wideB - (wideB - b)];
  const [restA, restB] = [a - topA, b - topB];
  dd.low = restA * restB - (high - topA * topB - restA * topB - topA * restB);
  dd.high = high;
}

const SPLITTER = 2 ** 27 + 1;

export function ddAdd(aHigh: number, aLow: number, bHigh: number, bLow: number): void {
  twoSum(aHigh, bHigh);
  const { high, low } = dd;
  twoSum(aLow, bLow);
  const rest = dd.low;
  twoSum(high, low + dd.high);
  twoSum(dd.high, dd.low + rest);
}

export function ddMultiply(aHigh: number, aLow: number, bHigh: number, bLow: number): void {
  twoProduct(aHigh, bHigh);
  twoSum(dd.high, dd.low + (aHigh * bLow + aLow * bHigh));
}

/** Sets {@link dd} to the power of a number to a whole exponent from 1 on. */
export function ddPower(high: number, low: number, exponent: number): void {
  let [powerHigh, powerLow] = [1, 0];
  let [squareHigh, squareLow] = [high, low];
  for (let rest = exponent; ; ) {
    if (rest & 1) {
      ddMultiply(powerHigh, powerLow, squareHigh, squareLow);
      powerHigh = dd.high;
      powerLow = dd.low;
    }
    rest >>= 1;
    if (rest === 0) break;
    ddMultiply(squareHigh, squareLow, squareHigh, squareLow);
    squareHigh = dd.high;
    squareLow = dd.low;
  }
  dd.high = powerHigh;
  dd.low = powerLow;
}

/** The exponent e of a positive number: the number is from 2^e to below 2^(e + 1). */
export function exponentOf(x: number): number {
  BUFFER[0] = x;
  const exponent = (WORDS[1]! >>> 20) & 0x7ff;
  return exponent > 0 ? exponent - 1023 : exponentOf(x * 2 ** 60) - 60;
}

/** Returns x · 2^e. The power itself may be beyond the range of f64. */
export function scaled(x: number, e: number): number {
  const half = Math.trunc(e / 2);
  return x * 2 ** half * 2 ** (e - half);
}

const BUFFER = new Float64Array(1);
const WORDS = new Uint32Array(BUFFER.buffer);
