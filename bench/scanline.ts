import { snapToGrid } from '../algorithms/geometry/grid.ts';
import type { Polygons } from '../algorithms/geometry/polygons.ts';
import type { RasterGrid } from '../algorithms/geometry/raster.ts';
import { type RowCrossings, rowCrossings } from '../algorithms/geometry/row-crossings.ts';

/** Histograms that a zone is counted into in turn, so that equal neighbours do not wait for each other's store. */
const TURNS = 4;

/** Rows whose spans are counted together, zone by zone: the cells stay in the cache, and so does the zone's histogram. */
const BAND = 64;

/**
 * The peer of `bench/zonal.ts`: zonal histograms by scan conversion on one thread, in plain typed arrays. A zone's edges in
 * buckets by their first row, a table of active edges that steps from row to row in whole numbers, spans between pairs of
 * crossings; then, band by band of rows, a tight loop over the cells of every span. The cell rule is that of
 * `zonalHistogram`.
 *
 * @returns `slots` counts a zone.
 */
export function scanline(
  polygons: Polygons,
  grid: RasterGrid,
  cells: Uint16Array,
  slotOf: Uint16Array,
  slots: number,
): Int32Array {
  const snapped = snapToGrid(polygons, grid);
  const zones = polygons.zoneRings.length - 1;
  const spans = findSpans(rowCrossings(snapped, grid, noShifts(zones)), grid);
  const turns = new Int32Array(TURNS * slots);
  const counts = new Int32Array(zones * slots);
  for (const head of spans.bands) {
    for (let span = head; span >= 0; ) {
      const zone = spans.zone[span]!;
      for (; span >= 0 && spans.zone[span] === zone; span = spans.next[span]!) {
        countSpan(cells, spans.from[span]!, spans.to[span]!, slotOf, turns, slots);
      }
      addTurns(turns, counts, zone * slots, slots);
    }
  }
  return counts;
}

/** The raster is read as it lies: no longitudes come round. */
function noShifts(zones: number): number[][] {
  return Array.from({ length: zones }, () => [0]);
}

/** Runs of cells of one row in one zone, in a list for every band of rows, each list in the order of the zones. */
interface Spans {
  readonly zone: Int32Array;
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** The next span of the list; −1 behind the last. */
  readonly next: Int32Array;
  /** The first span of every band. */
  readonly bands: Int32Array;
}

function findSpans(crossings: RowCrossings, { width, height }: RasterGrid): Spans {
  const { zone, firstRow, rows } = crossings;
  const capacity = rows.reduce((sum, n) => sum + n, 0) >> 1;
  const bands = new Int32Array(Math.ceil(height / BAND)).fill(-1);
  const spans: Spans = {
    zone: new Int32Array(capacity),
    from: new Int32Array(capacity),
    to: new Int32Array(capacity),
    next: new Int32Array(capacity),
    bands,
  };
  const active = createActiveEdges(crossings);
  /** For every row the first edge of the zone that starts there, and for every edge the next one; −1 is none. */
  const head = new Int32Array(height).fill(-1);
  const next = new Int32Array(zone.length);
  let count = 0;
  // From the last zone to the first, as spans go to the heads of the lists.
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
      const band = Math.floor(row / BAND);
      for (let i = 0; i + 1 < active.count; i += 2) {
        const left = Math.max(0, active.column[i]!);
        const right = Math.min(width, active.column[i + 1]!);
        if (left >= right) continue;
        spans.zone[count] = zone[from]!;
        spans.from[count] = row * width + left;
        spans.to[count] = row * width + right;
        spans.next[count] = bands[band]!;
        bands[band] = count++;
      }
      active.step();
    }
  }
  return spans;
}

/** The edges that cross the row at hand, in the order of their columns. */
interface ActiveEdges {
  count: number;
  readonly column: Int32Array;
  enter(edge: number): void;
  /** Moves to the next row and drops the edges that end. */
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

  /** Puts an edge behind the first `count`, or further ahead: they are few, and nearly in order. */
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

function countSpan(
  cells: Uint16Array,
  from: number,
  to: number,
  slotOf: Uint16Array,
  turns: Int32Array,
  slots: number,
): void {
  const second = slots;
  const third = 2 * slots;
  const fourth = 3 * slots;
  let i = from;
  for (; i + TURNS <= to; i += TURNS) {
    const a = slotOf[cells[i]!]!;
    const b = slotOf[cells[i + 1]!]! + second;
    const c = slotOf[cells[i + 2]!]! + third;
    const d = slotOf[cells[i + 3]!]! + fourth;
    turns[a] = turns[a]! + 1;
    turns[b] = turns[b]! + 1;
    turns[c] = turns[c]! + 1;
    turns[d] = turns[d]! + 1;
  }
  for (; i < to; i++) {
    const a = slotOf[cells[i]!]!;
    turns[a] = turns[a]! + 1;
  }
}

/** Moves what was counted of a zone to its histogram. */
function addTurns(turns: Int32Array, counts: Int32Array, at: number, slots: number): void {
  for (let slot = 0; slot < slots; slot++) {
    const sum = turns[slot]! + turns[slots + slot]! + turns[2 * slots + slot]! + turns[3 * slots + slot]!;
    counts[at + slot] = counts[at + slot]! + sum;
  }
  turns.fill(0);
}
