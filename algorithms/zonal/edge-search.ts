import type { Parameters } from '../../primitives/functors/functor.ts';
import { array, u32, uniform } from '../../primitives/functors/functor.ts';
import { select } from '../../primitives/functors/standard/choose.ts';
import type { ArrayValue, U32 } from '../../primitives/functors/value.ts';
import type { Column, Context } from '../../primitives/index.ts';

/** The values of the parameters of an {@link EdgeSearch} inside a functor. */
export interface CapturedSearch {
  readonly searchTable?: ArrayValue<'u32'>;
  readonly searchBase?: U32;
  readonly searchShift?: U32;
  readonly searchCells?: U32;
  readonly edgeCount?: U32;
}

/**
 * A search in the sorted edges of bins, in the code of functors. The search counts the edges that are at most a key, in
 * a fixed number of steps without branches.
 */
export interface EdgeSearch {
  readonly parameters: Parameters;
  readonly captures: { readonly [name: string]: Column | number };
  /** The number of edges that are at most `key`. */
  countReached(key: U32, captured: CapturedSearch): U32;
}

/** Maximum number of intervals in the lookup table. */
const MAX_CELLS = 2 ** 16;

/**
 * Creates a search in increasing u32 edges. The range from the first to the last edge is cut into intervals of equal
 * size. A table has the number of edges before each interval, and a short bisection searches the edges inside the
 * interval.
 */
export function createEdgeSearch(context: Context, edges: Uint32Array): EdgeSearch {
  const { words, ...plan } = planEdgeSearch(edges);
  const { base, shift, cells, steps } = plan;
  return {
    parameters: {
      searchTable: array(u32),
      searchBase: uniform(u32),
      searchShift: uniform(u32),
      searchCells: uniform(u32),
      edgeCount: uniform(u32),
    },
    captures: {
      searchTable: context.column(words),
      searchBase: base,
      searchShift: shift,
      searchCells: cells,
      edgeCount: edges.length,
    },
    countReached(key, { searchTable, searchBase, searchShift, searchCells, edgeCount }) {
      const cell = key.sub(searchBase!).shr(searchShift!).min(searchCells!);
      let reached = searchTable!.at(cell);
      // In the table, the first `searchCells + 1` words are counts of edges, and the edges follow.
      const first = searchCells!.add(1);
      for (let step = 2 ** (steps - 1); step >= 1; step /= 2) {
        const edge = searchTable!.at(first.add(reached).add(step - 1));
        reached = select(reached, reached.add(step), edge.le(key));
      }
      return select(reached.min(edgeCount!), u32(0), key.lt(searchBase!));
    },
  };
}

interface EdgeSearchPlan {
  readonly base: number;
  readonly shift: number;
  readonly cells: number;
  /** Number of steps of the bisection. */
  readonly steps: number;
  /**
   * The number of edges before each interval, and the number of all edges; then the edges; then padding, because the
   * bisection may read beyond the last edge.
   */
  readonly words: Uint32Array;
}

function planEdgeSearch(edges: Uint32Array): EdgeSearchPlan {
  const base = edges[0] ?? 0;
  const range = (edges.at(-1) ?? 0) - base;
  let shift = 0;
  while (Math.floor(range / 2 ** shift) + 1 > MAX_CELLS) shift++;
  const cells = Math.floor(range / 2 ** shift) + 1;
  const { before, steps } = intervalsOf(
    Array.from(edges, (edge) => (edge - base) >>> shift),
    cells,
  );
  const words = new Uint32Array(before.length + edges.length + 2 ** steps).fill(2 ** 32 - 1);
  words.set(before);
  words.set(edges, before.length);
  return { base, shift, cells, steps, words };
}

/**
 * The number of edges before each of `cells` intervals, and that of all edges; and the number of steps of a bisection in
 * the fullest interval.
 *
 * @param intervals - For each edge, in ascending order, its interval.
 */
export function intervalsOf(
  intervals: readonly number[],
  cells: number,
): { readonly before: Uint32Array; readonly steps: number } {
  const before = new Uint32Array(cells + 1).fill(intervals.length);
  for (let at = intervals.length - 1; at >= 0; at--) before[intervals[at]!] = at;
  let max = 0;
  for (let cell = cells - 1; cell >= 0; cell--) {
    // If the interval has no edges, the number of edges before it equals the number before the next interval.
    const first = Math.min(before[cell]!, before[cell + 1]!);
    max = Math.max(max, before[cell + 1]! - first);
    before[cell] = first;
  }
  return { before, steps: Math.ceil(Math.log2(max + 1)) };
}
