import { snapToGrid } from '../../algorithms/geometry/grid.ts';
import type { RasterGrid } from '../../algorithms/geometry/raster.ts';
import { type RowCrossings, rowCrossings } from '../../algorithms/geometry/row-crossings.ts';
import { noShifts, type ScanlineJob } from './scanline.ts';
import { sweepSpans } from './span-sweep.ts';

/**
 * Number of count tables that are used in turn. With one table, adjacent cells of equal value would increment the same
 * count, and each increment would wait for the store of the previous one.
 */
const TURNS = 4;

/**
 * Number of rows per band. The spans (adjacent cells of one row) of a band are counted together, zone by zone, so that
 * the cells of the band and the histogram of the zone stay in the cache.
 */
const BAND = 64;

/**
 * The second program with which `bench/zonal/zonal.ts` compares a backend: a scanline algorithm for one thread,
 * optimized as far as possible. First, all spans are found and grouped by bands of rows. Then a tight loop goes through
 * the spans of each band and counts their cells, in four tables in turn.
 *
 * @returns For each zone, a histogram with `slots` counts.
 */
export function scanlineInBands({ polygons, grid, cells, slotOf, slots }: ScanlineJob): Int32Array {
  const zones = polygons.polygonRings.length - 1;
  const spans = findSpans(rowCrossings(snapToGrid(polygons, grid), grid, { shifts: noShifts(zones) }), grid);
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

/**
 * Spans: runs of adjacent cells of one row in one zone. The spans of each band of rows are a linked list, in the order
 * of the zones.
 */
interface Spans {
  readonly zone: Int32Array;
  readonly from: Int32Array;
  readonly to: Int32Array;
  /** For each span, the next span of its list; −1 for the last one. */
  readonly next: Int32Array;
  /** For each band, the first span of its list; −1 if the band has no spans. */
  readonly bands: Int32Array;
}

function findSpans(crossings: RowCrossings, grid: RasterGrid): Spans {
  const capacity = crossings.rows.reduce((sum, n) => sum + n, 0) >> 1;
  const zone = new Int32Array(capacity);
  const from = new Int32Array(capacity);
  const to = new Int32Array(capacity);
  const next = new Int32Array(capacity);
  const bands = new Int32Array(Math.ceil(grid.height / BAND)).fill(-1);
  let count = 0;
  sweepSpans(crossings, grid, (member, row, first, end) => {
    const band = Math.floor(row / BAND);
    zone[count] = member;
    from[count] = first;
    to[count] = end;
    next[count] = bands[band]!;
    bands[band] = count++;
  });
  return { zone, from, to, next, bands };
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

/** Adds the counts of the four tables to the histogram of a zone, and clears the tables. */
function addTurns(turns: Int32Array, counts: Int32Array, at: number, slots: number): void {
  for (let slot = 0; slot < slots; slot++) {
    const sum = turns[slot]! + turns[slots + slot]! + turns[2 * slots + slot]! + turns[3 * slots + slot]!;
    counts[at + slot] = counts[at + slot]! + sum;
  }
  turns.fill(0);
}
