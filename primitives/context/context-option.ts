import { requireOptions, wrongArgument } from '../checks/arguments.ts';
import { ArgumentError } from '../checks/errors.ts';
import { anything, type FieldKinds } from '../checks/kinds.ts';
import type { Column, ColumnOwner } from '../columns/column.ts';
import { contextOf, currentContext, runIn } from '../columns/current-context.ts';
import { Context } from './context.ts';

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

/**
 * The context in which a primitive stores its result: the context of its columns; if the columns belong to no
 * context, the context that the caller named; if the caller named none, the context of the current scope.
 */
export function requireContext(columns: readonly Column[], primitive: string): ColumnOwner {
  const context = contextOf(columns, primitive);
  const current = currentContext();
  // While a pipeline is prepared for a context, commands on columns of that context are recorded as part of the
  // pipeline.
  if (current !== undefined && (context === undefined || current.context.recording?.outer === context)) {
    return current.context;
  }
  const isOther = context !== undefined && current?.isNamed && current.context !== context;
  if (isOther && current.context !== context.recording?.outer) throw otherContext(primitive);
  if (context !== undefined) return context;
  throw new ArgumentError('column/no-context', `${primitive} was given only views without a context.`, {
    remedy: 'Call it in context.scope(…), or pass the option { context }.',
  });
}

function otherContext(primitive: string): ArgumentError {
  const sentence = `The columns given to ${primitive} live in another context than its option.`;
  return new ArgumentError('column/contexts', sentence, {
    remedy: 'Omit the option, or move the columns with context.adopt(column).',
  });
}
