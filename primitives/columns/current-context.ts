import { ArgumentError } from '../checks/errors.ts';
import type { Column, ColumnOwner } from './column.ts';

/**
 * The context that primitives use if their columns belong to no context: the context of the current scope, or a context
 * given as an option.
 */
interface Current {
  readonly context: ColumnOwner;
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
export function runIn<R>(context: ColumnOwner, isNamed: boolean, run: () => R): R {
  const outer = current;
  current = { context: recordingFor(context) ?? context, isNamed };
  try {
    return run();
  } finally {
    current = outer;
  }
}

/** The context that records a pipeline, if one is being prepared for the given context; otherwise undefined. */
export function recordingFor(context: ColumnOwner): ColumnOwner | undefined {
  const recording = current?.context;
  return recording?.recording?.outer === context ? recording : undefined;
}

/**
 * The context in which the columns live. Undefined if no column depends on stored data, for example because all columns
 * are views that depend only on the row index.
 */
export function contextOf(columns: readonly Column[], primitive: string): ColumnOwner | undefined {
  let context: ColumnOwner | undefined;
  for (const { context: own, length } of columns) {
    for (const home of [own, typeof length === 'number' ? undefined : length.memory.context]) {
      if (home === undefined || home === context || home === context?.recording?.outer) continue;
      if (context !== undefined && context !== home.recording?.outer) throw mixedContexts(primitive);
      context = home;
    }
  }
  return context;
}

export function mixedContexts(primitive: string): ArgumentError {
  return new ArgumentError('column/contexts', `The columns given to ${primitive} must live in the same context.`, {
    remedy: 'Move one of them with context.adopt(column).',
  });
}
