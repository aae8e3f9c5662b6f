import type { u64 } from '../functor.ts';
import type { Scalar } from '../shapes.ts';

export type U32Shape = Scalar<'u32'>;
export type I32Shape = Scalar<'i32'>;
export type F32Shape = Scalar<'f32'>;
export type BoolShape = Scalar<'bool'>;
/** The shape type of a 64-bit integer, a pair of words `{ lo, hi }`. */
export type U64Shape = typeof u64;

/** The parameters of a functor of one operand. */
export type OneOperand<S> = { readonly a: S };
/** The parameters of a functor of two operands. */
export type TwoOperands<S> = { readonly a: S; readonly b: S };
