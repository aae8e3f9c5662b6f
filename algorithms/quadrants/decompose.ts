import { aContext } from '../../primitives/argument-kinds.ts';
import { requireArguments } from '../../primitives/arguments.ts';
import { type Context, OutOfMemoryError, slice } from '../../primitives/index.ts';
import { aFlag, aPositive, aWhole, type Kind, optional, someOptions } from '../../primitives/kinds.ts';
import { bytesText } from '../bytes-text.ts';
import { type Descent, type DescentRules, descend, enclose, type Front } from './descend.ts';
import { DOMAIN_BITS, type DomainPolygons, someGridPolygons } from './domain.ts';
import type { Passages } from './edge-in-quadrant.ts';
import { type Edges, uploadEdges } from './edges.ts';
import { type Leaves, type Quadrants, type QuadrantsWithEdges, quadrantsOf } from './leaves.ts';
import { uniteSheets } from './sheet-quadrants.ts';
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
  /**
   * Words that quadrants and their edges may take in all, the result and what waits on the host: about 5 a quadrant and 3 for
   * an edge that passes through it. How many there will be no one knows before; the levels are counted as they are made.
   * Unlimited where left out.
   */
  readonly maxWords?: number | undefined;
  /** Whether the edges that pass through boundary quadrants are kept, which exact answers need. Default false. */
  readonly keepsEdges?: boolean | undefined;
}

/**
 * Splits polygons into quadrants: those that lie inside, as large as they can be, and those of the last level that edges
 * pass through. All polygons level by level at once, from the smallest quadrant around each.
 *
 * A quadrant carries the edges that pass through it, and whether the polygon holds its lower left corner; what its children
 * are follows from these alone. Even-odd over all rings; holes, islands, rings that touch or cross need no further word.
 * A polygon whose parts overlap is split sheet by sheet (see `sheetsOf`): its quadrants are those of its sheets, less those
 * that lie in a quadrant inside another sheet. A quadrant through which edges of several sheets pass has a row for each.
 * Exact in integers, half-open: the inside quadrants of the polygons of a partition never overlap.
 *
 * - Work O(edges + passages of edges through quadrants of all levels), span O(levels · log passages). Waits once a level.
 * - The same quadrants in the same order on every backend, whatever the budget.
 * - Edges of length 0 are none: a polygon that is a point has no quadrants, one that is a line has those that it passes through.
 *
 * Source: Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex Polygon Data on
 * GPUs, 2014, section 4.1, where each quadrant is tested against all edges of its polygon.
 *
 * @throws `ArgumentError` `quadrants/levels`, `quadrants/budget`; `OutOfMemoryError` `quadrants/limit`, with the level, where
 * quadrants pass `maxWords`.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const quadrants = await decompose(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4 });
 * await ctx.read({ code: quadrants.code.lo, level: quadrants.level }); // { code: Uint32Array [12, 13], level: Uint32Array [2, 2] }
 */
export function decompose(
  context: Context,
  polygons: DomainPolygons,
  options: DecomposeOptions & { readonly keepsEdges: true },
): Promise<QuadrantsWithEdges>;
export function decompose(context: Context, polygons: DomainPolygons, options: DecomposeOptions): Promise<Quadrants>;
export async function decompose(
  context: Context,
  polygons: DomainPolygons,
  options: DecomposeOptions,
): Promise<Quadrants> {
  requireArguments('decompose', { context, polygons, options }, ARGUMENTS);
  const { levels, budget = 2 ** 28, maxWords = Number.POSITIVE_INFINITY, keepsEdges = false } = options;
  return uniteSheets(context, polygons, (each) => split(context, each, { levels, budget, maxWords, keepsEdges }));
}

async function split(
  context: Context,
  polygons: DomainPolygons,
  { levels, budget, maxWords, keepsEdges }: Split,
): Promise<Quadrants | QuadrantsWithEdges> {
  const rules = { min: DOMAIN_BITS - levels, keepsEdges };
  const edges = context.scope(() => uploadEdges(context, polygons));
  const { ends, ...temporary } = edges;
  let kept = false;
  try {
    const { leaves, passages } = await descendAll(context, edges, rules, { budget, maxWords, levels });
    const quadrants = quadrantsOf(context, leaves, edges, rules.min, keepsEdges ? passages : undefined);
    kept = keepsEdges;
    return quadrants;
  } finally {
    context.dispose(temporary, kept ? undefined : ends);
  }
}

