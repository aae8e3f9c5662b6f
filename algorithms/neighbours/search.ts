import type { Loader } from '../../primitives/columns/program.ts';
import {
  type Bool,
  bitsToF32,
  bool,
  ctz,
  type F32,
  If,
  Let,
  select,
  type U32,
  u32,
  Var,
  While,
} from '../../primitives/index.ts';
import { keyOfAxes, type Measure } from './measures.ts';
import { boxAt, LEAF, nodeWords, type PointTree, type WordAt, wordAtOf } from './tree.ts';

/** Access to the words of a tree in a kernel: `nodes` and `points` read the word at an index. */
export interface TreeWords {
  readonly dimensions: number;
  readonly nodes: WordAt;
  readonly points: WordAt;
  /** Whether plain sums may leave f32. Undefined if the measure has no others. */
  readonly isExtreme?: Bool | undefined;
}

export function treeWords(
  { dimensions, nodes, points }: PointTree,
  loader: Loader,
  isExtreme?: Bool | undefined,
): TreeWords {
  return { dimensions, nodes: wordAtOf(nodes, loader), points: wordAtOf(points, loader), isExtreme };
}

/** A lower bound of the keys of the points below a node. Trees take only metrics that have one. */
export function boundOf(
  { nodes, dimensions, isExtreme }: TreeWords,
  measure: Measure,
  query: readonly F32[],
  node: U32,
): U32 {
  return measure.boundOf!(query, boxAt(nodes, dimensions, node), isExtreme);
}

/** The smallest id among the points below a node. */
export function minIdOf({ nodes, dimensions }: TreeWords, node: U32): U32 {
  return nodes(node.mul(nodeWords(dimensions)).add(2 * dimensions));
}

/** The key of the distance between a query and point i in the order of the tree. */
export function keyOfPoint(words: TreeWords, measure: Measure, query: readonly F32[], i: U32): U32 {
  const { points, dimensions, isExtreme } = words;
  const first = i.mul(dimensions + 1);
  const point = query.map((_, d) => Let(bitsToF32(points(first.add(d)))));
  return keyOfAxes(measure, isExtreme, (change) => [query.map(change), point.map(change)]);
}

export function idOfPoint({ points, dimensions }: TreeWords, i: U32): U32 {
  return points(i.mul(dimensions + 1).add(dimensions));
}

/** The last leaf that begins at or before a position on the curve. If no leaf does, the first leaf. */
export function leafAt(tree: PointTree, place: readonly U32[], loader: Loader): U32 {
  const [from, to] = [Var(u32(0)), Var(loader.uniform('u32', Math.ceil(tree.count / LEAF)))];
  While(
    () => from.lt(to),
    () => {
      const middle = Let(from.add(to).shr(1));
      const first = place.map((_, k) => loader.load([tree.places], middle.mul(place.length).add(k))[0] as U32);
      // Compares two positions of several words each, from the last word, which is the lowest, to the first. A word
      // decides if all words before it are equal.
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

/** The node that follows a node and all its descendants in preorder. For the last node, the result is 1, the root. */
export function nodeBehind(node: U32): U32 {
  const next = Let(node.add(1));
  return next.shr(ctz(next));
}

/** Calls `body` for the index of each point of a leaf, in the order of the tree. */
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
 * Searches the tree outwards from a leaf: first the leaf, then the subtree of the leaf's sibling, then the subtree of
 * the parent's sibling, and so on up to the root. A node for which `mayHold` is false is skipped, with all its
 * descendants.
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
  /**
   * In preorder, `end` is the node that follows the subtree that is being searched. When the search reaches `end`, all
   * nodes of the subtree with the root `done` have been searched.
   */
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
        // Continues with the sibling of `done`. If `done` is the root, the whole tree is searched, and node 0 ends the
        // loop.
        const beside = Let(select(done.xor(1), u32(0), done.eq(1)));
        next.set(beside);
        end.set(nodeBehind(beside));
        done.set(done.shr(1));
      });
      node.set(next);
    },
  );
}
