import { ArgumentError, type Context } from '../../primitives/index.ts';
import { descend, enclose, type Front } from './descend.ts';
import { DOMAIN_BITS, type DomainPolygons } from './domain.ts';
import { type Edges, uploadEdges } from './edges.ts';
import { type Leaves, type Quadrants, quadrantsOf } from './leaves.ts';
import { type SpilledFront, spill, splitFront, takeUp } from './spill.ts';

export interface DecomposeOptions {
  /** How often the domain is halved along each axis for the smallest quadrants, from 0 to 30. */
  readonly levels: number;
  /**
   * Words that quadrants under way and their edges may take on the device, about; 2²⁸ where left out. What is beyond waits on
   * the host until there is room. The result is the same, and has to fit the device whole; a quadrant with more edges than
   * the budget is split all the same.
   */
  readonly budget?: number | undefined;
}

/**
 * Splits polygons into quadrants: those that lie inside, as large as they can be, and those of the last level that edges
 * pass through. All polygons level by level at once, from the smallest quadrant around each.
 *
 * A quadrant carries the edges that pass through it, and whether the polygon holds its lower left corner; what its children
 * are follows from these alone. Even-odd over all rings; holes, islands, rings that touch or cross need no further word.
 * Exact in integers, half-open: the inside quadrants of the polygons of a partition never overlap.
 *
 * - Work O(edges + passages of edges through quadrants of all levels), span O(levels · log passages). Waits once a level.
 * - The same quadrants in the same order on every backend, whatever the budget.
 * - Edges of length 0 are none: a polygon that is a point has no quadrants, one that is a line has those that it passes through.
 *
 * Source: Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex Polygon Data on
 * GPUs, 2014, section 4.1, where each quadrant is tested against all edges of its polygon.
 *
 * @throws `ArgumentError` `quadrants/levels`, `quadrants/budget`.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const quadrants = await decompose(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4 });
 * await ctx.read({ code: quadrants.code.lo, level: quadrants.level }); // { code: Uint32Array [12, 13], level: Uint32Array [2, 2] }
 */
export async function decompose(
  context: Context,
  polygons: DomainPolygons,
  { levels, budget = 2 ** 28 }: DecomposeOptions,
): Promise<Quadrants> {
  requireLevels(levels);
  requireBudget(budget);
  const least = DOMAIN_BITS - levels;
  const edges = context.scope(() => uploadEdges(context, polygons));
  try {
    return quadrantsOf(context, await descendAll(context, edges, least, budget), edges, least);
  } finally {
    context.dispose(edges);
  }
}

/** For {@link decompose} and its like. */
export function requireLevels(levels: number): void {
  if (Number.isInteger(levels) && levels >= 0 && levels <= DOMAIN_BITS) return;
  throw new ArgumentError('quadrants/levels', 'A domain cannot be halved so often.', {
    expected: `a whole number from 0 to ${DOMAIN_BITS}`,
    got: levels,
  });
}

function requireBudget(budget: number): void {
  if (budget > 0) return;
  throw new ArgumentError('quadrants/budget', 'The budget is no number of words.', {
    expected: 'above 0',
    got: budget,
    remedy: 'Leave it out.',
  });
}

/** Level after level, until no quadrant is left to be split; fronts that are beyond the budget wait on the host. */
async function descendAll(context: Context, edges: Edges, least: number, budget: number): Promise<Leaves[]> {
  const settled: Leaves[] = [];
  const waiting: SpilledFront[] = [];
  const first = await enclose(context, edges, least);
  settled.push(first.leaves);
  let { front } = first;
  try {
    for (;;) {
      const quadrants = front.open.column.length as number;
      if (quadrants > 1 && wordsOf(front) > budget) {
        const { earlier, later } = await splitFront(context, front);
        context.dispose(front);
        front = earlier;
        waiting.push(await spill(context, later));
      } else if (quadrants > 0) {
        const step = await descend(context, edges, front, least);
        settled.push(step.leaves);
        context.dispose(front);
        front = step.front;
      } else {
        const next = waiting.pop();
        if (next === undefined) return settled;
        context.dispose(front);
        front = takeUp(context, next);
      }
    }
  } catch (error) {
    context.dispose(settled);
    throw error;
  } finally {
    context.dispose(front);
  }
}

/** What a level takes, about: the front, what its edges do, and the front that comes of it. */
function wordsOf({ open, passages }: Front): number {
  return 10 * (passages.edge.length as number) + 16 * (open.column.length as number);
}
