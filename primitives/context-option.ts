import { wrongArgument } from './arguments.ts';
import type { Column, ColumnOwner } from './columns/column.ts';
import { requireContext, runIn } from './columns/current-context.ts';
import { Context } from './context.ts';
import { anything, type FieldKinds } from './kinds.ts';
import { requireOptions } from './options.ts';

/** An option of primitives: the context in which the result is stored. */
export interface ContextOption {
  /**
   * The context in which the primitive runs if none of its inputs belongs to a context, because all inputs are
   * generators such as `sequence`, or maps of generators. By default, the context of the current scope. If some inputs
   * belong to a context, this option must name the same context.
   */
  readonly context?: ColumnOwner | undefined;
}

const OPTIONS: FieldKinds<ContextOption> = { context: anything };

/**
 * Runs a primitive whose only option is `context`. If the caller gave a context, the primitive runs in that context.
 */
export function inContext<R>(primitive: string, options: ContextOption | undefined, run: () => R): R {
  requireOptions(primitive, OPTIONS, options);
  return inNamedContext(primitive, options, run);
}

/** Like {@link inContext}, for a primitive with further options, which it checks itself. */
export function inNamedContext<R>(primitive: string, options: ContextOption | undefined, run: () => R): R {
  const context = options?.context;
  if (context === undefined) return run();
  if (!(context instanceof Context)) throw wrongArgument(primitive, 'context', context, 'a context');
  return runIn(context, true, run);
}

/**
 * Runs a primitive that calls other primitives, in the context of its columns. Error messages name this primitive, not
 * the primitives that it calls.
 */
export function inContextOf<R>(primitive: string, columns: readonly Column[], run: () => R): R {
  return runIn(requireContext(columns, primitive), true, run);
}
