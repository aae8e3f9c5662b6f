import { requireOptions } from '../../primitives/checks/arguments.ts';
import { aFunction, atLeast } from '../../primitives/checks/kinds.ts';
import type { GraphShape, NodeCounters, OccupancySample, Trace, TraceMark, WorkSpan } from '../definition/shape.ts';
import type { GraphObserver } from '../run/observer.ts';

export interface TraceOptions {
  /**
   * Maximum number of events of each kind (spans, samples and marks). If there are more, the oldest events are dropped.
   * Default 200,000, which takes about 20 MB for each of the three kinds.
   */
  readonly limit?: number | undefined;
  /**
   * Returns the current time in milliseconds. Called once, for the start time of the trace. Default `performance.now`.
   */
  readonly now?: (() => number) | undefined;
}

/** The parts of a trace that come from the run itself, and not from recorded events. */
export interface TracedRun {
  readonly shape: GraphShape;
  counters(): readonly NodeCounters[];
}

/** An observer that records the events of a run. */
export interface TraceRecorder extends GraphObserver {
  /** Number of events that were dropped because of `limit`. */
  dropped(): number;
  /**
   * Returns everything recorded so far, with spans, samples and marks in order of time. The trace ends at the last
   * event.
   */
  trace(run: TracedRun): Trace;
}

/**
 * Makes an observer that records the events of a run, for `chromeTrace` and `runReport`. Pass the recorder as the
 * option `observer` to the run, or to single stages. A run without an observer records nothing and has no overhead.
 * `limit` bounds the memory; each event costs O(1).
 *
 * @example
 * ```ts
 * const recorder = recordTrace({ limit: 2, now: () => 0 });
 * for (const item of [0, 1, 2]) recorder.mark({ node: 'parse', time: item, name: 'retry', detail: { item } });
 * const trace = recorder.trace({ shape: { name: 'g', nodes: [], edges: [] }, counters: () => [] });
 * [trace.marks.length, trace.ended, recorder.dropped()]; // [2, 2, 1]
 * ```
 */
export function recordTrace(options: TraceOptions = {}): TraceRecorder {
  requireOptions<TraceOptions>('recordTrace', { limit: atLeast(0), now: aFunction }, options);
  const { limit = 200_000, now = () => performance.now() } = options;
  const started = now();
  const spans = new Latest<WorkSpan>(limit);
  const occupancy = new Latest<OccupancySample>(limit);
  const marks = new Latest<TraceMark>(limit);
  let ended = started;
  const until = (time: number): void => {
    if (time > ended) ended = time;
  };
  return {
    span: (span) => {
      until(span.end);
      spans.add(span);
    },
    occupancy: (sample) => {
      until(sample.time);
      occupancy.add(sample);
    },
    mark: (mark) => {
      until(mark.time);
      marks.add(mark);
    },
    dropped: () => spans.dropped + occupancy.dropped + marks.dropped,
    trace: (run) => ({
      shape: run.shape,
      started,
      ended,
      spans: spans.list().sort((a, b) => a.start - b.start),
      occupancy: occupancy.list(),
      marks: marks.list(),
      counters: run.counters(),
    }),
  };
}

/** A ring buffer that keeps the latest `limit` values. */
class Latest<T> {
  dropped = 0;
  readonly #limit: number;
  readonly #items: T[] = [];
  #oldest = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(item: T): void {
    if (this.#items.length < this.#limit) {
      this.#items.push(item);
      return;
    }
    this.dropped++;
    if (this.#limit === 0) return;
    this.#items[this.#oldest] = item;
    this.#oldest = (this.#oldest + 1) % this.#limit;
  }

  list(): T[] {
    return [...this.#items.slice(this.#oldest), ...this.#items.slice(0, this.#oldest)];
  }
}
