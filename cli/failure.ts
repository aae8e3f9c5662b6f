import { UsageError } from '../formats/usage-error.ts';
import { ArgumentError, FormatError, GeometryError, PackageError, QuadrilleError } from '../primitives/errors.ts';
import { Interrupted } from './interrupt.ts';

/** What the shell is told: all went well, a failure while running, or bad usage or input. */
export const EXIT = { success: 0, failure: 1, badInput: 2 } as const;

const INPUT_ERRORS = [UsageError, FormatError, GeometryError, ArgumentError, PackageError];

/** The exit code that an error stands for. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Interrupted) return error.exitCode;
  return INPUT_ERRORS.some((kind) => error instanceof kind) ? EXIT.badInput : EXIT.failure;
}

/** An error in the words of the command line: one line, or some where a caret points at a place, with the stack only where `QUADRILLE_DEBUG=1` asks for it. */
export function describeFailure(error: unknown): string {
  if (debugging() && error instanceof Error) return error.stack ?? error.message;
  const message = error instanceof Error ? error.message : String(error);
  const line = POINTS.test(message) ? message.replaceAll(/\n (?=\S)/g, '\n').trim() : oneLine(message);
  if (error instanceof QuadrilleError) return line;
  return `${line} (This is a mistake in quadrille: run it with QUADRILLE_DEBUG=1 to see where.)`;
}

/** An error as a JSON line has it. */
export function failureFields(error: unknown): Record<string, unknown> {
  const message = error instanceof Error ? error.message : String(error);
  const stack = debugging() && error instanceof Error ? { stack: error.stack } : {};
  if (!(error instanceof QuadrilleError)) return { code: 'internal/unexpected', message, ...stack };
  const { code, remedy, place } = error;
  return { code, message, remedy, place, ...stack };
}

function debugging(): boolean {
  return process.env.QUADRILLE_DEBUG === '1';
}

/** A line with a caret, which points at the line above. */
const POINTS = /\n *\^(\n|$)/;

function oneLine(text: string): string {
  return text.replaceAll(/\s*[\r\n]+\s*/g, ' ').trim();
}
