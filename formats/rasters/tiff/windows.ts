import { type BlockCells, type Cells, SAMPLE_BYTES, type Window } from '../../../algorithms/geometry/raster.ts';
import { untilAborted } from '../../bytes/addresses/waiting.ts';
import type { BandCache, BandTarget, CachedBand } from './band-cache.ts';
import type { ByteRange, ByteSource } from './byte-source.ts';
import { checkBlocks, checkWindow } from './check-window.ts';
import { decodeBlock } from './decode.ts';
import { type KeptBlocks, keptBlocks } from './kept-blocks.ts';
import type { BandLayout, BlockCoding } from './layout.ts';
import { groupRuns, listPieces, type Piece, type PieceRun, packPieces, RUN_DECODED_BYTES } from './pieces.ts';
import { blockOf, copyPiece, fillPiece } from './place-cells.ts';
import { cellsOver, type Words, wordsOver } from './samples.ts';
import type { Codecs, DecodePool, TiffPlatform } from './tiff-platform.ts';

/** Reads windows (rectangles of cells) of one band. Decodes only blocks that intersect the requested window. */
export interface WindowReader {
  /**
   * Reads a window. Blocks for which `isWanted` returns false are skipped; the cells of these blocks have arbitrary
   * values.
   */
  read(window: Window, signal: AbortSignal | undefined, isWanted?: (part: Window) => boolean): Promise<Cells>;
  /**
   * Reads a window that consists of complete blocks. Returns the cells block by block. Omits blocks for which
   * `isWanted` returns false.
   */
  readBlocks(
    window: Window,
    signal: AbortSignal | undefined,
    isWanted?: (part: Window) => boolean,
  ): Promise<BlockCells>;
  /** The bytes that reading a window needs. */
  rangesOf(window: Window, isWanted?: (part: Window) => boolean): ByteRange[];
  /** Takes back cells that the caller no longer needs, so that their memory can be reused for another window. */
  reuse(cells: Cells): void;
  /** Starts the decoding threads before the first window is read, if the band is large enough for them. */
  start(): void;
  /** Ends the threads. */
  close(): Promise<void>;
}

/** Source, layout and limits of a reader of windows. */
export interface WindowReaderOptions {
  readonly source: ByteSource;
  readonly layout: BandLayout;
  /** Value of the cells in blocks that are omitted from the file (sparse files). */
  readonly fill: number | bigint;
  /** Value of the cells in blocks that were not wanted. Default: any. */
  readonly unread?: number | undefined;
  /** Maximum bytes of the cache for decoded blocks. */
  readonly keepBytes: number;
  /**
   * Maximum number of decoding threads; 0 starts no threads. Default: one per core, at most 16, started only for large
   * windows.
   */
  readonly threads?: number | undefined;
  /** Where cells of other bands are kept that are decoded together with those of this one, and the name of the file there. */
  readonly shared?: { readonly bandCache: BandCache; readonly name: string } | undefined;
  readonly platform: TiffPlatform;
}

/** Minimum bytes of a window for which decoding threads are started, if the option `threads` is omitted. */
const WORTH_THREADS = 4 * 2 ** 20;

/**
 * Maximum decompressed bytes of a run (a group of blocks) that is sent to a decoding thread. The limit is low, so that
 * all threads finish at about the same time.
 */
const THREAD_RUN_BYTES = 2 * 2 ** 20;

/** Maximum number of buffers that are kept for reuse. */
const MAX_SPARE = 2;

/**
 * Buffers that are kept for reuse as long as any reader is open, the largest first. Readers share them, so that those of
 * a series of files take no more memory than those of one: what each leaves behind would wait for the garbage collector.
 */
const spare: SharedArrayBuffer[] = [];
/** The readers that are open. They are only counted, so that one that nobody closes can be collected. */
const open = { count: 0, readers: new WeakSet<WindowReader>() };

/**
 * Creates a reader of windows. Blocks that are close together in the file are grouped into runs. Each run is read with
 * one request, and several runs are read at the same time. Runs of large windows are read and decoded by threads if the
 * source is a file.
 *
 * A compressed block that extends beyond the window is decoded on the calling thread. The block is cached for the next
 * window; `keepBytes` limits the size of the cache.
 */
