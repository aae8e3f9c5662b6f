import type { BuiltTree } from './maq-builder.ts';

/** The quadrants of query polygons, one polygon after another, with 32-bit codes. */
export interface QueryQuadrants {
  readonly polygon: Uint32Array;
  readonly code: Uint32Array;
  readonly level: Uint32Array;
}

/**
 * Counts the pairs of a query polygon and a polygon of the tree whose quadrants overlap, in plain JavaScript on one
 * thread. For every quadrant of a query, visits the entries of all nodes from the root down to the quadrant's node, and
 * all entries below this node, which are contiguous on every level. For each polygon of the tree, `stamps` has the last
 * query that found the polygon, so that each pair counts once.
 */
export function countPolygonsByWalking(tree: BuiltTree, { polygon, code, level }: QueryQuadrants): number {
  const { code: codes, firstChild, childCount, firstEntry, entryCount, polygon: entries } = tree;
  const stamps = new Int32Array(entries.reduce((max, each) => Math.max(max, each + 1), 0)).fill(-1);
  let met = 0;
  const stamp = (query: number, from: number, to: number): void => {
    for (let entry = from; entry < to; entry++) {
      if (stamps[entries[entry]!] === query) continue;
      stamps[entries[entry]!] = query;
      met++;
    }
  };
  if (codes.length === 0) return 0;
  for (let row = 0; row < polygon.length; row++) {
    const [query, own] = [polygon[row]!, level[row]!];
    let node = 0;
    for (let depth = 0; depth < own && node >= 0; depth++) {
      stamp(query, firstEntry[node]!, firstEntry[node]! + entryCount[node]!);
      const wanted = code[row]! >>> (2 * (own - depth - 1));
      const end = firstChild[node]! + childCount[node]!;
      node = firstChild[node]!;
      while (node < end && codes[node] !== wanted) node++;
      if (node === end) node = -1;
    }
    let [from, to] = node < 0 ? [0, 0] : [node, node + 1];
    while (from < to) {
      stamp(query, firstEntry[from]!, firstEntry[to - 1]! + entryCount[to - 1]!);
      [from, to] = [firstChild[from]!, firstChild[to - 1]! + childCount[to - 1]!];
    }
  }
  return met;
}
