import { QuadrilleError } from './errors.ts';

/**
 * A problem that does not affect results: the work goes on. It has a code, a place and a cause as errors do, but is
 * reported instead of thrown.
 */
export class QuadrilleWarning extends QuadrilleError {
  static {
    QuadrilleWarning.prototype.name = 'QuadrilleWarning';
  }
}

/** Receives warnings. If it throws or rejects, the failure becomes a warning of the platform. */
export type OnWarning = (warning: QuadrilleWarning) => unknown;

/**
 * Reports a warning to `onWarning` or, by default, to the platform: Node's `process.emitWarning`, or the console in
 * browsers.
 */
export function warn(warning: QuadrilleWarning, onWarning?: OnWarning): void {
  if (onWarning === undefined) tellPlatform(warning);
  else tell('onWarning', onWarning, warning, (failure) => [warning, failure].forEach(tellPlatform));
}

/**
 * Calls a callback whose failure must not end the work: an exception or a rejection is reported as the warning
 * `warning/callback-failed`.
 */
export function tell<T>(name: string, callback: (value: T) => unknown, value: T, onWarning?: OnWarning): void {
  const failed = (cause: unknown): void => {
    const message = cause instanceof Error ? cause.message : String(cause);
    const details = { remedy: `Catch errors inside ${name}.`, cause };
    warn(
      new QuadrilleWarning('warning/callback-failed', `${name} failed: ${message.replace(/[.]?$/, '.')}`, details),
      onWarning,
    );
  };
  try {
    const answer = callback(value);
    if (isThenable(answer)) Promise.resolve(answer).then(undefined, failed);
  } catch (cause) {
    failed(cause);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

function tellPlatform(warning: QuadrilleWarning): void {
  const { process } = globalThis as { process?: { emitWarning?: (warning: Error) => void } };
  if (typeof process?.emitWarning === 'function') process.emitWarning(warning);
  else console.warn(`${warning}`);
}
