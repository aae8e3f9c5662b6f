import { Observable } from 'rxjs';
import { requireArguments, requireOptions } from '../../primitives/checks/arguments.ts';
import { GraphError } from '../../primitives/checks/errors.ts';
import { aFlag, aFunction, aNumber, aText, type FieldKinds } from '../../primitives/checks/kinds.ts';
import { messageOf } from '../../primitives/checks/message-of.ts';
import { tell } from '../../primitives/checks/warnings.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import { deliver, demandOf } from '../run/demand.ts';
import { aSource, openReader, type PullSource } from '../run/pull-source.ts';

/** What a mapping function is given besides the item. */
export interface ItemContext {
  /** Aborted when the subscription ends early or fails. All items of a subscription have the same signal. */
  readonly signal: AbortSignal;
  /** Index of the item in the source, from 0. */
  readonly index: number;
  /** Number of the lane that processes the item, from 0. */
  readonly lane: number;
}

/** Processes one item. The function owns the item and must free it. */
export type ItemFunction<A, B> = (item: A, context: ItemContext) => Promise<B> | B;

export interface PullMapOptions<A, B> {
  /** Maximum number of items that are processed at the same time, from 1. Default 1. */
  readonly lanes?: number | undefined;
  /**
   * Whether results have the order of their items. If so, a lane with a result waits until all earlier results are
   * delivered. So at most `lanes` items are in progress or waiting.
   */
  readonly ordered?: boolean | undefined;
  /** Name of the node in errors. */
  readonly name?: string | undefined;
  /**
   * Frees an item that was read but not given to the function, because the subscription had ended. An error thrown by
   * `discard` becomes a warning.
   */
  readonly discard?: ((item: A) => void) | undefined;
  /**
   * Frees a result that could not be delivered, because the subscription had ended. An error thrown by `discardResult`
   * becomes a warning.
   */
  readonly discardResult?: ((result: B) => void) | undefined;
}

const OPTIONS: FieldKinds<PullMapOptions<never, never>> = {
  lanes: aNumber,
  ordered: aFlag,
  name: aText,
  discard: aFunction,
  discardResult: aFunction,
};

/**
 * Like `mergeMap`, but reads its source only on demand. There are `lanes` loops, which share one iterator. A loop reads
 * its next item only after its previous result was delivered, and only while the next stage downstream has room. There
 * is no queue, so at most `lanes` items are between the source and the subscriber.
 *
 * - When the subscriber unsubscribes (for example by `take(n)`), or after any error, the signal is aborted and
 *   `iterator.return()` is called once. Results of items in progress are discarded. A source that has ended or failed
 *   by itself gets no `return()`, as in `for await`.
 * - An error of the source or of the function ends the stream immediately. It becomes a {@link GraphError}
 *   `graph/source-failed` or `graph/item-failed` with node, item and cause. A `GraphError` or an `AbortError` is passed
 *   on unchanged.
 * - Each subscription iterates from the start. To subscribe to a generator twice, give a function that creates it.
 * - When the stream ends early, an idle Node `Readable` is closed only after its next chunk. To close the `Readable` at
 *   once, give `(signal) => addAbortSignal(signal, readable)` as the source.
 *
 * @example
 * ```ts
 * const squares = pullMap([1, 2, 3, 4], async (x) => x * x, { lanes: 2, ordered: true });
 * await lastValueFrom(squares.pipe(toArray())); // [1, 4, 9, 16]
 * ```
 */
