import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { type Kind, optional, someOptions, where } from '../../primitives/checks/kinds.ts';
import {
  array,
  bool,
  type Column,
  type Context,
  concatenate,
  copyIf,
  expand,
  fn,
  gather,
  ltU64,
  map,
  mortonDecode64,
  mulU32,
  plus,
  product,
  reduceByKey,
  select,
  shl64,
  type U32,
  type U64,
  u32,
  u64,
  uniform,
} from '../../primitives/index.ts';
import { countedRows } from '../free-on-failure.ts';
import type { MaqTree } from '../maq-tree/index.ts';
import { aMaqTree } from '../maq-tree/tree.ts';
import { bitsUpTo, orderRows } from '../order-rows.ts';
import { DOMAIN_BITS, type Quadrants } from '../quadrants/index.ts';
import { someQuadrants } from '../quadrants/leaves.ts';
import { type QueryOptions, someCapacity } from './query-options.ts';
import { queryWindows } from './range.ts';
import { shareQuadrants } from './shared-quadrants.ts';
import { type PlacedWindows, sidesAt, someWindows } from './windows.ts';

/**
 * Area that regions and polygons share, in square steps of the domain. There is one row for each region, set and
 * polygon that share a quadrant; rows are ordered by region, set and polygon. The area is at least `min` and at most
 * `max`: a quadrant inside both the region and the polygon counts in full, and a quadrant through which edges of either
 * pass may count partly.
 */
export interface SharedAreas {
  readonly region: Column<'u32'>;
  readonly set: Column<'u32'>;
  readonly polygon: Column<'u32'>;
  readonly min: { readonly lo: Column<'u32'>; readonly hi: Column<'u32'> };
  readonly max: { readonly lo: Column<'u32'>; readonly hi: Column<'u32'> };
}

export interface ThresholdOptions {
  /** Threshold in square steps. Rows whose area cannot exceed the threshold are left out. Default 0. */
  readonly above?: bigint | undefined;
}

/** Options of {@link areasByRegion}. The default `capacity` is 2²⁴. */
export interface AreaOptions extends ThresholdOptions, QueryOptions {}

/**
 * Computes the area that every region shares with every polygon of a tree, if the area is above a threshold. With areas
 * of interest as regions and ranges of species as polygons, this is
 *
 *     SELECT region, species, SUM(AREA(INTERSECTION)) … GROUP BY region, species HAVING SUM(…) > above
 *
 * The result has a lower bound `min` and an upper bound `max` of each sum. The more levels the quadrants have, the
 * closer the bounds are. A row is left out if its area is certainly not above the threshold. If `min` is above the
 * threshold, the area certainly is too.
 *
 * - Work O(quadrants of regions · levels + pairs of quadrants), plus sorting the pairs. Span O(levels + log pairs).
 * - The result has the same rows on every backend, for every capacity. Sums have 64 bits; the whole domain has 2⁶⁰
 *   square steps.
 *
 * Source: Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex Polygon
 * Data on GPUs, 2014, Figure 2 and section 4.3.2.
 *
 * @param regions - Quadrants of the regions, in the domain of the tree.
 * @throws `ArgumentError` `queries/capacity`, `queries/above`.
 * @example
 * const place = (text) => placeInDomain(parseZones(text).zones.polygons, WORLD);
 * const east = place('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const north = place('{ "type": "Polygon", "coordinates": [[[-90, 45], [90, 45], [90, 90], [-90, 90]]] }');
 * const tree = await buildMaqTree(ctx, [await decompose(ctx, east, { levels: 4 })]);
 * const areas = await areasByRegion(ctx, tree, await decompose(ctx, north, { levels: 4 }));
 * const steps = await ctx.read({ ...areas.min });
 * (steps.hi[0] * 2 ** 32 + steps.lo[0]) * (360 / 2 ** 30) ** 2; // 4050
 */
