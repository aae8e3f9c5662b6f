import type { NarrowSample } from '../../../algorithms/geometry/raster.ts';
import { lengthsFault, placeSquare, squaresOf, WRONG_TREE } from './bq-squares.ts';
import { sampleBits } from './layout.ts';

/**
 * Returns a function that decodes a tile of BQ-trees on the host, to the bits of its cells. It returns what is wrong with
 * the bytes, or undefined. Whatever they are, it takes no more memory than the tile, and time for each byte and cell.
 */
export function bqDecoder(
  sample: NarrowSample,
  tileColumns: number,
  tileRows: number,
): (data: Uint8Array, plane: Int32Array) => string | undefined {
  const squares = squaresOf(tileColumns, tileRows);
  const decodeTree = treeDecoder(squares.side, sampleBits(sample));
  const cells = new Int32Array(squares.side ** 2);
  return (data, plane) => {
    const fault = lengthsFault(data, squares);
    if (fault !== undefined) return fault;
    const view = new DataView(data.buffer, data.byteOffset, data.length);
    let start = 4 * squares.count;
    for (let square = 0; square < squares.count; square++) {
      const end = start + 4 * view.getUint32(4 * square, true);
      if (!decodeTree(data.subarray(start, end), cells)) return WRONG_TREE;
      placeSquare(squares, square, { tileColumns, tileRows }, cells, 0, plane);
      start = end;
    }
    return undefined;
  };
}

/** Columns and rows of a last quadrant. */
const LAST = 4;

/**
 * Returns a function that decodes a tree, as `BqTrees` of `algorithms/bq-tree` specifies it, and returns whether it is
 * sound.
 */
function treeDecoder(side: number, planes: number) {
  const levels = Math.log2(side / LAST);
  const firsts = firstCells(side, levels);
  const low = 2 ** planes - 1;
  // The nodes of a level and of the next one: planes that are 1 everywhere, and planes that are mixed.
  let [ones, mixed] = [new Int32Array(4 ** levels), new Int32Array(4 ** levels)];
  let [onesBelow, mixedBelow] = [ones.slice(), mixed.slice()];
  return (data: Uint8Array, cells: Int32Array): boolean => {
    let at = planes === 32 ? 8 : 4;
    if (data.length < at) return false;
    const view = new DataView(data.buffer, data.byteOffset, data.length);
    const root = view.getUint32(0, true);
    ones[0] = root & low;
    mixed[0] = planes === 32 ? view.getUint32(4, true) : (root >>> planes) & low;
    let isWrong = ones[0] & mixed[0];
    for (let level = 0, nodes = 1; level < levels; level++, nodes *= 4) {
      for (let node = 0; node < nodes; node++) {
        onesBelow.fill(ones[node]!, 4 * node, 4 * node + 4);
        mixedBelow.fill(0, 4 * node, 4 * node + 4);
        for (let rest = mixed[node]!; rest !== 0; rest &= rest - 1) {
          const plane = rest & -rest;
          const states = data[at++]!;
          for (let child = 0; child < 4; child++) {
            const state = (states >> (2 * child)) & 3;
            if ((state & 1) !== 0) onesBelow[4 * node + child]! |= plane;
            if ((state & 2) !== 0) mixedBelow[4 * node + child]! |= plane;
            if (state === 3) isWrong = 1;
          }
        }
      }
      [ones, onesBelow] = [onesBelow, ones];
      [mixed, mixedBelow] = [mixedBelow, mixed];
    }
    at += at & 1;
    for (const [quadrant, first] of firsts.entries()) {
      for (let row = 0; row < LAST; row++) cells.fill(ones[quadrant]!, first + row * side, first + row * side + LAST);
      for (let rest = mixed[quadrant]!; rest !== 0; rest &= rest - 1, at += 2) {
        const plane = rest & -rest;
        for (let bits = data[at]! | (data[at + 1]! << 8); bits !== 0; bits &= bits - 1) {
          const bit = 31 - Math.clz32(bits & -bits);
          cells[first + (bit >> 2) * side + (bit & 3)]! |= plane;
        }
      }
    }
    return isWrong === 0 && ((at + 3) & ~3) === data.length;
  };
}

/** The index of the first cell of every last quadrant, in Morton order. */
function firstCells(side: number, levels: number): Uint32Array {
  const firsts = new Uint32Array(4 ** levels);
  for (const quadrant of firsts.keys()) {
    let [column, row] = [0, 0];
    for (let bit = 0; bit < levels; bit++) {
      column |= ((quadrant >> (2 * bit)) & 1) << bit;
      row |= ((quadrant >> (2 * bit + 1)) & 1) << bit;
    }
    firsts[quadrant] = LAST * (row * side + column);
  }
  return firsts;
}
