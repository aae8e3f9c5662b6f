import type { Node, Slots } from '../../analyses/straight-line.ts';
import type { Layout, StoreTarget } from '../commands/kernel-arguments.ts';

/** Maps the names of arrays and uniforms of one program to their slots. */
export function slotsOf(layout: Layout, program: number): Slots {
  return {
    array: (name) => layout.arraySlots[program]!.get(name)!,
    uniform: (name) => layout.uniformSlots[program]!.get(name)!,
  };
}

/** The result nodes of a program that its stores use as values, indices or guards. */
export function storedNodes(stores: readonly StoreTarget[], results: readonly Node[]): Node[] {
  return stores.flatMap(({ value, index, guard }) =>
    [value, index, guard].flatMap((result) => (result === undefined ? [] : [results[result]!])),
  );
}
