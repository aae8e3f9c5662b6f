import type { Context } from '../primitives/context/context.ts';
import type { ZonalParts } from './zonal.ts';

/** A function whose code is imported when it is called. */
export function imported<A extends readonly unknown[], R>(
  load: () => Promise<(...args: A) => R | Promise<R>>,
): (...args: A) => Promise<R> {
  return async (...args) => (await load())(...args);
}

/** Opens a context. */
export const openContext: ZonalParts<Context>['openContext'] = imported(
  async () => (await import('../on-node.ts')).open,
);
