import { type Module, moduleKey } from '../../primitives/functors/ir.ts';

const numbers = new Map<string, number>();
const known = new WeakMap<Module, number>();

/** A small number that modules share exactly when they have the same structure, so that cache keys stay short. */
export function keyOf(module: Module): number {
  let number = known.get(module);
  if (number === undefined) {
    const key = moduleKey(module);
    number = numbers.get(key) ?? numbers.size;
    numbers.set(key, number);
    known.set(module, number);
  }
  return number;
}
