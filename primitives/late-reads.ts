import type { Column, Memory } from './columns/column.ts';
import type { DeviceBuffer } from './contract/backend.ts';
import { type IntoArray, requireRoom } from './downloads.ts';
import { ArgumentError, OutOfMemoryError } from './errors.ts';

/** A read that waits until the number of its rows is known. */
interface LateRead {
  /** The column to read, or a copy of it that was made before the column was overwritten. */
  column: Column;
  /** All rows up to the column's capacity, if they were read early to free its memory. */
  all: Promise<IntoArray> | undefined;
}

/**
 * Reads that first ask for the number of rows, because it may be far below the column's capacity. They see the column
 * as it was at the time of the call, even if it is overwritten or released before the number is known.
 */
export interface LateReads {
  /** Whether no read is waiting. */
  readonly idle: boolean;
  read(column: Column, count: Promise<number>, into?: IntoArray): Promise<IntoArray>;
  /** Copies the columns that waiting reads still need from buffers that are about to be written. */
  beforeWrite(buffers: readonly DeviceBuffer[]): void;
  /** Reads all released columns in full, so that their memory can be freed; returns whether there were any. */
  freeReleased(): boolean;
}

interface Owner {
  /** Reads the first rows of a stored column, which may be released but not yet freed. */
  readRows(column: Column, rows: number, into?: IntoArray): Promise<IntoArray>;
  /** A copy of a stored column on the device. */
  copy(column: Column): Column;
  /** Prevents memory from being freed. */
  hold(memory: Memory): void;
  letGo(memory: Memory): void;
  release(memory: Memory): void;
}

export function createLateReads({ readRows, copy, hold, letGo, release }: Owner): LateReads {
  const waiting = new Set<LateRead>();

  const readAll = (late: LateRead): void => {
    const { column } = late;
    late.all = readRows(column, column.capacity);
    // If the number of rows cannot be determined, nobody awaits this promise.
    late.all.catch(() => {});
    waiting.delete(late);
    letGo(memoryOf(column));
  };

  const readCopy = (late: LateRead): void => {
    const { column } = late;
    try {
      late.column = copy(column);
    } catch (error) {
      if (!(error instanceof OutOfMemoryError)) throw error;
      readAll(late);
      return;
    }
    hold(memoryOf(late.column));
    letGo(memoryOf(column));
  };

  const end = (late: LateRead, original: Column): void => {
    waiting.delete(late);
    const memory = memoryOf(late.column);
    letGo(memory);
    if (late.column !== original) release(memory);
  };

  return {
    get idle() {
      return waiting.size === 0;
    },
    async read(column, count, into) {
      const late: LateRead = { column, all: undefined };
      waiting.add(late);
      hold(memoryOf(column));
      try {
        const rows = await count;
        // Not awaited: the read has been issued, so the column may be freed.
        return late.all === undefined ? readRows(late.column, rows, into) : firstRows(await late.all, rows, into);
      } finally {
        if (late.all === undefined) end(late, column);
      }
    },
    beforeWrite(buffers) {
      for (const late of waiting) if (buffers.includes(memoryOf(late.column).buffer)) readCopy(late);
    },
    freeReleased() {
      const released = [...waiting].filter(({ column }) => memoryOf(column).released);
      released.forEach(readAll);
      return released.length > 0;
    },
  };
}

/** The first rows of all rows up to the capacity, in the caller's array if given. */
export function firstRows(all: IntoArray, rows: number, into?: IntoArray): IntoArray {
  const first = all.subarray(0, rows);
  if (into === undefined) return first;
  requireRoom(into, rows);
  into.set(first);
  return into.subarray(0, rows);
}

function memoryOf(column: Column): Memory {
  const { source } = column;
  if (source.kind === 'view') throw new ArgumentError('column/view', 'A view cannot be read without storing it first.');
  return source.memory;
}
