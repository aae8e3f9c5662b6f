import { wrongArgument } from './arguments.ts';
import type { Backend } from './backend.ts';

/** A backend, as contexts and other backends take it. */
export function requireBackend(call: string, argument: string, given: Backend): void {
  const { allocate, forEach, limits } = (given ?? {}) as Partial<Backend>;
  if (typeof allocate === 'function' && typeof forEach === 'function' && typeof limits === 'object') return;
  throw wrongArgument(call, argument, given, 'a backend', { remedy: 'Make it with create…Backend().' });
}
