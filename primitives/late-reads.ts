import type { DeviceBuffer } from './backend.ts';
import type { Column, Memory } from './columns/column.ts';
import { type IntoArray, requireRoom } from './downloads.ts';
import { ArgumentError, OutOfMemoryError } from './errors.ts';

/** A read that waits for the number of its rows. */
interface LateRead {
  /** What is read: the column, or a copy of it that was made before it was written to. */
  column: Column;
  /** All rows that the column has room for, read before its memory was needed. */
  all: Promise<IntoArray> | undefined;
}

/**
 * Reads of rows whose number is asked for first, because there may be far fewer than the column has room for. They see the
 * column as it was when they were asked for, although it may be written to or released before its rows are asked for.
 */
export interface LateReads {
  /** Whether no read waits for the number of its rows. */
  readonly idle: boolean;
  read(column: Column, count: Promise<number>, into?: IntoArray): Promise<IntoArray>;
  /** Copies what is still to be read of buffers that are about to be written. */
  beforeWrite(buffers: readonly DeviceBuffer[]): void;
  /** Reads all columns that were released meanwhile as a whole, so that their memory is free; says whether there were any. */
  freeReleased(): boolean;
}

interface Owner {
  /** Reads the first rows of a stored column, which may be released already but not freed. */
  readRows(column: Column, rows: number, into?: IntoArray): Promise<IntoArray>;
  /** A copy of a stored column on the device. */
  copy(column: Column): Column;
  /** Keeps memory from being freed. */
  hold(memory: Memory): void;
  letGo(memory: Memory): void;
  release(memory: Memory): void;
}

export function createLateReads({ readRows, copy, hold, letGo, release }: Owner): LateReads {
  const waiting = new Set<LateRead>();

  const readAll = (late: LateRead): void => {
    const { column } = late;
    late.all = readRows(column, column.capacity);
    // Nobody waits for it where the number of rows cannot be had.
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
        // Not awaited here: once it is asked for, the column may go.
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

/** The first of all rows that a column has room for, in an array of the caller's where there is one. */
export function firstRows(all: IntoArray, rows: number, into?: IntoArray): IntoArray {
  const first = all.subarray(0, rows);
  if (into === undefined) return first;
  requireRoom(into, rows);
  into.set(first);
  return into.subarray(0, rows);
}

function memoryOf(column: Column): Memory {
  const { source } = column;
  if (source.kind === 'view') throw new ArgumentError('column/view', 'A view cannot be downloaded.');
  return source.memory;
}
