import { type Cells, SAMPLE_BYTES, type Window } from '../../../algorithms/geometry/raster.ts';
import type { Context } from '../../../primitives/index.ts';
import type { ByteSource } from '../tiff/byte-source.ts';
import { type Words, wordsOver } from '../tiff/samples.ts';
import { type BqDeviceDecoder, bqDeviceDecoder } from './bq-device-decoder.ts';
import { crc32c } from './crc32c.ts';
import { CODEC, type TileEntries } from './directory.ts';
import { damaged, type PackedLayout } from './layout.ts';
import { type DecodedTile, tileDecoder } from './tile-decoder.ts';
import type { TileCoding } from './tile-scan.ts';

/** The tiles of a band. */
export interface PackedTiles {
  /** Numbers of the tiles that meet a window and are wanted, row by row. */
  within(window: Window, isWanted: ((part: Window) => boolean) | undefined): number[];
  /**
   * Decodes the tiles that meet a window and are wanted, row by row. The part that `take` gets is the whole tile, with
   * cells beyond the raster.
   */
  forEach(
    window: Window,
    isWanted: ((part: Window) => boolean) | undefined,
    signal: AbortSignal | undefined,
    take: (tile: DecodedTile, part: Window) => void,
  ): Promise<void>;
  /**
   * Reads the payloads of the tiles that meet a window and are wanted, row by row, and checks them against their
   * checksums. `parts` are the whole tiles, with cells beyond the raster.
   */
  payloads(
    window: Window,
    isWanted: ((part: Window) => boolean) | undefined,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<readonly TilePayload[], void, undefined>;
  /**
   * The tiles that meet a window and are wanted, and the bytes of the file in which they lie. Reads nothing.
   *
   * @param isRead - Whether the bytes of a tile are to be read. Default: all are.
   */
  runs(
    window: Window,
    isWanted: ((part: Window) => boolean) | undefined,
    isRead?: (tile: number) => boolean,
  ): Iterable<TileRun>;
  /** Where a tile lies in the raster, with cells beyond it. */
  partOf(tile: number): Window;
  /** Numbers of columns and rows of a tile that are inside the raster. */
  insideOf(part: Window): { readonly columns: number; readonly rows: number };
  /** Decodes the payload of a tile. */
  decode(tile: number, payload: Uint8Array, columns: number, rows: number): DecodedTile;
  /** The cells of an array as words. */
  wordsOf(cells: Cells): Words;
}

/** What is stored of a tile. */
export interface TilePayload {
  readonly tile: number;
  readonly part: Window;
  readonly payload: Uint8Array;
}

/** Bytes of payloads that are read at once, if the tiles are not larger. Bytes between them of so many are read too. */
const READ_BYTES = 2 ** 22;
const GAP_BYTES = 2 ** 14;

export function packedTiles(
  source: ByteSource,
  layout: PackedLayout,
  coding: TileCoding,
  entries: TileEntries,
  context?: Context,
): PackedTiles {
  const { tileColumns, tileRows, width, height } = layout;
  const across = Math.ceil(width / tileColumns);
  const decode = tileDecoder(coding, (what, tile) => {
    throw damaged(source.file, what, tile);
  });
  const device = context && bqDeviceDecoder(context, coding);
  const partOf = (tile: number): Window => {
    const down = Math.floor(tile / across);
    const column = (tile - down * across) * tileColumns;
    return { column, row: down * tileRows, columns: tileColumns, rows: tileRows };
  };
  const within: PackedTiles['within'] = (window, isWanted) => {
    const tiles: number[] = [];
    const [left, right] = [Math.floor(window.column / tileColumns), (window.column + window.columns) / tileColumns];
    const [top, bottom] = [Math.floor(window.row / tileRows), (window.row + window.rows) / tileRows];
    if (window.columns === 0) return tiles;
    for (let down = top; down < bottom; down++) {
      for (let right_ = left; right_ < right; right_++) {
        const tile = down * across + right_;
        if (isWanted === undefined || isWanted(partOf(tile))) tiles.push(tile);
      }
    }
    return tiles;
  };
  const insideOf: PackedTiles['insideOf'] = ({ column, row }) => ({
    columns: Math.min(tileColumns, width - column),
    rows: Math.min(tileRows, height - row),
  });
  const payloads: PackedTiles['payloads'] = async function* (window, isWanted, signal) {
    for (const run of groupRuns(within(window, isWanted), entries, undefined, device?.tiles)) {
      signal?.throwIfAborted();
      const bytes = run.end > run.start ? await source.read(run.start, run.end - run.start) : NO_BYTES;
      yield run.tiles.map((tile) => {
        const size = entries.bytes[tile]!;
        const from = size === 0 ? 0 : entries.offset[tile]! - run.start;
        const payload = bytes.subarray(from, from + size);
        if (crc32c(payload) === entries.checksum[tile]) return { tile, part: partOf(tile), payload };
        throw damaged(source.file, 'the bytes of a tile do not have their checksum', tile);
      });
    }
  };
  return {
    within,
    payloads,
    runs: (window, isWanted, isRead) => groupRuns(within(window, isWanted), entries, isRead),
    partOf,
    insideOf,
    decode: (tile, payload, columns, rows) => decode(entries, tile, payload, columns, rows),
    wordsOf: (cells) =>
      wordsOver(new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength), SAMPLE_BYTES[layout.sample]),
    async forEach(window, isWanted, signal, take) {
      for await (const run of payloads(window, isWanted, signal)) {
        const trees = device && (await decodeTrees(device, entries, run));
        for (const { tile, part, payload } of run) {
          const { columns, rows } = insideOf(part);
          take(decode(entries, tile, payload, columns, rows, trees?.get(tile)), part);
        }
      }
    },
  };
}

