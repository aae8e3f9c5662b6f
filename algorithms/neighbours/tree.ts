import { aColumn, aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aRecord, aWhole, type Kind } from '../../primitives/checks/kinds.ts';
import type { Loader } from '../../primitives/columns/program.ts';
import {
  ArgumentError,
  bitsToF32,
  bitsToU32,
  type Column,
  type Context,
  concatenate,
  type F32,
  f32,
  Let,
  select,
  type U32,
  u32,
} from '../../primitives/index.ts';
import { curveOrder } from './curve.ts';
import { extremesOf } from './extremes.ts';
import { NO_POINT, storeRows } from './lists.ts';
import { type Points, pointCount, somePoints } from './points.ts';

/**
 * Points in two or three dimensions, in the order of a Hilbert curve, with {@link LEAF} points per leaf. The leaves are
 * the lowest nodes of a complete binary tree of bounding boxes. Node 1 is the root; the children of node i are 2 i and
 * 2 i + 1.
 */
export interface PointTree {
  /** For every point, the bits of its coordinates, then its index in the input. */
  readonly points: Column<'u32'>;
  /**
   * For every node, the bits of its minimum coordinates, then of its maximum coordinates, then the smallest index of
   * its points. The first word of node 0, which is no node, says whether a coordinate is extreme (`extremesOf`).
   */
  readonly nodes: Column<'u32'>;
  /**
   * For every leaf with points, the position on the curve of the first point in the leaf. A position is one large
   * integer, stored as one word per dimension, highest word first.
   */
  readonly places: Column<'u32'>;
  readonly dimensions: number;
  readonly count: number;
  /** Number of levels above the leaves. There are 2^levels leaves. */
  readonly levels: number;
}

export const aTree: Kind = aRecord<PointTree>({
  points: aColumn('u32'),
  nodes: aColumn('u32'),
  places: aColumn('u32'),
  dimensions: aWhole(2, 3),
  count: aWhole(),
  levels: aWhole(0, 31),
});

/** Number of points per leaf. */
export const LEAF = 8;

/**
 * Builds a tree over points in two or three dimensions, for {@link nearestInTree} and {@link withinRadius}.
 *
 * Points are sorted along a Hilbert curve through the bits of their coordinates, on which only equal points coincide. A
 * leaf has consecutive points of this order. There is no grid with full and empty cells, so clusters, lines and
 * outliers cost no more than evenly spread points.
 *
 * - Work O(n): a radix sort of 64 bits in two dimensions and 96 bits in three. Span O(log n). Takes about 9 words of
 *   memory per point in two dimensions. Deterministic.
 * - Boxes ignore NaN coordinates. A point with such a coordinate is infinitely far from everything. Without points, the
 *   tree is empty.
 *
 * Source: Karras, Maximizing Parallelism in the Construction of BVHs, Octrees, and k-d Trees, 2012, for trees over a
 * space-filling curve. Here leaves have a fixed number of points, so the tree is complete and needs no pointers.
 *
 * @throws `ArgumentError` `neighbours/dimensions` if points have neither two nor three dimensions; `neighbours/points`
 * and `neighbours/length` as in {@link nearest}.
 * @example
 * const points = { elements: ctx.column(Float32Array.of(0, 0, 3, 4, 1, 1, 5, 5)), dimensions: 2 };
 * const tree = buildPointTree(ctx, points);
 * [tree.count, tree.levels]; // [4, 0]
 */
export function buildPointTree(context: Context, points: Points): PointTree {
  requireArguments('buildPointTree', { context, points }, { context: aContext, points: somePoints });
  const { dimensions } = points;
  if (dimensions !== 2 && dimensions !== 3) {
    throw new ArgumentError(
      'neighbours/dimensions',
      'buildPointTree was given points with too few or too many dimensions.',
      {
        expected: '2 or 3 dimensions',
        got: dimensions,
        remedy: 'With more dimensions, a tree rules out few points: call nearest().',
      },
    );
  }
  const count = pointCount('buildPointTree', 'points', points);
  return context.scope(() => {
    const elements = context.materialize(points.elements);
    const { order, places } = curveOrder(context, { elements, dimensions }, count);
    const sorted = storeRows(context, 'sortedPoints', count, dimensions + 1, (i, loader) => {
      const [id] = loader.load([order], i) as [U32];
      const axes = Array.from({ length: dimensions }, (_, d) => loader.load([elements], id.mul(dimensions).add(d))[0]!);
      return [...axes.map((x) => bitsToU32(x as F32)), id];
    });
    const levels = Math.ceil(Math.log2(Math.max(1, Math.ceil(count / LEAF))));
    const nodes = buildNodes(context, sorted, extremesOf(context, elements, dimensions), dimensions, count, levels);
    const firsts = storeRows(
      context,
      'leafPlaces',
      Math.ceil(count / LEAF),
      dimensions,
      (leaf, loader) => loader.load(places, leaf.mul(LEAF)) as U32[],
    );
    return { points: sorted, nodes, places: firsts, dimensions, count, levels };
  });
}

