import { totalmem } from 'node:os';
import { overMemory } from '../formats/memory.ts';
import { type OptionSpec, type OptionValues, parsed } from './command-line.ts';
import { parseByteSize } from './values.ts';

/** Bytes that the data of a command may take, in all. */
export interface MemoryOptions {
  readonly memory: number;
}

export const MEMORY_SPEC: OptionSpec = {
  name: 'memory',
  value: 'SIZE',
  help: 'what the data of the run may take, as 2GB (default: a quarter of the memory that there is)',
};

/** What `--memory` says, or a quarter of the memory that the process may have. */
export function parseMemory(values: OptionValues): MemoryOptions {
  return { memory: parsed(values, 'memory', parseByteSize) ?? Math.floor(availableMemory() / 4) };
}

/** The machine's memory, or that of the process's control group where it is less. */
function availableMemory(total: number = totalmem(), constrained: number = process.constrainedMemory()): number {
  return constrained > 0 && constrained < total ? constrained : total;
}

/** Parts of a command's memory, in bytes. */
export interface MemoryShares {
  /** Of counters, and as much again of windows and of unique values. */
  readonly counters: number;
  /** Of what is on a device at a time. */
  readonly device: number;
  /** Of one block or file that is held beside all else. */
  readonly record: number;
}

/** How a command divides its memory. */
export function sharesOf(memory: number): MemoryShares {
  return { counters: Math.floor(memory / 4), device: Math.floor(memory / 4), record: Math.floor(memory / 8) };
}

/** Words of the quadrants under way on a device, whose tables may not be larger in any case. */
export function quadrantBudget(memory: number): number {
  return Math.max(1, Math.min(2 ** 28, Math.floor(sharesOf(memory).device / 4)));
}

/** Columns of four-byte elements that a measurement holds at a time, of input and results, of a candidate and the reference. */
const BENCH_COLUMNS = 8;

/**
 * Refuses to measure columns that would not fit.
 *
 * @throws OutOfMemoryError `memory/limit`.
 */
export function requireRoomForElements(elements: number, memory: number): void {
  const needed = 4 * BENCH_COLUMNS * elements;
  if (needed <= memory) return;
  throw overMemory('The columns to measure are too large.', {
    needed,
    what: `${BENCH_COLUMNS} columns of ${elements} elements`,
    allowed: memory,
    instead: 'measure fewer elements',
  });
}
