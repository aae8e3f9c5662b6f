import { requireArguments, wrongArgument } from './checks/arguments.ts';
import { anything, aWhole, aWord, optional, someOptions, someRecord } from './checks/kinds.ts';
import { Column, type ColumnOwner, commonLength, requireType } from './columns/column.ts';
import { bytesOf, scalarOf } from './columns/host-array.ts';
import { capacityOf, scaleLength } from './columns/length.ts';
import { alive, extentOf, programOf, storedArray } from './columns/program.ts';
import { fuseColumns, storedWords } from './columns/views.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import type { ArrayBinding } from './contract/backend.ts';
import { gather } from './gather.ts';
import type { PackedFormat } from './narrow.ts';
import { sequence } from './sequence.ts';
import { MAX_CELLS } from './tile-sums.ts';

/** Where tiles of residuals begin; a row for each tile. */
export interface EncodedTiles {
  /** Index of the word in which the tile's bytes begin. */
  readonly start: Column<'u32'>;
  /** The value from which the residual of the tile's first cell is counted. */
  readonly first: Column<'u32'>;
}

/** The formats in which {@link decodeTiles} stores cells. */
export type CellFormat = 'u32' | 'i32' | PackedFormat<'u32'> | PackedFormat<'i32'>;

export interface DecodeTilesOptions<F extends CellFormat> extends ContextOption {
  /** Columns of a tile, a multiple of 4. */
  readonly columns: number;
  /** Rows of a tile. With its columns, a tile has a multiple of 32 cells, at most 2^16. */
  readonly rows: number;
  /** Format of the decoded cells, as `context.column` stores a typed array. */
  readonly as: F;
}

const FORMATS: readonly CellFormat[] = ['u32', 'i32', 'u8', 'u16', 'i8', 'i16'];

const someDecodeOptions = someOptions<DecodeTilesOptions<CellFormat>>({
  columns: aWhole(1, MAX_CELLS),
  rows: aWhole(1, MAX_CELLS),
  as: aWord(FORMATS),
  context: optional(anything),
});

/**
 * Decodes tiles of cells that are stored as residuals of the plane predictor: a cell is what its left neighbour plus the
 * upper one minus the upper left one predicts, plus its residual; neighbours outside the tile are 0. Tiles follow each
 * other in the result, row by row.
 *
 * In `words`, the bytes of a tile begin at word `start`. The cells are cut into blocks of 32, in row order, of which each
 * has a width, the number of bits of its residuals. The first byte is the smallest width, and the second the bits of a
 * difference, from 0 to 6. The differences of all blocks from the smallest width follow, lowest bits first, and zeros up
 * to a whole word. Then come the residuals of each block, lowest bits first, in as many words as a residual has bits. A
 * residual r is stored as `(r << 1) ^ (r >> 31)`, so that small residuals of either sign have few bits. Only the lowest
 * bits of a cell are kept, so a residual may be counted modulo 2^8 or 2^16 if `as` has 8 or 16 bits.
 *
 * - Work O(n), span O(columns + rows). Deterministic. No tiles give no cells. Accepts device counts (lengths that only
 *   the device knows); words past such a count, up to the capacity of `words`, are 0. A tile that does not end within
 *   `words` has 0 in all cells, widths above 32 count as 32, and differences of more than 6 bits as of 6, so any bytes are
 *   safe.
 * - Equivalent to `narrow(tileSums(unzigzagged(unpack(…)), …), as)` with `first` added to the first cell of each tile.
 *
 * Source: residuals of a planar predictor in blocks of fixed width, as in Lemire and Boytsov, Decoding billions of
 * integers per second through vectorization, 2015 (binary packing); sums over tiles as in Crow, Summed-area tables for
 * texture mapping, 1984.
 *
 * @throws {@link ArgumentError} `argument/type` for tiles of another shape than stated.
 * @example
 * const words = ctx.column(Uint32Array.of(2, 0b1101, 0)); // one block of 2 bits: 1 → −1, 3 → −2, then zeros
 * const tiles = { start: ctx.column(Uint32Array.of(0)), first: ctx.column(Uint32Array.of(9)) };
 * const cells = decodeTiles(words, tiles, { columns: 4, rows: 8, as: 'u16' });
 * (await ctx.read(cells)).slice(0, 6); // Uint32Array [8, 6, 6, 6, 8, 6]
 */
export function decodeTiles<F extends CellFormat>(
  words: Column<'u32'>,
  tiles: EncodedTiles,
  options: DecodeTilesOptions<F>,
): Column<F extends 'u32' | PackedFormat<'u32'> ? 'u32' : 'i32'> {
  requireArguments('decodeTiles', { tiles, options }, { tiles: someRecord, options: someDecodeOptions });
  const { columns, rows, as } = options;
  requireTile('decodeTiles', columns, rows, 4);
  const cells = columns * rows;
  return inNamedContext('decodeTiles', options, () => {
    const { start, first } = tiles;
    requireType(words, ['u32'], 'words', 'decodeTiles');
    requireType(start, ['u32'], 'tiles.start', 'decodeTiles');
    requireType(first, ['u32'], 'tiles.first', 'decodeTiles');
    const context = requireContext([words, start, first], 'decodeTiles');
    const tileLength = commonLength([start, first], 'decodeTiles');
    return context.scope(() => {
      const length = scaleLength(context, tileLength, cells);
      const bits = bitsOfCell(as);
      const count = (capacityOf(length) / 32) * bits;
      const memory = context.allocate(count, typeof length === 'number' ? undefined : length.memory);
      if (count > 0) {
        const tile = fuseColumns('decodeTiles', [start, first]);
        context.backend.run({
          kind: 'decodeTiles',
          extent: extentOf(tileLength),
          tile: programOf(tile, context, tileLength),
          words: wordsBinding(context, words),
          columns,
          rows,
          bits,
          into: { buffer: memory.buffer, word: 0 },
        });
      }
      return new Column(context, scalarOf(as), length, { kind: 'stored', memory, storage: as, offset: 0 }) as never;
    });
  });
}

/** Requires columns that are a multiple of a number, and a multiple of 32 cells. */
export function requireTile(call: string, columns: number, rows: number, multiple: number): void {
  const cells = columns * rows;
  if (columns % multiple !== 0) throw wrongArgument(call, 'columns', columns, `a multiple of ${multiple}`);
  if (cells > MAX_CELLS || cells % 32 !== 0) {
    throw wrongArgument(call, 'tile', cells, `a multiple of 32 cells, at most ${MAX_CELLS}`);
  }
}

/** The words as a stored array of their capacity, with 0 past the last one. */
export function wordsBinding(context: ColumnOwner, words: Column<'u32'>): ArrayBinding {
  const isKnown = typeof words.length === 'number';
  const all = isKnown ? storedWords(context, words) : context.materialize(gather(words, sequence(words.capacity)));
  const { memory, storage, offset } = storedArray(all);
  return { buffer: alive(memory).buffer, storage, offset, length: words.capacity };
}

/** Number of bits of a cell. */
export function bitsOfCell(format: CellFormat): 8 | 16 | 32 {
  return (8 * bytesOf(format)) as 8 | 16 | 32;
}
