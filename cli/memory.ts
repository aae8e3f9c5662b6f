import { totalmem } from 'node:os';
import { overMemory } from '../formats/memory.ts';
import { type OptionSpec, type OptionValues, parsed } from './command-line.ts';
import { parseByteSize } from './values.ts';

/** The memory limit of a command. */
export interface MemoryOptions {
  readonly memoryBytes: number;
}

export const MEMORY_SPEC: OptionSpec = {
  name: 'memory',
  group: 'Running',
  value: 'SIZE',
  help: 'memory for data, such as 2GB (default: a quarter of the machine)',
};

/** Parses `--memory`. Default: a quarter of the memory that is available to the process. */
export function parseMemory(values: OptionValues): MemoryOptions {
  return { memoryBytes: parsed(values, 'memory', parseByteSize) ?? Math.floor(availableMemory() / 4) };
}

/**
 * Bytes of memory available to the process: the memory of the machine or, if smaller, the limit of the control group.
 */
function availableMemory(total: number = totalmem(), constrained: number = process.constrainedMemory()): number {
  return constrained > 0 && constrained < total ? constrained : total;
}

/** How the memory of a command is divided, in bytes. */
export interface MemoryShares {
  /**
   * For counters. The same number of bytes is allowed once more for windows (sections) of the raster, and once more for
   * lists of unique values.
   */
  readonly counters: number;
  /** For data that is on the device at the same time. */
  readonly device: number;
  /** For where zones lie on the grids of rasters, so that a series of rasters needs it only once. */
  readonly overlay: number;
  /** For a single block or file that is held in addition to all other data. */
  readonly record: number;
  /** For what is held of files of the web. */
  readonly download: number;
  /** For cells of bands that were decoded together with those of another band. */
  readonly bands: number;
}

/** Divides the memory of a command among its uses. */
export function sharesOf(memoryBytes: number): MemoryShares {
  return {
    counters: Math.floor(memoryBytes / 4),
    device: Math.floor(memoryBytes / 4),
    overlay: Math.max(1, Math.floor(memoryBytes / 16)),
    record: Math.floor(memoryBytes / 8),
    download: Math.max(1, Math.floor(memoryBytes / 16)),
    bands: Math.floor(memoryBytes / 8),
  };
}

/**
 * Maximum bytes for quadrants on the device. It never exceeds 1 GiB, because larger tables of quadrants are not
 * supported.
 */
export function quadrantBytes(memoryBytes: number): number {
  return Math.max(1, Math.min(2 ** 30, sharesOf(memoryBytes).device));
}

/**
 * Number of columns of 4-byte elements that a measurement needs. The columns hold the inputs, the results of the
 * candidate (the implementation that is measured), and the results of the reference implementation.
 */
const BENCH_COLUMNS = 8;

/**
 * Throws if the columns of a measurement do not fit in `memoryBytes`.
 *
 * @throws OutOfMemoryError `memory/limit`.
 */
export function requireRoomForElements(elements: number, memoryBytes: number): void {
  const needed = 4 * BENCH_COLUMNS * elements;
  if (needed <= memoryBytes) return;
  throw overMemory('The columns to measure are too large.', {
    needed,
    what: `${BENCH_COLUMNS} columns of ${elements} elements`,
    allowed: memoryBytes,
    instead: 'measure fewer elements',
  });
}
