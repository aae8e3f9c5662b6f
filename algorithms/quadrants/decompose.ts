import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aFlag, aPositive, aWhole, type Kind, optional, someOptions } from '../../primitives/checks/kinds.ts';
import { type Column, type Context, OutOfMemoryError, slice } from '../../primitives/index.ts';
import { bytesText } from '../bytes-text.ts';
import { type Descent, type DescentRules, descend, enclose, type Front } from './descend.ts';
import { DOMAIN_BITS, type DomainPolygons, someGridPolygons } from './domain.ts';
import type { Passages } from './edge-in-quadrant.ts';
import { type Edges, uploadEdges } from './edges.ts';
import { decomposeOnHost, type HostQuadrants, suitsHost } from './host-decompose.ts';
import { type LeafQuadrants, type Quadrants, type QuadrantsWithEdges, quadrantsOf } from './leaves.ts';
import { uniteSheets } from './sheet-quadrants.ts';
import { type SpilledFront, spill, splitFront, takeUp } from './spill.ts';

export interface DecomposeOptions {
  /** Number of times the domain is halved along each axis for the smallest quadrants, from 0 to 30. */
  readonly levels: number;
  /**
   * Approximate maximum of device bytes for the quadrants that are being split and their edges. Further quadrants wait
   * on the host. The result does not depend on this limit, but must fit on the device as a whole. A single quadrant is
   * split even if its edges take more. Default 1 GiB.
   */
  readonly memoryBytes?: number | undefined;
  /**
   * Maximum bytes of all quadrants and their edges, including those that wait on the host: about 20 per quadrant, and
   * 12 per passage of an edge through a quadrant. The number of quadrants is not known in advance; it is counted level
   * by level. Default: unlimited.
   */
  readonly maxBytes?: number | undefined;
  /** Whether to keep the edges that pass through boundary quadrants. Exact answers need these edges. Default false. */
  readonly keepsEdges?: boolean | undefined;
}

/**
 * Splits polygons into quadrants: inside quadrants, which are as large as possible, and boundary quadrants of the last
 * level, through which edges pass. All polygons are split together, level by level. Each polygon starts from the
 * smallest quadrant that contains it.
 *
 * For each quadrant, the algorithm keeps the edges that pass through it, and whether the polygon contains the
 * quadrant's lower left corner. These data are enough to classify the quadrant's children. The even-odd rule applies to
 * all rings, so holes, islands, and rings that touch or cross are no special cases. A polygon whose parts overlap is
 * split sheet by sheet (a sheet is a group of parts that do not overlap; see `sheetsOf`). The polygon gets the
 * quadrants of all its sheets, except quadrants within an inside quadrant of another sheet. A quadrant with edges of
 * several sheets has a row for each sheet. All tests are exact in integers, and polygons are half-open: if polygons
 * form a partition, their inside quadrants never overlap.
 *
 * - Work O(edges + passages of edges through quadrants of all levels), span O(levels · log passages). Waits for the
 *   device once per level, and more often if the quadrants exceed `memoryBytes`.
 * - The result has the same quadrants in the same order on every backend, for every `memoryBytes`.
 * - Edges of length 0 are ignored: a polygon that is a point has no quadrants. A polygon that is a line has the
 *   quadrants it passes through.
 *
 * Source: Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex Polygon
 * Data on GPUs, 2014, section 4.1, where each quadrant is tested against all edges of its polygon.
 *
 * @throws `ArgumentError` `quadrants/levels`, `quadrants/memory-bytes`; `OutOfMemoryError` `quadrants/limit`, with the
 * level, if quadrants take more than `maxBytes`.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const quadrants = await decompose(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4 });
 * await ctx.read({ code: quadrants.code.lo, level: quadrants.level }); // { code: Uint32Array [12, 13], level: Uint32Array [2, 2] }
 */
export function decompose<E extends boolean = false>(
  context: Context,
  polygons: DomainPolygons,
  options: DecomposeOptions & { readonly keepsEdges?: E },
): Promise<E extends true ? QuadrantsWithEdges : Quadrants>;
export async function decompose(
  context: Context,
  polygons: DomainPolygons,
  options: DecomposeOptions,
): Promise<Quadrants> {
  requireArguments('decompose', { context, polygons, options }, ARGUMENTS);
  const { levels, memoryBytes = 2 ** 30, maxBytes = Number.POSITIVE_INFINITY, keepsEdges = false } = options;
  return uniteSheets(context, polygons, (each) => split(context, each, { levels, memoryBytes, maxBytes, keepsEdges }));
}

async function split(
  context: Context,
  polygons: DomainPolygons,
  { levels, memoryBytes, maxBytes, keepsEdges }: Split,
): Promise<Quadrants | QuadrantsWithEdges> {
  if (context.backend.name === 'workers' && suitsHost(polygons, levels)) {
    const made = decomposeOnHost(polygons, levels);
    if (fits(made.steps, { memoryBytes, maxBytes, keepsEdges })) return uploadQuadrants(context, made, keepsEdges);
  }
  return splitOnDevice(context, polygons, { levels, memoryBytes, maxBytes, keepsEdges });
}

/** Whether a descent with these steps keeps to the limits of memory. Where it does not, errors are those of devices. */
function fits(steps: HostQuadrants['steps'], { memoryBytes, maxBytes, keepsEdges }: Omit<Split, 'levels'>): boolean {
  let held = 0;
  return steps.every(({ leaves, leafPassages, open, passages }) => {
    held += keptBytes({ column: { length: leaves } }, keepsEdges ? { edge: { length: leafPassages } } : undefined);
    const front = { open: { column: { length: open } }, passages: { edge: { length: passages } } };
    return held + keptBytes(front.open, front.passages) <= maxBytes && bytesUnderWay(front) <= memoryBytes;
  });
}

