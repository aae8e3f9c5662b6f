import {
  type ArrayParameter,
  type ArrayValue,
  array,
  type Bool,
  bool,
  type Column,
  type Functor,
  fn,
  If,
  i32,
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
import { childWith, nodeOf } from '../maq-tree/node-table.ts';
import { DOMAIN_BITS, DOMAIN_STEPS } from '../quadrants/index.ts';

/**
 * What a point reads on its way down a tree. All words are in one table, so that kernels bind one array and find
 * neighbouring words in one line of the cache:
 *
 * - for each cell of a grid of 2^bits × 2^bits cells over the domain: the node at which the walks of its points start,
 *   or {@link NONE} if they find nothing,
 * - for each node: its first child, its code, its first entry, and the number of its entries,
 * - for each entry: its mark, its first passage (an edge through its quadrant), and the number of its passages.
 */
export interface PointIndex {
  readonly words: Column<'u32'>;
  readonly bits: number;
  /** Index of the first word of the nodes; `entries` is that of the entries. */
  readonly nodes: number;
  readonly entries: number;
  /** Start x, start y, end x and end y of the edge of each passage. */
  readonly passages: Column<'i32'>;
}

/** Stands for no node, and for no entry. */
const NONE = 2 ** 32 - 1;

const indexes = new WeakMap<MaqTreeWithEdges['nodes'], PointIndex>();

/** The index of a tree. Its columns are the same views for every query, so that they are materialized once. */
export function pointIndexOf(tree: MaqTreeWithEdges): PointIndex {
  const index = indexes.get(tree.nodes) ?? viewOfIndex(tree);
  indexes.set(tree.nodes, index);
  return index;
}

/** The grid has at most 4^10 cells (4 MiB), and at most four times as many as the tree has nodes. */
const MOST_BITS = 10;

const NODE_WORDS = 4;
const ENTRY_WORDS = 3;

function viewOfIndex({ nodes: { level }, table, entries, edges, extent }: MaqTreeWithEdges): PointIndex {
  const count = level.length as number;
  const bits = Math.min(MOST_BITS, extent.levels, Math.ceil(Math.log2(Math.max(1, count)) / 2));
  const nodes = 4 ** bits;
  const entryFrom = nodes + NODE_WORDS * count;
  const word = sequence(entryFrom + ENTRY_WORDS * (entries.boundary.length as number));
  const places = { bits, nodes, entries: entryFrom };
  const { corner, first, count: counts, edge, ends } = edges;
  const { boundary } = entries;
  const coordinate = sequence(4 * (edge.length as number));
  return {
    words: map(indexWord, { word, ...places, level, table, boundary, corner, first, counts }),
    passages: map(coordinateOf, { coordinate, edge, ends }),
    ...places,
  };
}

const coordinateOf = fn(
  'coordinateOf',
  { coordinate: u32, edge: array(u32), ends: array(i32) },
  i32,
  ({ coordinate, edge, ends }) => ends.at(edge.at(coordinate.shr(2)).mul(4).add(coordinate.and(3))),
);

const indexWord = fn(
  'indexWord',
  {
    word: u32,
    bits: uniform(u32),
    nodes: uniform(u32),
    entries: uniform(u32),
    level: array(u32),
    table: array(u32),
    boundary: array(u32),
    corner: array(u32),
    first: array(u32),
    counts: array(u32),
  },
  u32,
  ({ word, bits, nodes, entries, level, table, boundary, corner, first, counts }) => {
    const found = Var(u32(0));
    If(word.lt(nodes), () => found.set(startOf(word, bits, table))).Else(() => {
      If(word.lt(entries), () => {
        const { row: node, field } = rowAt(word.sub(nodes), NODE_WORDS);
        const { firstChild, children, firstEntry, entryCount } = nodeOf(table, node);
        const isWhole = children.eq(0).and(entryCount.eq(1)).and(boundary.at(firstEntry).eq(0));
        const flags = u32(entryCount.ne(0)).mul(HAS_ENTRIES).or(u32(isWhole).mul(IS_WHOLE));
        const shift = u32(DOMAIN_BITS).sub(level.at(node)).shl(SHIFT_FROM);
        const [first, second] = [
          select(firstChild, children.or(flags).or(shift), field.eq(1)),
          select(firstEntry, entryCount, field.eq(3)),
        ];
        found.set(select(first, second, field.ge(2)));
      }).Else(() => {
        const { row: entry, field } = rowAt(word.sub(entries), ENTRY_WORDS);
        const mark = boundary.at(entry).or(corner.at(entry).shl(CORNER_BIT));
        found.set(select(select(mark, first.at(entry), field.eq(1)), counts.at(entry), field.eq(2)));
      });
    });
    return found;
  },
);

/** The row of a word, and the number of the word in its row. */
function rowAt(word: U32, words: number): { readonly row: U32; readonly field: U32 } {
  const row = word.div(words);
  return { row, field: word.sub(row.mul(words)) };
}

/**
 * The code of a node: the mask of its children in the lowest four bits, whether it has entries, whether it is one
 * polygon's inside quadrant and has no children, and the logarithm of its side.
 */
const CHILDREN = 0b1111;
const HAS_ENTRIES = 1 << 4;
const IS_WHOLE = 1 << 5;
const SHIFT_FROM = 6;

/** The bit of an entry's mark that is set if the polygon contains the corner; the bits below are `boundary`. */
const CORNER_BIT = 2;

/**
 * The start of the walks of a cell: on the way from the root to the cell, the first node that has entries, or else the
 * node of the cell. {@link NONE} if there is neither.
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
      goesOn.set(entryCount.eq(0).and(shift.gt(unit)));
      If(goesOn, () => {
        const { holding, isThere } = childWith(below, shift.sub(1), corner);
        node.set(select(u32(NONE), holding, isThere));
        shift.set(shift.sub(1));
        goesOn.set(isThere);
      });
    },
  );
  return node;
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

/** A node as the index has it. Its entries are `entry … end − 1`. */
export interface IndexNode {
  readonly firstChild: U32;
  readonly code: U32;
  readonly entry: U32;
  readonly end: U32;
}

export function nodeIn({ words, nodes }: Pick<IndexValues, 'words' | 'nodes'>, node: U32): IndexNode {
  const [firstChild, code, entry, count] = [0, 1, 2, 3].map((word) =>
    words.at(nodes.add(node.mul(NODE_WORDS)).add(word)),
  ) as [U32, U32, U32, U32];
  return { firstChild, code, entry, end: entry.add(count) };
}

export function hasChildren(code: U32): Bool {
  return code.and(CHILDREN).ne(0);
}

/** Whether a node is one polygon's inside quadrant and has no children: a point in it has the node's entry as its answer. */
export function isWhole(code: U32): Bool {
  return code.and(IS_WHOLE).ne(0);
}

/** The logarithm of the side of a node. */
export function shiftOf(code: U32): U32 {
  return code.shr(SHIFT_FROM);
}

/** As {@link childWith} of node-table.ts, of a node as the index has it. */
export function childIn(
  { firstChild, code }: Pick<IndexNode, 'firstChild' | 'code'>,
  point: PointValue,
): ReturnType<typeof childWith> {
  return childWith({ firstChild, children: code.and(CHILDREN) }, shiftOf(code).sub(1), point);
}

interface PointValue {
  readonly x: U32;
  readonly y: U32;
}

const pointAndIndex: { readonly x: typeof u32; readonly y: typeof u32 } & typeof indexParameters = {
  x: u32,
  y: u32,
  ...indexParameters,
};

/** The word of a point's cell, that is, the node at which its way begins; {@link NONE} outside the domain. */
function startIn({ words, bits }: Pick<IndexValues, 'words' | 'bits'>, { x, y }: PointValue): U32 {
  const unit = u32(DOMAIN_BITS).sub(bits);
  const start = words.at(y.shr(unit).shl(bits).or(x.shr(unit)));
  return select(u32(NONE), start, x.max(y).lt(DOMAIN_STEPS));
}

/** Where the way of a point begins, to sort points by. */
export const startOfPoint: Functor<Omit<typeof pointAndIndex, 'nodes' | 'entries'>, typeof u32> = fn(
  'startOfPoint',
  { x: u32, y: u32, words: indexParameters.words, bits: indexParameters.bits },
  u32,
  ({ x, y, ...index }) => startIn(index, { x, y }),
);

/** The bits of a {@link startOfPoint} that bring points together: those of two passes of a sort. */
export function startBits({ nodes, entries }: Pick<PointIndex, 'nodes' | 'entries'>): { from: number; to: number } {
  const to = Math.ceil(Math.log2(1 + (entries - nodes) / NODE_WORDS));
  return { from: Math.max(0, to - 16), to };
}

/**
 * Where the walk of a point begins: at the first node with entries on the way from the root to the point; if there is
 * none, {@link NONE}. If all that the walk would find is the entry of that node, the entry plus {@link ANSWER}.
 *
 * A launch of its own finds it: it has no long loops, so that threads and vectors take about the same number of rounds
 * for all points.
 */
export const beginning: Functor<typeof pointAndIndex, typeof u32> = fn(
  'beginning',
  pointAndIndex,
  u32,
  ({ x, y, ...index }) => {
    const found = Var(startIn(index, { x, y }));
    const goesOn = Var(found.ne(NONE));
    While(
      () => goesOn,
      () => {
        const node = nodeIn(index, found);
        const { holding, isThere } = childIn(node, { x, y });
        const isVia = node.code.and(HAS_ENTRIES).eq(0);
        goesOn.set(isVia.and(isThere));
        If(isVia, () => found.set(select(u32(NONE), holding, isThere))).Else(() => {
          If(node.code.and(IS_WHOLE).ne(0), () => found.set(node.entry.or(ANSWER)));
        });
      },
    );
    return found;
  },
);

/** Marks an entry in place of a node. A column has less than 2³² words, so that there are fewer nodes and entries. */
const ANSWER = 2 ** 31;

/** The node of a {@link beginning}, with the entries that may have the point. Without a node, there are none. */
export function beginningAt(index: IndexValues, from: U32): IndexNode {
  const isNode = from.lt(ANSWER);
  const isAnswer = isNode.not().and(from.ne(NONE));
  const entry = from.and(ANSWER - 1);
  const node = Var({
    firstChild: u32(0),
    code: select(u32(0), u32(IS_WHOLE), isAnswer),
    entry,
    end: entry.add(u32(isAnswer)),
  });
  If(isNode, () => node.set(nodeIn(index, from)));
  return node;
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
