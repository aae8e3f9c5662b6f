import type { DeviceBuffer, RelaxCommand } from '../../../../primitives/contract/backend.ts';
import type { Engine } from '../../launches/engine.ts';

/**
 * Maximum number of threads per workgroup. With more threads, each thread would have fewer cells but wait longer at
 * barriers.
 */
const MAX_THREADS = 512;
/** Maximum number of cells per thread. The kernel contains the code of a step once for each of these cells. */
const MAX_CELLS_OF_THREAD = 32;
/**
 * Bytes of workgroup memory for the grid's position and size, and for the flag that says whether the grid is finished.
 */
const OTHER_BYTES = 32;

/**
 * How the largest grid is laid out in workgroup memory. The grid is cut into vertical strips, one cell wide and `rows`
 * cells high. A thread processes one strip, or `repeats` strips if a row has more cells than a workgroup has threads.
 * The neighbours of a thread's cells are therefore in a few columns, and the thread reads each neighbour only once.
 */
export interface RelaxLayout {
  readonly threads: number;
  /**
   * `across` is the number of adjacent columns that are processed by different threads. `repeats` is the number of
   * strips per thread; the strips of a thread are `across` columns apart.
   */
  readonly across: number;
  readonly repeats: number;
  /** `strips` is the number of strips per column, and `rows` the number of cells per strip. */
  readonly strips: number;
  readonly rows: number;
  /** Distance in words between two strips. It is odd, so that adjacent threads use different memory banks. */
  readonly pitch: number;
  /**
   * Number of words for one leaf (scalar component) of all cells. The last word holds the value of cells outside the
   * grid.
   */
  readonly words: number;
}

/** The layout for a command; undefined if the largest grid does not fit in a workgroup's memory. */
export function layoutGrids(engine: Engine, command: RelaxCommand): RelaxLayout | undefined {
  if (bindingsOf(engine, command) >= engine.limits.storageBuffers) return undefined;
  const { maxWidth, maxHeight, neighbours, state, change } = command;
  // With neighbours farther away than `FARTHEST` cells, coordinates could overflow 32 bits.
  if (neighbours.some(({ dx, dy }) => Math.max(Math.abs(dx), Math.abs(dy)) > FARTHEST)) return undefined;
  const max = Math.min(MAX_THREADS, 2 ** Math.floor(Math.log2(engine.threads)));
  const across = Math.min(maxWidth, max);
  const repeats = Math.ceil(maxWidth / across);
  for (let strips = Math.min(maxHeight, Math.floor(max / across)); strips > 0; strips--) {
    const rows = Math.ceil(maxHeight / strips);
    const pitch = 2 * Math.floor(rows / 2) + 1;
    const words = maxWidth * strips * pitch + 1;
    const threads = Math.max(MIN_THREADS, 2 ** Math.ceil(Math.log2(across * strips)));
    const folded = foldedStates(engine, threads) * change.types.length;
    if (repeats * rows > MAX_CELLS_OF_THREAD) return undefined;
    if (4 * (words * state.length + folded) + OTHER_BYTES <= engine.shared) {
      return { threads, across, repeats, strips, rows, pitch, words };
    }
  }
  return undefined;
}

/**
 * Number of states that workgroup memory must hold while the threads fold their changes: one state per subgroup, or
 * one per thread if the kernel uses no subgroups.
 */
export function foldedStates({ subgroups }: Engine, threads: number): number {
  return subgroups === undefined ? threads : Math.ceil(threads / subgroups.min);
}

/** Maximum distance of a neighbour along an axis, in cells. */
const FARTHEST = 2 ** 16;
/** Minimum number of threads. It is a multiple of the subgroup size on all devices. */
const MIN_THREADS = 128;

/** Number of storage buffers that the kernel binds. */
function bindingsOf({ pool }: Engine, { grids, own, step, until, state, rounds }: RelaxCommand): number {
  const read = [grids, own, step, until].flatMap(({ arrays }) => [...arrays.values()].map(({ buffer }) => buffer));
  const written = [...state, rounds].map(({ buffer }) => buffer);
  const parts = (buffers: readonly DeviceBuffer[]): number =>
    [...new Set(buffers.map((buffer) => pool.resolve(buffer)))].reduce((sum, { parts }) => sum + parts.length, 0);
  return parts(read) + parts(written);
}

/** The cells of a thread, in the order in which they are numbered: strip by strip, top to bottom. */
export function cellsOf({ repeats, rows }: RelaxLayout): readonly { readonly repeat: number; readonly row: number }[] {
  return Array.from({ length: repeats * rows }, (_, k) => ({ repeat: Math.floor(k / rows), row: k % rows }));
}
