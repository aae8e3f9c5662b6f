import { type EncodedCells, SAMPLE_BYTES, type Window } from '../../algorithms/geometry/raster.ts';
import { type ByteSource, readInto } from '../tiff/byte-source.ts';
import { CODEC, MASK, MASK_OVER_CELLS, type TileEntries } from './directory.ts';
import { damaged, type PackedLayout } from './layout.ts';
import { hiddenTiles, hideCells, hideMask } from './mask-bits.ts';
import { ORDER_FLIP, valueOfWord } from './ordered.ts';
import { blocksOf, computeResiduals, findWidths, packBlocks } from './residuals.ts';
import { type CheckedTiles, findDamagedTile } from './tile-check.ts';
import type { DecodedTile } from './tile-decoder.ts';
import type { PackedTiles } from './tiles.ts';
import { maxWidthBytes, packWidths } from './widths.ts';
import type { WordMemory } from './word-memory.ts';

/** A band whose tiles a device can decode. */
export interface EncodedBand {
  readonly tiles: PackedTiles;
  readonly layout: PackedLayout;
  readonly entries: TileEntries;
  readonly source: ByteSource;
  readonly memory: WordMemory;
}

/**
 * Whether a device can decode the tiles of a band as they are: integers, in tiles whose rows are whole words of bits, all
 * constant, raw or residuals.
 */
export function isEncodable({ sample, tileColumns }: PackedLayout, { codec }: TileEntries): boolean {
  return sample !== 'f32' && tileColumns % 32 === 0 && !codec.includes(CODEC.bqTree);
}

/**
 * Reads the wanted tiles of a window of whole tiles as residuals. Raw tiles become residuals. Masks become bits. Nothing
 * but raw tiles is checked: the device does that.
 */
export async function readEncoded(
  { tiles, layout, entries, source, memory }: EncodedBand,
  window: Window,
  signal: AbortSignal | undefined,
  isWanted: ((part: Window) => boolean) | undefined,
  isAlike: ((smallest: number, largest: number) => boolean) | undefined,
): Promise<EncodedCells> {
  const { tileColumns, tileRows, sample } = layout;
  const { file } = source;
  const across = Math.ceil(window.columns / tileColumns);
  const down = Math.ceil(window.rows / tileRows);
  const isRead = (tile: number): boolean =>
    hidesCells(entries, tile) ||
    !isAlike!(valueOfWord(sample, entries.minimum[tile]!), valueOfWord(sample, entries.maximum[tile]!));
  const runs = [...tiles.runs(window, isWanted, isAlike && isRead)];
  const wanted = runs.flatMap((run) => run.tiles);
  // The first word stands for widths of 0, which constant tiles have. Runs follow, and then what raw tiles become.
  let end = runs.reduce((sum, { start, end }) => sum + wordsFor(end - start), 1);
  const words = memory.take(wanted.reduce((sum, tile) => sum + recodedWords(layout, entries, tile), end));
  words[0] = 0;
  const bytes = new Uint8Array(words.buffer);
  const places = new Uint32Array(across * down).fill(NO_PLACE);
  const [start, first] = [new Uint32Array(wanted.length), new Uint32Array(wanted.length)];
  const checked = emptyChecks(wanted.length);
  const hiding = wanted.reduce((sum, tile) => sum + (hidesCells(entries, tile) ? 1 : 0), 0);
  const hidden = hiddenTiles(hiding, across * down, layout, memory);
  const recode = recoder(layout);
  let [origin, place] = [1, 0];
  for (const run of runs) {
    signal?.throwIfAborted();
    const read = bytes.subarray(4 * origin, 4 * origin + run.end - run.start);
    if (read.length > 0) await readInto(source, run.start, read);
    for (let i = 0; i < run.tiles.length; i++) {
      const tile = run.tiles[i]!;
      const part = tiles.partOf(tile);
      const [x, y] = [part.column - window.column, part.row - window.row];
      const block = (y / tileRows) * across + x / tileColumns;
      places[block] = place;
      const size = run.sizes[i]!;
      if (size < entries.bytes[tile]!) {
        first[place++] = entries.minimum[tile]! ^ ORDER_FLIP[sample];
        continue;
      }
      first[place] = entries.first[tile]!;
      const maskBytes = entries.maskBytes[tile]!;
      const at = size === 0 ? 0 : origin + (entries.offset[tile]! - run.start) / 4;
      checked.at[place] = at;
      checked.bytes[place] = size;
      checked.checksum[place] = entries.checksum[tile]!;
      const codec = entries.codec[tile]!;
      const inside = tiles.insideOf(part);
      const kind = entries.mask[tile]! & ~MASK_OVER_CELLS;
      let lacking: Uint8Array | undefined;
      if (codec === CODEC.residuals) {
        start[place] = at;
        checked.words[place] = (size - maskBytes) >> 2;
        if (size - maskBytes < 4) throw damaged(file, 'a tile of residuals has no widths', tile);
      } else if (codec === CODEC.raw) {
        const payload = bytes.subarray(4 * at, 4 * at + size);
        const decoded = tiles.decode(tile, payload, inside.columns, inside.rows);
        start[place] = end;
        first[place] = decoded.words[0]! >>> 0;
        end = recode(decoded, words, end);
        lacking = decoded.hidden;
      } else if (size > maskBytes) throw damaged(file, 'a constant tile has bytes', tile);
      if (hidesCells(entries, tile)) {
        const area = hidden.areaOf(block, inside);
        if (lacking !== undefined) hideCells(lacking, area);
        else if (!hideMask(kind, bytes.subarray(4 * at + size - maskBytes, 4 * at + size), area)) {
          throw damaged(file, 'a mask is damaged', tile);
        }
      }
      place++;
    }
    origin += wordsFor(run.end - run.start);
  }
  return {
    words: new Uint32Array(words.buffer, 0, end),
    start,
    first,
    places,
    hidden: hidden.bits,
    release() {
      memory.give(words);
      hidden.release();
    },
    findDamage: (context, words) => findDamagedTile(context, words, checked, blocksOf(tileColumns * tileRows)),
    errorOf: (found) =>
      found < wanted.length
        ? damaged(file, 'the bytes of a tile do not have their checksum, or contradict each other', wanted[found]!)
        : undefined,
  };
}

/** Stands for the place of a missing tile. */
const NO_PLACE = 2 ** 32 - 1;

/** Whether a tile may have cells without data. */
function hidesCells({ mask }: TileEntries, tile: number): boolean {
  return (mask[tile]! & ~MASK_OVER_CELLS) !== MASK.all;
}

function wordsFor(bytes: number): number {
  return (bytes + 3) >> 2;
}

function emptyChecks(tiles: number): CheckedTiles {
  const column = (): Uint32Array => new Uint32Array(tiles);
  return { at: column(), bytes: column(), checksum: column(), words: column() };
}

/** Maximum number of words that a raw tile takes as residuals; 0 for other tiles. */
function recodedWords({ tileColumns, tileRows, sample }: PackedLayout, { codec }: TileEntries, tile: number): number {
  if (codec[tile] !== CODEC.raw) return 0;
  const cells = tileColumns * tileRows;
  return (maxWidthBytes(blocksOf(cells)) + cells * SAMPLE_BYTES[sample]) >> 2;
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
