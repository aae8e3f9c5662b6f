import { decimalOf, withoutZeros } from '../../algorithms/tables/decimals.ts';
import type { Decimal, LiteralValue } from '../../algorithms/tables/index.ts';

/** Maximum number of digits of a number, and maximum magnitude of its exponent. */
export const MAX_DIGITS = 5000;

/**
 * Parses a number exactly. It becomes a JavaScript number if that is printed as the same number, otherwise a bigint or a
 * decimal. Undefined if the number has too many digits or too large an exponent.
 */
export function numberOf(text: string): LiteralValue | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = /^(-?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text)!;
  if (whole.length + fraction.length > MAX_DIGITS || Math.abs(Number(exponent)) > MAX_DIGITS) return undefined;
  const value = Number(text);
  const units = BigInt(`${sign}${whole}${fraction}`);
  const scale = fraction.length - Number(exponent);
  const exact = withoutZeros({ units: units * 10n ** BigInt(Math.max(0, -scale)), scale: Math.max(0, scale) });
  const printed = decimalOf(value);
  if (printed !== undefined && isSame(withoutZeros(printed), exact)) return value;
  return exact.scale === 0 ? exact.units : { units: exact.units, scale: exact.scale };
}

function isSame(a: Decimal, b: Decimal): boolean {
  return a.units === b.units && a.scale === b.scale;
}
