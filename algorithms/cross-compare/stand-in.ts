import type { Context } from '../../primitives/context.ts';
import { DeviceLostError } from '../../primitives/errors.ts';

/** Runs work on a context. If the device of the context is lost, runs the whole work again on another context. */
export type OnContext = <R>(work: (context: Context) => Promise<R>) => Promise<R>;

/**
 * Runs work on a context that is replaced if its device is lost. Whoever opens a context closes it. If several calls
 * lose the context, the first call opens another one and all of them use it. Work fails if it loses its context twice.
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
