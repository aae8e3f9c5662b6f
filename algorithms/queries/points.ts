import { aColumn, aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aRecord, type Kind, numbers } from '../../primitives/checks/kinds.ts';
import { capacityOf } from '../../primitives/columns/length.ts';
import {
  ArgumentError,
  array,
  type Bool,
  bool,
  type Column,
  type Context,
  For,
  fn,
  gather,
  If,
  i32,
  map,
  sequence,
  sortByKey,
  sortPermutation,
  type U32,
  u32,
  unfold,
  Var,
  While,
} from '../../primitives/index.ts';
import { freeOnFailure } from '../free-on-failure.ts';
import type { MaqTreeWithEdges } from '../maq-tree/index.ts';
import { childWith, nodeOf } from '../maq-tree/node-table.ts';
import { aMaqTree } from '../maq-tree/tree.ts';
import { aDomain } from '../quadrants/domain.ts';
import { flipsWay, type Place } from '../quadrants/edge-line.ts';
import { DOMAIN_BITS, DOMAIN_STEPS, type Domain } from '../quadrants/index.ts';
import {
  beginning,
  beginningAt,
  childIn,
  type EntryReader,
  entryIn,
  hasChildren,
  indexParameters,
  isWhole,
  nodeIn,
  type PointIndex,
  pointIndexOf,
  shiftOf,
  startBits,
  startOfPoint,
} from './point-index.ts';
import { requireEdges } from './query-options.ts';

export interface Points {
  readonly x: ArrayLike<number>;
  readonly y: ArrayLike<number>;
}

/**
 * Points on a device, in steps of the domain. A coordinate outside the domain is replaced by {@link DOMAIN_STEPS}, the
 * right or top end of the domain. No polygon contains points with this coordinate.
 */
export interface PlacedPoints {
  readonly x: Column<'u32'>;
  readonly y: Column<'u32'>;
}

/**
 * Uploads points. Each point is snapped to the nearest step of the domain, like the vertices of polygons.
 *
 * @throws `ArgumentError` `queries/points` for columns of different lengths, or a coordinate that is NaN.
 * @example
 * const { x } = placePoints(ctx, { x: [0, 90, 500], y: [0, 0, 0] }, WORLD);
 * (await ctx.read(x)).map((step) => step / 2 ** 28); // Uint32Array [2, 3, 4]
 */
export function placePoints(context: Context, points: Points, domain: Domain): PlacedPoints {
  requireArguments('placePoints', { context, points, domain }, { context: aContext, points: twoAxes, domain: aDomain });
  const { x, y } = points;
  if (x.length !== y.length) {
    throw new ArgumentError('queries/points', 'x and y must have the same length.', {
      expected: `${x.length} of each`,
      got: `${x.length}, ${y.length}`,
    });
  }
  const columns = Uint32Array.from(x, (at, i) => stepOf(at, domain.left, domain.size, i));
  const rows = Uint32Array.from(y, (at, i) => stepOf(at, domain.bottom, domain.size, i));
  return { x: context.column(columns), y: context.column(rows) };
}

export const twoAxes: Kind = aRecord<Points>({ x: numbers, y: numbers });
const somePoints: Kind = aRecord<PlacedPoints>({ x: aColumn('u32'), y: aColumn('u32') });

function stepOf(at: number, from: number, size: number, point: number): number {
  if (Number.isNaN(at)) {
    throw new ArgumentError('queries/points', 'A coordinate of a point is not a number.', {
      expected: 'a number',
      got: at,
      place: { record: point },
    });
  }
  return nearestStep(at, from, size);
}

/**
 * The step of a domain that is nearest to a coordinate. Returns {@link DOMAIN_STEPS} if the coordinate is outside the
 * domain.
 */
export function nearestStep(at: number, from: number, size: number): number {
  const step = Math.round(((at - from) / size) * DOMAIN_STEPS);
  return step >= 0 && step < DOMAIN_STEPS ? step : DOMAIN_STEPS;
}

/**
 * Polygons that contain points. Rows are ordered by point. The rows of a point are ordered by the quadrant in which the
 * polygon was found, larger quadrants first, then by set and polygon.
 */
export interface PointPolygons {
  readonly point: Column<'u32'>;
  readonly set: Column<'u32'>;
  readonly polygon: Column<'u32'>;
}