export function windowReader(options: WindowReaderOptions): WindowReader {
  const { source, layout, fill, unread, keepBytes, threads, platform } = options;
  const kept = keptBlocks(keepBytes);
  const { codecs } = platform;
  const cachedBand = joinCache(options);
  let hasRead = false;
  let pool: DecodePool | undefined;
  const poolFor = (bytes: number): DecodePool | undefined => {
    const wanted = threads === undefined ? bytes >= WORTH_THREADS : threads > 0;
    if (wanted && source.descriptor !== undefined) pool ??= platform.createPool?.(threads);
    return pool;
  };
  const takeBuffer = (bytes: number, room: number): ArrayBufferLike => {
    if (poolFor(bytes) === undefined) return new ArrayBuffer(bytes);
    const at = spare.findLastIndex(({ byteLength }) => byteLength >= bytes);
    return at < 0 ? new SharedArrayBuffer(room) : spare.splice(at, 1)[0]!;
  };
  /**
   * Returns an array of `length` cells, in reused memory if possible. New shared memory has space for `room` cells, so
   * that the memory can be reused for any window of up to `room` cells. Unused pages take no physical memory.
   */
  const takeCells = (length: number, room = length): Cells => {
    const size = SAMPLE_BYTES[layout.sample];
    return cellsOver(layout.sample, takeBuffer(length * size, Math.max(length, room) * size), length);
  };
  const readPieces = async (reading: Reading, pieces: readonly Piece[]): Promise<void> => {
    const present = unfilled(reading, pieces);
    if (source.announce !== undefined) return await readFromAfar(reading, present);
    if (pool === undefined || !isShared(reading.targets[0]!.cells)) return await readHere(reading, present);
    const whole = present.filter((piece) => piece.whole);
    const cut = present.filter((piece) => !piece.whole);
    await settleAll([readOnThreads(reading, pool, whole), readHere(reading, cut)]);
  };
  /** Reads pieces to `length` cells, or takes the cells from the cache. */
  const readCells = async (
    name: string,
    pieces: readonly Piece[],
    place: PlaceOfCells,
    signal: AbortSignal | undefined,
    length: number,
    room?: number,
  ): Promise<Cells> => {
    hasRead = true;
    const found = await cachedBand?.take(name);
    if (found !== undefined) return found;
    const cells = takeCells(length, room);
    if (unread !== undefined) fillCells(cells, unread);
    const read = (others: readonly BandTarget[]): Promise<void> => {
      const targets = [{ cells, position: layout.position, fill }, ...others];
      return readPieces({ source, layout, codecs, targets, place, kept, signal }, pieces);
    };
    const bytes = cells.byteLength;
    const alike = (): Cells =>
      cellsOver(layout.sample, isShared(cells) ? new SharedArrayBuffer(bytes) : new ArrayBuffer(bytes), length);
    await (cachedBand === undefined ? read([]) : cachedBand.share(name, bytes, alike, read));
    return cells;
  };
  const reader: WindowReader = {
    async read(window, signal, isWanted = () => true) {
      checkWindow(window, layout, source.file);
      signal?.throwIfAborted();
      const pieces = [...listPieces(window, layout)].filter((piece) => isWanted(partOf(piece, layout)));
      return readCells(nameOf('rows', window, pieces), pieces, { window }, signal, window.columns * window.rows);
    },
    async readBlocks(window, signal, isWanted = () => true) {
      checkBlocks(window, layout, source.file);
      signal?.throwIfAborted();
      const pieces = [...listPieces(window, layout)].filter((piece) => isWanted(blockOf(piece, layout)));
      const { starts, startOf, length } = standBlocks(window, layout, pieces);
      const { blockColumns, blockRows } = layout;
      const room = starts.length * blockColumns * blockRows;
      const name = nameOf('blocks', window, pieces);
      return { cells: await readCells(name, pieces, { startOf }, signal, length, room), starts };
    },
    rangesOf(window, isWanted = () => true) {
      const pieces = [...listPieces(window, layout)].filter((piece) => isWanted(partOf(piece, layout)));
      const isKept = WAYS.some((way) => cachedBand?.has(nameOf(way, window, pieces)));
      return isKept ? [] : storedRanges(pieces, layout, kept);
    },
    reuse({ buffer }) {
      if (!open.readers.has(reader) || !(buffer instanceof SharedArrayBuffer)) return;
      spare.push(buffer);
      spare.sort((a, b) => b.byteLength - a.byteLength);
      spare.length = Math.min(spare.length, MAX_SPARE);
    },
    start() {
      poolFor(layout.width * layout.height * SAMPLE_BYTES[layout.sample])?.start();
    },
    async close() {
      if (open.readers.delete(reader) && --open.count === 0) spare.length = 0;
      // A file that was not read yet may be opened again.
      if (hasRead) cachedBand?.leave();
      await pool?.close();
    },
  };
  if (threads !== 0) {
    open.readers.add(reader);
    open.count++;
  }
  return reader;
}

