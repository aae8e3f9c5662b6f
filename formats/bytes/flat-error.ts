import * as errors from '../../primitives/checks/errors.ts';
import { UsageError } from '../usage-error.ts';

/**
 * The fields of an error, in a form that can be sent to another thread. If the error itself were sent, it would lose
 * its class.
 */
export interface FlatError {
  readonly kind: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly code?: string | undefined;
  readonly details?: errors.ErrorDetails | undefined;
}

/** Converts an error to a message for another thread. Details that cannot be sent are converted to text. */
export function flattenError(error: unknown): FlatError {
  if (!(error instanceof Error)) return { kind: 'Error', message: String(error), stack: undefined };
  const flat = { kind: error.name, message: error.message, stack: error.stack };
  if (!(error instanceof errors.QuadrilleError)) return flat;
  const { code, expected, got, remedy, place, cause } = error;
  const details = {
    expected: sendable(expected),
    got: sendable(got),
    remedy,
    place,
    cause: cause === undefined ? undefined : flattenError(cause).message,
  };
  return { ...flat, code, details };
}

function sendable(value: unknown): unknown {
  return value === undefined || typeof value === 'number' ? value : String(value);
}

const CLASSES: Readonly<Record<string, typeof errors.QuadrilleError>> = {
  FormatError: errors.FormatError,
  GeometryError: errors.GeometryError,
  CapacityError: errors.CapacityError,
  OutOfMemoryError: errors.OutOfMemoryError,
  UsageError,
};

/** Restores an error from a message. Errors of this library regain their class. */
export function restoreError({ kind, message, stack, code, details }: FlatError): Error {
  if (code === undefined) return Object.assign(new Error(`${kind}: ${message}`), { stack: stack ?? '' });
  const Class = CLASSES[kind] ?? errors.QuadrilleError;
  // `message` already contains the text of the details, so the details are only added as fields.
  const restored = new Class(code, message);
  const { cause, ...rest } = details ?? {};
  Object.assign(restored, rest, { stack: stack ?? '' });
  return cause === undefined ? restored : Object.assign(restored, { cause: new Error(String(cause)) });
}