/**
 * Finds the polygons that contain each point, exactly in steps of the domain. For a point in an inside quadrant the
 * answer is known. In a boundary quadrant, the edges that pass through it decide. Polygons are half-open: a point on a
 * left or bottom edge is inside, a point on a right or top edge is outside. So if polygons partition the plane, every
 * point belongs to one polygon.
 *
 * - Work O(points · levels + candidates · edges of their quadrants), span O(levels · edges of a quadrant + log points).
 *   Waits for the device once. The first query to a tree also makes an index of it, which is kept as long as the tree
 *   exists and memory suffices: 16 bytes for a node and for each edge in a boundary quadrant, 12 for an entry, and a
 *   grid of at most 4 MiB. On few threads, many points in a large tree are sorted by place, and the pairs by point,
 *   which takes 16 bytes more for each while the query runs.
 * - The result has the same pairs in the same order on every backend.
 *
 * Source: after Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex
 * Polygon Data on GPUs, 2014; made exact here by the edges of quadrants.
 *
 * @throws `ArgumentError` `queries/edges`; `CapacityError` if there are 2³² − 1 pairs or more.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [0, 90]]] }');
 * const quadrants = await decompose(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4, keepsEdges: true });
 * const tree = await buildMaqTree(ctx, [quadrants]);
 * const points = placePoints(ctx, { x: [1, 90, 90, -1], y: [1, 44, 46, 5] }, WORLD);
 * await ctx.read({ ...(await queryPoints(ctx, tree, points)) });
 * // { point: Uint32Array [0, 1], set: Uint32Array [0, 0], polygon: Uint32Array [0, 0] }
 */
export async function queryPoints(
  context: Context,
  tree: MaqTreeWithEdges,
  points: PlacedPoints,
): Promise<PointPolygons> {
  requireArguments('queryPoints', { context, tree, points }, { context: aContext, tree: aMaqTree, points: somePoints });
  requireEdges('the tree', tree);
  const { words: allWords, passages: allPassages, ...places } = pointIndexOf(tree);
  const { x, y } = points;
  const held = context.scope(() => {
    const [words, passages] = [context.materializeOnce(allWords), context.materializeOnce(allPassages)];
    const index = { words, ...places };
    const sorted = isWorthSorting(context, tree, points) ? sortedByStart(context, { x, y }, index) : undefined;
    const from = context.materialize(map(beginning, { ...(sorted?.placed ?? { x, y }), ...index }));
    return { words, passages, sorted, from };
  });
  const walks = async () => {
    const { words, passages, sorted, from } = held;
    const rows = { ...(sorted?.placed ?? { x, y }), point: sorted?.point ?? sequence(x.length), from };
    return unfold(rows, fromBeginning, nextHolder, { captures: { words, passages, ...places } });
  };
  const made = await walks().finally(() => context.dispose(held));
  const isInOrder = held.sorted === undefined;
  const { point, entry } = isInOrder
    ? made
    : freeOnFailure(context, made, () => sortedByPoint(context, made, x.length));
  return freeOnFailure(context, [point, entry], () => {
    const { set, polygon } = tree.entries;
    const found = context.scope(() => context.materialize(gather({ set, polygon }, entry)));
    context.dispose(entry);
    return { point, ...found };
  });
}

/** Points are sorted before they walk if there are at least so many, and so many nodes that no cache holds them. */
const POINTS_SORTED = 2 ** 14;
const NODES_SORTED = 2 ** 15;

/**
 * Whether walks of points that are next to each other should follow each other: they find in the cache what the one
 * before has read. Devices with many threads have other walks to go on with while some wait for memory.
 */
function isWorthSorting({ backend }: Context, { nodes }: MaqTreeWithEdges, { x }: PlacedPoints): boolean {
  const hasFewThreads = backend.walkRows > MAX_WALKED;
  return hasFewThreads && capacityOf(x.length) >= POINTS_SORTED && capacityOf(nodes.level.length) >= NODES_SORTED;
}

/** Largest `walkRows` of backends with many threads. */
const MAX_WALKED = 16;

/** Points in the order of the nodes at which their ways begin, and the number of each. */
function sortedByStart(context: Context, { x, y }: PlacedPoints, index: Omit<PointIndex, 'passages'>): SortedPoints {
  const starts = map(startOfPoint, { x, y, words: index.words, bits: index.bits });
  const point = context.materialize(sortPermutation(starts, { bits: startBits(index) }));
  return { placed: context.materialize(gather({ x, y }, point)), point };
}

interface SortedPoints {
  readonly placed: PlacedPoints;
  readonly point: Column<'u32'>;
}

type Found = { readonly point: Column<'u32'>; readonly entry: Column<'u32'> };

/** Brings what was found in the order of points. Takes ownership of it. */
function sortedByPoint(context: Context, found: Found, points: Column['length']): Found {
  const bits = { from: 0, to: Math.ceil(Math.log2(capacityOf(points))) };
  const { keys: point, values } = sortByKey(found.point, { entry: found.entry }, { bits });
  context.dispose(found);
  return { point, ...values };
}

/** State of a walk down the tree: the current node, of whose entries `entry … end − 1` are not yet tested. */
const walk = { firstChild: u32, code: u32, entry: u32, end: u32 } as const;

/** Start of the walk of a point; `from` is its {@link beginning}. */
const fromBeginning = fn('fromBeginning', { from: u32, ...indexParameters }, walk, ({ from, ...index }) =>
  beginningAt(index, from),
);

