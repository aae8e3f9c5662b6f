import { declarationOf, type OperationName, type ScalarType } from '../../../primitives/ir/operations.ts';
import { OPAQUE_ZERO } from '../launches/parameters.ts';

/**
 * The WGSL text of helper functions, by name. A helper computes an operation that WGSL lacks or specifies loosely. A
 * shader declares the helpers that its functors use.
 *
 * Helpers have no branches, and use `&` where `&&` would be a branch. Some compilers take time exponential in the
 * number of branches in a loop.
 */
const helpers = {
  // Hides x from the compiler, which knows neither alternative of the `select`. If one alternative were a constant, the
  // compiler could remove the `select` when it knows that x equals this constant. (Bit operations with the opaque zero
  // do not hide enough: some compilers still fuse products.)
  hide: `fn q_hide(x: f32) -> f32 { return select(x, bitcast<f32>(${OPAQUE_ZERO}), ${OPAQUE_ZERO} != 0u); }` as string,
  // The product, corrected. Some devices flush subnormal products to zero before they round, so that a product just
  // below 2^-126 becomes zero instead of 2^-126. To detect such a product, the helper multiplies again, with the
  // smaller factor (which is below 2^-63) scaled up by 2^64.
  mul: `fn q_mul(a: f32, b: f32) -> f32 {
  let p = q_hide(a * b);
  let x = bitcast<u32>(a); let y = bitcast<u32>(b);
  let small = min(x & 0x7fffffffu, y & 0x7fffffffu); let large = max(x & 0x7fffffffu, y & 0x7fffffffu);
  let scaled = bitcast<u32>(bitcast<f32>(small) * 18446744073709551616f * bitcast<f32>(large));
  let lost = ((bitcast<u32>(p) & 0x7fffffffu) == 0u) & (small >= 0x800000u) & (scaled >= 0x207fffffu);
  return select(p, bitcast<f32>(((x ^ y) & 0x80000000u) | 0x800000u), lost);
}`,
  // The corrected product of x and a constant c below 1. `least` is the bits of the smallest x whose product rounds to
  // a normal number.
  scale: `fn q_scale(x: f32, c: f32, least: u32) -> f32 {
  let p = q_hide(x * c);
  let lost = ((bitcast<u32>(p) & 0x7fffffffu) == 0u) & ((bitcast<u32>(x) & 0x7fffffffu) >= least);
  return select(p, bitcast<f32>(((bitcast<u32>(x) ^ bitcast<u32>(c)) & 0x80000000u) | 0x800000u), lost);
}`,
  isnan: `fn q_isnan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }`,
  // Maps numbers to integers that are ordered like the numbers, with −0 below +0.
  rank: `fn q_rank(x: f32) -> i32 { let b = bitcast<i32>(x); return b ^ ((b >> 31u) & 0x7fffffff); }`,
  min: `fn q_min(a: f32, b: f32) -> f32 {
  return select(select(b, a, (q_rank(a) < q_rank(b)) | q_isnan(b)), b, q_isnan(a));
}`,
  max: `fn q_max(a: f32, b: f32) -> f32 {
  return select(select(b, a, (q_rank(a) > q_rank(b)) | q_isnan(b)), b, q_isnan(a));
}`,
  // Returns x if its rank is in first … first + count − 1, else the constant c.
  within: `fn q_within(x: f32, c: f32, first: u32, count: u32) -> f32 {
  return select(c, x, bitcast<u32>(q_rank(x)) - first < count);
}`,
  neg: `fn q_neg(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ 0x80000000u); }`,
  abs: `fn q_abs(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu); }`,
  // Gives the result r the sign of x, because a device may lose the sign of a zero.
  sign: `fn q_sign(r: f32, x: f32) -> f32 {
  return bitcast<f32>((bitcast<u32>(r) & 0x7fffffffu) | (bitcast<u32>(x) & 0x80000000u));
}`,
  // Whether a < b. −0 and +0 are equal, and the result is false for NaN.
  lt: `fn q_lt(a: f32, b: f32) -> bool {
  let zeros = ((bitcast<u32>(a) | bitcast<u32>(b)) & 0x7fffffffu) == 0u;
  return !(zeros | q_isnan(a) | q_isnan(b)) & (q_rank(a) < q_rank(b));
}`,
  eq: `fn q_eq(a: f32, b: f32) -> bool {
  let zeros = ((bitcast<u32>(a) | bitcast<u32>(b)) & 0x7fffffffu) == 0u;
  return zeros | (!q_isnan(a) & (q_rank(a) == q_rank(b)));
}`,
  tou32: `fn q_tou32(x: f32) -> u32 {
  let b = bitcast<u32>(x);
  let inside = b < 0x4f800000u;
  let r = u32(select(0f, x, inside));
  return select(select(0u, 0xffffffffu, b <= 0x7f800000u), r, inside);
}`,
  toi32: `fn q_toi32(x: f32) -> i32 {
  let b = bitcast<u32>(x); let m = b & 0x7fffffffu;
  let inside = m < 0x4f000000u;
  let r = i32(select(0f, x, inside));
  let edge = bitcast<i32>(0x7fffffffu + (b >> 31u));
  return select(select(0i, edge, m <= 0x7f800000u), r, inside);
}`,
  // Converts x to f32. First rounds x to 24 significant bits, so that the device's conversion is exact.
  tof32: `fn q_tof32(x: u32) -> f32 {
  let drop = u32(max(0i, 8i - i32(countLeadingZeros(x))));
  let odd = (x >> drop) & 1u;
  let half = (1u << drop) >> 1u;
  let up = select(0u, half - 1u + odd, drop > 0u);
  let kept = (x >> drop) + select(0u, 1u, (x & ((1u << drop) - 1u)) + up >= (1u << drop));
  return f32(kept) * bitcast<f32>((127u + drop) << 23u);
}`,
  itof32: `fn q_itof32(x: i32) -> f32 {
  let r = q_tof32(select(u32(x), 0u - u32(x), x < 0i));
  return bitcast<f32>(bitcast<u32>(r) | (u32(x) & 0x80000000u));
}`,
  // The number 2^-23 · mantissa · 2^exponent, rounded to a subnormal or to infinity if necessary. The mantissa has 24
  // bits. `rest` is positive if the true value is above the mantissa, negative if the true value is below the mantissa,
  // and 0 if the mantissa is exact.
  pack: `fn q_pack(sign: u32, exponent: i32, mantissa: u32, rest: i32) -> f32 {
  let normal = select((u32(exponent + 126i) << 23u) + mantissa, 0x7f800000u, exponent > 127i);
  let drop = u32(clamp(-126i - exponent, 1i, 25i));
  let kept = mantissa >> drop; let lost = mantissa & ((1u << drop) - 1u); let half = 1u << (drop - 1u);
  let up = (lost > half) | ((lost == half) & ((rest > 0i) | ((rest == 0i) & ((kept & 1u) == 1u))));
  return bitcast<f32>(sign | select(kept + select(0u, 1u, up), normal, exponent >= -126i));
}`,
  // The quotient, correctly rounded. The device's quotient of the mantissas is off by at most a few units in the last
  // place; the remainder shows by how many.
  div: `fn q_div(a: f32, b: f32) -> f32 {
  let x = bitcast<u32>(a); let y = bitcast<u32>(b);
  let ex = (x >> 23u) & 255u; let ey = (y >> 23u) & 255u;
  let mx = (x & 0x7fffffu) | 0x800000u; let my = (y & 0x7fffffu) | 0x800000u;
  let below = select(0u, 1u, mx < my);
  let n = mx << below;
  let q = bitcast<f32>((x & 0x7fffffu) | ((127u + below) << 23u)) / bitcast<f32>((y & 0x7fffffu) | 0x3f800000u);
  let m = (min(max(bitcast<u32>(q), 0x3f800000u), 0x3fffffffu) & 0x7fffffu) | 0x800000u;
  let r = bitcast<i32>((n << 23u) - m * my);
  let d = bitcast<i32>(my);
  let s = 2i * r;
  let steps = select(0i, 1i, s > d) + select(0i, 1i, s > 3i * d) + select(0i, 1i, s > 5i * d)
    - select(0i, 1i, s < -d) - select(0i, 1i, s < -3i * d) - select(0i, 1i, s < -5i * d);
  let exact = q_pack((x ^ y) & 0x80000000u, i32(ex) - i32(ey) - i32(below), m + bitcast<u32>(steps), r - steps * d);
  let special = (ex == 0u) | (ey == 0u) | (ex == 255u) | (ey == 255u);
  return select(exact, a / b, special);
}`,
  rootstep: `fn q_rootstep(difference: u32, s: u32) -> u32 {
  return select(0u, 1u, bitcast<i32>(difference) > bitcast<i32>(s)) - select(0u, 1u, bitcast<i32>(difference) <= -bitcast<i32>(s));
}`,
  // The square root, correctly rounded. The root S of the integer X is correct if S² − S < X ≤ S² + S. The difference X
  // − S² is small, so its low 32 bits suffice.
  sqrt: `fn q_sqrt(a: f32) -> f32 {
  let x = bitcast<u32>(a);
  let e = x >> 23u;
  let odd = (e + 1u) & 1u;
  let m = (x & 0x7fffffu) | 0x800000u;
  let s = sqrt(bitcast<f32>((x & 0x7fffffu) | ((127u + odd) << 23u)));
  let r0 = (min(max(bitcast<u32>(s), 0x3f800000u), 0x3fffffffu) & 0x7fffffu) | 0x800000u;
  let r1 = r0 + q_rootstep((m << (23u + odd)) - r0 * r0, r0);
  let r2 = r1 + q_rootstep((m << (23u + odd)) - r1 * r1, r1);
  let exact = bitcast<f32>((((e + 127u - odd) >> 1u) << 23u) + r2 - 0x800000u);
  return select(exact, sqrt(a), (e == 0u) | (e >= 255u));
}`,
};

