import { type Cells, type RasterSource, SAMPLE_BYTES, type Window } from '../../../algorithms/geometry/raster.ts';
import { turn } from '../../../primitives/host/turn.ts';
import type { Context } from '../../../primitives/index.ts';
import { wordsOver } from '../tiff/samples.ts';
import { bqEncoder } from './bq-encoder.ts';
import type { PackedLayout } from './layout.ts';
import { type PackedCodec, tileEncoder } from './tile-encoder.ts';
import type { TileCells } from './tile-scan.ts';
import type { PackedWriter } from './writer.ts';

/** The cells of a band, wherever they are. */
export type EncodableCells = Pick<
  RasterSource,
  'width' | 'height' | 'sample' | 'blockRows' | 'read' | 'readMask' | 'reuse'
>;

/** How a band is encoded. */
export interface EncodeBandOptions {
  /** Maximum bytes of the cells that are held. */
  readonly memoryBytes: number;
  readonly codec?: PackedCodec | undefined;
  /** Encodes BQ-trees, unless the codec is `residuals`. */
  readonly context?: Context | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Is called with the number of cells that were encoded since the last call. */
  onCells?(cells: number): void;
}

/** Cells of rows of tiles that are encoded as BQ-trees together: a call on a device takes a while, however few they are. */
const CELLS_FOR_TREES = 2 ** 21;

/** Encodes a band tile by tile. The next window is read while one is encoded. */
export async function encodeBand(
  raster: EncodableCells,
  layout: PackedLayout,
  nodataBits: number | undefined,
  writer: PackedWriter,
  { memoryBytes, codec, context, signal, onCells }: EncodeBandOptions,
): Promise<void> {
  const { tileColumns, tileRows, sample } = layout;
  const coding = { sample, tileColumns, tileRows, nodataBits };
  const encode = tileEncoder(coding, codec);
  const encodeTrees = context && bqEncoder(context, coding);
  const windows = [...windowsOf(raster, layout, memoryBytes)];
  const load = (window: Window | undefined) => (window === undefined ? undefined : readCells(raster, window, signal));
  let loading = load(windows[0]);
  for (const [at, window] of windows.entries()) {
    const { cells, mask } = (await loading)!;
    loading = load(windows[at + 1]);
    // A window that fails is reported when its turn comes.
    loading?.catch(() => undefined);
    const words = wordsOver(new Uint8Array(cells.buffer, cells.byteOffset, cells.byteLength), SAMPLE_BYTES[sample]);
    let [tiles, waiting]: [TileCells[], number] = [[], 0];
    for (let top = 0; top < window.rows; top += tileRows) {
      const rows = Math.min(tileRows, window.rows - top);
      for (let left = 0; left < window.columns; left += tileColumns) {
        const columns = Math.min(tileColumns, window.columns - left);
        const start = top * window.columns + left;
        tiles.push({ words, start, stride: window.columns, columns, rows, mask });
      }
      waiting += rows * window.columns;
      const isLast = top + rows === window.rows;
      if (encodeTrees !== undefined && waiting < CELLS_FOR_TREES && !isLast) continue;
      const trees = await encodeTrees?.(tiles);
      for (const [at, tile] of tiles.entries()) writer.add(encode(tile, trees?.[at]));
      await writer.flush();
      onCells?.(waiting);
      await turn();
      signal?.throwIfAborted();
      [tiles, waiting] = [[], 0];
    }
    raster.reuse?.(cells);
  }
}

async function readCells(
  raster: EncodableCells,
  window: Window,
  signal: AbortSignal | undefined,
): Promise<{ readonly cells: Cells; readonly mask: Uint8Array | undefined }> {
  const mask = await raster.readMask?.(window, signal);
  return { cells: await raster.read(window, signal), mask };
}

/** Bytes of a window, if more are allowed. */
const AMPLE_BYTES = 2 ** 26;

/**
 * Cuts a raster into windows of whole tiles, in the order of tiles: several rows of tiles that end where blocks of the
 * raster end, or one row of tiles, or a part of one.
 */
function* windowsOf(raster: EncodableCells, layout: PackedLayout, memoryBytes: number): Generator<Window> {
  const { width, height, tileColumns, tileRows, sample } = layout;
  // Two windows are held, of cells and of their masks.
  const cells = Math.min(AMPLE_BYTES, memoryBytes / 2) / (SAMPLE_BYTES[sample] + 1);
  const rowsAllowed = Math.floor(cells / width / tileRows) * tileRows;
  const common = leastCommonMultiple(tileRows, raster.blockRows);
  const rows = Math.max(tileRows, rowsAllowed >= common ? Math.floor(rowsAllowed / common) * common : rowsAllowed);
  const columnsAllowed = Math.max(tileColumns, Math.floor(cells / tileRows / tileColumns) * tileColumns);
  const columns = rowsAllowed >= tileRows ? width : columnsAllowed;
  for (let row = 0; row < height; row += rows) {
    for (let column = 0; column < width; column += columns) {
      yield { column, row, columns: Math.min(columns, width - column), rows: Math.min(rows, height - row) };
    }
  }
}

function leastCommonMultiple(a: number, b: number): number {
  let [larger, smaller] = [a, b];
  while (smaller > 0) [larger, smaller] = [smaller, larger % smaller];
  return (a / larger) * b;
}
