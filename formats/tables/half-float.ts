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
