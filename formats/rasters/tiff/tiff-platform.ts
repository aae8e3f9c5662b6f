import type { Window } from '../../../algorithms/geometry/raster.ts';
import type { OpenFile } from '../../bytes/beside.ts';
import type { Inflater } from '../../bytes/inflate.ts';
import type { ImportJpeg } from '../jpeg.ts';
import type { BlockCoding } from './layout.ts';
import type { ImportLerc } from './lerc.ts';

/** What readers of TIFF ask of Node or of a page. */
export interface TiffPlatform {
  readonly codecs: Codecs;
  /** Opens a file on disk. Undefined on pages. */
  readonly openFile?: OpenFile;
  /** Creates threads that decode blocks of files on disk. Default: none. */
  createPool?(threads: number | undefined): DecodePool;
}

/** The decompressors that Node and pages have each their own of. */
export interface Codecs extends Inflater {
  /** Undefined where the package does not run. */
  readonly jpeg?: ImportJpeg;
  /** Undefined where the package does not run. */
  readonly lerc?: ImportLerc;
}

/** Threads that decode blocks. The cells are written directly to memory that is shared with the caller. */
export interface DecodePool {
  /** Number of runs (groups of adjacent blocks) to decode at the same time, so that all threads are busy. */
  readonly lanes: number;
  /**
   * Decodes a run on one of the threads. If no thread is available or the thread dies, decodes the run on the calling
   * thread.
   */
  decode(request: RunRequest): Promise<void>;
  /** Starts all threads immediately. Without this call, threads are started when the first runs are decoded. */
  start(): void;
  close(): Promise<void>;
}

/**
 * A request to a thread. The thread reads and decodes some pieces (blocks or rows of blocks), and copies their cells to
 * shared memory.
 */
export interface RunRequest {
  /** Descriptor of the open file. */
  readonly descriptor: number;
  readonly file: string;
  readonly size: number;
  readonly coding: BlockCoding;
  /** The pieces, as {@link packPieces} packs them. */
  readonly pieces: Float64Array;
  /**
   * The window (rectangle of the raster) whose cells are stored row by row in each target. If the window is undefined,
   * targets contain the cells block by block, and `starts[i]` is the index of the first cell of the block of piece i.
   */
  readonly window: Window | undefined;
  readonly starts?: Float64Array | undefined;
  /** Memory for the cells of each band that is wanted, and the index of the band in the blocks. */
  readonly targets: readonly { readonly cells: SharedArrayBuffer; readonly position: number }[];
}
