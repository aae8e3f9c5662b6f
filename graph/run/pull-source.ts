import { type Kind, where } from '../../primitives/checks/kinds.ts';
import type { AbortSignal, ReadableStreamLike } from '../../primitives/host/platform-types.ts';

/** A source that delivers items one at a time, when they are requested. */
export type Pullable<A> = Iterable<A> | AsyncIterable<A> | ReadableStreamLike<A>;

/**
 * The start of a pipeline: a source, or a function that opens one for each subscription. The function gets a signal
 * that is aborted when the subscription ends early, so that a pending read can stop too.
 */
export type PullSource<A> = Pullable<A> | ((signal: AbortSignal) => Pullable<A>);

/** Reads a source for one subscription. */
export interface Reader<A> {
  /** Reads the next item. A call during another read waits for that read, so the source gets one request at a time. */
  next(): Promise<IteratorResult<A, unknown>>;
  /**
   * Calls `return()` of the source immediately and at most once. Does nothing if the source has ended or failed by
   * itself.
   */
  stop(): void;
}

/** Validator of a source, or of a function that opens one. */
export const aSource: Kind = where(
  'an iterable, an async iterable, a stream, or a function that opens one',
  (source) => {
    const { getReader } = (source ?? {}) as { readonly getReader?: unknown };
    const isIterable =
      source !== null &&
      (typeof source === 'object' || typeof source === 'string') &&
      (Symbol.asyncIterator in Object(source) || Symbol.iterator in Object(source));
    return typeof source === 'function' || typeof getReader === 'function' || isIterable;
  },
);

export function openReader<A>(source: PullSource<A>, signal: AbortSignal): Reader<A> {
  const iterator = iteratorOf(typeof source === 'function' ? source(signal) : source);
  let ended = false;
  let last: Promise<unknown> = Promise.resolve();

  const step = async (): Promise<IteratorResult<A, unknown>> => {
    if (ended) return { done: true, value: undefined };
    try {
      const result = await iterator.next();
      if (result.done === true) ended = true;
      return result;
    } catch (error) {
      ended = true;
      throw error;
    }
  };
  const stop = async (): Promise<void> => {
    if (ended) return;
    ended = true;
    await iterator.return?.();
  };
  return {
    next: () => {
      const turn = last.then(step);
      last = turn.catch(() => {});
      return turn;
    },
    // Ignore errors of the source's `return()`. As in `for await`, such an error must not replace the original error.
    // After an unsubscription, nobody would receive an error of `return()`.
    stop: () => void stop().catch(() => {}),
  };
}

type AnyIterator<A> = Iterator<A, unknown> | AsyncIterator<A, unknown>;

function iteratorOf<A>(source: Pullable<A>): AnyIterator<A> {
  const { getReader } = source as Partial<ReadableStreamLike<A>>;
  if (getReader !== undefined) return streamIterator(source as ReadableStreamLike<A>);
  return (source as Partial<AsyncIterable<A>>)[Symbol.asyncIterator]?.() ?? (source as Iterable<A>)[Symbol.iterator]();
}

/**
 * Returns an iterator over a stream. The stream's own iterator is not used: Safari lacks this iterator, and in other
 * engines the iterator's `return()` waits for a pending read.
 */
function streamIterator<A>(stream: ReadableStreamLike<A>): AnyIterator<A> {
  const reader = stream.getReader();
  const release = (): void => reader.releaseLock();
  return {
    next: async () => {
      const result = await reader.read();
      if (result.done) release();
      return result.done ? { done: true, value: undefined } : result;
    },
    return: async () => {
      await reader.cancel().finally(release);
      return { done: true, value: undefined };
    },
  };
}
