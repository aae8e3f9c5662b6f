import type { Context } from '../context-type.ts';

/** The context of primitives that are called now: that of a scope, or one that is given as an option. */
interface Current {
  readonly context: Context;
  /** Whether the caller named the context: then columns must not live in another one. */
  readonly isNamed: boolean;
}

let current: Current | undefined;

/** The context of the scope under way, or the one that a caller named, whichever is innermost. */
export function currentContext(): Current | undefined {
  return current;
}

/**
 * Sets the context of primitives whose columns have none, until `run` returns. While a pipeline is being prepared for that
 * context, it is the one that records. An asynchronous `run` has it until its first await only, so that two tasks never see the
 * context of each other.
 */
export function runIn<R>(context: Context, isNamed: boolean, run: () => R): R {
  const outer = current;
  current = { context: recordingFor(context) ?? context, isNamed };
  try {
    return run();
  } finally {
    current = outer;
  }
}

/** The context in which a pipeline is being prepared for another one, if that is so. */
export function recordingFor(context: Context): Context | undefined {
  const recording = current?.context;
  return recording?.recording?.outer === context ? recording : undefined;
}
