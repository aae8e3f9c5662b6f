/**
 * Converts an IEEE 754 half-precision number to a JavaScript number. `bits` are the 16 bits of the half-precision
 * number.
 */
export function halfFloat(bits: number): number {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size = exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15);
  const value = exponent < 31 ? size : fraction === 0 ? Number.POSITIVE_INFINITY : Number.NaN;
  return bits >> 15 === 1 ? -value : value;
}

/** Whether a number is a half-precision number: it has at most 11 significant bits, none of them below 2⁻²⁴. */
export function isHalfFloat(value: number): boolean {
  if (!Number.isFinite(value)) return true;
  const size = Math.abs(value);
  const step = Math.max(-24, Math.floor(Math.log2(size)) - 10);
  return size <= 65504 && Number.isInteger(size / 2 ** step);
}
