import type { DeviceBuffer, RelaxCommand } from '../../../../primitives/contract/backend.ts';
import type { Engine } from '../../launches/engine.ts';

/** Threads of a workgroup at most: with more of them each has fewer cells, and all wait longer for each other. */
const MAX_THREADS = 512;
/** Cells of a thread at most: the code of a step is written out for each. */
const MAX_CELLS_OF_THREAD = 32;
/** Bytes of workgroup memory beside states and folds: a grid's place, and whether it is done. */
const OTHER_BYTES = 32;

/**
 * How the largest grid lies in the memory of a workgroup. It is cut into strips of `rows` cells, one below the other, which lie
 * side by side; a thread has one of them, or `repeats` where a row has more cells than a workgroup threads. So the neighbours of
 * its cells are in a few columns, and it reads each of them once for all of its cells.
 */
export interface RelaxLayout {
  readonly threads: number;
  /** Threads side by side, and how often each goes on to the right by as many cells. */
  readonly across: number;
  readonly repeats: number;
  /** Strips one below the other, and the cells of each. */
  readonly strips: number;
  readonly rows: number;
  /** Words from strip to strip: an odd number, so that threads side by side use different banks. */
  readonly pitch: number;
  /** Words in all. The last one holds what stands for cells outside. */
  readonly words: number;
}

/** The layout of grids, or undefined where a workgroup has no room for the largest. */
export function layoutGrids(engine: Engine, command: RelaxCommand): RelaxLayout | undefined {
  if (bindingsOf(engine, command) >= engine.limits.storageBuffers) return undefined;
  const { maxWidth, maxHeight, neighbours, state, change } = command;
  // Places beyond 32 bits would come back on the other side.
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

/** States in workgroup memory that are folded: those of all threads, or of the subgroups. */
export function foldedStates({ subgroups }: Engine, threads: number): number {
  return subgroups === undefined ? threads : Math.ceil(threads / subgroups.min);
}

/** How far away a neighbour can be. */
const FARTHEST = 2 ** 16;
/** Whole subgroups, on all devices. */
const MIN_THREADS = 128;

/** Storage buffers that the kernel binds. */
function bindingsOf({ pool }: Engine, { grids, own, step, until, state, rounds }: RelaxCommand): number {
  const read = [grids, own, step, until].flatMap(({ arrays }) => [...arrays.values()].map(({ buffer }) => buffer));
  const written = [...state, rounds].map(({ buffer }) => buffer);
  const parts = (buffers: readonly DeviceBuffer[]): number =>
    [...new Set(buffers.map((buffer) => pool.resolve(buffer)))].reduce((sum, { parts }) => sum + parts.length, 0);
  return parts(read) + parts(written);
}

/** The cells of a thread in the order in which they are numbered. */
export function cellsOf({ repeats, rows }: RelaxLayout): readonly { readonly repeat: number; readonly row: number }[] {
  return Array.from({ length: repeats * rows }, (_, k) => ({ repeat: Math.floor(k / rows), row: k % rows }));
}