export async function areasByRegion(
  context: Context,
  tree: MaqTree,
  regions: Quadrants,
  options: AreaOptions = {},
): Promise<SharedAreas> {
  const kinds = { context: aContext, tree: aMaqTree, regions: someQuadrants, options: AREA_OPTIONS };
  requireArguments('areasByRegion', { context, tree, regions, options }, kinds);
  const { above = 0n, capacity = 2 ** 24 } = options;
  const { set, polygon, boundary } = tree.entries;
  const parts: SharedAreas[] = [];
  try {
    let queries = 0;
    await shareQuadrants(context, tree, regions, capacity, async ({ row, entry, shift }, max) => {
      queries = max;
      const captures = { levels: regions.level, regions: regions.boundary, polygons: boundary };
      const areas = map(areaOfPair, { row, entry, shift, ...captures });
      const shared = { region: gather(regions.polygon, row), ...gather({ set, polygon }, entry), ...areas };
      parts.push(await sumAreas(context, tree, shared, max));
    });
    return await sharedAbove(context, tree, parts, queries, above);
  } finally {
    context.dispose(parts);
  }
}

/**
 * Same as {@link areasByRegion} with windows as regions. Windows are exact rectangles, so `min` and `max` differ only
 * at edges of polygons.
 *
 * - Work: that of `queryWindows`, plus O(entries of the nodes found) and sorting them.
 *
 * @throws `ArgumentError` `queries/above`.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const tree = await buildMaqTree(ctx, [await decompose(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4 })]);
 * const windows = placeWindows(ctx, { left: [-10], bottom: [22.5], right: [22.5], top: [45] }, WORLD);
 * const { max } = await areasByWindow(ctx, tree, windows);
 * const steps = await ctx.read({ ...max });
 * (steps.hi[0] * 2 ** 32 + steps.lo[0]) * (360 / 2 ** 30) ** 2; // 506.25
 */
export async function areasByWindow(
  context: Context,
  tree: MaqTree,
  windows: PlacedWindows,
  options: ThresholdOptions = {},
): Promise<SharedAreas> {
  const kinds = { context: aContext, tree: aMaqTree, windows: someWindows, options: THRESHOLD };
  requireArguments('areasByWindow', { context, tree, windows, options }, kinds);
  const { above = 0n } = options;
  const { nodes, entries } = tree;
  const { code, level, firstEntry, entryCount } = nodes;
  const pairs = await queryWindows(context, tree, windows);
  const parts: SharedAreas[] = [];
  try {
    const rows = { region: pairs.query, node: pairs.node };
    const shared = await expand(rows, gather(entryCount, pairs.node), entryInNode, { captures: { first: firstEntry } });
    try {
      const place = { low: code.lo, high: code.hi, levels: level };
      const areas = map(areaInWindow, { ...shared, ...place, sides: windows.sides, polygons: entries.boundary });
      const { set, polygon } = gather({ set: entries.set, polygon: entries.polygon }, shared.entry);
      const max = Math.max(0, windows.count - 1);
      parts.push(await sumAreas(context, tree, { region: shared.region, set, polygon, ...areas }, max));
      return await sharedAbove(context, tree, parts, max, above);
    } finally {
      context.dispose(shared);
    }
  } finally {
    context.dispose(pairs, parts);
  }
}

const anArea: Kind = where(
  'square steps of the domain, from 0n to 2n ** 64n - 1n',
  (above) => typeof above === 'bigint' && above >= 0n && above < 2n ** 64n,
  { code: 'queries/above' },
);
const THRESHOLD: Kind = someOptions<ThresholdOptions>({ above: optional(anArea) });
const AREA_OPTIONS: Kind = someOptions<AreaOptions>({ above: optional(anArea), capacity: someCapacity });

const areaOfPair = fn(
  'areaOfPair',
  { row: u32, entry: u32, shift: u32, levels: array(u32), regions: array(u32), polygons: array(u32) },
  { min: u64, max: u64 },
  ({ row, entry, shift, levels, regions, polygons }) => {
    const smaller = shift.min(u32(DOMAIN_BITS).sub(levels.at(row)));
    const area = shl64({ a: { lo: u32(1), hi: u32(0) }, count: smaller.shl(1) });
    return boundsOf(area, regions.at(row).or(polygons.at(entry)));
  },
);

const entryInNode = fn(
  'entryInNode',
  { region: u32, node: u32, rank: u32, first: array(u32) },
  { region: u32, node: u32, entry: u32 },
  ({ region, node, rank, first }) => ({ region, node, entry: first.at(node).add(rank) }),
);

