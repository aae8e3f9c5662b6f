import type { UniteCommand } from '../../primitives/contract/backend.ts';
import type { HostMemory } from './memory.ts';
import { bind } from './programs.ts';

/** Joins sets one edge after the other; see `UniteCommand`. Links lead to earlier nodes; a root is linked to itself. */
export function unite(memory: HostMemory, { extent, program, nodes, links }: UniteCommand): void {
  const count = memory.lengthOf(nodes);
  const link = memory.resolve(links.buffer).views.u32.subarray(links.word, links.word + count);
  const rootOf = (node: number): number => {
    let at = node;
    while (link[at] !== at) at = link[at] = link[link[at]!]!;
    return at;
  };
  const ends = bind(memory, program);
  const edges = memory.lengthOf(extent);
  for (let edge = 0; edge < edges; edge++) {
    const [a, b] = ends(edge) as [number, number];
    if (a >= count || b >= count) continue;
    const [first, second] = [rootOf(a), rootOf(b)];
    link[Math.max(first, second)] = Math.min(first, second);
  }
  // Every link leads to an earlier node, whose own link is final here.
  for (let node = 0; node < count; node++) link[node] = link[link[node]!]!;
}
