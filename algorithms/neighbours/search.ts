import type { Loader } from '../../primitives/columns/program.ts';
import {
  type Bool,
  bitsToF32,
  bool,
  ctz,
  type F32,
  f32,
  If,
  Let,
  select,
  type U32,
  u32,
  Var,
  While,
} from '../../primitives/index.ts';
import type { Measure } from './metrics.ts';
import { boxAt, LEAF, nodeWords, type PointTree, type WordAt, wordAtOf } from './tree.ts';

/** What a search reads of a tree. */
export interface TreeWords {
  readonly dimensions: number;
  readonly nodes: WordAt;
  readonly points: WordAt;
}

export function treeWords({ dimensions, nodes, points }: PointTree, loader: Loader): TreeWords {
  return { dimensions, nodes: wordAtOf(nodes, loader), points: wordAtOf(points, loader) };
}

/**
 * How far anything in a node's box is at least: the formula of distances on the gaps between query and box, axis by axis. Every
 * operation of it, rounded, grows with the gap, so that no point of the box is nearer by the same formula.
 */
export function boundOf({ nodes, dimensions }: TreeWords, measure: Measure, query: readonly F32[], node: U32): U32 {
  const { min, max } = boxAt(nodes, dimensions, node);
  const sum = query.reduce<F32>((sum, q, d) => {
    // A NaN gives way to 0.
    const gap = f32(0).max(min[d]!.sub(q)).max(q.sub(max[d]!));
    return measure.step(sum, gap, f32(0));
  }, f32(0));
  return measure.keyOf(sum);
}

/** The least number of a point below a node. */
export function minIdOf({ nodes, dimensions }: TreeWords, node: U32): U32 {
  return nodes(node.mul(nodeWords(dimensions)).add(2 * dimensions));
}

/** How far point i of the tree is. */
export function keyOfPoint({ points, dimensions }: TreeWords, measure: Measure, query: readonly F32[], i: U32): U32 {
  const first = i.mul(dimensions + 1);
  const sum = query.reduce<F32>((sum, q, d) => measure.step(sum, q, bitsToF32(points(first.add(d)))), f32(0));
  return measure.keyOf(sum);
}

export function idOfPoint({ points, dimensions }: TreeWords, i: U32): U32 {
  return points(i.mul(dimensions + 1).add(dimensions));
}

/** The last leaf that begins at a place on the curve or before it, or the first one. */
export function leafAt(tree: PointTree, place: readonly U32[], loader: Loader): U32 {
  const [from, to] = [Var(u32(0)), Var(loader.uniform('u32', Math.ceil(tree.count / LEAF)))];
  While(
    () => from.lt(to),
    () => {
      const middle = Let(from.add(to).shr(1));
      const first = place.map((_, k) => loader.load([tree.places], middle.mul(place.length).add(k))[0] as U32);
      // From the last word to the first: a word decides where those before it are equal.
      const isBehind = place.reduceRight(
        (behind, word, k) => word.lt(first[k]!).or(word.eq(first[k]!).and(behind)),
        bool(false) as Bool,
      );
      If(isBehind, () => to.set(middle)).Else(() => from.set(middle.add(1)));
    },
  );
  return Let(
    from
      .max(1)
      .sub(1)
      .add(loader.uniform('u32', 2 ** tree.levels)),
  );
}

/** The node that follows one and all below it, where left ones come first; 1 behind the last. */
export function nodeBehind(node: U32): U32 {
  const next = Let(node.add(1));
  return next.shr(ctz(next));
}

/** The points of a leaf, one after the other. */
export function pointsOfLeaf(tree: PointTree, leaf: U32, loader: Loader, body: (i: U32) => void): void {
  const first = Let(leaf.sub(loader.uniform('u32', 2 ** tree.levels)).mul(LEAF));
  const end = Let(first.add(LEAF).min(loader.uniform('u32', tree.count)));
  const i = Var(first);
  While(
    () => i.lt(end),
    () => {
      body(Let(i as U32));
      i.set(i.add(1));
    },
  );
}

/**
 * Goes through the tree from a leaf outwards: the leaf, then what is beside it, then what is beside both of these … Nodes that
 * `mayHold` does not let in are passed over with all below them.
 */
export function searchFrom(
  leaf: U32,
  tree: PointTree,
  loader: Loader,
  mayHold: (node: U32) => ReturnType<U32['lt']>,
  visit: (leaf: U32) => void,
): void {
  const leaves = loader.uniform('u32', 2 ** tree.levels);
  const node = Var(leaf);
  /** The root of what was searched through, with what is under way, and the node that follows the latter. */
  const [done, end] = [Var(leaf), Var(nodeBehind(leaf))];
  While(
    () => node.ne(0),
    () => {
      const here = Let(node as U32);
      const isLeaf = Let(here.ge(leaves));
      const next = Var(nodeBehind(here));
      If(mayHold(here), () => {
        If(isLeaf, () => visit(here)).Else(() => next.set(here.shl(1)));
      });
      If(next.eq(end), () => {
        // 0 is behind everything.
        const beside = Let(select(done.xor(1), u32(0), done.eq(1)));
        next.set(beside);
        end.set(nodeBehind(beside));
        done.set(done.shr(1));
      });
      node.set(next);
    },
  );
}
