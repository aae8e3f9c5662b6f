import { wrongArgument } from './arguments.ts';
import { type Column, requireContext } from './columns/column.ts';
import { runIn } from './columns/current-context.ts';
import { Context } from './context.ts';
import { anything, type FieldKinds } from './kinds.ts';
import { requireOptions } from './options.ts';

/** Where a primitive stores its result. */
export interface ContextOption {
  /**
   * The context to run in where all inputs are generators, such as `sequence`, `constant` and maps of them: they live in no
   * context. Left out, it is that of the scope that the primitive is called in. Columns must not live in another one.
   */
  readonly context?: Context | undefined;
}

const OPTIONS: FieldKinds<ContextOption> = { context: anything };

/** Runs a primitive that has no other options in the context that its caller named, if it named one. */
export function inContext<R>(primitive: string, options: ContextOption | undefined, run: () => R): R {
  requireOptions(primitive, OPTIONS, options);
  return inNamedContext(primitive, options, run);
}

/** The same for a primitive that checks its options itself. */
export function inNamedContext<R>(primitive: string, options: ContextOption | undefined, run: () => R): R {
  const context = options?.context;
  if (context === undefined) return run();
  if (!(context instanceof Context)) throw wrongArgument(primitive, 'context', context, 'a context');
  return runIn(context, true, run);
}

/** Runs a primitive that consists of others in the one context of its columns, so that errors name it and not those. */
export function inContextOf<R>(primitive: string, columns: readonly Column[], run: () => R): R {
  return runIn(requireContext(columns, primitive), true, run);
}
