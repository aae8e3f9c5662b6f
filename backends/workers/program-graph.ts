import type { Module } from '../../primitives/functors/ir.ts';
import type { Layout, StoreTarget } from './kernel-arguments.ts';
import { flatten, type Graph, type Node, NotStraight, type Slots } from './straight-line.ts';

/** What the names of one of several programs are in a graph. */
export function slotsOf(layout: Layout, program: number): Slots {
  return {
    array: (name) => layout.arraySlots[program]!.get(name)!,
    uniform: (name) => layout.uniformSlots[program]!.get(name)!,
  };
}

export const noSlots: Slots = {
  array: () => {
    throw new RangeError('a monoid captures nothing');
  },
  uniform: () => {
    throw new RangeError('a monoid captures nothing');
  },
};

/** The results of a module as nodes; undefined where it is no straight line. */
export function straightLine(
  graph: Graph,
  module: Module,
  slots: Slots,
  args: readonly Node[],
): readonly Node[] | undefined {
  try {
    return flatten(graph, module, slots, args);
  } catch (error) {
    if (error instanceof NotStraight) return undefined;
    throw error;
  }
}

/** The results that stores use. */
export function storedNodes(stores: readonly StoreTarget[], results: readonly Node[]): Node[] {
  return stores.flatMap(({ value, index, guard }) =>
    [value, index, guard].flatMap((result) => (result === undefined ? [] : [results[result]!])),
  );
}