export function pullMap<A, B>(
  source: PullSource<A>,
  fn: ItemFunction<A, B>,
  options: PullMapOptions<A, B> = {},
): Observable<B> {
  requireArguments('pullMap', { source, fn }, { source: aSource, fn: aFunction });
  requireOptions<PullMapOptions<A, B>>('pullMap', OPTIONS, options);
  const { lanes = 1, ordered = false, name = 'pullMap' } = options;
  const { discard, discardResult } = freeing(options);
  requireLanes(name, lanes);

  return new Observable<B>((out) => {
    const abort = new AbortController();
    const demand = demandOf(out);
    let running = lanes;
    let index = 0;
    let lastTurn = Promise.resolve();

    let lastWait = Promise.resolve();

    const mustWait = (): boolean => !out.closed && demand?.hasRoom() === false;
    // One lane at a time waits for room. If all did, an item of room would wake them all.
    const room = (): Promise<void> => {
      const wait = lastWait.then(() => (mustWait() ? demand?.room() : undefined));
      lastWait = wait.catch(() => {});
      return wait;
    };

    const runLane = async (lane: number): Promise<void> => {
      for (;;) {
        while (mustWait()) await room();
        if (out.closed) return;
        const next = await reader.next().catch((cause) => {
          throw failure(cause, 'graph/source-failed', 'Reading the source failed', name, index);
        });
        if (next.done === true) return;
        if (out.closed) return discard(next.value);
        await work(next.value, index++, lane);
      }
    };
    const work = async (item: A, itemIndex: number, lane: number): Promise<void> => {
      const turn = ordered ? takeTurn() : undefined;
      try {
        const result = await apply(item, itemIndex, lane);
        await turn?.come;
        while (mustWait()) await room();
        if (out.closed) discardResult(result);
        else deliver(out, demand, result);
      } finally {
        turn?.pass();
      }
    };
    const takeTurn = (): { come: Promise<void>; pass: () => void } => {
      const come = lastTurn;
      let pass = (): void => {};
      lastTurn = new Promise((resolve) => {
        pass = resolve;
      });
      return { come, pass };
    };
    const apply = async (item: A, itemIndex: number, lane: number): Promise<B> => {
      try {
        return await fn(item, { signal: abort.signal, index: itemIndex, lane });
      } catch (cause) {
        throw itemFailure(cause, name, itemIndex);
      }
    };
    const laneEnded = (): void => {
      if (--running === 0) out.complete();
    };
    const fail = (error: unknown): void => {
      if (out.closed) return;
      abort.abort(error);
      out.error(error);
    };

    let reader: ReturnType<typeof openReader<A>>;
    try {
      reader = openReader(source, abort.signal);
    } catch (cause) {
      return fail(failure(cause, 'graph/source-failed', 'Opening the source failed', name, index));
    }
    for (let i = 0; i < lanes; i++) runLane(i).then(laneEnded, fail);
    return () => {
      if (running === 0) return;
      abort.abort();
      reader.stop();
    };
  });
}

/**
 * Emits the items of `source` in order, as the start of a pipeline of stages. Reads an item only when the next stage
 * downstream has room for the item. `name` and `discard` have the same meaning as in {@link pullMap}; `discard` also
 * frees an item that could not be delivered.
 *
 * @example
 * ```ts
 * const parsed = pull(['1', '2', '3']).pipe(stage('parse', async (text: string) => Number(text)));
 * await lastValueFrom(parsed.pipe(toArray())); // [1, 2, 3]
 * ```
 */
export function pull<A>(
  source: PullSource<A>,
  options: { name?: string | undefined; discard?: ((item: A) => void) | undefined } = {},
): Observable<A> {
  requireArguments('pull', { source }, { source: aSource });
  requireOptions('pull', { name: aText, discard: aFunction }, options);
  const { name = 'pull', discard } = options;
  return pullMap(source, (item) => item, { name, discard, discardResult: discard });
}

export function requireLanes(name: string, lanes: number): void {
  if (Number.isInteger(lanes) && lanes >= 1) return;
  const details = { expected: 'an integer from 1', got: lanes, place: { node: name } };
  throw new GraphError('graph/bad-lanes', 'lanes must be an integer from 1.', details);
}

/** Wraps `discard` and `discardResult` so that errors thrown by them become warnings. */
function freeing<A, B>({
  discard,
  discardResult,
}: Pick<PullMapOptions<A, B>, 'discard' | 'discardResult'>): {
  readonly discard: (item: A) => void;
  readonly discardResult: (result: B) => void;
} {
  return {
    discard: (item) => {
      if (discard !== undefined) tell('discard', discard, item);
    },
    discardResult: (result) => {
      if (discardResult !== undefined) tell('discardResult', discardResult, result);
    },
  };
}

/** Wraps an error of the function in a `GraphError` that names the node and the item. */
export function itemFailure(cause: unknown, node: string, record: number): unknown {
  return failure(cause, 'graph/item-failed', 'The item failed', node, record);
}

function failure(cause: unknown, code: string, what: string, node: string, record: number): unknown {
  const passes = cause instanceof GraphError || (cause instanceof Error && cause.name === 'AbortError');
  if (passes) return cause;
  return new GraphError(code, `${what}: ${messageOf(cause)}`, { place: { node, record }, cause });
}
