import type { Context } from '../../primitives/context.ts';
import { DeviceLostError } from '../../primitives/errors.ts';

/** Runs work on a context. If the context is lost, runs all of it again on another context. */
export type OnContext = <R>(work: (context: Context) => Promise<R>) => Promise<R>;

/**
 * Work on a context that may be replaced. Whoever opens a context closes it. If several calls lose the context, the
 * first opens another one and all of them use it. Work that loses its context twice fails.
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
