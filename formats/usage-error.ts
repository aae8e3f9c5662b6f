import { QuadrilleError } from '../primitives/checks/errors.ts';

/** The error for an invalid command line or option. */
export class UsageError extends QuadrilleError {
  static {
    UsageError.prototype.name = 'UsageError';
  }
}
