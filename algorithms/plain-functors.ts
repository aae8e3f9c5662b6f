import { For, If } from '../primitives/functors/control.ts';
import { bool, type Functor, fn, type UniformParameter, u32, uniform } from '../primitives/functors/functor.ts';
import { clz, ctz } from '../primitives/functors/standard/bits.ts';
import type { U32 } from '../primitives/functors/value.ts';

/** Adds the number `by` to a position. */
export const moved: Functor<{ place: typeof u32; by: UniformParameter<'u32'> }, typeof u32> = fn(
  'moved',
  { place: u32, by: uniform(u32) },
  u32,
  ({ place, by }) => place.add(by),
);

/** 1 for true, 0 for false. */
export const asNumber: Functor<{ flag: typeof bool }, typeof u32> = fn('asNumber', { flag: bool }, u32, ({ flag }) =>
  u32(flag),
);

/** Whether a flag stored as a number is set. */
export const isSet: Functor<{ flag: typeof u32 }, typeof bool> = fn('isSet', { flag: u32 }, bool, ({ flag }) =>
  flag.ne(0),
);

/** Calls `body` for each bit of a mask that is set, in the code of functors. */
export function forEachBit(mask: U32, body: (bit: U32) => void): void {
  For(ctz(mask), u32(32).sub(clz(mask)), (bit) => {
    If(mask.shr(bit).and(1).eq(1), () => body(bit));
  });
}
