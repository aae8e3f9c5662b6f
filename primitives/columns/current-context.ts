import type { Context } from '../context-type.ts';

/** The context of primitives that are called now: that of a scope, or one given as an option. */
interface Current {
  readonly context: Context;
  /** Whether the caller named the context; then columns must live in it. */
  readonly isNamed: boolean;
}

let current: Current | undefined;

/** The innermost of the contexts set by scopes and named by callers. */
export function currentContext(): Current | undefined {
  return current;
}

/**
 * Sets the context of primitives whose columns have none, until `run` returns. While a pipeline is being prepared for
 * that context, its recording context is set instead. For an asynchronous `run`, the setting ends at the first await,
 * so two tasks never see each other's context.
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

/** The context that records a pipeline for the given context, if one is being prepared. */
export function recordingFor(context: Context): Context | undefined {
  const recording = current?.context;
  return recording?.recording?.outer === context ? recording : undefined;
}
