/** The numbers that f16 with a sign bit of 0 are, up to the largest, by the definition of IEEE 754 binary16. */
export const HALVES: Float64Array = Float64Array.from({ length: 0x7c00 }, (_, half) => {
  const [exponent, fraction] = [half >> 10, half & 0x3ff];
  return exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
});

/** The bits of the f16 nearest to an f32 that is given by its bits, found by bisection among all f16. */
export function nearestHalf(bits: number): number {
  const [value] = new Float32Array(Uint32Array.of(bits).buffer);
  const sign = (bits >>> 16) & 0x8000;
  if (Number.isNaN(value)) return sign | 0x7e00 | ((bits >>> 13) & 0x1ff);
  const size = Math.abs(value!);
  let [low, high] = [0, HALVES.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (HALVES[middle]! <= size) low = middle + 1;
    else high = middle;
  }
  // f16 `low - 1` is at or below the number. The next above the largest would be 65536.
  const above = HALVES[low] ?? 65536;
  const [toBelow, toAbove] = [size - HALVES[low - 1]!, above - size];
  const isUp = toAbove < toBelow || (toAbove === toBelow && low % 2 === 0);
  return sign | (isUp ? Math.min(low, 0x7c00) : low - 1);
}

/** The bits of an f16 as an f32, by the definition. */
export function bitsOfHalf(half: number): number {
  const sign = half & 0x8000 ? 0x80000000 : 0;
  const size = half & 0x7fff;
  if (size >= 0x7c00) return (sign | 0x7f800000 | ((size & 0x3ff) << 13)) >>> 0;
  return (sign | new Uint32Array(Float32Array.of(HALVES[size]!).buffer)[0]!) >>> 0;
}
