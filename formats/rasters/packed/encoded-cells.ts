import type { EncodedCells, Window } from '../../../algorithms/geometry/raster.ts';
import { valueOfOrderedWord } from '../../../algorithms/zonal/ordered-words.ts';
import type { Context } from '../../../primitives/index.ts';
import { type ByteSource, readInto } from '../tiff/byte-source.ts';
import { CODEC, MASK, MASK_OVER_CELLS, type TileEntries } from './directory.ts';
import { damaged, type PackedLayout } from './layout.ts';
import { type HiddenTiles, hiddenTiles, hideCells, hideMask } from './mask-bits.ts';
import { ORDER_FLIP } from './ordered.ts';
import { recodedWords, recoder } from './recode.ts';
import { blocksOf } from './residuals.ts';
import { type CheckedTiles, findDamagedTile } from './tile-check.ts';
import type { PackedTiles, TileRun } from './tiles.ts';
import type { WordMemory } from './word-memory.ts';
import { storeWords } from './word-store.ts';

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
 * Reads the wanted tiles of a window of whole tiles as residuals, into the memory of the context where the host has it.
 * Raw tiles become residuals. Masks become bits. Nothing but raw tiles is checked: the device does that.
 */
export async function readEncoded(
  band: EncodedBand,
  window: Window,
  signal: AbortSignal | undefined,
  isWanted: ((part: Window) => boolean) | undefined,
  isAlike: ((smallest: number, largest: number) => boolean) | undefined,
  context: Context | undefined,
): Promise<EncodedCells> {
  const { tiles, layout, entries, source, memory } = band;
  const { tileColumns, tileRows, sample } = layout;
  const isRead = (tile: number): boolean =>
    hidesCells(entries, tile) ||
    !isAlike!(valueOfOrderedWord(sample, entries.minimum[tile]!), valueOfOrderedWord(sample, entries.maximum[tile]!));
  const runs = [...tiles.runs(window, isWanted, isAlike && isRead)];
  const wanted = runs.flatMap((run) => run.tiles);
  // The first word stands for widths of 0, which constant tiles have. Runs follow, and then what raw tiles become.
  const end = runs.reduce((sum, { start, end }) => sum + wordsFor(end - start), 1);
  const length = wanted.reduce((sum, tile) => sum + recodedWords(layout, entries, tile), end);
  const placed = emptyPlaces(wanted.length, window, layout);
  const hiding = wanted.reduce((sum, tile) => sum + (hidesCells(entries, tile) ? 1 : 0), 0);
  let hidden: HiddenTiles | undefined;
  const stored = await storeWords(length, memory, context, async (words) => {
    const bits = hiddenTiles(hiding, placed.places.length, layout, memory);
    const place = tilePlacer(band, placed, words, end, bits);
    const bytes = new Uint8Array(words.buffer, words.byteOffset, 4 * length);
    words[0] = 0;
    let origin = 1;
    for (const run of runs) {
      signal?.throwIfAborted();
      const read = bytes.subarray(4 * origin, 4 * origin + run.end - run.start);
      if (read.length > 0) await readInto(source, run.start, read);
      place(run, origin);
      origin += wordsFor(run.end - run.start);
    }
    hidden ??= bits;
  });
  const { start, first, places, checked } = placed;
  let isReleased = false;
  return {
    ...{ start, first, places, hidden: hidden?.bits },
    bytes: 4 * length,
    wordsOn: stored.on,
    release() {
      if (isReleased) return;
      isReleased = true;
      stored.release();
      hidden?.release();
    },
    findDamage: (context, words) => findDamagedTile(context, words, checked, blocksOf(tileColumns * tileRows)),
    errorOf: (found) =>
      found < wanted.length
        ? damaged(
            source.file,
            'the bytes of a tile do not have their checksum, or contradict each other',
            wanted[found]!,
          )
        : undefined,
  };
}

