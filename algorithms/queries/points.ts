import { aColumn, aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aRecord, type Kind, numbers } from '../../primitives/checks/kinds.ts';
import {
  ArgumentError,
  type ArgumentsOf,
  array,
  type Bool,
  bool,
  type Column,
  type Context,
  copyIf,
  For,
  fn,
  gather,
  i32,
  map,
  popcount,
  select,
  sequence,
  type U32,
  u32,
  unfold,
  Var,
  While,
} from '../../primitives/index.ts';
import { countedRows } from '../free-on-failure.ts';
import type { MaqTreeWithEdges } from '../maq-tree/index.ts';
import { nodeOf, type TableNode } from '../maq-tree/node-table.ts';
import { aMaqTree } from '../maq-tree/tree.ts';
import { aDomain } from '../quadrants/domain.ts';
import { flipsWay } from '../quadrants/edge-line.ts';
import { DOMAIN_BITS, DOMAIN_STEPS, type Domain } from '../quadrants/index.ts';
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
 * - Work O(points · levels + candidates · edges of their quadrants), span O(levels + log candidates). Waits for the
 *   device twice.
 * - The result has the same pairs in the same order on every backend.
 *
 * Source: after Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex
 * Polygon Data on GPUs, 2014; made exact here by the edges of quadrants.
 *
 * @throws `ArgumentError` `queries/edges`; `CapacityError` if there are 2³² − 1 candidate pairs or more.
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
  const { x, y } = points;
  requireEdges('the tree', tree);
  const { entries, edges, table } = tree;
  const rows = { x, y, point: sequence(x.length) };
  const candidates = await unfold(rows, fromRoot, nextEntry, { captures: { table } });
  const found = () => {
    try {
      const { corner, first, count, edge, ends } = edges;
      const { point, ...place } = candidates;
      const captures = { boundary: entries.boundary, corner, first, count, edge, ends };
      return copyIf({ point, entry: place.entry }, context.materialize(map(holds, { ...place, ...captures })));
    } finally {
      context.dispose(candidates);
    }
  };
  const { set, polygon } = entries;
  return countedRows(context, found, ({ point, entry }) => ({ point, ...gather({ set, polygon }, entry) }));
}

const walk = { node: u32, shift: u32, rank: u32 } as const;

/**
 * Start of the walk through the tree for a point. For a point outside the domain, the walk starts at a node that does
 * not exist, so it finds nothing.
 */
const fromRoot = fn('fromRoot', { x: u32, y: u32 }, walk, ({ x, y }) => ({
  node: select(u32(0), u32(2 ** 32 - 1), x.max(y).ge(DOMAIN_STEPS)),
  shift: DOMAIN_BITS,
  rank: 0,
}));

/**
 * One step of the walk through the nodes that contain a point, from the root down. The step lists the next entry of the
 * current node. After the last entry, the walk goes down to the child that contains the point.
 */
const nextEntry = fn(
  'nextEntry',
  { x: u32, y: u32, point: u32, ...walk, table: array(u32) },
  { more: bool, emits: bool, state: walk, value: { point: u32, x: u32, y: u32, entry: u32, shift: u32 } },
  ({ x, y, point, node, shift, rank, table }) => {
    const { firstEntry, entryCount, ...below } = nodeOf(table, node);
    const stays = rank.lt(entryCount);
    const side = shift.sub(1);
    const { holding, isThere } = childWith(below, side, { x, y });
    return {
      more: stays.or(isThere.and(shift.gt(0))),
      emits: stays,
      state: {
        node: select(holding, node, stays),
        shift: select(side, shift, stays),
        rank: select(u32(0), rank.add(1), stays),
      },
      value: { point, x, y, entry: firstEntry.add(rank), shift },
    };
  },
);

/**
 * For a node that contains a point: the index of the child that contains the point, and whether the tree has this
 * child.
 */
function childWith(
  { firstChild, children }: Pick<TableNode, 'firstChild' | 'children'>,
  side: U32,
  { x, y }: { readonly x: U32; readonly y: U32 },
): { readonly holding: U32; readonly isThere: Bool } {
  const child = x.shr(side).and(1).or(y.shr(side).and(1).shl(1));
  const holding = firstChild.add(popcount(children.and(u32(1).shl(child).sub(1))));
  return { holding, isThere: children.shr(child).and(1).eq(1) };
}

const entryArrays = {
  boundary: array(u32),
  corner: array(u32),
  first: array(u32),
  count: array(u32),
  edge: array(u32),
  ends: array(i32),
} as const;

const pointAtEntry = { x: u32, y: u32, entry: u32, shift: u32, ...entryArrays } as const;

/** Whether the polygon of an entry contains a point, which is in the entry's quadrant. */
const holds = fn('holds', pointAtEntry, bool, (given) => entryHolds(given));

function entryHolds(given: ArgumentsOf<typeof pointAtEntry>): Bool {
  const { x, y, entry, shift, boundary, corner, first, count, edge, ends } = given;
  const inside = Var(u32(boundary.at(entry).eq(0)));
  // Starts at the entry of the polygon's first sheet (a group of parts that do not overlap). Goes on with the entries
  // of further sheets, whose `boundary` is 2, until a sheet contains the point.
  const sheet = Var(entry);
  const goesOn = Var(boundary.at(entry).eq(1));
  While(
    () => goesOn,
    () => {
      inside.set(corner.at(sheet));
      const quadrant = { x: x.shr(shift).shl(shift), y: y.shr(shift).shl(shift) };
      const from = first.at(sheet);
      For(from, from.add(count.at(sheet)), (at) => {
        inside.set(inside.xor(u32(flipsWay(ends, edge.at(at), quadrant, { x, y }))));
      });
      sheet.set(sheet.add(1));
      goesOn.set(inside.eq(0).and(boundary.at(sheet).eq(2)));
    },
  );
  return inside.eq(1);
}

/** Whether any polygon contains a point. Goes down from the root and stops at the first such polygon. */
const isHeld = fn(
  'isHeld',
  { x: u32, y: u32, table: array(u32), ...entryArrays },
  bool,
  ({ x, y, table, ...arrays }) => {
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
            found.set(entryHolds({ x, y, entry, shift, ...arrays }));
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
