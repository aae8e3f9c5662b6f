import { type Backend, capacityOf, type DeviceBuffer, type Program, type UniteCommand } from '../contract/backend.ts';
import { Break, For, If, Var } from '../functors/control.ts';
import type { U32 } from '../functors/value.ts';
import { assemble, type BoundArray, leafAt, withBuffers } from './assembled-program.ts';

/** Maximum number of links that a launch follows towards the first node of a set. */
const STEPS = 64;

/**
 * Joins sets in rounds. Between rounds, every node is linked to the root of its tree. In a round, every root is linked
 * to the least root with which an edge connects it, if that is less than itself. In two rounds, the number of the roots
 * that still have such an edge is at least halved: a root that is less than all roots that it is connected with
 * remains after the second round only if another root was linked to it in the first. Since the host does not learn
 * when all edges are within trees, there are always as many rounds as there could have to be.
 */
export function uniteByHooking(backend: Backend, command: UniteCommand): void {
  const { extent, nodes, links } = command;
  const capacity = capacityOf(nodes);
  if (capacity === 0) return;
  withBuffers(backend, (take) => {
    const own = { buffer: links.buffer, offset: links.word };
    const other = { buffer: take(capacity), offset: 0 };
    const boundTo = (place: Place): BoundArray => leafAt({ type: 'u32', ...place }, nodes);
    const follow = (from: Place, to: Place): void => {
      const stores = [{ ...to, capacity, value: 0 }];
      backend.run({ kind: 'forEach', extent: nodes, program: following(boundTo(from)), stores });
    };
    const passes = Math.ceil(Math.log(capacity + 1) / Math.log(STEPS) / 2);
    const settle = (): void => {
      for (let pass = 0; pass < passes; pass++) {
        follow(own, other);
        follow(other, own);
      }
    };
    settle();
    const hook = hooking(command.program, boundTo(own));
    for (let round = 0; round < 2 * Math.ceil(Math.log2(capacity)); round++) {
      follow(own, other);
      const stores = [{ ...other, capacity, value: 0, index: 1, guard: 2, combine: 'min' as const }];
      backend.run({ kind: 'forEach', extent, program: hook, stores });
      follow(other, own);
      settle();
    }
  });
}

interface Place {
  readonly buffer: DeviceBuffer;
  readonly offset: number;
}

/** A program that follows links from a node towards the root of its tree. */
function following(links: BoundArray): Program {
  return assemble('followLinks', ['u32'], { arrays: { links } }, (index, { arrays }) => {
    const node = Var(arrays.links!.at(index) as U32);
    For(0, STEPS, () => {
      const next = arrays.links!.at(node) as U32;
      If(next.eq(node), () => Break());
      node.set(next);
    });
    return [node];
  });
}

/** A program that returns for an edge: the lesser of its two roots, the greater, and whether they differ. */
function hooking(edge: Program, links: BoundArray): Program {
  const given = { arrays: { links }, programs: { edge } };
  return assemble('hookRoots', ['u32', 'u32', 'bool'], given, (index, { arrays, programs }) => {
    const [a, b] = programs.edge!([index]) as [U32, U32];
    const [first, second] = [arrays.links!.at(a) as U32, arrays.links!.at(b) as U32];
    const areNodes = a.max(b).lt(arrays.links!.length());
    return [first.min(second), first.max(second), areNodes.and(first.ne(second))];
  });
}
