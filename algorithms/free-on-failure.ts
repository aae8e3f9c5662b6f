import { type Context, gather, sequence, type Table } from '../primitives/index.ts';

/** Calls `make`, which takes ownership of `columns`. Frees the columns if `make` throws. */
export function freeOnFailure<T>(context: Context, columns: unknown, make: () => T): T {
  try {
    return make();
  } catch (error) {
    context.dispose(columns);
    throw error;
  }
}

/**
 * Waits for all promises. If one rejects, waits until all others have settled, frees the columns in the results of
 * fulfilled promises, and throws the first error.
 */
export async function allOrNone<T extends readonly unknown[]>(
  context: Context,
  promises: { readonly [K in keyof T]: T[K] | Promise<T[K]> },
): Promise<T> {
  const outcomes = await Promise.allSettled(promises);
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed === undefined)
    return outcomes.map((outcome) => (outcome as PromiseFulfilledResult<unknown>).value) as never;
  context.dispose(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : undefined)));
  throw failed.reason;
}

/**
 * Stores rows of which only the device knows the number, as exactly so many rows. `make` computes them, and `change`
 * makes other columns of them. Waits for the device once.
 */
export async function countedRows<C extends Table, R extends Table = C>(
  context: Context,
  make: () => C,
  change: (rows: C) => R = (rows) => rows as Table as R,
): Promise<NoInfer<R>> {
  const counted = context.scope(make);
  try {
    const rows = gather(counted, sequence(await context.count(counted)));
    return context.scope(() => context.materialize(change(rows)));
  } finally {
    context.dispose(counted);
  }
}
