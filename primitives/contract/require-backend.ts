import { wrongArgument } from '../checks/arguments.ts';
import { ArgumentError } from '../checks/errors.ts';
import type { Backend } from './backend.ts';

/**
 * Throws unless `given` is an object with the main members of a backend. This check is for callers in JavaScript, and
 * for backends that were written for an earlier version; in TypeScript the compiler checks the type.
 */
export function requireBackend(call: string, argument: string, given: Backend): void {
  const { allocate, run, limits } = (given ?? {}) as Partial<Backend>;
  if (typeof allocate === 'function' && typeof run === 'function' && typeof limits === 'object') return;
  if (run === undefined && typeof (given as { forEach?: unknown } | undefined)?.forEach === 'function') {
    throw new ArgumentError('backend/methods', `${call} was given a backend for an earlier version of the library.`, {
      expected: 'a method run(command), which returns whether the backend runs the command',
      got: 'a method for each kernel (forEach, walk, scan …)',
      remedy: 'Implement run, and call these methods there, by command.kind; CHANGELOG.md shows how.',
    });
  }
  throw wrongArgument(call, argument, given, 'a backend', { remedy: 'Create one with create…Backend().' });
}
