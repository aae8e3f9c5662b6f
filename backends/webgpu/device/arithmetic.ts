/**
 * Which WGSL forms f32 operations take so that results match `semantics.ts`; a probe of the device chooses. *plain* is
 * WGSL's own operation; the other forms are exact on devices where that one is not.
 */
export interface Arithmetic {
  /**
   * `guarded` hides products, to prevent the fusion of `a*b + c` into one operation and the rewriting of `a*b + a*c` as
   * `a*(b + c)`; `corrected` also returns the smallest normal number where the device flushes results that round up to
   * it.
   */
  readonly product: 'plain' | 'guarded' | 'corrected';
  /**
   * `guarded` hides all sums from reassociation; `kept` only sums with a part that could cancel out, as in `(a - b) +
   * b`.
   */
  readonly sum: 'plain' | 'kept' | 'guarded';
  /**
   * `guarded` hides constants, because compilers merge (`a*3*5 = a*15`), invert (`a/3`) and drop them (`a + 0`, `a*0`).
   */
  readonly constant: 'plain' | 'guarded';
  /**
   * `guarded` hides quotients from rewriting, as of `a/b*b`; `corrected` also computes the rounding error of a quotient
   * of mantissas in integers.
   */
  readonly quotient: 'plain' | 'guarded' | 'corrected';
  /** `corrected` computes the rounding error of a square root of a mantissa in integers. */
  readonly root: 'plain' | 'corrected';
  /** `bits` compares the bits of the operands: correct for NaN on devices that assume there are none. */
  readonly comparison: 'plain' | 'bits';
  /** `ranked` compares the bits of the operands: correct for zeros and NaN on devices whose own operation is not. */
  readonly extremum: 'plain' | 'ranked';
  /** `integer` rounds 32-bit integers to 24 bits before it converts them. */
  readonly conversion: 'plain' | 'integer';
  /**
   * `checked` compares numbers with the bounds of the integer type before converting; a possible NaN is checked in both
   * forms.
   */
  readonly truncation: 'plain' | 'checked';
}

export type ArithmeticChoice = keyof Arithmetic;

/** Plain WGSL, which `fast` functors get on every device. */
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

/** Every operation in the form that relies only on integers. */
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
