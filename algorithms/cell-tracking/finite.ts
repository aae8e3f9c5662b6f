import { f32 } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { F32 } from '../../primitives/functors/value.ts';

/** The number, or 0 if it is not finite. */
export function finite(value: F32): F32 {
  return select(f32(0), value, value.abs().lt(Number.POSITIVE_INFINITY));
}
