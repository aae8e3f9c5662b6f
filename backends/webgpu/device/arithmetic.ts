/**
 * The WGSL form of each kind of f32 operation, chosen by a probe of the device so that results match `semantics.ts`.
 * `plain` is WGSL's own operation. The other forms are for devices on which the plain operation is not exact.
 */
export interface Arithmetic {
  /**
   * `guarded` hides products from the compiler, so that it neither fuses `a*b + c` into one operation nor rewrites
   * `a*b + a*c` as `a*(b + c)`. `corrected` also fixes products that round up to the smallest normal number where the
   * device flushes them to 0.
   */
  readonly product: 'plain' | 'guarded' | 'corrected';
  /**
   * `guarded` hides all sums from the compiler, so that it does not reassociate them. `kept` hides only sums with terms
   * that may cancel out, as in `(a - b) + b`.
   */
  readonly sum: 'plain' | 'kept' | 'guarded';
  /**
   * `guarded` hides constants from the compiler, which may merge (`a*3*5 = a*15`), invert (`a/3`) or drop them
   * (`a + 0`, `a*0`).
   */
  readonly constant: 'plain' | 'guarded';
  /**
   * `guarded` hides quotients from the compiler, which may simplify `a/b*b`. `corrected` also rounds correctly: it
   * computes the rounding error of the mantissas' quotient in integers.
   */
  readonly quotient: 'plain' | 'guarded' | 'corrected';
  /** `corrected` rounds square roots correctly: it computes the rounding error of the mantissa's root in integers. */
  readonly root: 'plain' | 'corrected';
  /**
   * `bits` compares the bits of the operands, which is correct for NaN on devices whose compilers assume that NaN never
   * occurs.
   */
  readonly comparison: 'plain' | 'bits';
  /**
   * For min and max: `ranked` compares the bits of the operands, which is correct for −0 and NaN where the device's own
   * operation is not.
   */
  readonly extremum: 'plain' | 'ranked';
  /**
   * For conversions of integers to f32: `integer` first rounds 32-bit integers to 24 significant bits, so that the
   * conversion is exact.
   */
  readonly conversion: 'plain' | 'integer';
  /**
   * For conversions of f32 to integers: `checked` first compares numbers with the bounds of the integer type. Both
   * forms check for NaN where it may occur.
   */
  readonly truncation: 'plain' | 'checked';
}

export type ArithmeticChoice = keyof Arithmetic;

/** WGSL's own operations. Functors marked `fast` use them on every device. */
export const plainArithmetic: Arithmetic = {
  product: 'plain',
  sum: 'plain',
  constant: 'plain',
  quotient: 'plain',
  root: 'plain',
  comparison: 'plain',
  extremum: 'plain',
  conversion: 'plain',
  truncation: 'plain',
};

/** The strongest form of every operation. */
export const guardedArithmetic: Arithmetic = {
  product: 'corrected',
  sum: 'guarded',
  constant: 'guarded',
  quotient: 'corrected',
  root: 'corrected',
  comparison: 'bits',
  extremum: 'ranked',
  conversion: 'integer',
  truncation: 'checked',
};
