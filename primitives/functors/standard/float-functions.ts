import type { F32 } from '../value.ts';
import { cosh, exp, exp2, expm1, sinh, tanh } from './exponentials.ts';
import { fma, fract, mix, remainder, sign } from './float-arithmetic.ts';
import { acos, asin, atan, atan2 } from './inverse-trigonometry.ts';
import { log, log1p, log2 } from './logarithms.ts';
import { cbrt, hypot, pow } from './powers.ts';
import { cos, sin, tan } from './trigonometry.ts';

/** A function of f32. */
type FloatFunction = (...numbers: readonly F32[]) => F32;

/**
 * The functions of f32 that are made of operations, by their names. They are the ones that functors in text can call
 * besides operations.
 */
export const FLOAT_FUNCTIONS: { readonly [name: string]: FloatFunction } = {
  ...{ sin, cos, tan, asin, acos, atan, atan2 },
  ...{ exp, exp2, expm1, log, log2, log1p, pow },
  ...{ sinh, cosh, tanh, cbrt, hypot },
  ...{ fma, fract, sign, mix, remainder },
};
