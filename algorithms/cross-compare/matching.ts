import { requireArguments } from '../../primitives/checks/arguments.ts';
import { anInstance, aRecord, aWord, type Kind, someOptions, where } from '../../primitives/checks/kinds.ts';
import { assign } from './assignment.ts';
import type { PairColumns } from './filter.ts';

/** How polygons of the two sides are matched one to one. */
export type MatchMethod = 'greedy' | 'optimal';

export interface MatchOptions {
  /** Minimum intersection over union of a match, above 0 and at most 1. */
  readonly minIou: number;
  readonly method: MatchMethod;
}

export const aMatching: Kind = someOptions<MatchOptions>({
  minIou: where('a ratio above 0 and at most 1', (ratio) => typeof ratio === 'number' && ratio > 0 && ratio <= 1, {
    code: 'compare/min-iou',
  }),
  method: aWord(['greedy', 'optimal']),
});

/** Pairs of polygons with their ratios ‖p ∩ q‖ ÷ ‖p ∪ q‖, ordered by (p, q), without duplicates. */
export interface RatedPairs extends PairColumns {
  readonly ratio: Float64Array;
}

const someRatedPairs: Kind = aRecord<RatedPairs>({
  p: anInstance(Uint32Array),
  q: anInstance(Uint32Array),
  ratio: anInstance(Float64Array),
});

/**
 * Matches polygons one to one, among the pairs whose ratio is at least `minIou`. Returns the indices of the matched
 * pairs, ascending.
 *
 * - `greedy`: repeatedly takes the pair with the highest ratio among the pairs whose polygons are both unmatched.
 *   COCO's evaluation does this for detections of equal score. Ties go to the lower p, then to the lower q. O(n log n)
 *   for n pairs.
 * - `optimal`: finds the maximum number of matches and, among those, the highest sum of ratios, like StarDist's
 *   evaluation. Ratios are rounded to multiples of 2⁻³². Groups of pairs that share no polygon are solved one by one,
 *   each in O(m n log n) at worst for m polygons of `p` and n pairs.
 *
 * Suppose that no two polygons of the same side overlap. With a threshold above ½, each polygon then has at most one
 * partner. With a threshold of exactly ½, a polygon may also have two partners, which are its exact halves. In both
 * cases, the two methods find the same number of matches with the same sum of ratios.
 *
 * `optimal` always finds the same number of matches and the same sum if the sides are swapped. The same pairs give the
 * same matches on every platform.
 *
 * @throws `ArgumentError` `compare/min-iou` for a threshold that is not above 0 and at most 1.
 * @example
 * // Pair 0–0 has the highest ratio, but matching it rules out both other pairs.
 * const pairs = { p: Uint32Array.of(0, 0, 1), q: Uint32Array.of(0, 1, 0), ratio: Float64Array.of(0.6, 0.5, 0.5) };
 * const greedy = matchPairs(pairs, { minIou: 0.3, method: 'greedy' });
 * const optimal = matchPairs(pairs, { minIou: 0.3, method: 'optimal' });
 * [greedy, optimal]; // [Uint32Array [0], Uint32Array [1, 2]]
 */
export function matchPairs(pairs: RatedPairs, options: MatchOptions): Uint32Array {
  requireArguments('matchPairs', { pairs, options }, { pairs: someRatedPairs, options: aMatching });
  const { minIou, method } = options;
  const eligible = Uint32Array.from(pairs.ratio.keys()).filter((i) => pairs.ratio[i]! >= minIou);
  const matches = method === 'greedy' ? matchGreedily(pairs, eligible) : matchOptimally(pairs, eligible);
  return matches.sort();
}

function matchGreedily({ p, q, ratio }: RatedPairs, eligible: Uint32Array): Uint32Array {
  const [usedP, usedQ] = [new Set<number>(), new Set<number>()];
  // Pairs are ordered by (p, q), so a lower index breaks ties.
  const best = eligible.sort((a, b) => ratio[b]! - ratio[a]! || a - b);
  return best.filter((i) => {
    if (usedP.has(p[i]!) || usedQ.has(q[i]!)) return false;
    usedP.add(p[i]!);
    usedQ.add(q[i]!);
    return true;
  });
}

function matchOptimally(pairs: RatedPairs, eligible: Uint32Array): Uint32Array {
  const matches: number[] = [];
  for (const group of groupsOf(pairs, eligible)) {
    if (group.length === 1) matches.push(group[0]!);
    else for (const chosen of assignGroup(pairs, group)) matches.push(chosen);
  }
  return Uint32Array.from(matches);
}

/**
 * Groups of pairs that share polygons, directly or through other pairs of the group. Each group lists its pairs in
 * ascending order.
 */
function groupsOf({ p, q }: RatedPairs, eligible: Uint32Array): Iterable<number[]> {
  const parent = Uint32Array.from(eligible.keys());
  const root = (k: number): number => {
    let top = k;
    while (parent[top] !== top) top = parent[top] = parent[parent[top]!]!;
    return top;
  };
  const join = (seen: Map<number, number>, polygon: number, k: number): void => {
    const other = seen.get(polygon);
    if (other === undefined) seen.set(polygon, k);
    else parent[root(k)] = root(other);
  };
  const [seenP, seenQ] = [new Map<number, number>(), new Map<number, number>()];
  for (const [k, pair] of eligible.entries()) {
    join(seenP, p[pair]!, k);
    join(seenQ, q[pair]!, k);
  }
  const groups = new Map<number, number[]>();
  for (const [k, pair] of eligible.entries()) {
    const group = groups.get(root(k));
    if (group === undefined) groups.set(root(k), [pair]);
    else group.push(pair);
  }
  return groups.values();
}

const COST_UNITS = 2 ** 32;

function assignGroup({ p, q, ratio }: RatedPairs, group: readonly number[]): number[] {
  const [rows, columns] = [ranks(group.map((pair) => p[pair]!)), ranks(group.map((pair) => q[pair]!))];
  const edges = {
    row: group.map((pair) => rows.get(p[pair]!)!),
    column: group.map((pair) => columns.get(q[pair]!)!),
    cost: group.map((pair) => COST_UNITS - Math.round(ratio[pair]! * COST_UNITS)),
  };
  return assign(rows.size, columns.size, edges).map((edge) => group[edge]!);
}

/** Maps each polygon to a rank, numbered from 0 in order of first occurrence. */
function ranks(polygons: readonly number[]): Map<number, number> {
  const ranked = new Map<number, number>();
  for (const polygon of polygons) if (!ranked.has(polygon)) ranked.set(polygon, ranked.size);
  return ranked;
}
