import type { Context } from '../context.ts';

/** Where primitives run that are called now: in a scope, or with a context as an option. */
interface Current {
  readonly context: Context;
  /** Whether the caller named the context: then columns must not live in another one. */
  readonly isNamed: boolean;
}

let current: Current | undefined;

/** The context of the scope under way, or that a caller named, whichever is innermost. */
export function currentContext(): Current | undefined {
  return current;
}

/**
 * Runs something with a context for primitives whose columns say none. It is there until `run` returns: what is asynchronous
 * in it does not see it after its first await, so that two tasks never see each other's.
 */
export function runIn<R>(context: Context, isNamed: boolean, run: () => R): R {
  const outer = current;
  current = { context, isNamed };
  try {
    return run();
  } finally {
    current = outer;
  }
}
