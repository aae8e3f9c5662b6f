import type { LiteralValue } from './expressions.ts';
import type { Decimal } from './host-table.ts';

/**
 * Converts a literal to the decimal number that JavaScript prints for it: 0.1 is exactly a tenth. Returns undefined if
 * the literal is not a finite number.
 */
export function decimalOf(value: LiteralValue): Decimal | undefined {
  if (typeof value === 'bigint') return { units: value, scale: 0 };
  if (typeof value === 'object' && value !== null) return value;
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(`${value}`)!;
  const units = BigInt(`${sign}${whole}${fraction}`);
  const scale = fraction.length - Number(exponent);
  return scale < 0 ? { units: units * 10n ** BigInt(-scale), scale: 0 } : { units, scale };
}

export function numberOf({ units, scale }: Decimal): number {
  return scale === 0 ? Number(units) : Number(`${units}e-${scale}`);
}

/** The same number with as few decimal places as possible; `zeros` is the number of zeros at the end of whole units. */
export function withoutZeros({ units, scale }: Decimal): Decimal & { readonly zeros: number } {
  const zeros = units === 0n ? 0 : /0*$/.exec(`${units}`)![0].length;
  return {
    units: units / 10n ** BigInt(Math.min(zeros, scale)),
    scale: Math.max(0, scale - zeros),
    zeros: Math.max(0, zeros - scale),
  };
}

/** A literal as text, for error messages. */
export function literalText(value: LiteralValue): string {
  if (typeof value === 'string') return `'${value}'`;
  return typeof value === 'object' && value !== null ? `${value.units}e-${value.scale}` : String(value);
}

/** Converts a decimal number to units of 10^−digits. `digits` is at least the scale of the number. */
function withScale({ units, scale }: Decimal, digits: number): bigint {
  return units * 10n ** BigInt(digits - scale);
}

export function computeDecimals(kind: 'add' | 'sub' | 'mul', a: Decimal, b: Decimal): Decimal {
  if (kind === 'mul') return { units: a.units * b.units, scale: a.scale + b.scale };
  const scale = Math.max(a.scale, b.scale);
  const [x, y] = [withScale(a, scale), withScale(b, scale)];
  return { units: kind === 'add' ? x + y : x - y, scale };
}

/**
 * Rounds a number down to `digits` decimal places. `floor` is the result in units of 10^−digits, and `isWhole` tells
 * whether the result is exact.
 */
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
