import {
  array,
  bitsToU32,
  bitXor,
  type Column,
  type Context,
  constant,
  For,
  fn,
  i32,
  inclusiveScan,
  map,
  popcount,
  scatterReduce,
  select,
  type U32,
  u32,
  Var,
} from '../../primitives/index.ts';
import { boxOf, boxRecords, type Selection, sharedBox } from './boxes.ts';
import type { PairColumns } from './pair-tables.ts';
import { type Regions, vertexCount } from './regions.ts';
import { appendRuns, emptyRuns } from './runs.ts';

/** Regions at most this many pixels wide have one word a row. */
const WIDEST = 32;
/** Rows that the runs of a narrow region can tell apart. */
const TALLEST = 2 ** 20 - 1;

/** Whether the mask of a region has one word a row, and its runs fit a word each. */
export function isNarrow({ left, right, top, bottom }: Regions, region: number): boolean {
  return right[region]! - left[region]! <= WIDEST && bottom[region]! - top[region]! <= TALLEST;
}

/** Words that the mask of a narrow region takes: one a row, and one more, which is zero. */
export function narrowWords({ top, bottom }: Regions, region: number): number {
  return bottom[region]! - top[region]! + 1;
}

/** The runs of narrow regions on a device, and where their masks are to be. */
export interface NarrowRuns {
  /** One a run: row · 2¹² + from · 2⁶ + to, counted from the corner of the region's box. */
  readonly run: Column<'u32'>;
  readonly region: Column<'u32'>;
  /** Where the mask of every region starts. */
  readonly starts: Column<'u32'>;
  readonly boxes: Column<'i32'>;
  readonly words: number;
}

/** Puts the runs of selected regions, all of them narrow, on the device; regions are numbered as they come. */
export function uploadNarrowRuns(context: Context, selections: readonly Selection[]): NarrowRuns {
  const count = selections.reduce((sum, { members }) => sum + members.length, 0);
  // A rectilinear ring has half as many level edges as vertices. The rest is room for one more region, of which it is not
  // known yet whether it is.
  const vertices = selections.reduce((sum, selection) => sum + verticesOf(selection), 0);
  const packed = packedRuns((vertices >> 1) + Math.min(vertices, 4096));
  const starts = new Uint32Array(count);
  let [local, words] = [0, 0];
  for (const { regions, members } of selections) {
    for (let i = 0; i < members.length; i++, local++) {
      const member = members[i]!;
      const { length } = packed;
      if (!packLevelEdges(packed, regions, member, local)) {
        packed.length = length;
        packStairs(packed, regions, member, local);
      }
      starts[local] = words;
      words += narrowWords(regions, member);
    }
  }
  return {
    run: context.column(packed.run.subarray(0, packed.length)),
    region: context.column(packed.region.subarray(0, packed.length)),
    starts: context.column(starts),
    boxes: context.column(boxRecords(selections, { words: starts })),
    words,
  };
}

function verticesOf({ regions, members }: Selection): number {
  let vertices = 0;
  for (let i = 0; i < members.length; i++) vertices += vertexCount(regions, members[i]!);
  return vertices;
}

interface PackedRuns {
  run: Uint32Array;
  region: Uint32Array;
  length: number;
}

function packedRuns(room: number): PackedRuns {
  return { run: new Uint32Array(room), region: new Uint32Array(room), length: 0 };
}

function reserve(packed: PackedRuns, more: number): void {
  const needed = packed.length + more;
  if (needed <= packed.run.length) return;
  const larger = packedRuns(2 * needed);
  larger.run.set(packed.run);
  larger.region.set(packed.region);
  Object.assign(packed, { run: larger.run, region: larger.region });
}

