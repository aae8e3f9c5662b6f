import { wrongArgument } from './arguments.ts';
import { type Column, requireContext } from './columns/column.ts';
import { runIn } from './columns/current-context.ts';
import { Context } from './context.ts';
import { anything, type FieldKinds } from './kinds.ts';
import { requireOptions } from './options.ts';

/** Where a primitive stores its result. */
export interface ContextOption {
  /**
   * The context to run in if all inputs are generators, such as `sequence`, `constant` and maps of them, which belong
   * to no context. By default, the context of the current scope. Columns among the inputs must live in this context.
   */
  readonly context?: Context | undefined;
}

const OPTIONS: FieldKinds<ContextOption> = { context: anything };

/** Runs a primitive without further options in the context given by its caller, if any. */
export function inContext<R>(primitive: string, options: ContextOption | undefined, run: () => R): R {
  requireOptions(primitive, OPTIONS, options);
  return inNamedContext(primitive, options, run);
}

/** As {@link inContext}, for a primitive that checks its options itself. */
export function inNamedContext<R>(primitive: string, options: ContextOption | undefined, run: () => R): R {
  const context = options?.context;
  if (context === undefined) return run();
  if (!(context instanceof Context)) throw wrongArgument(primitive, 'context', context, 'a context');
  return runIn(context, true, run);
}

/**
 * Runs a primitive that is composed of others in the context of its columns. Errors name this primitive, not its parts.
 */
export function inContextOf<R>(primitive: string, columns: readonly Column[], run: () => R): R {
  return runIn(requireContext(columns, primitive), true, run);
}
