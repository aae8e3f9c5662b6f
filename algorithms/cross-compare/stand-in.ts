import type { Context } from '../../primitives/context.ts';
import { DeviceLostError } from '../../primitives/errors.ts';

/** Does work on a context, and all of it once more on another one where that was lost under it. */
export type OnContext = <R>(work: (context: Context) => Promise<R>) => Promise<R>;

/**
 * Work on a context that may be replaced. The one who opens contexts closes them; of calls that are under way at the same
 * time, each would open one of its own. Work that is lost twice has failed.
 */
export function replaceable(
  context: Context,
  reopen: ((lost: DeviceLostError) => Promise<Context>) | undefined,
): OnContext {
  let current = context;
  return async (work) => {
    try {
      return await work(current);
    } catch (error) {
      if (reopen === undefined || !(error instanceof DeviceLostError)) throw error;
      current = await reopen(error);
      return work(current);
    }
  };
}
