import { type EncodedCells, SAMPLE_BYTES, type Window } from '../../algorithms/geometry/raster.ts';
import { CODEC, MASK, MASK_OVER_CELLS, type TileEntries } from './directory.ts';
import { damaged, type PackedLayout } from './layout.ts';
import { hideCells, hideMask } from './mask-bits.ts';
import { blocksOf, computeResiduals, findWidths, packBlocks } from './residuals.ts';
import type { DecodedTile } from './tile-decoder.ts';
import type { PackedTiles } from './tiles.ts';
import { maxWidthBytes, packWidths, unpackWidths } from './widths.ts';

/** A band whose tiles a device can decode. */
export interface EncodedBand {
  readonly tiles: PackedTiles;
  readonly layout: PackedLayout;
  readonly entries: TileEntries;
  readonly file: string;
}

/**
 * Whether a device can decode the tiles of a band as they are: integers, in tiles whose rows are whole words of bits, all
 * constant, raw or residuals.
 */
export function isEncodable({ sample, tileColumns }: PackedLayout, { codec }: TileEntries): boolean {
  return sample !== 'f32' && tileColumns % 32 === 0 && !codec.includes(CODEC.bqTree);
}

/**
 * Reads the wanted tiles of a window of whole tiles as residuals. Raw tiles become residuals. Masks become bits.
 */
export async function readEncoded(
  { tiles, layout, entries, file }: EncodedBand,
  window: Window,
  signal: AbortSignal | undefined,
  isWanted: ((part: Window) => boolean) | undefined,
): Promise<EncodedCells> {
  const { tileColumns, tileRows } = layout;
  const across = Math.ceil(window.columns / tileColumns);
  const down = Math.ceil(window.rows / tileRows);
  const wanted = tiles.within(window, isWanted);
  const words = new Int32Array(wanted.reduce((sum, tile) => sum + wordsOf(layout, entries, tile), 1));
  const [start, first] = [new Uint32Array(wanted.length), new Uint32Array(wanted.length)];
  const places = new Uint32Array(across * down);
  const pitch = (across * tileColumns) / 32;
  let hidden: Uint32Array | undefined;
  const hiddenBits = (): Uint32Array => {
    hidden ??= new Uint32Array(pitch * down * tileRows);
    return hidden;
  };
  const recode = recoder(layout);
  // The first word stands for widths of 0, which constant tiles have.
  let [end, place] = [1, 0];
  for await (const run of tiles.payloads(window, isWanted, signal)) {
    for (const { tile, part, payload } of run) {
      const [x, y] = [part.column - window.column, part.row - window.row];
      places[(y / tileRows) * across + x / tileColumns] = place;
      first[place] = entries.first[tile]!;
      const inside = tiles.insideOf(part);
      const data = payload.subarray(0, payload.length - entries.maskBytes[tile]!);
      const codec = entries.codec[tile]!;
      if (codec === CODEC.residuals) {
        checkWidths(data, blocksOf(tileColumns * tileRows), file, tile);
        start[place] = end;
        words.set(new Int32Array(data.buffer, data.byteOffset, data.length >> 2), end);
        end += data.length >> 2;
      } else if (codec === CODEC.raw) {
        const decoded = tiles.decode(tile, payload, inside.columns, inside.rows);
        start[place] = end;
        first[place] = decoded.words[0]! >>> 0;
        end = recode(decoded, words, end);
      } else if (data.length > 0) throw damaged(file, 'a constant tile has bytes', tile);
      const kind = entries.mask[tile]! & ~MASK_OVER_CELLS;
      if (kind !== MASK.all) {
        const area = { bits: hiddenBits(), pitch, column: x, row: y, ...inside };
        const isWhole =
          kind === MASK.nodata
            ? hideCells(tiles.decode(tile, payload, inside.columns, inside.rows).hidden, area)
            : hideMask(kind, payload.subarray(data.length), area);
        if (!isWhole) throw damaged(file, 'a mask is damaged', tile);
      }
      place++;
    }
  }
  return {
    words: new Uint32Array(words.buffer, 0, end),
    start,
    first,
    places,
    hidden: hidden === undefined ? undefined : { bits: hidden, pitch },
  };
}

/** Maximum number of words of a tile. */
function wordsOf({ tileColumns, tileRows, sample }: PackedLayout, entries: TileEntries, tile: number): number {
  const cells = tileColumns * tileRows;
  const codec = entries.codec[tile];
  if (codec === CODEC.raw) return (maxWidthBytes(blocksOf(cells)) + cells * SAMPLE_BYTES[sample]) >> 2;
  return codec === CODEC.residuals ? entries.bytes[tile]! >> 2 : 0;
}

/** Refuses a tile of residuals whose widths do not add up to its bytes. */
function checkWidths(data: Uint8Array, blocks: number, file: string, tile: number): void {
  const widths = new Uint8Array(blocks);
  const size = unpackWidths(data, widths);
  let sum = 0;
  for (const width of widths) sum += width;
  if (size === undefined || size + 4 * sum !== data.length) {
    throw damaged(file, 'the widths of its residuals do not add up to its bytes', tile);
  }
}

/** Returns a function that writes a decoded tile as residuals, from a word on, and returns the word after the last. */
function recoder({
  sample,
  tileColumns,
  tileRows,
}: PackedLayout): (tile: DecodedTile, words: Int32Array, at: number) => number {
  const cells = tileColumns * tileRows;
  const [plane, residuals] = [new Int32Array(cells), new Int32Array(cells)];
  const widths = new Uint8Array(blocksOf(cells));
  return (tile, words, at) => {
    for (let row = 0; row < tile.rows; row++) {
      const from = row * tileColumns;
      plane.set(tile.words.subarray(from, from + tile.columns), from);
    }
    computeResiduals(plane, tileColumns, tileRows, 8 * SAMPLE_BYTES[sample], residuals);
    findWidths(residuals, widths);
    const bytes = new Uint8Array(words.buffer, words.byteOffset + 4 * at);
    return packBlocks(residuals, widths, words, at + (packWidths(widths, bytes) >> 2));
  };
}
