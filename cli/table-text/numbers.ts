import { decimalOf, withoutZeros } from '../../algorithms/tables/decimals.ts';
import type { Decimal, LiteralValue } from '../../algorithms/tables/index.ts';

/** Maximum number of digits of a number, and maximum magnitude of its exponent. */
export const MAX_DIGITS = 5000;

/**
 * Parses a number exactly. It becomes a JavaScript number if that is printed as the same number and the text has an
 * exponent or few digits, otherwise a bigint or a decimal. Undefined if the number has too many digits or too large an exponent.
 */
export function numberOf(text: string): LiteralValue | undefined {
  const [, sign, whole = '', fraction = '', exponent] = /^(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text)!;
  if (whole.length + fraction.length > MAX_DIGITS || Math.abs(Number(exponent ?? 0)) > MAX_DIGITS) return undefined;
  const value = Number(text);
  const places = fraction.length - Number(exponent ?? 0);
  const units = BigInt(`${sign}${whole}${fraction}`) * 10n ** BigInt(Math.max(0, -places));
  const scale = Math.max(0, places);
  const printed = decimalOf(value);
  const isShort = exponent !== undefined || whole.length + fraction.length <= SAFE_DIGITS;
  if (isShort && printed !== undefined && isSame(withoutZeros(printed), withoutZeros({ units, scale }))) return value;
  return scale === 0 ? units : { units, scale };
}

/** Every number with at most this many digits survives conversion to f64 and back. */
const SAFE_DIGITS = 15;

function isSame(a: Decimal, b: Decimal): boolean {
  return a.units === b.units && a.scale === b.scale;
}
