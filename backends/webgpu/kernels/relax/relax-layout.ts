import type { DeviceBuffer, RelaxCommand } from '../../../../primitives/contract/backend.ts';
import type { Engine } from '../../launches/engine.ts';

/** Maximum number of threads in a workgroup. More threads would have fewer cells each but wait longer at barriers. */
const MAX_THREADS = 512;
/** Maximum number of cells of a thread: the code of a step is repeated for each. */
const MAX_CELLS_OF_THREAD = 32;
/** Bytes of workgroup memory besides states and folds: a grid's place, and whether it is done. */
const OTHER_BYTES = 32;

/**
 * How the largest grid is laid out in workgroup memory. It is cut into vertical strips of `rows` cells, which are
 * arranged side by side and below one another. A thread has one strip, or `repeats` strips if a row has more cells than
 * a workgroup has threads. The neighbours of a thread's cells are therefore in a few columns, and each is read once for
 * all its cells.
 */
export interface RelaxLayout {
  readonly threads: number;
  /** Threads next to each other, one for each column; and the number of strips of a thread, `across` columns apart. */
  readonly across: number;
  readonly repeats: number;
  /** Strips below one another, and the cells of each. */
  readonly strips: number;
  readonly rows: number;
  /** Words from one strip to the next: an odd number, so that neighbouring threads use different banks. */
  readonly pitch: number;
  /** Total number of words. The last one holds the value of cells outside the grid. */
  readonly words: number;
}

/** The layout of grids; undefined if a workgroup has too little memory for the largest. */
export function layoutGrids(engine: Engine, command: RelaxCommand): RelaxLayout | undefined {
  if (bindingsOf(engine, command) >= engine.limits.storageBuffers) return undefined;
  const { maxWidth, maxHeight, neighbours, state, change } = command;
  // Positions beyond 32 bits would wrap around.
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

/** Number of states in workgroup memory that are folded: one for each thread, or for each subgroup. */
export function foldedStates({ subgroups }: Engine, threads: number): number {
  return subgroups === undefined ? threads : Math.ceil(threads / subgroups.min);
}

/** Maximum distance of a neighbour. */
const FARTHEST = 2 ** 16;
/** A multiple of the subgroup size on all devices. */
const MIN_THREADS = 128;

/** Number of storage buffers that the kernel binds. */
function bindingsOf({ pool }: Engine, { grids, own, step, until, state, rounds }: RelaxCommand): number {
  const read = [grids, own, step, until].flatMap(({ arrays }) => [...arrays.values()].map(({ buffer }) => buffer));
  const written = [...state, rounds].map(({ buffer }) => buffer);
  const parts = (buffers: readonly DeviceBuffer[]): number =>
    [...new Set(buffers.map((buffer) => pool.resolve(buffer)))].reduce((sum, { parts }) => sum + parts.length, 0);
  return parts(read) + parts(written);
}

/** The cells of a thread, in the order of their numbers. */
export function cellsOf({ repeats, rows }: RelaxLayout): readonly { readonly repeat: number; readonly row: number }[] {
  return Array.from({ length: repeats * rows }, (_, k) => ({ repeat: Math.floor(k / rows), row: k % rows }));
}