const NO_BYTES = new Uint8Array();

/** Decodes those of some tiles that are BQ-trees on a device, by the number of the tile. */
async function decodeTrees(
  device: BqDeviceDecoder,
  entries: TileEntries,
  run: readonly TilePayload[],
): Promise<Map<number, Int32Array | string>> {
  const trees = run.filter(({ tile }) => entries.codec[tile] === CODEC.bqTree);
  if (trees.length === 0) return new Map();
  const data = trees.map(({ tile, payload }) => payload.subarray(0, payload.length - entries.maskBytes[tile]!));
  const decoded = await device.decode(data);
  return new Map(trees.map(({ tile }, at) => [tile, decoded[at]!]));
}

/** Tiles whose payloads are read at once. */
export interface TileRun {
  readonly tiles: number[];
  /** For each of the tiles, the number of its bytes that are to be read. */
  readonly sizes: number[];
  /** Offsets of the first byte and of that after the last. Both are 0 if the tiles have no bytes. */
  start: number;
  end: number;
}

/**
 * Groups tiles whose payloads are close together, at most `max` of them. Payloads of later tiles come later in the file.
 */
function* groupRuns(
  tiles: readonly number[],
  entries: TileEntries,
  isRead: (tile: number) => boolean = () => true,
  max = Number.POSITIVE_INFINITY,
): Generator<TileRun> {
  let run: TileRun = { tiles: [], sizes: [], start: 0, end: 0 };
  for (const tile of tiles) {
    const size = isRead(tile) ? entries.bytes[tile]! : 0;
    const start = entries.offset[tile]!;
    const isFar = start > run.end + GAP_BYTES || start + size > run.start + READ_BYTES;
    if ((size > 0 && run.end > 0 && isFar) || run.tiles.length >= max) {
      yield run;
      run = { tiles: [], sizes: [], start: 0, end: 0 };
    }
    run.tiles.push(tile);
    run.sizes.push(size);
    if (size === 0) continue;
    if (run.end === 0) run.start = start;
    run.end = start + size;
  }
  if (run.tiles.length > 0) yield run;
}