/** The level edges of a rectilinear region; false where it has a sloped edge. One of length 0 flips nothing. */
function packLevelEdges(packed: PackedRuns, regions: Regions, member: number, local: number): boolean {
  const { polygonRings, ringVertices, x, y } = regions;
  const left = regions.left[member]!;
  const top = regions.top[member]!;
  reserve(packed, vertexCount(regions, member));
  const { run, region } = packed;
  let length = packed.length;
  for (let ring = polygonRings[member]!; ring < polygonRings[member + 1]!; ring++) {
    const start = ringVertices[ring]!;
    const end = ringVertices[ring + 1]!;
    let lastX = x[end - 1]!;
    let lastY = y[end - 1]!;
    for (let i = start; i < end; i++) {
      const hereX = x[i]!;
      const hereY = y[i]!;
      if (hereY === lastY) {
        run[length] = ((hereY - top) << 12) | ((lastX - left) << 6) | (hereX - left);
        region[length++] = local;
      } else if (hereX !== lastX) {
        return false;
      }
      lastX = hereX;
      lastY = hereY;
    }
  }
  packed.length = length;
  return true;
}

function packStairs(packed: PackedRuns, regions: Regions, member: number, local: number): void {
  const runs = emptyRuns(vertexCount(regions, member));
  appendRuns(runs, regions, member);
  reserve(packed, runs.length);
  const [left, top] = [regions.left[member]!, regions.top[member]!];
  for (let i = 0; i < runs.length; i++) {
    const at = packed.length++;
    packed.run[at] = ((runs.row[i]! - top) << 12) | ((runs.from[i]! - left) << 6) | (runs.to[i]! - left);
    packed.region[at] = local;
  }
}

/** Regions as words, one a row of their boxes, one bit a pixel. */
export interface NarrowMasks {
  readonly boxes: Column<'i32'>;
  readonly words: Column<'u32'>;
}

/** The word that a run flips, from its one column to its other. */
const narrowToggle = fn(
  'narrowToggle',
  { run: u32, region: u32, starts: array(u32) },
  { word: u32, bits: u32 },
  ({ run, region, starts }) => ({
    word: starts.at(region).add(run.shr(12)),
    bits: bitsFrom(run.shr(6).and(63)).xor(bitsFrom(run.and(63))),
  }),
);

/** The bits from a column on, of which there are none from 32 on. */
function bitsFrom(column: U32): U32 {
  return select(u32(0), u32(2 ** 32 - 1).shl(column), column.lt(32));
}

/**
 * Draws narrow regions: every run flips its bits in its row, and an exclusive-or scan down the rows makes that the pixels
 * that are inside. One scan serves all regions, as each of them ends with zero.
 *
 * - Work O(runs + rows), span O(log rows). No pixel is tested against an edge, and runs come in any order.
 */
export function narrowMasks(context: Context, { run, region, starts, boxes, words: count }: NarrowRuns): NarrowMasks {
  return context.scope(() => {
    const words = context.materialize(constant(u32, 0, count));
    const { word, bits } = map(narrowToggle, { run, region, starts });
    scatterReduce(bits, word, 'xor', words);
    return { boxes, words: inclusiveScan(words, bitXor(u32)) };
  });
}

const narrowArea = fn(
  'narrowArea',
  { p: u32, q: u32, boxes: array(i32), words: array(u32) },
  u32,
  ({ p, q, boxes, words }) => {
    const a = boxOf(boxes, p);
    const b = boxOf(boxes, q);
    const { left, top, rows } = sharedBox(a, b);
    const shiftA = bitsToU32(left.sub(a.left));
    const shiftB = bitsToU32(left.sub(b.left));
    const firstA = a.words.add(bitsToU32(top.sub(a.top)));
    const firstB = b.words.add(bitsToU32(top.sub(b.top)));
    const pixels = Var(u32(0));
    For(0, rows, (row) => {
      const inA = words.at(firstA.add(row)).shr(shiftA);
      const inB = words.at(firstB.add(row)).shr(shiftB);
      pixels.set(pixels.add(popcount(inA.and(inB))));
    });
    return pixels;
  },
);

/**
 * ‖p∩q‖ in pixels for pairs of narrow regions, as a view: words of both in the rows they share, and as many pixels as their
 * conjunction has ones.
 *
 * - Work O(rows shared) a pair, in one thread each.
 */
export function narrowAreas(pairs: PairColumns, { boxes, words }: NarrowMasks): Column<'u32'> {
  return map(narrowArea, { p: pairs.p, q: pairs.q, boxes, words });
}
