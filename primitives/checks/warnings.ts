import { QuadrilleError } from './errors.ts';

/**
 * A problem that does not affect results. Like an error, it has a code, a place and a cause, but it is reported instead
 * of thrown.
 */
export class QuadrilleWarning extends QuadrilleError {
  static {
    QuadrilleWarning.prototype.name = 'QuadrilleWarning';
  }
}

/**
 * A callback that receives warnings. If the callback throws or rejects, both the warning and the callback's failure are
 * printed: as warnings of Node, or on the console of the browser.
 */
export type OnWarning = (warning: QuadrilleWarning) => unknown;

/**
 * Reports a warning to the callback. Without a callback, reports it to the platform: with `process.emitWarning` in
 * Node, on the console in browsers.
 */
export function warn(warning: QuadrilleWarning, onWarning?: OnWarning): void {
  if (onWarning === undefined) tellPlatform(warning);
  else tell('onWarning', onWarning, warning, (failure) => [warning, failure].forEach(tellPlatform));
}

/**
 * Calls a user's callback. If the callback throws or rejects, the failure is reported as the warning
 * `warning/callback-failed`, and the work continues.
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
