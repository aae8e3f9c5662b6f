import { QuadrilleError } from '../primitives/errors.ts';

/** An invalid command line or option. */
export class UsageError extends QuadrilleError {
  static {
    UsageError.prototype.name = 'UsageError';
  }
}
