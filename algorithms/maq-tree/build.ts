import {
  ArgumentError,
  array,
  type Column,
  type Context,
  concatenate,
  constant,
  exclusiveScan,
  fn,
  gather,
  lowerBound,
  map,
  maximum,
  plus,
  product,
  reduceByKey,
  select,
  sequence,
  slice,
  sortByKey,
  u32,
  u64,
  uniform,
} from '../../primitives/index.ts';
import { DOMAIN_BITS } from '../quadrants/domain.ts';
import type { Quadrants } from '../quadrants/leaves.ts';
import type { MaqEntries, MaqNodes, MaqTree } from './tree.ts';

/**
 * Builds the quadtree over the quadrants of one or more sets of polygons, which may overlap: every quadrant is a node, and so
 * is every quadrant that holds one.
 *
 * Quadrants are sorted by level and code, and equal ones are one node with all their polygons. Then level by level from the
 * last: the nodes of a level are its own quadrants and the parents of the nodes below, sorted together.
 *
 * - The same tree whatever the order of the quadrants, of a set and of a polygon, on every backend.
 * - Work O(quadrants · levels) and their sorting, span O(levels · log quadrants). Waits for the device twice.
 *
 * Source: Zhang, You and Gruenwald, Data Parallel Quadtree Indexing and Spatial Query Processing of Complex Polygon Data on
 * GPUs, 2014, section 4.2.
 *
 * @param sets - Quadrants of one domain each; sets are numbered as they come.
 * @throws `ArgumentError` `maq-tree/no-sets`.
 * @example
 * const { zones } = parseZones('{ "type": "Polygon", "coordinates": [[[0, 0], [180, 0], [180, 90], [0, 90]]] }');
 * const quadrants = await decompose(ctx, placeInDomain(zones.polygons, WORLD), { levels: 4 });
 * const tree = await buildMaqTree(ctx, [quadrants]);
 * await ctx.read({ level: tree.nodes.level, children: tree.nodes.childCount });
 * // { level: Uint32Array [0, 1, 2, 2], children: Uint32Array [1, 2, 0, 0] }
 */
export async function buildMaqTree(context: Context, sets: readonly Quadrants[]): Promise<MaqTree> {
  if (sets.length === 0) {
    throw new ArgumentError('maq-tree/no-sets', 'A tree is built over quadrants, and none were given.', {
      expected: 'the quadrants of one set of polygons or more',
      got: 'no set',
    });
  }
  const { entries, own, starts } = context.scope(() => groupQuadrants(context, sets));
  try {
    const ends = await context.read(starts);
    const levels = context.scope(() => linkLevels(context, own, ends));
    try {
      const counts = await Promise.all(levels.map((level) => context.count(level.childCount)));
      return { nodes: context.scope(() => nodesOf(levels, own, counts)), entries };
    } finally {
      context.dispose(levels);
    }
  } catch (error) {
    context.dispose(entries);
    throw error;
  } finally {
    context.dispose(own, starts);
  }
}

type Code = { readonly lo: Column<'u32'>; readonly hi: Column<'u32'> };

/** The quadrants that polygons have, each once, by level and code, and where their entries are. */
interface OwnNodes {
  readonly code: Code;
  readonly firstEntry: Column<'u32'>;
  readonly entryCount: Column<'u32'>;
}

interface Grouped {
  readonly entries: MaqEntries;
  readonly own: OwnNodes;
  /** Where the quadrants of every level start, and after the last of them the end. */
  readonly starts: Column<'u32'>;
}

function groupQuadrants(context: Context, sets: readonly Quadrants[]): Grouped {
  const rows = sets.map(({ polygon, code, level, boundary }, set) => ({
    polygon,
    lo: code.lo,
    hi: code.hi,
    level,
    boundary,
    set: constant(u32, set, polygon.length),
  }));
  const all = concatenate(rows);
  const byPolygon = sortByKey(all.polygon, all).values;
  const bySet = sortByKey(byPolygon.set, byPolygon, { bits: lowest(32 - Math.clz32(sets.length - 1)) }).values;
  const byCode = sortByKey({ lo: bySet.lo, hi: bySet.hi }, bySet).values;
  const sorted = sortByKey(byCode.level, byCode, { bits: lowest(5) }).values;
  const { keys, values } = reduceByKey(
    { level: sorted.level, lo: sorted.lo, hi: sorted.hi },
    constant(u32, 1, sorted.level.length),
    plus(u32),
  );
  const levels = sequence(DOMAIN_BITS + 2);
  return {
    entries: { polygon: sorted.polygon, set: sorted.set, boundary: sorted.boundary },
    own: {
      code: { lo: keys.lo, hi: keys.hi },
      firstEntry: exclusiveScan(values, plus(u32)),
      entryCount: values,
    },
    starts: context.materialize(lowerBound(keys.level, levels)),
  };
}