/** Options of {@link decompose}, all of them. */
interface Split {
  readonly levels: number;
  readonly budget: number;
  readonly maxWords: number;
  readonly keepsEdges: boolean;
}

/** How often a domain is halved, for {@link decompose} and its like. */
export const someLevels: Kind = aWhole(0, DOMAIN_BITS, 'quadrants/levels');

const ARGUMENTS = {
  context: aContext,
  polygons: someGridPolygons,
  options: someOptions<DecomposeOptions>({
    levels: someLevels,
    budget: optional(aPositive('quadrants/budget', 'Leave it out.')),
    maxWords: optional(aPositive()),
    keepsEdges: optional(aFlag),
  }),
};

interface Settled {
  readonly leaves: Leaves[];
  /** The passages of the leaves, where they are kept. */
  readonly passages: Passages[];
}

/** Level after level, until no quadrant is left to be split; fronts that are beyond the budget wait on the host. */
async function descendAll(
  context: Context,
  edges: Edges,
  rules: DescentRules,
  { budget, maxWords, levels }: { readonly budget: number; readonly maxWords: number; readonly levels: number },
): Promise<Settled> {
  const settled: Settled = { leaves: [], passages: [] };
  let words = 0;
  const settle = ({ front, leaves, leafPassages }: Descent): Front => {
    settled.leaves.push(leaves);
    if (leafPassages !== undefined) settled.passages.push(leafPassages);
    words += keptWords(leaves, leafPassages);
    return front;
  };
  const waiting: SpilledFront[] = [];
  let front = settle(await enclose(context, edges, rules));
  try {
    for (;;) {
      const held = words + waiting.reduce((sum, { open, passages }) => sum + keptWords(open, passages), 0);
      if (held + keptWords(front.open, front.passages) > maxWords) {
        throw await tooManyQuadrants(context, front, { held, maxWords, levels });
      }
      const quadrants = front.open.column.length as number;
      if (quadrants > 1 && wordsOf(front) > budget) {
        const { earlier, later } = await splitFront(context, front);
        context.dispose(front);
        front = earlier;
        waiting.push(await spill(context, later));
      } else if (quadrants > 0) {
        const step = await descend(context, edges, front, rules);
        context.dispose(front);
        front = settle(step);
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

type Lengths<K extends string> = { readonly [_ in K]: { readonly length: unknown } };

/** What quadrants and the edges through them take once they are settled, and as long as they wait. */
function keptWords({ column }: Lengths<'column'>, passages: Lengths<'edge'> | undefined): number {
  return 5 * (column.length as number) + 3 * ((passages?.edge.length as number | undefined) ?? 0);
}

interface Held {
  readonly held: number;
  readonly maxWords: number;
  readonly levels: number;
}

async function tooManyQuadrants(
  context: Context,
  { open, passages }: Front,
  { held, maxWords, levels }: Held,
): Promise<OutOfMemoryError> {
  const count = open.column.length as number;
  const sample = context.scope(() => context.materialize(slice(open.column, 0, Math.min(count, 2 ** 16))));
  const columns = await context.read(sample).finally(() => context.dispose(sample));
  // The lowest bit that is set tells a quadrant's side.
  const level = columns.reduce((max, column) => Math.max(max, DOMAIN_BITS - (31 - Math.clz32(column & -column))), 0);
  const bytes = 4 * (held + keptWords(open, passages));
  return new OutOfMemoryError('quadrants/limit', `The polygons have too many quadrants from level ${level} on.`, {
    expected: `at most ${bytesText(4 * maxWords)} for ${levels} levels`,
    got: `${bytesText(bytes)} with ${count} quadrants still to be split`,
    remedy: 'Use fewer levels (--levels), leave edges out (--no-edges), or raise the limit (--memory).',
  });
}
