import type { LiteralValue } from './expressions.ts';
import type { Decimal } from './host-table.ts';

/** Digits behind the point that a literal may have. */
const MAX_DIGITS = 400;

/** A number as decimal digits, as it is written; undefined for what is none, and for NaN and infinities. */
export function decimalOf(value: LiteralValue): Decimal | undefined {
  if (typeof value === 'bigint') return { units: value, scale: 0 };
  if (typeof value === 'object' && value !== null) return value;
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(`${value}`)!;
  const units = BigInt(`${sign}${whole}${fraction}`);
  const scale = fraction.length - Number(exponent);
  return scale < 0 ? { units: units * 10n ** BigInt(-scale), scale: 0 } : { units, scale: Math.min(scale, MAX_DIGITS) };
}

export function numberOf({ units, scale }: Decimal): number {
  return scale === 0 ? Number(units) : Number(`${units}e-${scale}`);
}

/** The same number with as many digits behind the point, at least as many as it has. */
function withScale({ units, scale }: Decimal, digits: number): bigint {
  return units * 10n ** BigInt(digits - scale);
}

export function computeDecimals(kind: 'add' | 'sub' | 'mul', a: Decimal, b: Decimal): Decimal {
  if (kind === 'mul') return { units: a.units * b.units, scale: a.scale + b.scale };
  const scale = Math.max(a.scale, b.scale);
  const [x, y] = [withScale(a, scale), withScale(b, scale)];
  return { units: kind === 'add' ? x + y : x - y, scale };
}

/** The greatest whole number of units of a scale that is not above a number, and whether it is that. */
export function floorAt(
  { units, scale }: Decimal,
  digits: number,
): { readonly floor: bigint; readonly isWhole: boolean } {
  if (scale <= digits) return { floor: units * 10n ** BigInt(digits - scale), isWhole: true };
  const by = 10n ** BigInt(scale - digits);
  const quotient = units / by;
  const isWhole = quotient * by === units;
  return { floor: isWhole || units >= 0n ? quotient : quotient - 1n, isWhole };
}
