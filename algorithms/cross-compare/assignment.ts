import { minHeap } from './min-heap.ts';

/**
 * The edges of a bipartite graph whose two sets of nodes are called rows and columns. Element i of each array belongs
 * to edge i. Edges are ordered by row.
 */
export interface Edges {
  readonly row: readonly number[];
  readonly column: readonly number[];
  /** Costs of the edges, integers from 0 to 2³². */
  readonly cost: readonly number[];
}

/**
 * Finds a matching with the maximum number of edges and, among all such matchings, the minimum total cost. Returns the
 * indices of its edges, ordered by row.
 *
 * Uses the Hungarian method on sparse edges: rows are added one by one, each by a shortest augmenting path under
 * reduced costs. Each row also has a private column. If a row takes its private column, it stays unmatched. The cost of
 * this column exceeds the cost of every matching. All numbers are integers below 2⁵³ for up to 2¹⁸ rows, so nothing is
 * rounded. Ties are broken by the order of rows and columns.
 */
export function assign(rows: number, columns: number, edges: Edges): number[] {
  const state = startOf(rows, columns, edges);
  for (let row = 0; row < rows; row++) addRow(state, row);
  return Array.from(state.edgeOf).filter((edge) => edge !== ALONE);
}

const ALONE = -1;
const FREE = -1;

interface State {
  readonly edges: Edges;
  /** Edges of row `r` are those with the indices `start[r] … start[r + 1] − 1`. */
  readonly start: Uint32Array;
  /** Cost of leaving a row unmatched. */
  readonly aloneCost: number;
  /**
   * Prices (dual variables) of rows and columns. The reduced cost of an edge, cost − rowPrice − columnPrice, is at
   * least 0, and it is 0 for matched edges.
   */
  readonly rowPrice: Float64Array;
  readonly columnPrice: Float64Array;
  /** Index of the matched edge of each row, or `ALONE`. */
  readonly edgeOf: Int32Array;
  /** The row matched to each column, or `FREE`. */
  readonly rowOf: Int32Array;
}

function startOf(rows: number, columns: number, edges: Edges): State {
  const start = new Uint32Array(rows + 1);
  for (const row of edges.row) start[row + 1]!++;
  for (let row = 0; row < rows; row++) start[row + 1]! += start[row]!;
  return {
    edges,
    start,
    aloneCost: (rows + 1) * 2 ** 32,
    rowPrice: new Float64Array(rows),
    columnPrice: new Float64Array(columns),
    edgeOf: new Int32Array(rows).fill(ALONE),
    rowOf: new Int32Array(columns).fill(FREE),
  };
}

/** The explored part of the tree of shortest alternating paths from a row. */
interface Search {
  /** Maps each column whose distance from the row is final to this distance. Nearest columns come first. */
  readonly settled: Map<number, number>;
  /** Maps each column reached so far to the index of the last edge of its path. */
  readonly cameBy: Map<number, number>;
  readonly length: number;
  /** Where the path ends: at a free column, or at a row that is left unmatched. */
  readonly end: { readonly column: number } | { readonly row: number };
}

function addRow(state: State, row: number): void {
  const search = shortestPath(state, row);
  raisePrices(state, row, search);
  augment(state, row, search);
}

/**
 * Dijkstra's algorithm from a row to the nearest free column. The private column of a row, which the row takes to stay
 * unmatched, is always free.
 */
function shortestPath({ edges, start, aloneCost, rowPrice, columnPrice, rowOf }: State, from: number): Search {
  const settled = new Map<number, number>();
  const cameBy = new Map<number, number>();
  const reached = new Map<number, number>();
  const open = minHeap();
  let [alone, aloneRow] = [Number.POSITIVE_INFINITY, from];
  const visit = (row: number, distance: number): void => {
    if (distance + aloneCost - rowPrice[row]! < alone) {
      [alone, aloneRow] = [distance + aloneCost - rowPrice[row]!, row];
    }
    for (let edge = start[row]!; edge < start[row + 1]!; edge++) {
      const column = edges.column[edge]!;
      const there = distance + edges.cost[edge]! - rowPrice[row]! - columnPrice[column]!;
      if (there >= (reached.get(column) ?? Number.POSITIVE_INFINITY)) continue;
      reached.set(column, there);
      cameBy.set(column, edge);
      open.push(there, column);
    }
  };
  visit(from, 0);
  for (let next = open.pop(); next !== undefined && next.key <= alone; next = open.pop()) {
    const { key: distance, value: column } = next;
    if (settled.has(column)) continue;
    if (rowOf[column] === FREE) return { settled, cameBy, length: distance, end: { column } };
    settled.set(column, distance);
    visit(rowOf[column]!, distance);
  }
  return { settled, cameBy, length: alone, end: { row: aloneRow } };
}

function raisePrices({ rowPrice, columnPrice, rowOf }: State, from: number, { settled, length }: Search): void {
  rowPrice[from]! += length;
  for (const [column, distance] of settled) {
    columnPrice[column]! -= length - distance;
    rowPrice[rowOf[column]!]! += length - distance;
  }
}

/** Flips matched and unmatched edges along the path, from its end back to its first row. */
function augment({ edges, edgeOf, rowOf }: State, from: number, { cameBy, end }: Search): void {
  let column: number;
  if ('column' in end) column = end.column;
  else if (end.row === from) return;
  else {
    column = edges.column[edgeOf[end.row]!]!;
    edgeOf[end.row] = ALONE;
  }
  for (;;) {
    const edge = cameBy.get(column)!;
    const row = edges.row[edge]!;
    const previous = edgeOf[row]!;
    edgeOf[row] = edge;
    rowOf[column] = row;
    if (row === from) return;
    column = edges.column[previous]!;
  }
}
