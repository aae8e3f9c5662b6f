import {
  array,
  Break,
  bool,
  type Column,
  constant,
  copyIf,
  exclusiveScan,
  fn,
  If,
  inclusiveScan,
  map,
  plus,
  reduceByKey,
  runHeads,
  select,
  sequence,
  shrU64,
  u32,
  uniform,
  Var,
  While,
} from '../../primitives/index.ts';
import { asNumber } from '../plain-functors.ts';
import type { NodePlaces } from './preorder.ts';

/** Index of each node's first child, and number of its children. */
export interface Children {
  readonly firstChild: Column<'u32'>;
  readonly childCount: Column<'u32'>;
}

const parent = fn(
  'parent',
  { level: u32, lo: u32, hi: u32 },
  { level: u32, lo: u32, hi: u32 },
  ({ level, lo, hi }) => ({
    level,
    ...shrU64({ a: { lo, hi }, count: u32(2) }),
  }),
);

/**
 * For each node, the level of the node and the Morton code of its parent, as views. Siblings are adjacent nodes with
 * equal levels and equal parents.
 */
function parentsOf(nodes: NodePlaces): NodePlaces {
  return map(parent, { level: nodes.level, lo: nodes.lo, hi: nodes.hi });
}

const countOfRun = fn('countOfRun', { isParent: u32, run: u32, counts: array(u32) }, u32, ({ isParent, run, counts }) =>
  select(u32(0), counts.at(run.add(isParent)), isParent.eq(1)),
);

const following = fn('following', { place: u32 }, u32, ({ place }) => place.add(1));

/**
 * Finds the children of all nodes of a tree. `nodes` are ordered by level, then by Morton code. `isParent` is 1 for
 * nodes with children.
 */
export function childrenOf(nodes: NodePlaces, isParent: Column<'u32'>): Children {
  const siblings = reduceByKey({ ...parentsOf(nodes) }, constant(u32, 1, isParent.length), plus(u32)).values;
  // `siblings` has the length of each run of siblings. Run 0 is the root alone, so the children of parent k, counted
  // from 0, are run k + 1.
  const childCount = map(countOfRun, { isParent, run: exclusiveScan(isParent, plus(u32)), counts: siblings });
  return { firstChild: map(following, { place: exclusiveScan(childCount, plus(u32)) }), childCount };
}
const isSet = fn('isSet', { flag: u32 }, bool, ({ flag }) => flag.eq(1));

const next = fn(
  'next',
  {
    node: u32,
    runs: array(u32),
    parents: array(u32),
    firstChild: array(u32),
    childCount: array(u32),
    count: uniform(u32),
  },
  u32,
  ({ node, runs, parents, firstChild, childCount, count }) => {
    const at = Var(node);
    const found = Var(count);
    While(
      () => at.gt(0),
      () => {
        const parent = parents.at(runs.at(at).sub(2));
        If(at.add(1).lt(firstChild.at(parent).add(childCount.at(parent))), () => {
          found.set(at.add(1));
          Break();
        });
        at.set(parent);
      },
    );
    return found;
  },
);

/**
 * For each node, the index of the node that follows this node and all its descendants in preorder, as a view. If no
 * node follows, the index is the number of nodes.
 */
export function nextOf(
  nodes: NodePlaces,
  isParent: Column<'u32'>,
  { firstChild, childCount }: Children,
): Column<'u32'> {
  const node = sequence(isParent.length);
  // Runs of siblings are numbered from 1. Run 1 is the root alone.
  const runs = inclusiveScan(map(asNumber, { flag: runHeads({ ...parentsOf(nodes) }) }), plus(u32));
  const parents = copyIf(node, map(isSet, { flag: isParent }));
  return map(next, { node, runs, parents, firstChild, childCount, count: isParent.length as number });
}
