import { totalmem } from 'node:os';
import { overMemory } from '../formats/memory.ts';
import { type OptionSpec, type OptionValues, parsed } from './command-line.ts';
import { parseByteSize } from './values.ts';

/** Bytes that all data of a command may take together. */
export interface MemoryOptions {
  readonly memoryBytes: number;
}

export const MEMORY_SPEC: OptionSpec = {
  name: 'memory',
  value: 'SIZE',
  help: 'memory for the data of the run, such as 2GB (default: a quarter of the machine)',
};

/** The value of `--memory`, or a quarter of the memory available to the process. */
export function parseMemory(values: OptionValues): MemoryOptions {
  return { memoryBytes: parsed(values, 'memory', parseByteSize) ?? Math.floor(availableMemory() / 4) };
}

/** The memory of the machine, or the limit of the control group if it is smaller. */
function availableMemory(total: number = totalmem(), constrained: number = process.constrainedMemory()): number {
  return constrained > 0 && constrained < total ? constrained : total;
}

/** Parts of a command's memory, in bytes. */
export interface MemoryShares {
  /** For counters; windows and unique values may take as much each. */
  readonly counters: number;
  /** For data on the device at a time. */
  readonly device: number;
  /** For one block or file that is held in addition to everything else. */
  readonly record: number;
}

/** How a command divides its memory. */
export function sharesOf(memoryBytes: number): MemoryShares {
  return {
    counters: Math.floor(memoryBytes / 4),
    device: Math.floor(memoryBytes / 4),
    record: Math.floor(memoryBytes / 8),
  };
}

/** Bytes for quadrants on the device, at most the 1 GiB that their tables allow. */
export function quadrantBytes(memoryBytes: number): number {
  return Math.max(1, Math.min(2 ** 30, sharesOf(memoryBytes).device));
}

/** The number of 4-byte columns that a measurement holds: inputs and results, of a candidate and of the reference. */
const BENCH_COLUMNS = 8;

/**
 * Checks that the columns of a measurement fit in `memoryBytes`.
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
