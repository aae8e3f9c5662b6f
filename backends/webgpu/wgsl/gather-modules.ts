import type { Program } from '../../../primitives/contract/backend.ts';
import { entryOf, type Module } from '../../../primitives/ir/ir.ts';
import { memoized } from '../../../primitives/ir/memo.ts';
import { type GatherNode, Graph, type Node, straightLine } from '../../analyses/straight-line.ts';
import { isStraight, moduleOfNodes, neededFor, type SlotNames, slotsByName } from './graph-module.ts';

/**
 * A gather, split into three programs. A gather reads an index from one array and then the element at this index from
 * another array.
 */
export interface GatherPrograms {
  /** Name of the array that is gathered from. */
  readonly array: string;
  /** Maps the launch index to the index of the element. */
  readonly place: Program;
  /** Maps the launch index and the index of the element to the element. */
  readonly take: Program;
  /** Maps the launch index and the gathered element to the results. */
  readonly finish: Program;
}

type GatherModules = { readonly array: string } & Readonly<Record<'place' | 'take' | 'finish', Module>>;

/** Splits a program that contains exactly one gather. Returns undefined for other programs. */
export function splitGather({ module, arrays, uniforms }: Program): GatherPrograms | undefined {
  const modules = modulesOf(module);
  if (modules === undefined) return undefined;
  const programOf = (part: Module): Program => ({
    module: part,
    arrays: new Map([...part.arrays.keys()].map((name) => [name, arrays.get(name)!])),
    uniforms: new Map([...part.uniforms.keys()].map((name) => [name, uniforms.get(name)!])),
  });
  const { array, place, take, finish } = modules;
  return { array, place: programOf(place), take: programOf(take), finish: programOf(finish) };
}

const modulesOf = memoized((module: Module): GatherModules | undefined => {
  if (!isStraight(module)) return undefined;
  const graph = new Graph('scalars');
  const { slots, names } = slotsByName();
  const index = graph.index();
  const results = straightLine(graph, module, slots, [index]);
  const gathers = results === undefined ? [] : gathersIn(results);
  if (results === undefined || gathers.length !== 1) return undefined;
  const [element] = gathers;
  const { name } = entryOf(module);
  return {
    array: names.array(element!.slot),
    place: moduleOfNodes(`${name}_place`, [index], [element!.index], names),
    take: takeModule(`${name}_take`, graph, element!, names),
    finish: moduleOfNodes(`${name}_finish`, [index, element!], results, names),
  };
});

/** The reads that are gathers. The index of a gather depends on another read whose value differs from row to row. */
function gathersIn(results: readonly Node[]): GatherNode[] {
  return neededFor(results, new Set()).filter(
    (node): node is GatherNode =>
      node.kind === 'gather' &&
      neededFor([node.index], new Set()).some(({ kind, varying }) => kind === 'read' && varying),
  );
}

function takeModule(name: string, graph: Graph, { type, slot }: GatherNode, names: SlotNames): Module {
  const place = graph.parameter('u32', 'place');
  return moduleOfNodes(name, [graph.index(), place], [graph.read(type, slot, place)], names);
}
