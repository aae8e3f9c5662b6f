import type { Context } from '../context-type.ts';

/**
 * The context that primitives use if their columns belong to no context: the context of the current scope, or a context
 * given as an option.
 */
interface Current {
  readonly context: Context;
  /** Whether the caller named the context in an option. Columns of another context are then an error. */
  readonly isNamed: boolean;
}

let current: Current | undefined;

/** The context set by the innermost active scope or call with a context option. */
export function currentContext(): Current | undefined {
  return current;
}

/**
 * Calls `run`. Until `run` returns, primitives whose columns belong to no context use the given context. While a
 * pipeline is being prepared for the given context, these primitives use the context that records the pipeline instead.
 * For an asynchronous `run`, the setting ends at the first await, so two tasks never see each other's context.
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

/** The context that records a pipeline, if one is being prepared for the given context; otherwise undefined. */
export function recordingFor(context: Context): Context | undefined {
  const recording = current?.context;
  return recording?.recording?.outer === context ? recording : undefined;
}
