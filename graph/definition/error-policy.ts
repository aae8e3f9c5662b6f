import { GraphError } from '../../primitives/checks/errors.ts';
import { aText, eitherOf, type Kind, someRecord } from '../../primitives/checks/kinds.ts';

/** The steps for an item that failed: first `retry`, then `migrate`, then `orElse`. */
export interface ErrorPolicySteps {
  /** Maximum number of retries, 0 or more. Default 0. */
  readonly retry?: number | undefined;
  /**
   * Milliseconds to wait before the next attempt, or a function that returns the milliseconds. The function is given
   * the number of attempts that have failed so far, from 1. Default 0.
   */
  readonly backoff?: number | ((attempt: number) => number) | undefined;
  /**
   * Whether to make one attempt on the node's other side (CPU instead of GPU, say), after the retries. The node must
   * have the option `elsewhere`. Default false.
   */
  readonly migrate?: boolean | undefined;
  /** What to do with an item when all attempts have failed. A function is given the last error. Default `stop`. */
  readonly orElse?: 'stop' | 'skip' | ((cause: unknown) => 'stop' | 'skip') | undefined;
}

/**
 * What happens to an item that fails:
 *
 * - `stop`: the run ends with the item's error. This is the default.
 * - `skip`: the item is dropped, counted as `skipped` and reported through `errors$`.
 * - `migrate`: short for `{ migrate: true }`. There is one attempt on the node's other side. If this attempt fails too,
 *   the run ends.
 */
export type ErrorPolicy = 'stop' | 'skip' | 'migrate' | ErrorPolicySteps;

/** Checks only that an error policy is a text or an object. {@link fullPolicy} checks the values. */
export const anErrorPolicy: Kind = eitherOf('the name of an error policy, or its steps', aText, someRecord);

/** An error policy with all defaults filled in. */
export interface FullPolicy {
  readonly retry: number;
  readonly backoff: (attempt: number) => number;
  readonly migrate: boolean;
  readonly orElse: (cause: unknown) => 'stop' | 'skip';
}

/**
 * Fills in the defaults of an error policy.
 *
 * @throws `GraphError` `graph/bad-policy` for an unknown policy or step, or an invalid value of a step.
 */
export function fullPolicy(policy: ErrorPolicy, path: string): FullPolicy {
  const steps = typeof policy === 'string' ? named[policy] : policy;
  const { retry = 0, backoff = 0, migrate = false, orElse = 'stop' } = steps ?? {};
  const isKnown =
    steps !== undefined &&
    steps !== null &&
    Object.keys(steps).every((key) => STEPS.has(key)) &&
    (typeof orElse === 'function' || orElse === 'stop' || orElse === 'skip');
  const isDelay = typeof backoff === 'function' || backoff >= 0;
  if (!isKnown || !isDelay || !(Number.isInteger(retry) || retry === Number.POSITIVE_INFINITY) || retry < 0) {
    const expected =
      "'stop', 'skip', 'migrate', or steps: retry an integer from 0, backoff in ms from 0, migrate, orElse";
    const got = typeof policy === 'string' ? policy : { ...policy, backoff: `${backoff}`, orElse: `${orElse}` };
    throw new GraphError('graph/bad-policy', 'onError is not a valid error policy.', {
      expected,
      got,
      place: { node: path },
    });
  }
  return {
    retry,
    backoff: typeof backoff === 'function' ? backoff : () => backoff,
    migrate,
    orElse: typeof orElse === 'function' ? orElse : () => orElse,
  };
}

/** Milliseconds to wait before the next attempt. Returns an error if `backoff` throws or gives no valid number. */
export function delayBefore(
  { backoff }: FullPolicy,
  attempt: number,
  cause: unknown,
): { readonly milliseconds: number } | { readonly failure: GraphError } {
  try {
    const milliseconds = backoff(attempt);
    if (milliseconds >= 0) return { milliseconds };
    return { failure: policyFailed('backoff returned no valid time to wait.', { got: milliseconds, cause }) };
  } catch (thrown) {
    return { failure: policyFailed('backoff threw.', { got: String(thrown), cause: both(cause, thrown) }) };
  }
}

/**
 * The outcome for an item when all attempts have failed. If `orElse` throws, the run ends with an error whose cause
 * contains the error of the item and the error of `orElse`.
 */
export function lastResort(
  { orElse }: FullPolicy,
  cause: unknown,
): { readonly outcome: 'skipped' | 'stopped'; readonly cause: unknown } {
  try {
    return { outcome: orElse(cause) === 'skip' ? 'skipped' : 'stopped', cause };
  } catch (thrown) {
    const failure = policyFailed('orElse threw.', { got: String(thrown), cause: both(cause, thrown) });
    return { outcome: 'stopped', cause: failure };
  }
}

function policyFailed(sentence: string, { got, cause }: { got: unknown; cause: unknown }): GraphError {
  const expected = sentence.startsWith('orElse') ? "'stop' or 'skip'" : 'milliseconds from 0';
  return new GraphError('graph/bad-policy', `The error policy failed: ${sentence}`, { expected, got, cause });
}

function both(cause: unknown, thrown: unknown): AggregateError {
  return new AggregateError([cause, thrown], 'An item failed, and its error policy failed too.');
}

const STEPS: ReadonlySet<string> = new Set(['retry', 'backoff', 'migrate', 'orElse']);

const named: Readonly<Record<string, ErrorPolicySteps>> = {
  stop: { orElse: 'stop' },
  skip: { orElse: 'skip' },
  migrate: { migrate: true },
};
