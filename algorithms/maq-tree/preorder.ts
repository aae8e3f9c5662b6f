import {
  array,
  type Column,
  clz,
  expand,
  fn,
  map,
  select,
  sequence,
  shl64,
  shrU64,
  type U32,
  type U64,
  u32,
  u64,
  uniform,
} from '../../primitives/index.ts';

/** Positions of quadrants: their levels and their Morton codes. */
export interface NodePlaces {
  readonly level: Column<'u32'>;
  readonly lo: Column<'u32'>;
  readonly hi: Column<'u32'>;
}

type Words = { readonly lo: Column<'u32'>; readonly hi: Column<'u32'> };

const place = fn('place', { level: u32, lo: u32, hi: u32, last: uniform(u32) }, u64, ({ level, lo, hi, last }) =>
  shl64({ a: { lo, hi }, count: last.sub(level).shl(1) }),
);

/**
 * For each quadrant, the Morton code of the first quadrant of level `last` inside it, as a view. Sorted by this code
 * and then by level, quadrants are in preorder.
 */
export function placeIn({ level, lo, hi }: NodePlaces, last: number): Words {
  return map(place, { level, lo, hi, last });
}

const opened = fn(
  'opened',
  { index: u32, levels: array(u32), low: array(u32), high: array(u32) },
  u32,
  ({ index, levels, low, high }) => {
    const quadrantAt = (at: U32) => ({ level: levels.at(at), code: { lo: low.at(at), hi: high.at(at) } });
    const own = quadrantAt(index);
    const shared = sharedLevel(quadrantAt(index.sub(index.min(1))), own);
    return select(own.level.sub(shared), own.level.add(1), index.eq(0));
  },
);

/** Nodes and their numbers of entries. A node whose quadrant belongs to no polygon has 0 entries. */
export interface CountedNodes extends NodePlaces {
  readonly entryCount: Column<'u32'>;
}

/**
 * Makes all nodes of a tree from the distinct quadrants of polygons. Quadrants are given in preorder, and nodes are
 * returned in preorder. For each quadrant, the tree gets a node for the quadrant itself, and a node for each ancestor
 * that does not contain the preceding quadrant. Waits for the device once.
 */
export function openNodes(own: CountedNodes): Promise<CountedNodes> {
  const { level, lo, hi } = own;
  const count = map(opened, { index: sequence(level.length), levels: level, low: lo, high: hi });
  return expand({ ...own, opened: count }, count, nodeAt);
}

interface PlacedQuadrant {
  readonly level: U32;
  readonly code: U64;
}

/** The level of the smallest quadrant that contains both given quadrants. */
function sharedLevel(a: PlacedQuadrant, b: PlacedQuadrant): U32 {
  const level = a.level.min(b.level);
  const [x, y] = [a, b].map((each) => ancestor(each, level)) as [U64, U64];
  const [lo, hi] = [x.lo.xor(y.lo), x.hi.xor(y.hi)];
  const differing = select(u32(32).sub(clz(lo)), u32(64).sub(clz(hi)), hi.ne(0));
  return level.sub(differing.add(1).shr(1));
}

function ancestor({ level, code }: PlacedQuadrant, at: U32): U64 {
  return shrU64({ a: code, count: level.sub(at).shl(1) });
}

/**
 * One of the nodes that {@link openNodes} makes for a quadrant. `rank` numbers these nodes from the largest to the
 * smallest. Only the smallest node, which is the quadrant itself, has entries.
 */
const nodeAt = fn(
  'nodeAt',
  { level: u32, lo: u32, hi: u32, opened: u32, entryCount: u32, rank: u32 },
  { level: u32, lo: u32, hi: u32, entryCount: u32 },
  ({ level, lo, hi, opened, entryCount, rank }) => {
    const up = opened.sub(1).sub(rank);
    const code = shrU64({ a: { lo, hi }, count: up.shl(1) });
    return { level: level.sub(up), ...code, entryCount: select(u32(0), entryCount, up.eq(0)) };
  },
);

const isParent = fn(
  'isParent',
  { index: u32, count: uniform(u32), levels: array(u32) },
  u32,
  ({ index, count, levels }) => {
    const next = index.add(1);
    return u32(next.lt(count).and(levels.at(next.min(count.sub(1))).gt(levels.at(index))));
  },
);

/** For nodes in preorder, 1 if a node has children and else 0, as a view. */
export function hasChildren(level: Column<'u32'>): Column<'u32'> {
  return map(isParent, { index: sequence(level.length), count: level.length as number, levels: level });
}
