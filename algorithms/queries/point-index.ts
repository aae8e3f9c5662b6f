import {
  type ArrayParameter,
  type ArrayValue,
  array,
  bool,
  type Column,
  fn,
  If,
  map,
  select,
  sequence,
  type U32,
  type UniformParameter,
  u32,
  uniform,
  Var,
  While,
} from '../../primitives/index.ts';
import type { MaqTreeWithEdges } from '../maq-tree/index.ts';
import { childWith, nodeOf, type TableNode } from '../maq-tree/node-table.ts';
import { DOMAIN_BITS } from '../quadrants/index.ts';

/**
 * One table with all that a point needs on its way down a tree, so that kernels bind one array and find neighbouring
 * words in one line of the cache:
 *
 * - for each cell of a grid of 2^bits × 2^bits cells over the domain: the node at which the walks of its points start
 *   (times 32, plus the logarithm of the node's side),
 * - the table of nodes, as in the tree,
 * - for each entry: its mark, its first edge, and the number of its edges.
 */
export interface PointIndex {
  readonly words: Column<'u32'>;
  readonly bits: number;
  /** Index of the first word of the nodes; `entries` is that of the entries. */
  readonly nodes: number;
  readonly entries: number;
}

const indexes = new WeakMap<MaqTreeWithEdges['nodes'], PointIndex>();

/** The index of a tree. Its words are the same view for every query, so that they are materialized once. */
export function pointIndexOf(tree: MaqTreeWithEdges): PointIndex {
  const index = indexes.get(tree.nodes) ?? viewOfIndex(tree);
  indexes.set(tree.nodes, index);
  return index;
}

/** The grid has at most 4^10 cells (4 MiB), and at most four times as many as the tree has nodes. */
const MOST_BITS = 10;

/** Nodes that have a word of the grid. */
const MOST_NODES = 2 ** 27;

const ENTRY_WORDS = 3;

function viewOfIndex({ table, entries, edges, extent }: MaqTreeWithEdges): PointIndex {
  const tableWords = table.length as number;
  const count = tableWords / 4;
  const wide = Math.ceil(Math.log2(Math.max(1, count)) / 2);
  const bits = count > MOST_NODES ? 0 : Math.min(MOST_BITS, extent.levels, wide);
  const nodes = 4 ** bits;
  const entryFrom = nodes + tableWords;
  const word = sequence(entryFrom + ENTRY_WORDS * (entries.boundary.length as number));
  const places = { bits, nodes, entries: entryFrom };
  const { corner, first, count: counts } = edges;
  const words = map(indexWord, { word, ...places, table, boundary: entries.boundary, corner, first, counts });
  return { words, ...places };
}

const indexWord = fn(
  'indexWord',
  {
    word: u32,
    bits: uniform(u32),
    nodes: uniform(u32),
    entries: uniform(u32),
    table: array(u32),
    boundary: array(u32),
    corner: array(u32),
    first: array(u32),
    counts: array(u32),
  },
  u32,
  ({ word, bits, nodes, entries, table, boundary, corner, first, counts }) => {
    const found = Var(u32(0));
    If(word.lt(nodes), () => found.set(startOf(word, bits, table))).Else(() => {
      If(word.lt(entries), () => found.set(table.at(word.sub(nodes)))).Else(() => {
        const entry = word.sub(entries).div(ENTRY_WORDS);
        const field = word.sub(entries).sub(entry.mul(ENTRY_WORDS));
        const mark = boundary.at(entry).or(corner.at(entry).shl(CORNER_BIT));
        found.set(select(select(mark, first.at(entry), field.eq(1)), counts.at(entry), field.eq(2)));
      });
    });
    return found;
  },
);

/** The bit of an entry's mark that is set if the polygon contains the corner; the bits below are `boundary`. */
const CORNER_BIT = 2;

/**
 * The start of the walks of a cell: on the way from the root to the cell, the first node that has entries or has no
 * child with the cell, or else the node of the cell.
 */
function startOf(cell: U32, bits: U32, table: ArrayValue<'u32'>): U32 {
  const row = cell.shr(bits);
  const unit = u32(DOMAIN_BITS).sub(bits);
  const corner = { x: cell.sub(row.shl(bits)).shl(unit), y: row.shl(unit) };
  const node = Var(u32(0));
  const shift = Var(u32(DOMAIN_BITS));
  const goesOn = Var(bool(true));
  While(
    () => goesOn,
    () => {
      const { entryCount, ...below } = nodeOf(table, node);
      const { holding, isThere } = childWith(below, shift.sub(1), corner);
      goesOn.set(entryCount.eq(0).and(isThere).and(shift.gt(unit)));
      If(goesOn, () => {
        node.set(holding);
        shift.set(shift.sub(1));
      });
    },
  );
  return node.shl(5).or(shift);
}

/** Parameters of a functor that reads a {@link PointIndex}. */
export const indexParameters: {
  readonly words: ArrayParameter<'u32'>;
  readonly bits: UniformParameter<'u32'>;
  readonly nodes: UniformParameter<'u32'>;
  readonly entries: UniformParameter<'u32'>;
} = { words: array(u32), bits: uniform(u32), nodes: uniform(u32), entries: uniform(u32) };

interface IndexValues {
  readonly words: ArrayValue<'u32'>;
  readonly bits: U32;
  readonly nodes: U32;
  readonly entries: U32;
}

/** The node at which the walk of a point within the domain starts, and the logarithm of its side. */
export function startAt({ words, bits, nodes }: IndexValues, x: U32, y: U32): TableNode & { readonly shift: U32 } {
  const unit = u32(DOMAIN_BITS).sub(bits);
  const start = words.at(y.shr(unit).shl(bits).or(x.shr(unit)));
  return { ...nodeIn({ words, nodes }, start.shr(5)), shift: start.and(31) };
}

/** A node of the tree. */
export function nodeIn({ words, nodes }: Pick<IndexValues, 'words' | 'nodes'>, node: U32): TableNode {
  return nodeOf(words, node, nodes);
}

/** What is known of an entry, whose words are read when they are asked for. */
export interface EntryReader {
  readonly boundary: U32;
  readonly corner: U32;
  readonly first: U32;
  readonly count: U32;
}

/** Reads an entry. An entry beyond the last has no edges, and its `boundary` is 0. */
export function entryIn({ words, entries }: Pick<IndexValues, 'words' | 'entries'>, entry: U32): EntryReader {
  const at = entries.add(entry.mul(ENTRY_WORDS));
  const mark = words.at(at);
  return {
    boundary: mark.and(2 ** CORNER_BIT - 1),
    corner: mark.shr(CORNER_BIT),
    first: words.at(at.add(1)),
    count: words.at(at.add(2)),
  };
}