/** Number of words per node: two per dimension for the box, and one for the smallest point index. */
export function nodeWords(dimensions: number): number {
  return 2 * dimensions + 1;
}

/** The bounding box of the points below a node. */
interface Box {
  readonly min: readonly F32[];
  readonly max: readonly F32[];
  readonly minId: U32;
}

/** Computes the boxes of all nodes, from the leaves upwards. Index 0 holds no box. */
function buildNodes(
  context: Context,
  points: Column<'u32'>,
  extremes: Column<'u32'>,
  dimensions: number,
  count: number,
  levels: number,
): Column<'u32'> {
  const width = nodeWords(dimensions);
  let level = storeRows(context, 'leafBoxes', 2 ** levels, width, (leaf, loader) => {
    const boxes = Array.from({ length: LEAF }, (_, k) => {
      const i = Let(leaf.mul(LEAF).add(k));
      return boxOfPoint(points, dimensions, i, i.lt(loader.uniform('u32', count)), loader);
    });
    return wordsOfBox(boxes.reduce(union));
  });
  const all = [level];
  for (let above = levels - 1; above >= 0; above--) {
    const below = level;
    level = storeRows(context, 'boxes', 2 ** above, width, (node, loader) =>
      wordsOfBox(
        union(...([0, 1].map((k) => boxAt(wordAtOf(below, loader), dimensions, node.shl(1).add(k))) as [Box, Box])),
      ),
    );
    all.unshift(level);
  }
  return concatenate([
    storeRows(context, 'noBox', 1, width, (_, loader) => {
      const [word] = loader.load([extremes], u32(0)) as [U32];
      return Array.from({ length: width }, (_, k) => (k === 0 ? word : u32(0)));
    }),
    ...all,
  ]);
}

function boxOfPoint(
  points: Column<'u32'>,
  dimensions: number,
  i: U32,
  isPoint: ReturnType<U32['lt']>,
  loader: Loader,
): Box {
  const words = Array.from(
    { length: dimensions + 1 },
    (_, k) => loader.load([points], i.mul(dimensions + 1).add(k))[0] as U32,
  );
  const axes = words.slice(0, dimensions).map(bitsToF32);
  return {
    min: axes.map((x) => select(f32(Number.POSITIVE_INFINITY), x, isPoint)),
    max: axes.map((x) => select(f32(Number.NEGATIVE_INFINITY), x, isPoint)),
    minId: select(u32(NO_POINT), words.at(-1)!, isPoint),
  };
}

/** Reads the word of a column at an index. */
export type WordAt = (index: U32) => U32;

export function wordAtOf(column: Column<'u32'>, loader: Loader): WordAt {
  return (index) => loader.load([column], index)[0] as U32;
}

/** Reads the box of a node from the words of all nodes. */
export function boxAt(wordAt: WordAt, dimensions: number, node: U32): Box {
  const first = Let(node.mul(nodeWords(dimensions)));
  const word = (k: number): U32 => wordAt(first.add(k));
  const axes = Array.from({ length: dimensions }, (_, d) => d);
  return {
    min: axes.map((d) => bitsToF32(word(d))),
    max: axes.map((d) => bitsToF32(word(dimensions + d))),
    minId: word(2 * dimensions),
  };
}

/** The box around two boxes. A NaN bound of one box is replaced by the bound of the other. */
function union(a: Box, b: Box): Box {
  return {
    min: a.min.map((x, d) => x.min(b.min[d]!)),
    max: a.max.map((x, d) => x.max(b.max[d]!)),
    minId: a.minId.min(b.minId),
  };
}

function wordsOfBox({ min, max, minId }: Box): U32[] {
  return [...min, ...max].map((x) => bitsToU32(x)).concat(minId);
}