/** Adds a band to the cache, if other bands are in the same compressed blocks. */
function joinCache({ source, layout, fill, shared }: WindowReaderOptions): CachedBand | undefined {
  const { width, height, interleaved, position, compression } = layout;
  if (shared === undefined || interleaved === 1 || compression === 'none') return undefined;
  const { size, version } = source;
  const blocks = JSON.stringify([
    shared.name,
    size,
    version,
    width,
    height,
    { ...codingOf(layout), position: undefined },
  ]);
  return shared.bandCache.join(blocks, position, fill);
}

const WAYS = ['rows', 'blocks'] as const;

/** What is read, as a name that the reader of another band has for it, too. */
function nameOf(way: (typeof WAYS)[number], { column, row, columns, rows }: Window, pieces: readonly Piece[]): string {
  return [way, column, row, columns, rows, ...pieces.map(({ block }) => block)].join();
}

function isShared({ buffer }: Cells): boolean {
  return buffer instanceof SharedArrayBuffer;
}

/**
 * Order of the decoded cells in the result: row by row in `window` or, if `startOf` is given, block by block. `startOf`
 * maps the number of a block to the index of the block's first cell in the result.
 */
type PlaceOfCells = { readonly window: Window } | { readonly startOf: ReadonlyMap<number, number> };

interface Reading {
  readonly source: ByteSource;
  readonly layout: BandLayout;
  /** The cells of the band, and those of others that are kept. */
  readonly targets: readonly BandTarget[];
  readonly codecs: Codecs;
  readonly place: PlaceOfCells;
  readonly kept: KeptBlocks;
  readonly signal: AbortSignal | undefined;
}

/**
 * Returns the part of the result into which a piece (a block of the file, or some rows of a block) is copied: a window
 * or a block. `start` is the index of the first cell of this part in the result.
 */
function placeOf(piece: Piece, place: PlaceOfCells, layout: BandLayout): { start: number; window: Window } {
  if ('window' in place) return { start: 0, window: place.window };
  return { start: place.startOf.get(piece.block)!, window: blockOf(piece, layout) };
}

/**
 * Assigns consecutive positions in the result to the blocks that contain the given pieces. `starts` contains the
 * position of every block of the window, or 0 for a block without pieces. `startOf` maps block numbers to positions.
 */
function standBlocks(window: Window, layout: BandLayout, pieces: readonly Piece[]) {
  const { blockColumns, blockRows, blocksAcross } = layout;
  const startOf = new Map<number, number>();
  let length = 0;
  for (const { block } of pieces) {
    if (startOf.has(block)) continue;
    startOf.set(block, length);
    length += blockColumns * blockRows;
  }
  const across = Math.ceil(window.columns / blockColumns);
  const first = (window.row / blockRows) * blocksAcross + window.column / blockColumns;
  const starts = Uint32Array.from({ length: across * Math.ceil(window.rows / blockRows) }, (_, i) => {
    const down = Math.floor(i / across);
    return startOf.get(first + down * blocksAcross + (i - down * across)) ?? 0;
  });
  return { starts, startOf, length };
}

/** Fills the pieces whose blocks are omitted from the file. Returns the other pieces, which must be read. */
function unfilled({ layout, targets, place }: Reading, pieces: readonly Piece[]): Piece[] {
  return pieces.filter((piece) => {
    if (layout.byteCounts[piece.block] !== 0) return true;
    const { start, window } = placeOf(piece, place, layout);
    for (const { cells, fill } of targets) fillPiece(cells.subarray(start), window, layout, piece, fill);
    return false;
  });
}

function fillCells(cells: Cells, value: number): void {
  if (cells instanceof BigInt64Array || cells instanceof BigUint64Array) cells.fill(BigInt(value));
  else cells.fill(value);
}

/** Returns the rectangle of the raster that a piece covers. */
function partOf({ left, top, bottom }: Piece, { blockColumns }: BandLayout): Window {
  return { column: left, row: top, columns: blockColumns, rows: bottom - top };
}

/**
 * Number of runs that the calling thread processes at the same time, so that one run is read while another is
 * decoded.
 */
const LANES = 2;

async function readHere(reading: Reading, pieces: Piece[]): Promise<void> {
  const runs = groupRuns(pieces, RUN_DECODED_BYTES[reading.layout.compression]);
  await forEachRun(reading, runs, LANES, (run) => readRun(reading, run));
}

/**
 * Number of blocks of a file far away that are decoded at the same time. They come in any order, so the threads of zlib
 * always have one.
 */
const LANES_FROM_AFAR = 8;

