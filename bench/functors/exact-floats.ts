/** The functions in f64, whose errors are far below a unit of f32. */
export const EXACT_FLOATS: { readonly [name: string]: (...numbers: readonly number[]) => number } = {
  ...Object.fromEntries(
    ['sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'atan2', 'exp', 'expm1', 'log', 'log2', 'log1p'].map(pick),
  ),
  ...Object.fromEntries(['sinh', 'cosh', 'tanh', 'cbrt', 'hypot', 'sign'].map(pick)),
  exp2: (x) => 2 ** x!,
  pow: (x, y) => (x === 1 || (x === -1 && Math.abs(y!) === Number.POSITIVE_INFINITY) ? 1 : x! ** y!),
  fract: (x) => Math.min(Math.fround(x! - Math.floor(x!)), 1 - 2 ** -24),
  remainder: (x, y) => x! % y!,
  fma: exactFma,
  mix: exactMix,
};

function pick(name: string): [string, (...numbers: readonly number[]) => number] {
  return [name, Math[name as 'sin'] as (...numbers: readonly number[]) => number];
}

/** a · b + c, rounded to odd in f64, so that rounding it to f32 rounds once. */
function exactFma(a?: number, b?: number, c?: number): number {
  const product = a! * b!;
  const sum = product + c!;
  if (!Number.isFinite(sum)) return sum;
  const of = sum - product;
  const lost = product - (sum - of) + (c! - of);
  const bits = new BigInt64Array(Float64Array.of(sum).buffer);
  if (lost !== 0 && (bits[0]! & 1n) === 0n) bits[0]! += lost > 0 === sum > 0 ? 1n : -1n;
  return new Float64Array(bits.buffer)[0]!;
}

/** a · (1 − t) + b · t, each operation rounded to f32, but small products as if numbers had no least exponent. */
function exactMix(a?: number, b?: number, t?: number): number {
  const products = [a! * Math.fround(1 - t!), b! * t!] as const;
  const scale = products.every((product) => Math.abs(Math.fround(product)) < 2 ** -60) ? 2 ** 64 : 1;
  const [p, q] = products.map((product) => Math.fround(product * scale)) as [number, number];
  return Math.fround(p + q) / scale;
}
