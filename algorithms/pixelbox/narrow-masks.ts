import {
  array,
  bitsToI32,
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
  u32,
  Var,
} from '../../primitives/index.ts';
import { boxOf, boxRecords, type Selection, sharedBox, vertexTotal } from './boxes.ts';
import type { PairColumns } from './pair-tables.ts';
import { type Regions, vertexCount } from './regions.ts';
import { bitsFrom, flipAroundRings, type RingTable, uploadRings } from './ring-walk.ts';
import { appendRuns, emptyRuns } from './runs.ts';

/** Maximum width in pixels of a narrow region, whose mask has one word per row. */
const WIDEST = 32;
/** Maximum height in pixels of a narrow region, so that positions of words are 32-bit numbers. */
const TALLEST = 2 ** 20 - 1;

/** Whether the mask of a region can have one word per row. */
export function isNarrow({ left, right, top, bottom }: Regions, region: number): boolean {
  return right[region]! - left[region]! <= WIDEST && bottom[region]! - top[region]! <= TALLEST;
}

/** Number of words of the mask of a narrow region: one per row, and a final zero. */
export function narrowWords({ top, bottom }: Regions, region: number): number {
  return bottom[region]! - top[region]! + 1;
}

/** Narrow regions on a device, and where their masks are stored. */
export interface NarrowRegions {
  /** The runs of regions whose vertices are only on the host. Regions with vertices on the device are in `tables`. */
  readonly runs: {
    /** For each run, the index of the word of its row. */
    readonly word: Column<'u32'>;
    /** The columns where a run begins and ends, as from · 2⁶ + to, relative to the left of the region's box. */
    readonly columns: Column<'u32'>;
  };
  readonly tables: readonly RingTable[];
  readonly boxes: Column<'i32'>;
  readonly words: number;
}

/** Uploads the selected regions, which must be narrow. They are numbered in the order of the selections. */
export function uploadNarrowRegions(context: Context, selections: readonly Selection[]): NarrowRegions {
  const packed = packedRuns(roomForEdges(selections));
  const tables: RingTable[] = [];
  const starts = new Uint32Array(selections.reduce((sum, { members }) => sum + members.length, 0));
  let [local, words] = [0, 0];
  for (const { regions, members } of selections) {
    const { vertices } = regions;
    if (vertices !== undefined) tables.push(uploadRings(context, regions, vertices, members, local));
    for (let i = 0; i < members.length; i++) {
      const member = members[i]!;
      if (vertices === undefined && !packLevelEdges(packed, regions, member, words)) {
        packStairs(packed, regions, member, words);
      }
      starts[local++] = words;
      words += narrowWords(regions, member);
    }
  }
  return {
    runs: {
      word: context.column(packed.word.subarray(0, packed.length)),
      columns: context.column(packed.columns.subarray(0, packed.length)),
    },
    tables,
    boxes: context.column(boxRecords(selections, { words: starts })),
    words,
  };
}

/**
 * Initial room for packed edges: half of the edges of all regions whose vertices are only on the host. In outlines of
 * pixels, horizontal and vertical edges alternate, and only the horizontal ones are packed. Other regions may need
 * more.
 */
function roomForEdges(selections: readonly Selection[]): number {
  return vertexTotal(selections.filter(({ regions }) => regions.vertices === undefined)) >> 1;
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

/**
 * Packs the horizontal edges of a region if horizontal and vertical edges alternate around every ring, as in outlines
 * of pixels. Otherwise packs nothing and returns false. An edge of length 0 is harmless, because it flips no pixel.
 */
function packLevelEdges(packed: PackedRuns, regions: Regions, member: number, firstWord: number): boolean {
  const { polygonRings, ringVertices, x, y } = regions;
  const left = regions.left[member]!;
  const origin = firstWord - regions.top[member]!;
  reserve(packed, vertexCount(regions, member) >> 1);
  const { word, columns } = packed;
  let { length } = packed;
  let others = 0;
  for (let ring = polygonRings[member]!; ring < polygonRings[member + 1]!; ring++) {
    const start = ringVertices[ring]!;
    const end = ringVertices[ring + 1]!;
    if (((end - start) & 1) === 1) return false;
    if (start === end) continue;
    const skipped = y[start] === y[start + 1] ? 1 : 0;
    let from = skipped === 1 ? start : end - 1;
    let last = x[end - 2 + skipped]!;
    for (let to = start + skipped; to < end; from = to + 1, to += 2, length++) {
      const column = x[from]!;
      const row = y[from]!;
      others |= (column ^ last) | (row ^ y[to]!);
      last = x[to]!;
      word[length] = origin + row;
      columns[length] = ((column - left) << 6) | (last - left);
    }
  }
  if (others !== 0) return false;
  packed.length = length;
  return true;
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

/** Masks of narrow regions: one word per row of their boxes, one bit per pixel. */
export interface NarrowMasks {
  readonly boxes: Column<'i32'>;
  readonly words: Column<'u32'>;
}

/** The bits that a run flips in the word of its row: the bits between the columns where it begins and ends. */
const narrowToggle = fn('narrowToggle', { columns: u32 }, u32, ({ columns }) =>
  bitsFrom(bitsToI32(columns.shr(6))).xor(bitsFrom(bitsToI32(columns.and(63)))),
);

/**
 * Draws the masks of narrow regions. Every run flips its bits in its row, and an XOR scan down the rows turns these
 * flips into masks. A single scan covers all regions, because the last word of each region becomes 0 and so does not
 * affect the next region.
 *
 * - Work O(runs + vertices of rings + rows), span O(vertices of the longest ring + log rows). No pixel is tested
 *   against an edge, and runs come in any order.
 */
export function narrowMasks(context: Context, { runs, tables, boxes, words: count }: NarrowRegions): NarrowMasks {
  return context.scope(() => {
    const words = context.materialize(constant(u32, 0, count));
    if (runs.word.length !== 0) scatterReduce(map(narrowToggle, { columns: runs.columns }), runs.word, 'xor', words);
    for (const table of tables) flipAroundRings(table, boxes, words);
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
 * ‖p∩q‖ in pixels for pairs of narrow regions, as a view: the number of ones in the AND of their words, over the rows
 * that the two regions share.
 *
 * - Work O(rows shared) per pair, in one thread per pair.
 */
export function narrowAreas(pairs: PairColumns, { boxes, words }: NarrowMasks): Column<'u32'> {
  return map(narrowArea, { p: pairs.p, q: pairs.q, boxes, words });
}