/** Reads pieces whose bytes take long to come, so that all are asked for before the first one is waited for. */
async function readFromAfar(reading: Reading, pieces: readonly Piece[]): Promise<void> {
  const { source, layout, kept, signal } = reading;
  const ranges = storedRanges(pieces, layout, kept);
  source.announce!(ranges);
  const runs = pieces.toSorted((a, b) => a.offset - b.offset).map((piece) => [piece]);
  try {
    await untilAborted(
      forEachRun(reading, runs, LANES_FROM_AFAR, (run) => readRun(reading, run)),
      signal,
    );
  } finally {
    source.forget!(ranges);
  }
}

/** The bytes of pieces that are in the file and not in the cache, in the order of the file. */
function storedRanges(pieces: readonly Piece[], { byteCounts }: BandLayout, kept: KeptBlocks): ByteRange[] {
  return pieces
    .filter(({ block }) => byteCounts[block] !== 0 && !kept.has(block))
    .map(({ offset, packedBytes }) => ({ start: offset, end: offset + packedBytes }))
    .sort((a, b) => a.start - b.start);
}

async function readOnThreads(reading: Reading, pool: DecodePool, pieces: Piece[]): Promise<void> {
  const { source, layout, place } = reading;
  const { file, size } = source;
  const descriptor = source.descriptor!;
  const coding = codingOf(layout);
  const targets = reading.targets.map(({ cells, position }) => ({
    cells: cells.buffer as SharedArrayBuffer,
    position,
  }));
  const shared = { descriptor, file, size, coding, targets };
  await forEachRun(reading, groupRuns(pieces, THREAD_RUN_BYTES), pool.lanes, (run) =>
    pool.decode(
      'window' in place
        ? { ...shared, pieces: packPieces(run), window: place.window }
        : {
            ...shared,
            pieces: packPieces(run),
            window: undefined,
            starts: Float64Array.from(run, ({ block }) => place.startOf.get(block)!),
          },
    ),
  );
}

/**
 * The members of a layout that decoding needs. The offsets and lengths of blocks are left out, because there may be
 * millions of blocks.
 */
function codingOf(layout: BandLayout): BlockCoding {
  const { sample, bits, littleEndian, compression, predictor, jpeg, lerc } = layout;
  const { blockColumns, blockRows, interleaved, position } = layout;
  return {
    sample,
    bits,
    littleEndian,
    compression,
    predictor,
    jpeg,
    lerc,
    blockColumns,
    blockRows,
    interleaved,
    position,
  };
}

/**
 * Calls `read` for the runs, `lanes` runs at a time. Starts no more runs after a run has failed or the signal is
 * aborted. The promise settles only after all started runs have ended.
 */
async function forEachRun(
  { signal }: Reading,
  runs: readonly PieceRun[],
  lanes: number,
  read: (run: PieceRun) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const lane = async () => {
    while (next < runs.length && !failed) {
      try {
        signal?.throwIfAborted();
        await read(runs[next++]!);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await settleAll(Array.from({ length: lanes }, lane));
  signal?.throwIfAborted();
}

async function settleAll(promises: readonly Promise<void>[]): Promise<void> {
  const settled = await Promise.allSettled(promises);
  const failure = settled.find(({ status }) => status === 'rejected');
  if (failure?.status === 'rejected') throw failure.reason;
}

async function readRun(reading: Reading, run: PieceRun): Promise<void> {
  const { source, layout, codecs, place, kept, signal } = reading;
  const size = SAMPLE_BYTES[layout.sample];
  const targets = reading.targets.map(({ cells, position }) => ({
    words: wordsOver(new Uint8Array(cells.buffer, 0, cells.byteLength), size),
    layout: { ...layout, position },
  }));
  const start = run[0]!.offset;
  const end = run.reduce((furthest, piece) => Math.max(furthest, piece.offset + piece.packedBytes), start);
  let packed: Promise<Uint8Array> | undefined;
  const decode = async (piece: Piece): Promise<Words> => {
    // Others may wait for a block that is kept, too.
    packed ??= source.read(start, end - start, undefined, piece.whole ? signal : undefined);
    const bytes = (await packed).subarray(piece.offset - start, piece.offset - start + piece.packedBytes);
    return decodeBlock(bytes, piece.bytes, layout, codecs, source.file, piece.block);
  };
  const copy = async (piece: Piece): Promise<void> => {
    const words = await (piece.whole ? decode(piece) : kept.get(piece.block, piece.bytes, () => decode(piece)));
    const { start, window } = placeOf(piece, place, layout);
    for (const target of targets) copyPiece(target.words, start, window, target.layout, piece, words);
  };
  await settleAll(run.map(copy));
}