/**
 * One step of the walk through the nodes that contain a point: goes down to the next node with entries unless the
 * current one has more, and tests one entry.
 */
const nextHolder = fn(
  'nextHolder',
  { x: u32, y: u32, point: u32, ...walk, ...indexParameters, passages: array(i32) },
  { more: bool, emits: bool, state: walk, value: { point: u32, entry: u32 } },
  ({ x, y, point, passages, words, nodes, entries, bits: _, ...start }) => {
    const node = Var(start);
    const { code, entry, end } = node;
    const goesOn = Var(bool(true));
    While(
      () => goesOn.and(entry.eq(end)),
      () => {
        const { holding, isThere } = childIn(node, { x, y });
        goesOn.set(isThere);
        If(goesOn, () => node.set(nodeIn({ words, nodes }, holding)));
      },
    );
    const isHeld = Var(goesOn.and(isWhole(code)));
    const read = (at: U32): EntryReader => entryIn({ words, entries }, at);
    const flips = (at: U32, corner: Place): Bool => flipsWay(passages, at, corner, { x, y });
    If(goesOn.and(isHeld.not()), () => isHeld.set(entryHolds({ x, y, entry, shift: shiftOf(code), flips, read })));
    const following = entry.add(u32(goesOn));
    return {
      more: following.lt(end).or(goesOn.and(hasChildren(code))),
      emits: isHeld,
      state: { ...node, entry: following },
      value: { point, entry },
    };
  },
);

/** A point, an entry whose quadrant contains it, and the logarithm of the quadrant's side. */
interface PointAtEntry {
  readonly x: U32;
  readonly y: U32;
  readonly entry: U32;
  readonly shift: U32;
  readonly read: (entry: U32) => EntryReader;
  /** Whether the edge of a passage turns inside and outside on the way from the quadrant's corner to the point. */
  readonly flips: (passage: U32, corner: Place) => Bool;
}

/** Whether the polygon of an entry contains a point, which is in the entry's quadrant. */
function entryHolds({ x, y, entry, shift, read, flips }: PointAtEntry): Bool {
  const found = read(entry);
  const inside = Var(u32(found.boundary.eq(0)));
  // Starts at the entry of the polygon's first sheet (a group of parts that do not overlap). Goes on with the entries
  // of further sheets, whose `boundary` is 2, until a sheet contains the point.
  const sheet = Var(entry);
  const goesOn = Var(found.boundary.eq(1));
  While(
    () => goesOn,
    () => {
      const { corner, first, count } = read(sheet);
      inside.set(corner);
      const quadrant = { x: x.shr(shift).shl(shift), y: y.shr(shift).shl(shift) };
      For(first, first.add(count), (at) => {
        inside.set(inside.xor(u32(flips(at, quadrant))));
      });
      sheet.set(sheet.add(1));
      goesOn.set(inside.eq(0).and(read(sheet).boundary.eq(2)));
    },
  );
  return inside.eq(1);
}

const entryArrays = {
  boundary: array(u32),
  corner: array(u32),
  first: array(u32),
  count: array(u32),
  edge: array(u32),
  ends: array(i32),
} as const;

/** Whether any polygon contains a point. Goes down from the root and stops at the first such polygon. */
const isHeld = fn(
  'isHeld',
  { x: u32, y: u32, table: array(u32), ...entryArrays },
  bool,
  ({ x, y, table, boundary, corner, first, count, edge, ends }) => {
    const read = (at: U32): EntryReader => ({
      boundary: boundary.at(at),
      corner: corner.at(at),
      first: first.at(at),
      count: count.at(at),
    });
    const flips = (at: U32, corner: Place): Bool => flipsWay(ends, edge.at(at), corner, { x, y });
    const found = Var(bool(false));
    const node = Var(u32(0));
    const shift = Var(u32(DOMAIN_BITS));
    const goesOn = Var(x.max(y).lt(DOMAIN_STEPS));
    While(
      () => goesOn,
      () => {
        const { firstEntry, entryCount, ...below } = nodeOf(table, node);
        const entry = Var(firstEntry);
        const end = firstEntry.add(entryCount);
        While(
          () => entry.lt(end).and(found.not()),
          () => {
            found.set(entryHolds({ x, y, entry, shift, read, flips }));
            entry.set(entry.add(1));
          },
        );
        const side = shift.sub(1);
        const { holding, isThere } = childWith(below, side, { x, y });
        goesOn.set(isThere.and(shift.gt(0)).and(found.not()));
        node.set(holding);
        shift.set(side);
      },
    );
    return found;
  },
);

/**
 * For each point, whether any polygon of a tree contains it. The result is a view, which is fused into the launches
 * that read it.
 */
export function heldPoints({ table, entries, edges }: MaqTreeWithEdges, { x, y }: PlacedPoints): Column<'bool'> {
  const { corner, first, count, edge, ends } = edges;
  return map(isHeld, { x, y, table, boundary: entries.boundary, corner, first, count, edge, ends });
}
