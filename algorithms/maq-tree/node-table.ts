import {
  type ArrayValue,
  array,
  type Bool,
  type Context,
  For,
  fn,
  If,
  map,
  popcount,
  select,
  sequence,
  type U32,
  u32,
  Var,
} from '../../primitives/index.ts';
import type { MaqNodes, NodeTable } from './tree.ts';

const WORDS = 4;

const nodeWord = fn(
  'nodeWord',
  {
    index: u32,
    codes: array(u32),
    firstChild: array(u32),
    childCount: array(u32),
    firstEntry: array(u32),
    entryCount: array(u32),
  },
  u32,
  ({ index, codes, firstChild, childCount, firstEntry, entryCount }) => {
    const node = index.div(WORDS);
    const word = index.sub(node.mul(WORDS));
    const children = Var(u32(0));
    If(word.eq(1), () => {
      const first = firstChild.at(node);
      For(first, first.add(childCount.at(node)), (child) => {
        children.set(children.or(u32(1).shl(codes.at(child).and(3))));
      });
    });
    const ofEntries = select(firstEntry.at(node), entryCount.at(node), word.eq(3));
    return select(select(firstChild.at(node), children, word.eq(1)), ofEntries, word.ge(2));
  },
);

/** Packs the nodes of a tree into one table, which kernels read when they walk down the tree. */
export function tableOfNodes(context: Context, nodes: MaqNodes): NodeTable {
  const { code, firstChild, childCount, firstEntry, entryCount } = nodes;
  const index = sequence(WORDS * (nodes.level.length as number));
  const words = map(nodeWord, { index, codes: code.lo, firstChild, childCount, firstEntry, entryCount });
  return context.materialize(words);
}

/** A node of the table, as read in a functor. */
export interface TableNode {
  readonly firstChild: U32;
  /** Mask of the existing children: bit x + 2y for the child at column x and row y. */
  readonly children: U32;
  readonly firstEntry: U32;
  readonly entryCount: U32;
}

/**
 * Reads a node of the table, which begins at word `from` of the array. Beyond the end of the array, the result is a node
 * without children and entries.
 */
export function nodeOf(table: ArrayValue<'u32'>, node: U32, from: U32 = u32(0)): TableNode {
  const [firstChild, children, firstEntry, entryCount] = [0, 1, 2, 3].map((word) =>
    table.at(from.add(node.mul(WORDS)).add(word)),
  ) as [U32, U32, U32, U32];
  return { firstChild, children, firstEntry, entryCount };
}

/**
 * For a node that contains a point: the index of the child that contains the point, and whether the tree has this
 * child. The children have a side of 2^side steps.
 */
export function childWith(
  { firstChild, children }: Pick<TableNode, 'firstChild' | 'children'>,
  side: U32,
  { x, y }: { readonly x: U32; readonly y: U32 },
): { readonly holding: U32; readonly isThere: Bool } {
  const child = x.shr(side).and(1).or(y.shr(side).and(1).shl(1));
  const holding = firstChild.add(popcount(children.and(u32(1).shl(child).sub(1))));
  return { holding, isThere: children.shr(child).and(1).eq(1) };
}

/**
 * Reads the node with index `node`. `known` is the node with index `at`. If both indices are equal, as is usual, the
 * result is `known`, and memory is not accessed.
 */
export function nodeBeside(table: ArrayValue<'u32'>, known: TableNode, at: U32, node: U32): TableNode {
  const other = {
    firstChild: Var(known.firstChild),
    children: Var(known.children),
    firstEntry: Var(known.firstEntry),
    entryCount: Var(known.entryCount),
  };
  If(node.ne(at), () => {
    const read = nodeOf(table, node);
    for (const name of ['firstChild', 'children', 'firstEntry', 'entryCount'] as const) other[name].set(read[name]);
  });
  return other;
}