/** An operation on a type whose function a shader has to declare. */
type DeclaredOperation = `${OperationName}_${ScalarType}`;

/** Name of a WGSL helper function. */
export type Helper = keyof typeof helpers | DeclaredOperation;

const needs: Partial<Record<Helper, readonly Helper[]>> = {
  mul: ['hide'],
  scale: ['hide'],
  within: ['rank'],
  min: ['rank', 'isnan'],
  max: ['rank', 'isnan'],
  lt: ['rank', 'isnan'],
  eq: ['rank', 'isnan'],
  itof32: ['tof32'],
  div: ['pack'],
  sqrt: ['rootstep'],
};

/** WGSL declarations of helpers, including the helpers that they call. */
export function helperDeclarations(used: ReadonlySet<Helper>): string {
  const all = new Set<Helper>();
  const add = (helper: Helper): void => {
    for (const need of needs[helper] ?? []) add(need);
    all.add(helper);
  };
  for (const helper of used) add(helper);
  return [...all]
    .map((helper) => (helper in helpers ? helpers[helper as keyof typeof helpers] : declared(helper)))
    .join('\n');
}

function declared(helper: Helper): string {
  const [name, type] = helper.split('_') as [OperationName, ScalarType];
  return declarationOf(name, type, `q_${helper}`);
}