/** So many bits of a key, and one at least: fewer bits are fewer passes of a sort. */
function lowest(bits: number): { readonly from: number; readonly to: number } {
  return { from: 0, to: Math.max(1, bits) };
}

/** The nodes of a level, ascending by code. */
interface LevelNodes {
  readonly code: Code;
  readonly childCount: Column<'u32'>;
  /** 1 + the number of the node among those with entries; 0 for a node that is there for those below it. */
  readonly own: Column<'u32'>;
}

const parentOf = fn('parentOf', { code: u64 }, u64, ({ code }) => ({
  lo: code.lo.shr(2).or(code.hi.shl(30)),
  hi: code.hi.shr(2),
}));

const linked = product({ childCount: plus(u32), own: maximum(u32) });

/** From the last level that has quadrants up to the root, in the order of the levels. */
function linkLevels(context: Context, own: OwnNodes, starts: Uint32Array): LevelNodes[] {
  const levels: LevelNodes[] = [];
  const last = starts.findLastIndex((start, level) => level <= DOMAIN_BITS && start < starts[level + 1]!);
  for (let level = last; level >= 0; level--) {
    const count = starts[level + 1]! - starts[level]!;
    const at = sequence(count, starts[level]!);
    const quadrants = {
      code: gather({ ...own.code }, at),
      childCount: constant(u32, 0, count),
      own: sequence(count, starts[level]! + 1),
    };
    const below = levels[0];
    levels.unshift(below === undefined ? context.materialize(quadrants) : mergeLevel(quadrants, below, level));
  }
  return levels;
}

/** The quadrants of a level and the parents of the nodes below: a node for each code. */
function mergeLevel(quadrants: LevelNodes, below: LevelNodes, level: number): LevelNodes {
  const parents = reduceByKey(
    map(parentOf, { code: below.code }),
    constant(u32, 1, below.childCount.length),
    plus(u32),
  );
  const rows = concatenate([
    { ...quadrants, code: { ...quadrants.code } },
    { code: parents.keys, childCount: parents.values, own: constant(u32, 0, parents.values.length) },
  ]);
  const sorted = sortByKey(rows.code, { childCount: rows.childCount, own: rows.own }, { bits: lowest(2 * level) });
  const { keys, values } = reduceByKey(sorted.keys, sorted.values, linked);
  return { code: keys, ...values };
}

const entryPlace = fn(
  'entryPlace',
  { own: u32, first: array(u32), count: array(u32) },
  { firstEntry: u32, entryCount: u32 },
  ({ own, first, count }) => {
    const isOwn = own.gt(0);
    const at = own.sub(1);
    return { firstEntry: select(u32(0), first.at(at), isOwn), entryCount: select(u32(0), count.at(at), isOwn) };
  },
);

const moved = fn('moved', { place: u32, by: uniform(u32) }, u32, ({ place, by }) => place.add(by));

/** All levels in one table, the root first, and where the children of each node are in it. */
function nodesOf(levels: readonly LevelNodes[], own: OwnNodes, counts: readonly number[]): MaqNodes {
  let end = 0;
  const tables = levels.map(({ code, childCount, own: number }, level) => {
    const rows = gather({ lo: code.lo, hi: code.hi, childCount, number }, sequence(counts[level]!));
    end += counts[level]!;
    return {
      code: { lo: rows.lo, hi: rows.hi },
      level: constant(u32, level, counts[level]!),
      firstChild: map(moved, { place: exclusiveScan(rows.childCount, plus(u32)), by: end }),
      childCount: rows.childCount,
      ...map(entryPlace, { own: rows.number, first: own.firstEntry, count: own.entryCount }),
    };
  });
  return concatenate(tables.length === 0 ? [noNodes(own)] : tables);
}

function noNodes({ code, firstEntry, entryCount }: OwnNodes) {
  const none = slice({ lo: code.lo, hi: code.hi, firstEntry, entryCount }, 0, 0);
  const zero = constant(u32, 0, none.lo.length);
  return {
    code: { lo: none.lo, hi: none.hi },
    level: zero,
    firstChild: zero,
    childCount: zero,
    firstEntry: none.firstEntry,
    entryCount: none.entryCount,
  };
}
