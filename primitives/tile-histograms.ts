import { requireArguments, requireFunctor, wrongArgument } from './checks/arguments.ts';
import { ArgumentError } from './checks/errors.ts';
import { anything, aRecord, aWhole, aWord, optional, someOptions, someRecord } from './checks/kinds.ts';
import { type Column, commonLength, requireLength, requireType } from './columns/column.ts';
import { capacityOf } from './columns/length.ts';
import { destination, extentOf, fuse, programOf } from './columns/program.ts';
import { columnsIn } from './columns/reachable.ts';
import { fuseColumns } from './columns/views.ts';
import { type ContextOption, inNamedContext, requireContext } from './context/context-option.ts';
import type { TileHistogramsCommand } from './contract/backend.ts';
import { bitsOfCell, type EncodedTiles, requireTile, wordsBinding } from './decode-tiles.ts';
import { type FunctorDescription, u32 } from './functors/functor.ts';
import { isScalar, leafTypes } from './functors/shapes.ts';
import type { U32 } from './functors/value.ts';
import { applyFunctor, bindCaptures } from './map.ts';
import { argumentsOf, type CaptureArguments, fieldsTaken } from './rows/row-fields.ts';
import { MAX_CELLS } from './tile-sums.ts';

/** Parts of tiles: which cells of a tile are counted, and in which histogram. A cell may lie in several parts. */
export interface TileParts {
  /**
   * For tile t, its parts are `offsets[t]` to `offsets[t + 1] − 1`, as far as there are so many. One row more than there
   * are tiles. Never decreases; otherwise it is open which parts are counted.
   */
  readonly offsets: Column<'u32'>;
  /** For each part, the histogram in which its cells are counted. */
  readonly histogram: Column<'u32'>;
  /** For each part, the index in `masks` of the word with the bits of the tile's first cells. */
  readonly word: Column<'u32'>;
  /** For each part, the number of words from the bits of a row of the tile to those of the next row. */
  readonly pitch: Column<'u32'>;
  /**
   * Bits of cells, 32 cells of a row to a word, the first in the lowest bit. 1 is a cell of the part. Words past the end
   * are 0.
   */
  readonly masks: Column<'u32'>;
}

/** Cells that are counted in a bin of their own, whatever their value is. */
export interface HiddenCells {
  /** Bits of cells, as in {@link TileParts.masks}. 1 is a hidden cell. */
  readonly bits: Column<'u32'>;
  /** For each tile, the index in `bits` of the word with the bits of its first cells. */
  readonly word: Column<'u32'>;
  /** Number of words from the bits of a row of a tile to those of the next row. */
  readonly pitch: number;
  /** The bin in which hidden cells are counted. */
  readonly bin: number;
}

export interface TileHistogramsOptions extends ContextOption {
  /** Columns of a tile, a multiple of 32. */
  readonly columns: number;
  /** Rows of a tile. With its columns, a tile has at most 2^16 cells. */
  readonly rows: number;
  /** How many bits of a cell are kept, as in `decodeTiles`; the functor takes them as a u32. */
  readonly as: 'u8' | 'u16' | 'u32';
  /** Number of bins of every histogram. */
  readonly bins: number;
  /** Number of histograms. */
  readonly histograms: number;
  /** Columns and numbers for the functor's array and uniform parameters, by name. */
  readonly captures?: CaptureArguments;
  /** Cells that have a bin of their own, such as those without data. */
  readonly hidden?: HiddenCells | undefined;
}

const CODE = 'histogram/size';

const someTileHistogramsOptions = someOptions<TileHistogramsOptions>({
  columns: aWhole(1, MAX_CELLS),
  rows: aWhole(1, MAX_CELLS),
  as: aWord(['u8', 'u16', 'u32']),
  bins: aWhole(1, 2 ** 32 - 1, CODE),
  histograms: aWhole(1, 2 ** 32 - 1, CODE),
  captures: optional(someRecord),
  hidden: optional(aRecord<HiddenCells>({ bits: anything, word: anything, pitch: aWhole(), bin: aWhole() })),
  context: optional(anything),
});

const CELL = { cell: u32 };