const areaInWindow = fn(
  'areaInWindow',
  {
    region: u32,
    node: u32,
    entry: u32,
    low: array(u32),
    high: array(u32),
    levels: array(u32),
    sides: array(u32),
    polygons: array(u32),
  },
  { min: u64, max: u64 },
  ({ region, node, entry, low, high, levels, sides, polygons }) => {
    const { x: column, y: row } = mortonDecode64({ code: { lo: low.at(node), hi: high.at(node) } });
    const shift = u32(DOMAIN_BITS).sub(levels.at(node));
    const side = u32(1).shl(shift);
    const { left, bottom, right, top } = sidesAt(sides, region);
    const within = (low: U32, high: U32, from: U32): U32 => high.min(from.add(side)).sub(low.max(from));
    const area = mulU32({ a: within(left, right, column.shl(shift)), b: within(bottom, top, row.shl(shift)) });
    return boundsOf(area, polygons.at(entry));
  },
);

/**
 * Bounds of the area shared in a quadrant, which is at most `area`. If no edges pass through (`boundary` is 0), both
 * bounds are `area`. Otherwise the bounds are 0 and `area`. If several sheets share a quadrant, only the first counts;
 * both bounds are 0 for the others.
 */
function boundsOf(area: U64, boundary: U32): { readonly min: U64; readonly max: U64 } {
  const none = { lo: u32(0), hi: u32(0) };
  return { min: select(area, none, boundary.ne(0)), max: select(area, none, boundary.ge(FURTHER_SHEET)) };
}

/**
 * Minimum value of `boundary` in a row of a further sheet (a group of parts that do not overlap). Also the minimum if
 * the `boundary` of this row is combined with another `boundary` by OR.
 */
const FURTHER_SHEET = 2;

const sums = product({ min: plus(u64), max: plus(u64) });

/** Sums the areas of each combination of region, set and polygon. Waits for the device once. */
async function sumAreas(context: Context, { extent }: MaqTree, areas: SharedAreas, max: number): Promise<SharedAreas> {
  const summed = () => {
    const { region, set, polygon } = areas;
    const order = orderRows(region.length, [
      { key: polygon, bits: bitsUpTo(extent.polygons - 1) },
      { key: set, bits: bitsUpTo(extent.sets - 1) },
      { key: region, bits: bitsUpTo(max) },
    ]);
    const sorted = context.materialize(gather(tableOf(areas), order));
    const keys = { region: sorted.region, set: sorted.set, polygon: sorted.polygon };
    return reduceByKey(keys, { min: sorted.min, max: sorted.max }, sums);
  };
  return countedRows(context, summed, ({ keys, values }) => ({ ...keys, ...values }));
}

const canBeAbove = fn(
  'canBeAbove',
  { lo: u32, hi: u32, aboveLow: uniform(u32), aboveHigh: uniform(u32) },
  bool,
  ({ lo, hi, aboveLow, aboveHigh }) => ltU64({ a: { lo: aboveLow, hi: aboveHigh }, b: { lo, hi } }),
);

/**
 * Merges the results of the parts in which pairs were processed, and keeps the rows whose area may be above the
 * threshold. Waits for the device once or twice.
 */
async function sharedAbove(
  context: Context,
  tree: MaqTree,
  parts: SharedAreas[],
  max: number,
  above: bigint,
): Promise<SharedAreas> {
  if (parts.length > 1) {
    const all = context.scope(() => concatenate(parts.map(tableOf)));
    context.dispose(parts.splice(0));
    parts.push(await sumAreas(context, tree, all, max).finally(() => context.dispose(all)));
  }
  const [areas] = parts.map(tableOf);
  const threshold = { aboveLow: Number(above & 0xffffffffn), aboveHigh: Number(above >> 32n) };
  return countedRows(context, () =>
    copyIf(areas!, context.materialize(map(canBeAbove, { ...areas!.max, ...threshold }))),
  );
}

function tableOf({ region, set, polygon, min, max }: SharedAreas) {
  return { region, set, polygon, min: { ...min }, max: { ...max } };
}
