import { entryOf } from '../../../primitives/ir/ir.ts';
import { type Graph, type Node, type Slots, straightLine } from '../../analyses/straight-line.ts';
import type { KernelShape, StoreTarget } from '../commands/kernel-arguments.ts';

/** The results of a kernel's program as nodes of a graph; undefined if the program is not straight-line code. */
export function straightProgram(
  graph: Graph,
  shape: KernelShape,
  program: number,
  args: readonly Node[] = [graph.index()],
): readonly Node[] | undefined {
  return straightLine(graph, shape.programs[program]!.module, slotsOf(shape, program), args);
}

/** Like {@link straightProgram}, but the program's parameters become parameters of the graph. */
export function straightFunctor(
  graph: Graph,
  shape: KernelShape,
  program: number,
): { readonly parameters: readonly Node[]; readonly results: readonly Node[] } | undefined {
  const { parameters: types } = entryOf(shape.programs[program]!.module);
  const parameters = types.map(({ type }, k) => graph.parameter(type, `${k}`));
  const results = straightProgram(graph, shape, program, parameters);
  return results && { parameters, results };
}

/** Maps the names of arrays and uniforms of one program to their slots. */
export function slotsOf({ layout }: KernelShape, program: number): Slots {
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
