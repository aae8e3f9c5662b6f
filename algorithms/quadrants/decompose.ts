import {
  ArgumentError,
  array,
  type Column,
  type Context,
  constant,
  fn,
  map,
  mortonEncode64,
  scatterReduce,
  sequence,
  sortByKey,
  u32,
  u64,
  uniform,
} from '../../primitives/index.ts';
import { descend, enclose, type Front, type Leaves } from './descend.ts';
import { DOMAIN_BITS, type DomainPolygons } from './domain.ts';
import { type Edges, uploadEdges } from './edges.ts';
import { unpackQuadrant } from './open-quadrants.ts';

export interface DecomposeOptions {
  /** How often the domain is halved along each axis for the smallest quadrants, from 0 to 30. */
  readonly levels: number;
}

/**
 * Quadrants of polygons: a quadrant of level l is one of 2^l × 2^l squares that make up the domain, half-open, and has as
 * its code the Morton code of its column and row among them, x in the even bits.
 */
export interface Quadrants {
  /** Numbers of the polygons, ascending; codes ascend within a polygon, as places in the plane. */
  readonly polygon: Column<'u32'>;
  readonly code: { readonly lo: Column<'u32'>; readonly hi: Column<'u32'> };
  readonly level: Column<'u32'>;
  /** 1 where edges of the polygon pass through the quadrant, which is of the last level then; 0 where the polygon holds all of it. */
  readonly boundary: Column<'u32'>;
}

/**
 * Splits polygons into quadrants: those that lie inside, as large as they can be, and those of the last level that edges
 * pass through. All polygons level by level at once, from the smallest quadrant around each.
 *
 * A quadrant carries the edges that pass through it, and whether the polygon holds its lower left corner; what its children
 * are follows from these alone. Even-odd over all rings; holes, islands, rings that touch or cross need no further word.
 * Exact in integers, half-open: the inside quadrants of the polygons of a partition never overlap, and points inside of any
 * quadrant are in it once.
 *
 * - Work O(edges + passages of edges through quadrants of all levels), span O(levels · log passages). Waits once a level.
 * - The same quadrants in the same order on every backend.
 *
 * Source: Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex Polygon Data on
 * GPUs, 2014, section 4.1, where each quadrant is tested against all edges of its polygon.
 *
 * @throws `ArgumentError` `quadrants/levels`.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const quadrants = await decompose(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4 });
 * await ctx.read({ code: quadrants.code.lo, level: quadrants.level }); // { code: Uint32Array [12, 13], level: Uint32Array [2, 2] }
 */
export async function decompose(
  context: Context,
  polygons: DomainPolygons,
  { levels }: DecomposeOptions,
): Promise<Quadrants> {
  requireLevels(levels);
  const least = DOMAIN_BITS - levels;
  const edges = context.scope(() => uploadEdges(context, polygons));
  try {
    return quadrantsOf(context, await descendAll(context, edges, least), edges, least);
  } finally {
    context.dispose(edges);
  }
}

function requireLevels(levels: number): void {
  if (Number.isInteger(levels) && levels >= 0 && levels <= DOMAIN_BITS) return;
  throw new ArgumentError('quadrants/levels', 'A domain cannot be halved so often.', {
    expected: `a whole number from 0 to ${DOMAIN_BITS}`,
    got: levels,
  });
}

/** Level after level, until no quadrant is left to be split. */
async function descendAll(context: Context, edges: Edges, least: number): Promise<Leaves[]> {
  const settled: Leaves[] = [];
  let front: Front | undefined;
  try {
    for (;;) {
      const before: Front | undefined = front;
      const step = await (before === undefined
        ? enclose(context, edges, least)
        : descend(context, edges, before, least));
      front = step.front;
      settled.push(step.leaves);
      if (before !== undefined) context.dispose(before);
      if (front.open.column.length === 0) return settled;
    }
  } catch (error) {
    for (const leaves of settled) context.dispose(leaves);
    throw error;
  } finally {
    if (front !== undefined) context.dispose(front);
  }
}

const place = fn(
  'place',
  { column: u32, row: u32, least: uniform(u32) },
  { lo: u32, hi: u32 },
  ({ column, row, least }) => {
    const { x, y } = unpackQuadrant(column, row);
    return mortonEncode64({ x: x.shr(least), y: y.shr(least) });
  },
);

const quadrant = fn(
  'quadrant',
  { column: u32, row: u32, owner: u32, boundary: u32, polygons: array(u32) },
  { polygon: u32, code: u64, level: u32, boundary: u32 },
  ({ column, row, owner, boundary, polygons }) => {
    const { x, y, shift } = unpackQuadrant(column, row);
    const code = mortonEncode64({ x: x.shr(shift), y: y.shr(shift) });
    return { polygon: polygons.at(owner), code, level: u32(DOMAIN_BITS).sub(shift), boundary };
  },
);

/** Brings the leaves of all levels together, by polygon and then by place. */
function quadrantsOf(context: Context, settled: readonly Leaves[], edges: Edges, least: number): Quadrants {
  return context.scope(() => {
    const leaves = gatherLeaves(context, settled);
    const bits = { from: 0, to: Math.max(1, 2 * (DOMAIN_BITS - least)) };
    const byPlace = sortByKey(map(place, { column: leaves.column, row: leaves.row, least }), leaves, { bits });
    const { values } = sortByKey(byPlace.values.owner, byPlace.values);
    return context.materialize(map(quadrant, { ...values, polygons: edges.polygons.id }));
  });
}

/** One table of all leaves; frees those of the levels. */
function gatherLeaves(context: Context, settled: readonly Leaves[]) {
  const total = settled.reduce((sum, { column }) => sum + (column.length as number), 0);
  const zeros = (): Column<'u32'> => context.materialize(constant(u32, 0, total));
  const leaves = { column: zeros(), row: zeros(), owner: zeros(), boundary: zeros() };
  let first = 0;
  for (const level of settled) {
    const count = level.column.length as number;
    for (const [name, column] of Object.entries(leaves)) {
      scatterReduce(level[name as keyof Leaves], sequence(count, first), 'or', column);
    }
    first += count;
    context.dispose(level);
  }
  return leaves;
}