function uploadQuadrants(
  context: Context,
  { polygon, lo, hi, level, boundary, edges }: HostQuadrants,
  keepsEdges: boolean,
): Quadrants | QuadrantsWithEdges {
  return context.scope(() => {
    const column = (words: Uint32Array): Column<'u32'> => context.column(words);
    const quadrants = {
      polygon: column(polygon),
      code: { lo: column(lo), hi: column(hi) },
      level: column(level),
      boundary: column(boundary),
    };
    if (!keepsEdges) return quadrants;
    const { corner, first, count, edge, ends } = edges;
    const perRow = { corner: column(corner), first: column(first), count: column(count) };
    return { ...quadrants, edges: { ...perRow, edge: column(edge), ends: context.column(ends) } };
  });
}

/** Splits polygons by launches, level by level. */
export async function splitOnDevice(
  context: Context,
  polygons: DomainPolygons,
  { levels, memoryBytes, maxBytes, keepsEdges }: Split,
): Promise<Quadrants | QuadrantsWithEdges> {
  const rules = { min: DOMAIN_BITS - levels, keepsEdges };
  const edges = context.scope(() => uploadEdges(context, polygons));
  const { ends, ...temporary } = edges;
  let kept = false;
  try {
    const { leaves, passages } = await descendAll(context, edges, rules, { memoryBytes, maxBytes, levels });
    const quadrants = quadrantsOf(context, leaves, edges, rules.min, keepsEdges ? passages : undefined);
    kept = keepsEdges;
    return quadrants;
  } finally {
    context.dispose(temporary, kept ? undefined : ends);
  }
}

/** Options of {@link decompose}, with defaults filled in. */
interface Split {
  readonly levels: number;
  readonly memoryBytes: number;
  readonly maxBytes: number;
  readonly keepsEdges: boolean;
}

/** Validator of the option `levels`, for {@link decompose} and its variants. */
export const someLevels: Kind = aWhole(0, DOMAIN_BITS, 'quadrants/levels');

const ARGUMENTS = {
  context: aContext,
  polygons: someGridPolygons,
  options: someOptions<DecomposeOptions>({
    levels: someLevels,
    memoryBytes: optional(aPositive('quadrants/memory-bytes', 'Leave it out.')),
    maxBytes: optional(aPositive()),
    keepsEdges: optional(aFlag),
  }),
};

interface Settled {
  readonly leaves: LeafQuadrants[];
  /** The passages of edges through the leaves, if edges are kept. */
  readonly passages: Passages[];
}

/**
 * Splits quadrants level by level until none is left to split. While the quadrants to be split exceed `memoryBytes`,
 * their later half is moved to the host. This half returns to the device when no quadrants are left to split on the
 * device.
 */
async function descendAll(
  context: Context,
  edges: Edges,
  rules: DescentRules,
  {
    memoryBytes,
    maxBytes,
    levels,
  }: { readonly memoryBytes: number; readonly maxBytes: number; readonly levels: number },
): Promise<Settled> {
  const settled: Settled = { leaves: [], passages: [] };
  let bytes = 0;
  const settle = ({ front, leaves, leafPassages }: Descent): Front => {
    settled.leaves.push(leaves);
    if (leafPassages !== undefined) settled.passages.push(leafPassages);
    bytes += keptBytes(leaves, leafPassages);
    return front;
  };
  const waiting: SpilledFront[] = [];
  let front = settle(await enclose(context, edges, rules));
  try {
    for (;;) {
      const held = bytes + waiting.reduce((sum, { open, passages }) => sum + keptBytes(open, passages), 0);
      if (held + keptBytes(front.open, front.passages) > maxBytes) {
        throw await tooManyQuadrants(context, front, { held, maxBytes, levels });
      }
      const quadrants = front.open.column.length as number;
      if (quadrants > 1 && bytesUnderWay(front) > memoryBytes) {
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

/**
 * Approximate bytes for splitting a front (the quadrants of one level): the front, the effects of its edges, and the
 * next front.
 */
function bytesUnderWay({
  open,
  passages,
}: {
  readonly open: Lengths<'column'>;
  readonly passages: Lengths<'edge'>;
}): number {
  return 40 * (passages.edge.length as number) + 64 * (open.column.length as number);
}

type Lengths<K extends string> = { readonly [_ in K]: { readonly length: unknown } };

/** Bytes of quadrants that are settled or waiting, and of the passages of edges through them. */
function keptBytes({ column }: Lengths<'column'>, passages: Lengths<'edge'> | undefined): number {
  return 20 * (column.length as number) + 12 * ((passages?.edge.length as number | undefined) ?? 0);
}

interface Held {
  readonly held: number;
  readonly maxBytes: number;
  readonly levels: number;
}

async function tooManyQuadrants(
  context: Context,
  { open, passages }: Front,
  { held, maxBytes, levels }: Held,
): Promise<OutOfMemoryError> {
  const count = open.column.length as number;
  const sample = context.scope(() => context.materialize(slice(open.column, 0, Math.min(count, 2 ** 16))));
  const columns = await context.read(sample).finally(() => context.dispose(sample));
  // The lowest set bit of the column word gives the side of a quadrant.
  const level = columns.reduce((max, column) => Math.max(max, DOMAIN_BITS - (31 - Math.clz32(column & -column))), 0);
  const bytes = held + keptBytes(open, passages);
  return new OutOfMemoryError('quadrants/limit', `The polygons have too many quadrants from level ${level} on.`, {
    expected: `at most ${bytesText(maxBytes)} for ${levels} levels`,
    got: `${bytesText(bytes)} with ${count} quadrants still to be split`,
    remedy: 'Use fewer levels (--levels), leave edges out (--no-edges), or raise the limit (--memory).',
  });
}
