import { UsageError } from '../formats/usage-error.ts';
import {
  ArgumentError,
  FormatError,
  GeometryError,
  PackageError,
  QuadrilleError,
} from '../primitives/checks/errors.ts';
import { Interrupted } from './interrupt.ts';

/**
 * Exit codes: `success`, `failure` for an error while running, and `badInput` for invalid arguments or invalid input.
 */
export const EXIT = { success: 0, failure: 1, badInput: 2 } as const;

const INPUT_ERRORS = [UsageError, FormatError, GeometryError, ArgumentError, PackageError];

/** The exit code of the process for an error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Interrupted) return error.exitCode;
  return INPUT_ERRORS.some((kind) => error instanceof kind) ? EXIT.badInput : EXIT.failure;
}

/**
 * Formats an error for the terminal. The text has one line, or several lines if a caret marks the position of an error.
 * `QUADRILLE_DEBUG=1` adds the stack.
 */
export function describeFailure(error: unknown): string {
  if (debugging() && error instanceof Error) return error.stack ?? error.message;
  const message = wordsOf(error);
  const line = POINTS.test(message) ? message.replaceAll(/\n (?=\S)/g, '\n').trim() : oneLine(message);
  if (error instanceof QuadrilleError) return line;
  return `${line} (This is a bug in quadrille: QUADRILLE_DEBUG=1 prints where.)`;
}

/** Converts an error to the fields of a JSON log line. */
export function failureFields(error: unknown): Record<string, unknown> {
  const message = wordsOf(error);
  const stack = debugging() && error instanceof Error ? { stack: error.stack } : {};
  if (!(error instanceof QuadrilleError)) return { code: 'internal/unexpected', message, ...stack };
  const { code, remedy, place } = error;
  return { code, message, remedy, place, ...stack };
}

function debugging(): boolean {
  return process.env.QUADRILLE_DEBUG === '1';
}

/** Matches a line that consists only of a caret, which marks a position in the line above. */
const POINTS = /\n *\^(\n|$)/;

function oneLine(text: string): string {
  return text.replaceAll(/\s*[\r\n]+\s*/g, ' ').trim();
}

/** As `messageOf`, which would be one file more to load for a page of help. */
function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
