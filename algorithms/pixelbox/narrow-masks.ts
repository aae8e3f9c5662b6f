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
/** Rows of a narrow region, at most: places of words are 32-bit numbers. */
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
  /** The word of every run's row. */
  readonly word: Column<'u32'>;
  /** From · 2⁶ + to, counted from the left of the region's box. */
  readonly columns: Column<'u32'>;
  readonly boxes: Column<'i32'>;
  readonly words: number;
}

/** Puts the runs of selected regions, all of them narrow, on the device; regions are numbered as they come. */
export function uploadNarrowRuns(context: Context, selections: readonly Selection[]): NarrowRuns {
  const count = selections.reduce((sum, { members }) => sum + members.length, 0);
  const packed = packedRuns(selections.reduce((sum, selection) => sum + alternatingEdges(selection), 0));
  const starts = new Uint32Array(count);
  let [local, words] = [0, 0];
  for (const { regions, members } of selections) {
    for (let i = 0; i < members.length; i++, local++) {
      const member = members[i]!;
      if (regions.alternating[member] === 1) packLevelEdges(packed, regions, member, words);
      else packStairs(packed, regions, member, words);
      starts[local] = words;
      words += narrowWords(regions, member);
    }
  }
  return {
    word: context.column(packed.word.subarray(0, packed.length)),
    columns: context.column(packed.columns.subarray(0, packed.length)),
    boxes: context.column(boxRecords(selections, { words: starts })),
    words,
  };
}

/** Level edges of the regions where every second edge is level. */
function alternatingEdges({ regions, members }: Selection): number {
  let vertices = 0;
  for (let i = 0; i < members.length; i++) {
    if (regions.alternating[members[i]!] === 1) vertices += vertexCount(regions, members[i]!);
  }
  return vertices / 2;
}

interface PackedRuns {
  word: Uint32Array;
  columns: Uint16Array;
  length: number;
}

function packedRuns(room: number): PackedRuns {
  return { word: new Uint32Array(room), columns: new Uint16Array(room), length: 0 };
}

function reserve(packed: PackedRuns, more: number): void {
  const needed = packed.length + more;
  if (needed <= packed.word.length) return;
  const larger = packedRuns(2 * needed);
  larger.word.set(packed.word);
  larger.columns.set(packed.columns);
  Object.assign(packed, { word: larger.word, columns: larger.columns });
}

/** Every second edge, from the first that is level. One of length 0 flips nothing. */
function packLevelEdges(packed: PackedRuns, regions: Regions, member: number, firstWord: number): void {
  const { polygonRings, ringVertices, x, y } = regions;
  const left = regions.left[member]!;
  const origin = firstWord - regions.top[member]!;
  reserve(packed, vertexCount(regions, member) / 2);
  const { word, columns } = packed;
  let { length } = packed;
  for (let ring = polygonRings[member]!; ring < polygonRings[member + 1]!; ring++) {
    const start = ringVertices[ring]!;
    const end = ringVertices[ring + 1]!;
    if (y[start] === y[start + 1]) {
      for (let i = start; i < end; i += 2, length++) {
        word[length] = origin + y[i]!;
        columns[length] = ((x[i]! - left) << 6) | (x[i + 1]! - left);
      }
    } else {
      for (let i = start, before = end - 1; i < end; before = i + 1, i += 2, length++) {
        word[length] = origin + y[i]!;
        columns[length] = ((x[before]! - left) << 6) | (x[i]! - left);
      }
    }
  }
  packed.length = length;
}

function packStairs(packed: PackedRuns, regions: Regions, member: number, firstWord: number): void {
  const runs = emptyRuns(vertexCount(regions, member));
  appendRuns(runs, regions, member);
  reserve(packed, runs.length);
  const [left, origin] = [regions.left[member]!, firstWord - regions.top[member]!];
  for (let i = 0; i < runs.length; i++) {
    const at = packed.length++;
    packed.word[at] = origin + runs.row[i]!;
    packed.columns[at] = ((runs.from[i]! - left) << 6) | (runs.to[i]! - left);
  }
}

/** Regions as words, one a row of their boxes, one bit a pixel. */
export interface NarrowMasks {
  readonly boxes: Column<'i32'>;
  readonly words: Column<'u32'>;
}

/** The bits of its word that a run flips, from its one column to its other. */
const narrowToggle = fn('narrowToggle', { columns: u32 }, u32, ({ columns }) =>
  bitsFrom(columns.shr(6)).xor(bitsFrom(columns.and(63))),
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
export function narrowMasks(context: Context, { word, columns, boxes, words: count }: NarrowRuns): NarrowMasks {
  return context.scope(() => {
    const words = context.materialize(constant(u32, 0, count));
    scatterReduce(map(narrowToggle, { columns }), word, 'xor', words);
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
