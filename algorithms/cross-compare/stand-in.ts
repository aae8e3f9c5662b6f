import type { Context } from '../../primitives/context.ts';
import { DeviceLostError } from '../../primitives/errors.ts';

/** Does work on a context, and all of it once more on another one where that was lost under it. */
export type OnContext = <R>(work: (context: Context) => Promise<R>) => Promise<R>;

/**
 * Work on a context that may be replaced; the one who opens contexts closes them. Several calls may be under way at once:
 * one that is lost opens another context, and the others take that. Work that is lost twice has failed.
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
