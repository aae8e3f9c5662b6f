import { QuadrilleError } from '../primitives/errors.ts';

/** A command line or an option that cannot be meant. */
export class UsageError extends QuadrilleError {
  static {
    UsageError.prototype.name = 'UsageError';
  }
}