/** Stands for the place of a missing tile. */
const NO_PLACE = 2 ** 32 - 1;
/** Where tiles are in a window and among its words, and what is checked of them. */
interface PlacedTiles {
  /** Number of tiles in a row of the window, and the first column and row of tiles of the window in the raster. */
  readonly across: number;
  readonly left: number;
  readonly top: number;
  readonly places: Uint32Array;
  readonly start: Uint32Array;
  readonly first: Uint32Array;
  readonly checked: CheckedTiles;
}

function emptyPlaces(
  tiles: number,
  { column, row, columns, rows }: Window,
  { tileColumns, tileRows }: PackedLayout,
): PlacedTiles {
  const across = Math.ceil(columns / tileColumns);
  const each = (): Uint32Array => new Uint32Array(tiles);
  return {
    ...{ across, left: column / tileColumns, top: row / tileRows },
    places: new Uint32Array(across * Math.ceil(rows / tileRows)).fill(NO_PLACE),
    ...{ start: each(), first: each() },
    checked: { at: each(), bytes: each(), checksum: each(), words: each() },
  };
}

/**
 * Returns a function that places the tiles of a run, whose bytes begin at a word of `words`. What raw tiles become begins
 * at word `end`.
 */
function tilePlacer(
  { tiles, layout, entries, source }: EncodedBand,
  { across, left, top, places, start, first, checked }: PlacedTiles,
  words: Int32Array,
  end: number,
  hidden: HiddenTiles,
): (run: TileRun, origin: number) => void {
  const { width, height, tileColumns, tileRows, sample } = layout;
  const acrossAll = Math.ceil(width / tileColumns);
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
  const recode = recoder(layout);
  let [place, free] = [0, end];
  const takeTile = (tile: number, size: number, origin: number): void => {
    const down = Math.floor(tile / acrossAll);
    const right = tile - down * acrossAll;
    const block = (down - top) * across + right - left;
    places[block] = place;
    if (size < entries.bytes[tile]!) {
      first[place] = entries.minimum[tile]! ^ ORDER_FLIP[sample];
      return;
    }
    const codec = entries.codec[tile]!;
    const dataBytes = size - entries.maskBytes[tile]!;
    const at = size === 0 ? 0 : origin;
    first[place] = entries.first[tile]!;
    checked.at[place] = at;
    checked.bytes[place] = size;
    checked.checksum[place] = entries.checksum[tile]!;
    if (codec === CODEC.residuals) {
      if (dataBytes < 4) throw damaged(source.file, 'a tile of residuals has no widths', tile);
      start[place] = at;
      checked.words[place] = dataBytes >> 2;
    } else if (codec === CODEC.constant && dataBytes > 0) {
      throw damaged(source.file, 'a constant tile has bytes', tile);
    }
    if (codec !== CODEC.raw && !hidesCells(entries, tile)) return;
    const columns = Math.min(tileColumns, width - right * tileColumns);
    const rows = Math.min(tileRows, height - down * tileRows);
    let lacking: Uint8Array | undefined;
    if (codec === CODEC.raw) {
      const decoded = tiles.decode(tile, bytes.subarray(4 * at, 4 * at + size), columns, rows);
      start[place] = free;
      first[place] = decoded.words[0]! >>> 0;
      free = recode(decoded, words, free);
      lacking = decoded.hidden;
      if (!hidesCells(entries, tile)) return;
    }
    const area = hidden.areaOf(block, columns, rows);
    const kind = entries.mask[tile]! & ~MASK_OVER_CELLS;
    if (lacking !== undefined) hideCells(lacking, area);
    else if (!hideMask(kind, bytes, 4 * at + dataBytes, 4 * at + size, area)) {
      throw damaged(source.file, 'a mask is damaged', tile);
    }
  };
  return ({ tiles, sizes, start: from }, origin) => {
    for (let i = 0; i < tiles.length; i++, place++) {
      const tile = tiles[i]!;
      takeTile(tile, sizes[i]!, origin + (entries.offset[tile]! - from) / 4);
    }
  };
}

/** Whether a tile may have cells without data. */
function hidesCells({ mask }: TileEntries, tile: number): boolean {
  return (mask[tile]! & ~MASK_OVER_CELLS) !== MASK.all;
}

function wordsFor(bytes: number): number {
  return (bytes + 3) >> 2;
}
