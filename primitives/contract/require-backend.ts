import { wrongArgument } from '../arguments.ts';
import type { Backend } from './backend.ts';

/**
 * Throws unless `given` is an object with the main members of a backend. This check is for callers in JavaScript; in
 * TypeScript the compiler checks the type.
 */
export function requireBackend(call: string, argument: string, given: Backend): void {
  const { allocate, forEach, limits } = (given ?? {}) as Partial<Backend>;
  if (typeof allocate === 'function' && typeof forEach === 'function' && typeof limits === 'object') return;
  throw wrongArgument(call, argument, given, 'a backend', { remedy: 'Create one with create…Backend().' });
}
