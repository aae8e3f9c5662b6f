import { bitsFrom } from '../../../primitives/functors/packed-bits.ts';
import {
  array,
  type Column,
  type Context,
  For,
  fn,
  Let,
  map,
  minimum,
  reduce,
  select,
  sequence,
  u32,
  uniform,
  Var,
} from '../../../primitives/index.ts';
import { crcOfWords, deviceCrcTable } from './device-crc32c.ts';

/** What is checked of tiles; a row for each tile. */
export interface CheckedTiles {
  /** Index of the first word of the payload, and its number of bytes, mask included. */
  readonly at: Uint32Array;
  readonly bytes: Uint32Array;
  readonly checksum: Uint32Array;
  /** Number of words of the widths and residuals; 0 for a tile that has none. */
  readonly words: Uint32Array;
}

/** Stands for no tile. */
const NO_TILE = 2 ** 32 - 1;

/**
 * Checks the payloads of tiles on a device: their checksums, and that the widths of residuals add up to their words.
 * Returns the number of the first tile that fails, or 2^32 − 1, as a column of one row.
 *
 * - Work O(bytes), span O(bytes of a tile).
 *
 * @param blocks - Number of blocks of a tile.
 */
export function findDamagedTile(
  context: Context,
  words: Column<'u32'>,
  tiles: CheckedTiles,
  blocks: number,
): Column<'u32'> {
  return context.scope(() => {
    const columns = {
      at: context.column(tiles.at),
      bytes: context.column(tiles.bytes),
      checksum: context.column(tiles.checksum),
      expected: context.column(tiles.words),
    };
    const table = context.column(deviceCrcTable());
    const failed = map(damagedTile, { index: sequence(tiles.at.length), ...columns, words, table, blocks });
    return reduce(failed, minimum(u32));
  });
}

const damagedTile = fn(
  'damagedTile',
  {
    index: u32,
    at: u32,
    bytes: u32,
    checksum: u32,
    expected: u32,
    words: array(u32),
    table: array(u32),
    blocks: uniform(u32),
  },
  u32,
  ({ index, at, bytes, checksum, expected, words, table, blocks }) => {
    const isRight = crcOfWords(words, table, at, bytes).eq(checksum);
    const head = Let(words.at(at));
    const bits = Let(head.shr(8).and(0xff));
    const mask = Let(u32(1).shl(bits.and(7)).sub(1));
    // Equal widths take no bits. One of them stands for all.
    const read = Let(select(blocks, 1, bits.eq(0)));
    const sum = Var(u32(0));
    For(0, select(u32(0), read, expected.ne(0)), (block) => {
      const width = Let(head.and(0xff).add(bitsFrom(words, at, bits.mul(block).add(16)).and(mask)));
      // A width beyond 32 makes the sum too large to be right.
      sum.set(sum.add(select(width, u32(0x10000), width.gt(32))));
    });
    const used = bits
      .mul(blocks)
      .add(7)
      .shr(3)
      .add(5)
      .shr(2)
      .add(sum.mul(blocks.div(read)));
    const addsUp = expected.eq(0).or(used.eq(expected).and(bits.le(6)));
    return select(index, u32(NO_TILE), isRight.and(addsUp));
  },
);
