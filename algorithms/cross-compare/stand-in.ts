import { DeviceLostError } from '../../primitives/checks/errors.ts';
import type { Context } from '../../primitives/context/context.ts';

/** Runs work on a context. If the device of the context is lost, runs the whole work again on another context. */
export type OnContext = <R>(work: (context: Context) => Promise<R>) => Promise<R>;

/**
 * Returns a function that runs work on `context`. If the device is lost, the function repeats the work on a context
 * from `reopen`. If several calls lose the same context, the first call opens a new context for all of them. Work that
 * loses the new context too fails. The function closes neither context.
 */
export function replaceable(
  context: Context,
  reopen: ((lost: DeviceLostError) => Promise<Context>) | undefined,
): OnContext {
  let latest = Promise.resolve(context);
  return async (work) => {
    const used = latest;
    try {
      return await work(await used);
    } catch (error) {
      if (reopen === undefined || !(error instanceof DeviceLostError)) throw error;
      if (latest === used) latest = reopen(error);
      return work(await latest);
    }
  };
}
