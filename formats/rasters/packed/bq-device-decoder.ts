import { decodeBqTrees } from '../../../algorithms/bq-tree/index.ts';
import type { Context } from '../../../primitives/index.ts';
import { cellFormat, lengthsFault, placeSquare, squaresOf, WRONG_TREE } from './bq-squares.ts';
import type { TileCoding } from './tile-scan.ts';

/** Decodes tiles of BQ-trees on a device: for each, the bits of its cells, or what is wrong with it. */
export interface BqDeviceDecoder {
  /** Number of tiles that are decoded at once. */
  readonly tiles: number;
  /** @param data - For each tile, its bytes without the mask. */
  decode(data: readonly Uint8Array[]): Promise<(Int32Array | string)[]>;
}

/** Number of cells that are decoded at once, if a tile has no more. */
const CELLS_AT_ONCE = 2 ** 22;

export function bqDeviceDecoder(context: Context, coding: TileCoding): BqDeviceDecoder {
  const { tileColumns, tileRows, sample } = coding;
  const squares = squaresOf(tileColumns, tileRows);
  const { side, count } = squares;
  const decodeSound = async (data: readonly Uint8Array[]): Promise<(Int32Array | string)[]> => {
    const decoded = context.scope(() => {
      const [words, lengths] = [joinedWords(data, count), new Uint32Array(data.length * count)];
      for (const [tile, bytes] of data.entries()) lengths.set(wordsIn(bytes.subarray(0, 4 * count)), tile * count);
      const trees = { words: context.column(words), lengths: context.column(lengths) };
      return { ...decodeBqTrees(context, trees, { side, as: cellFormat(sample) }) };
    });
    try {
      const { cells, isSound } = await context.read(decoded);
      return data.map((_, tile) => {
        if (isSound.subarray(tile * count, (tile + 1) * count).includes(0)) return WRONG_TREE;
        const plane = new Int32Array(tileColumns * tileRows);
        for (let square = 0; square < count; square++) {
          placeSquare(squares, square, coding, cells, (tile * count + square) * side ** 2, plane);
        }
        return plane;
      });
    } finally {
      context.dispose(decoded);
    }
  };
  return {
    tiles: Math.max(1, Math.floor(CELLS_AT_ONCE / (count * side ** 2))),
    async decode(data) {
      const faults = data.map((bytes) => lengthsFault(bytes, squares));
      const sound = await decodeSound(data.filter((_, tile) => faults[tile] === undefined));
      let next = 0;
      return faults.map((fault) => fault ?? sound[next++]!);
    },
  };
}

/** The words of all trees, without those in front that state their lengths. */
function joinedWords(data: readonly Uint8Array[], count: number): Uint32Array {
  const words = new Uint32Array(data.reduce((sum, bytes) => sum + bytes.length / 4 - count, 0));
  let at = 0;
  for (const bytes of data) {
    const own = wordsIn(bytes.subarray(4 * count));
    words.set(own, at);
    at += own.length;
  }
  return words;
}

function wordsIn(bytes: Uint8Array): Uint32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return Uint32Array.from({ length: bytes.length / 4 }, (_, at) => view.getUint32(4 * at, true));
}
