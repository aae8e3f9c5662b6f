import type { QuadrilleError } from '../../primitives/checks/errors.ts';
import * as classes from '../../primitives/checks/errors.ts';
import { writeValue } from './wire-writer.ts';

/** An error as plain data. Fields that cannot leave the process are replaced by a text. */
export interface ErrorRecord {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  /** The fields `code`, `expected`, `got`, `remedy` and `place`, as far as the error has them. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly cause: Thrown | undefined;
}

/** Anything that was thrown: an error, or another value. */
export type Thrown = { readonly error: ErrorRecord } | { readonly value: unknown };

const FIELDS = ['code', 'expected', 'got', 'remedy', 'place'] as const;
/** Maximum number of causes that travel with an error. */
const MAX_CAUSES = 8;
/** Maximum number of characters of a stack. */
const MAX_STACK = 4000;

/** Makes plain data of what was thrown. */
export async function recordOf(thrown: unknown, causes: number = MAX_CAUSES): Promise<Thrown> {
  if (!(thrown instanceof Error)) return { value: await sendable(thrown) };
  const given = thrown as Error & Readonly<Record<string, unknown>>;
  const fields: Record<string, unknown> = {};
  for (const field of FIELDS)
    if (field in given && given[field] !== undefined) fields[field] = await sendable(given[field]);
  // An error may have got `undefined`, which is not the same as having no `got`.
  if (Object.hasOwn(given, 'got') && given.got === undefined) fields.got = undefined;
  return {
    error: {
      name: `${given.name}`,
      message: `${given.message}`,
      stack: typeof given.stack === 'string' ? given.stack.slice(0, MAX_STACK) : undefined,
      fields,
      cause: given.cause === undefined || causes === 0 ? undefined : await recordOf(given.cause, causes - 1),
    },
  };
}

async function sendable(value: unknown): Promise<unknown> {
  try {
    await writeValue(value, 'value');
    return value;
  } catch {
    return textOf(value);
  }
}

function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'a value without a text';
  }
}

/**
 * Makes an error again. Errors of this library and of JavaScript have the same class as before, others are an `Error`
 * with the same name.
 */
export function thrownOf(thrown: Thrown): unknown {
  if ('value' in thrown) return thrown.value;
  const { name, message, stack, fields, cause } = thrown.error;
  const details = cause === undefined ? {} : { cause: thrownOf(cause) };
  const error = errorNamed(name, message, fields.code, details);
  if (error.name !== name) define(error, 'name', name);
  if (stack !== undefined) define(error, 'stack', stack);
  for (const field of FIELDS)
    if (field in fields && error instanceof DOMException === false) define(error, field, fields[field]);
  return error;
}

function errorNamed(name: string, message: string, code: unknown, details: { readonly cause?: unknown }): Error {
  const own = OWN.get(name);
  if (own !== undefined && typeof code === 'string') return new own(code, message, details);
  if (BUILT_IN.has(name))
    return new (globalThis as unknown as Record<string, ErrorConstructor>)[name]!(message, details);
  if (name === 'AbortError' || name === 'TimeoutError') return new DOMException(message, name);
  return new Error(message, details);
}

function define(error: Error, field: string, value: unknown): void {
  Object.defineProperty(error, field, {
    value,
    writable: true,
    configurable: true,
    enumerable: field !== 'stack' && field !== 'name',
  });
}

const OWN: ReadonlyMap<string, typeof QuadrilleError> = new Map(
  Object.values(classes)
    .filter((each) => typeof each === 'function')
    .map((each) => [each.prototype.name, each]),
);
const BUILT_IN: ReadonlySet<string> = new Set([
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
]);

/** Whether a value has the form of {@link Thrown}. */
export function isThrown(value: unknown): value is Thrown {
  if (typeof value !== 'object' || value === null) return false;
  if ('value' in value) return true;
  if (!('error' in value)) return false;
  const { name, message, stack, fields, cause } = value.error as Partial<ErrorRecord>;
  return (
    typeof name === 'string' &&
    typeof message === 'string' &&
    (stack === undefined || typeof stack === 'string') &&
    typeof fields === 'object' &&
    fields !== null &&
    (cause === undefined || isThrown(cause))
  );
}