/**
 * Decodes tiles as `decodeTiles` does, and counts their cells in one pass: for each part of a tile, each of its cells
 * adds 1 to bin `binOf({ cell, … captures })` of the part's histogram. Bins and histograms out of range are not counted.
 * A cell that is hidden is counted in the bin `hidden.bin`. Bin b of histogram h is element `h · bins + b` of the result.
 *
 * - Work O(cells + cells in parts + bins · histograms), span O(columns + rows). Deterministic: counts are integers,
 *   u32. The functor is evaluated for all cells of a tile with a part, also for those in no part.
 * - Decoded cells are not stored where the backend has a kernel for that (`TileHistogramsCommand`). Fast if the parts
 *   of neighbouring tiles share histograms, and if parts are large. A tile without parts costs nothing.
 * - Tiles that are damaged are safe, as in `decodeTiles`: the cells of one that does not end within `words` are 0.
 *   Accepts device counts (lengths that only the device knows).
 * - Equivalent: `decodeTiles`, then `rankHistogram` of a row for each part and 32 cells of its tile.
 *
 * @throws {@link ArgumentError} `argument/type` for tiles of another shape than stated; `histogram/result` if the functor
 * does not return a u32; `rows/field` or `rows/type` if it takes anything but `cell`, a u32, and captures;
 * `column/length` if there is not one offset more than there are tiles.
 * @example
 * const words = ctx.column(new Uint32Array(1)); // one block of no bits: all cells are as the first one
 * const tiles = { start: ctx.column(Uint32Array.of(0)), first: ctx.column(Uint32Array.of(7)) };
 * const zeros = ctx.column(Uint32Array.of(0));
 * const masks = ctx.column(Uint32Array.of(0b111));
 * const parts = { offsets: ctx.column(Uint32Array.of(0, 1)), histogram: zeros, word: zeros, pitch: zeros, masks };
 * const half = fn({ cell: u32 }, u32, ({ cell }) => cell.shr(1));
 * const counts = tileHistograms(words, tiles, parts, half, { columns: 32, rows: 1, as: 'u16', bins: 5, histograms: 1 });
 * await ctx.read(counts); // Uint32Array [0, 0, 0, 3, 0]
 */
export function tileHistograms(
  words: Column<'u32'>,
  tiles: EncodedTiles,
  parts: TileParts,
  binOf: FunctorDescription,
  options: TileHistogramsOptions,
): Column<'u32'> {
  const call = 'tileHistograms';
  requireArguments(
    call,
    { tiles, parts, options },
    { tiles: someRecord, parts: someRecord, options: someTileHistogramsOptions },
  );
  const { columns, rows, as, bins, histograms, captures = {}, hidden } = options;
  requireTile(call, columns, rows, 32);
  requireFunctor(call, 'binOf', binOf);
  requireBin(binOf);
  fieldsTaken(call, binOf, {}, CELL);
  return inNamedContext(call, options, () => {
    const { start, first } = tiles;
    const { offsets, histogram, word, pitch, masks } = parts;
    const given = {
      ...{ words, 'tiles.start': start, 'tiles.first': first, 'parts.offsets': offsets, 'parts.histogram': histogram },
      ...{ 'parts.word': word, 'parts.pitch': pitch, 'parts.masks': masks },
      ...(hidden && { 'hidden.bits': hidden.bits, 'hidden.word': hidden.word }),
    };
    for (const [name, column] of Object.entries(given)) requireType(column, ['u32'], name, call);
    const context = requireContext([...Object.values(given), ...columnsIn(captures)], call);
    const ofTile = hidden === undefined ? [start, first] : [start, first, hidden.word];
    const tileLength = commonLength(ofTile, call);
    const partLength = commonLength([histogram, word, pitch], call);
    requireOffsets(offsets, tileLength);
    const [tileCount, partCount] = [capacityOf(tileLength), capacityOf(partLength)];
    requireLength(tileCount * columns * rows, call);
    requireLength(partCount * ((columns * rows) / 32), call);
    return context.scope(() => {
      const bound = bindCaptures(binOf, captures, context);
      const tile = fuse(call, [], ofTile.map(() => 'u32' as const).concat('u32', 'u32'), (t, _, loader) => {
        const [from, value, ...word] = loader.load(ofTile, t);
        const offsetAt = (index: U32): U32 => loader.loadWithin([offsets], index, offsets.length)[0] as U32;
        return [from!, value!, offsetAt(t), offsetAt(t.add(1)).min(loader.length(partLength)), ...word];
      });
      const part = fuseColumns(call, [histogram, word, pitch]);
      const bin = fuse(call, ['u32'], ['u32'], (_index, cell, loader) =>
        applyFunctor(binOf, argumentsOf(binOf, CELL, {}, cell, []), bound, loader),
      );
      const counts = context.stored('u32', bins * histograms);
      const { buffer, offset } = destination(counts);
      context.backend.run({
        kind: 'tileHistograms',
        extent: extentOf(tileLength),
        tile: programOf(tile, context, tileLength),
        words: wordsBinding(context, words),
        ...{ columns, rows, bits: bitsOfCell(as) },
        part: programOf(part, context, partLength),
        parts: partCount,
        masks: wordsBinding(context, masks),
        bin: programOf(bin, context, tileCount * columns * rows),
        ...{ bins, histograms },
        hidden: hidden && { bits: wordsBinding(context, hidden.bits), pitch: hidden.pitch, bin: hidden.bin },
        into: { buffer, word: offset },
      } satisfies TileHistogramsCommand);
      return counts;
    });
  });
}

function requireOffsets({ length }: Column<'u32'>, tiles: Column['length']): void {
  if (typeof length !== 'number' || typeof tiles !== 'number' || length === tiles + 1) return;
  throw wrongArgument('tileHistograms', 'parts.offsets', length, `${tiles + 1} rows, one more than there are tiles`, {
    code: 'column/length',
  });
}

function requireBin({ functorName, result }: FunctorDescription): void {
  if (isScalar(result) && result.type === 'u32') return;
  throw new ArgumentError('histogram/result', `Functor ${functorName} must return a bin.`, {
    expected: 'u32',
    got: isScalar(result) ? result.type : `a record of ${leafTypes(result).join(', ')}`,
  });
}
