import type { ArrayParameter, Functor, UniformParameter } from '../../../primitives/functors/functor.ts';
import { array, fn, u32, uniform } from '../../../primitives/index.ts';

type U32 = typeof u32;

export const plusBy: Functor<{ x: U32; by: UniformParameter<'u32'> }, U32> = fn(
  { x: u32, by: uniform(u32) },
  u32,
  ({ x, by }) => x.mul(2654435761).add(by),
);

export const low: Functor<{ x: U32 }, U32> = fn({ x: u32 }, u32, ({ x }) => x.and(15));

export const lookUp: Functor<{ x: U32; table: ArrayParameter<'u32'> }, U32> = fn(
  { x: u32, table: array(u32) },
  u32,
  ({ x, table }) => x.add(table.at(x.and(7))),
);
