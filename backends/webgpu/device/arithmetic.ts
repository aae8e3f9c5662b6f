/**
 * How f32 operations are written so that they give what `semantics.ts` says; a probe of the device chooses. *plain* is
 * WGSL's own operation, the other form is exact on devices where that one is not.
 */
export interface Arithmetic {
  /**
   * `guarded` hides products: from the contraction of `a*b + c` to a fused operation, and from `a*b + a*c = a*(b + c)`;
   * `corrected` also returns the smallest normal number where the device flushes what rounds up to it.
   */
  readonly product: 'plain' | 'guarded' | 'corrected';
  /** `guarded` hides sums from reassociation; `kept` only those of which a part could cancel out, as in `(a - b) + b`. */
  readonly sum: 'plain' | 'kept' | 'guarded';
  /** `guarded` hides constants, which compilers merge (`a*3*5 = a*15`), invert (`a/3`) and drop (`a + 0`, `a*0`). */
  readonly constant: 'plain' | 'guarded';
  /**
   * `guarded` hides quotients, as in `a/b*b`; `corrected` finds the rounding error of a quotient of mantissas in integers
   * as well.
   */
  readonly quotient: 'plain' | 'guarded' | 'corrected';
  /** `corrected` finds the rounding error of a square root of a mantissa in integers. */
  readonly root: 'plain' | 'corrected';
  /** `bits` compares the bits of the operands: right for NaN where the device assumes that there are none. */
  readonly comparison: 'plain' | 'bits';
  /** `ranked` compares the bits of the operands: right for zeros and NaN where the device is not. */
  readonly extremum: 'plain' | 'ranked';
  /** `integer` rounds 32-bit integers to 24 bits before it converts them. */
  readonly conversion: 'plain' | 'integer';
  /** `checked` compares numbers with the bounds of integers before it converts them; what may be NaN is checked anyway. */
  readonly truncation: 'plain' | 'checked';
}

export type ArithmeticChoice = keyof Arithmetic;

/** WGSL as it is: what `fast` functors get everywhere. */
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

/** Every operation in the form that relies on integers alone. */
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
