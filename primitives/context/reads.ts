import { DeviceLostError } from '../checks/errors.ts';
import type { Column, DeviceLength } from '../columns/column.ts';
import { alive } from '../columns/program.ts';
import { memoriesIn } from '../columns/reachable.ts';
import { storeViews } from '../columns/views.ts';
import type { CapacityChecks } from './capacity-checks.ts';
import { type IntoArray, readElements, rowsIn } from './downloads.ts';
import { firstRows, type LateReads } from './late-reads.ts';
import type { ContextMemory } from './memory.ts';

/** The calls of a context that wait for the device. */
export interface Reads {
  /** Copies columns to the host, into the given arrays where there are any. */
  read(columns: readonly Column[], into: readonly (IntoArray | undefined)[]): Promise<IntoArray[]>;
  /**
   * Waits until all promises have settled, then throws the first failure. If the columns derive from a primitive whose
   * capacity was exceeded, the `CapacityError` takes precedence. If the device belongs to the user, submits all
   * commands issued so far. They then run before any work that the user submits later.
   */
  settle<R>(columns: readonly Column[], promises: readonly Promise<R>[]): Promise<R[]>;
}

/**
 * Maximum capacity of a column whose rows are read before the host knows their number. Such a read copies all rows up
 * to the capacity at the same time as the number, which saves a second wait.
 */
const ROWS_READ_AT_ONCE = 65536;

export function createReads(memory: ContextMemory, checks: CapacityChecks, lateReads: LateReads): Reads {
  const { context } = memory;

  const download = async (
    column: Column,
    countOnce: (length: DeviceLength) => Promise<number>,
    into?: IntoArray,
  ): Promise<IntoArray> => {
    const { backend } = context;
    const { length, capacity, source } = column;
    if (source.kind === 'stored') alive(source.memory);
    if (typeof length === 'number') return readElements(backend, column, length, into);
    // A borrowed buffer must be read at once, because its owner may change its contents before the count is known.
    const canWait = source.kind === 'view' || !source.memory.borrowed;
    if (canWait && capacity > ROWS_READ_AT_ONCE) return lateReads.read(column, countOnce(length), into);
    const [count, rows] = await Promise.all([countOnce(length), readElements(backend, column, capacity)]);
    return firstRows(rows, count, into);
  };

  const settled = async <R>(columns: readonly Column[], promises: readonly Promise<R>[]): Promise<R[]> => {
    const sources = new Set(memoriesIn(columns).map(({ buffer }) => buffer));
    const [checked, ...outcomes] = await Promise.allSettled([checks.ensure(sources), ...promises]);
    const failed = [checked!, ...outcomes].find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    if (memory.closed) throw closedMeanwhile();
    return outcomes.map((outcome) => (outcome as PromiseFulfilledResult<Awaited<R>>).value);
  };

  const settle: Reads['settle'] = (columns, promises) => {
    const all = settled(columns, promises);
    if (context.backend.shared !== undefined) context.backend.submit?.();
    return all;
  };

  return {
    read(columns, into) {
      const stored = storeViews(context, columns, 'read');
      const counts = new Map<DeviceLength, Promise<number>>();
      const countOnce = (length: DeviceLength): Promise<number> => {
        const known = counts.get(length) ?? rowsIn(context.backend, length);
        counts.set(length, known);
        return known;
      };
      const arrays = settle(
        stored,
        stored.map((column, i) => download(column, countOnce, into[i])),
      );
      for (const { source } of stored.filter((column) => !columns.includes(column))) {
        if (source.kind === 'stored') memory.release(source.memory);
      }
      return arrays;
    },
    settle,
  };
}

export function closedMeanwhile(): DeviceLostError {
  return new DeviceLostError('device/closed', 'The context was closed before this call was done.', {
    remedy: 'Await the call before you close the context.',
  });
}
