import { ArgumentError, OutOfMemoryError } from '../checks/errors.ts';
import type { Column, Memory } from '../columns/column.ts';
import { storeColumns } from '../columns/views.ts';
import type { DeviceBuffer } from '../contract/backend.ts';
import { type IntoArray, readElements, requireRoom } from './downloads.ts';
import type { ContextMemory } from './memory.ts';

/** A pending read of a column that starts when the number of rows is known. */
interface LateRead {
  /** The column to read. If the column is about to be overwritten, a copy takes the place of this column. */
  column: Column;
  /**
   * The result of reading all rows up to the column's capacity. This is set if the memory of the column had to be freed
   * before the number of rows was known.
   */
  all: Promise<IntoArray> | undefined;
}

/**
 * Reads of columns whose length only the device knows. Each read first waits for the number of rows, because this
 * number may be much smaller than the capacity. The result has the contents at the time of the call, even if the
 * column is overwritten or released meanwhile.
 */
export interface LateReads {
  /** Whether no read is waiting. */
  readonly idle: boolean;
  read(column: Column, count: Promise<number>, into?: IntoArray): Promise<IntoArray>;
  /**
   * Called before commands write to the given buffers. Copies the columns in these buffers that pending reads still
   * need.
   */
  beforeWrite(buffers: readonly DeviceBuffer[]): void;
  /**
   * Reads all rows of every released column that pending reads still need, so that the memory of these columns can be
   * freed. Returns whether any column was read.
   */
  freeReleased(): boolean;
}

export function createLateReads({ context, hold, letGo, release }: ContextMemory): LateReads {
  const waiting = new Set<LateRead>();

  const readAll = (late: LateRead): void => {
    const { column } = late;
    late.all = readElements(context.backend, column, column.capacity);
    // If the number of rows cannot be determined, nothing awaits this promise, so its rejection must be ignored here.
    late.all.catch(() => {});
    waiting.delete(late);
    letGo(memoryOf(column).allocation);
  };

  const readCopy = (late: LateRead): void => {
    const { column } = late;
    try {
      late.column = storeColumns(context, [column], column.length, 'read')[0]!;
    } catch (error) {
      if (!(error instanceof OutOfMemoryError)) throw error;
      readAll(late);
      return;
    }
    hold(memoryOf(late.column).allocation);
    letGo(memoryOf(column).allocation);
  };

  const end = (late: LateRead, original: Column): void => {
    waiting.delete(late);
    const memory = memoryOf(late.column);
    letGo(memory.allocation);
    if (late.column !== original) release(memory);
  };

  return {
    get idle() {
      return waiting.size === 0;
    },
    async read(column, count, into) {
      const late: LateRead = { column, all: undefined };
      waiting.add(late);
      hold(memoryOf(column).allocation);
      try {
        const rows = await count;
        if (late.all !== undefined) return firstRows(await late.all, rows, into);
        // The promise of `readElements` is not awaited, so `finally` releases the memory at once. This is safe, because
        // `readElements` has already issued the read.
        return readElements(context.backend, late.column, rows, into);
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

/** Cuts an array to its first `rows` elements, or copies them into the caller's array if one is given. */
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
