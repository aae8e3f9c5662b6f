import type { RasterGrid } from '../../algorithms/geometry/raster.ts';
import type { RowCrossings } from '../../algorithms/geometry/row-crossings.ts';

/**
 * Finds the spans of all zones by scan conversion, on one thread with typed arrays. The edges of a zone are grouped by
 * their first row. A table of active edges advances from row to row in integer arithmetic; the cells between each pair
 * of crossings are a span inside the zone.
 *
 * @param span - Called for every span with its zone, its row, its first cell, and the cell after its last one. Zones
 * come in descending order. The spans of one zone come in ascending order of rows.
 */
export function sweepSpans(
  crossings: RowCrossings,
  { width, height }: RasterGrid,
  span: (zone: number, row: number, from: number, to: number) => void,
): void {
  const { zone, firstRow } = crossings;
  const active = createActiveEdges(crossings);
  /**
   * For each row, the first of the zone's edges that start in this row. `next` links the edges that start in the same
   * row; −1 ends a list.
   */
  const head = new Int32Array(height).fill(-1);
  const next = new Int32Array(zone.length);
  for (let to = zone.length, from = to; to > 0; to = from) {
    let row = height;
    let lastStart = 0;
    for (; from > 0 && zone[from - 1] === zone[to - 1]; from--) {
      const first = firstRow[from - 1]!;
      next[from - 1] = head[first]!;
      head[first] = from - 1;
      row = Math.min(row, first);
      lastStart = Math.max(lastStart, first);
    }
    for (; row <= lastStart || active.count > 0; row++) {
      for (let edge = head[row]!; edge >= 0; edge = next[edge]!) active.enter(edge);
      head[row] = -1;
      for (let i = 0; i + 1 < active.count; i += 2) {
        const left = Math.max(0, active.column[i]!);
        const right = Math.min(width, active.column[i + 1]!);
        if (left < right) span(zone[from]!, row, row * width + left, row * width + right);
      }
      active.step();
    }
  }
}

/** The edges that cross the current row, from the leftmost crossing to the rightmost. */
interface ActiveEdges {
  count: number;
  readonly column: Int32Array;
  enter(edge: number): void;
  /** Advances all edges to the next row, and removes edges that end. */
  step(): void;
}

function createActiveEdges({ rows, firstColumn, columnStep, start, rest, height }: RowCrossings): ActiveEdges {
  const column = new Int32Array(rows.length);
  const edge = new Int32Array(rows.length);
  const fraction = new Float64Array(rows.length);
  const rowsLeft = new Int32Array(rows.length);
  const edges: ActiveEdges = {
    count: 0,
    column,
    enter(e) {
      insert(edges.count++, firstColumn[e]!, e, start[e]!, rows[e]!);
    },
    step() {
      const { count } = edges;
      let kept = 0;
      for (let i = 0; i < count; i++) {
        const left = rowsLeft[i]! - 1;
        if (left === 0) continue;
        const e = edge[i]!;
        let f = fraction[i]! + rest[e]!;
        let c = column[i]! + columnStep[e]!;
        if (f >= height[e]!) {
          f -= height[e]!;
          c++;
        }
        insert(kept++, c, e, f, left);
      }
      edges.count = kept;
    },
  };
  return edges;

  /**
   * Inserts an edge among the first `count` edges, which are sorted by column. The search begins at the last of these
   * edges, because there are few edges and they arrive nearly in order.
   */
  function insert(count: number, c: number, e: number, f: number, left: number): void {
    let at = count;
    for (; at > 0 && column[at - 1]! > c; at--) {
      column[at] = column[at - 1]!;
      edge[at] = edge[at - 1]!;
      fraction[at] = fraction[at - 1]!;
      rowsLeft[at] = rowsLeft[at - 1]!;
    }
    column[at] = c;
    edge[at] = e;
    fraction[at] = f;
    rowsLeft[at] = left;
  }
}
