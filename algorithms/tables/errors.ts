import { type ErrorDetails, QuadrilleError } from '../../primitives/checks/errors.ts';

/**
 * Error for a query that a table cannot answer: an unknown column, incompatible types, or a number that does not fit.
 */
export class TableError extends QuadrilleError {
  static {
    TableError.prototype.name = 'TableError';
  }
}

export function tableError(reason: string, sentence: string, details?: ErrorDetails): TableError {
  return new TableError(`tables/${reason}`, sentence, details);
}

export function sumTooLarge(sum: bigint): TableError {
  return tableError('overflow', 'A sum does not fit in 64 bits.', { expected: 'at most 2^63 − 1', got: sum });
}
