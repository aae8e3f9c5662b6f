/** One finished item: its size, the milliseconds it took, and how many items had finished when it did. */
interface Measurement {
  readonly size: number;
  readonly ms: number;
  readonly finished: number;
}

/**
 * The latest items of one side of a stage, from which its rate is estimated. Immutable: adding an item gives a new
 * estimate.
 */
export interface RateEstimate {
  readonly recent: readonly Measurement[];
  /** Whether at most the very first item has finished, which included compiling and warm-up. */
  readonly cold: boolean;
}

export const unmeasured: RateEstimate = { recent: [], cold: true };

/** Number of items in an estimate. */
const WINDOW = 24;

/**
 * Number of finished items after which an estimate without a new item is too old. It is then better to move an item
 * and measure.
 */
const LIFETIME = 256;

/** Durations are at least this: below the clock's resolution all items look alike. */
const SHORTEST_MS = 0.001;

/** The estimate with one more item; the first item is dropped when the second arrives. */
export function measured({ recent, cold }: RateEstimate, size: number, ms: number, finished: number): RateEstimate {
  const kept = cold ? [] : recent.slice(-WINDOW + 1);
  return { recent: [...kept, { size, ms: Math.max(ms, SHORTEST_MS), finished }], cold: recent.length === 0 };
}

/** Size per millisecond of one lane; undefined until warmed up, and when the estimate is too old. */
export function rateOf({ recent, cold }: RateEstimate, finished: number): number | undefined {
  const last = recent.at(-1);
  if (cold || last === undefined || finished - last.finished > LIFETIME) return undefined;
  const ms = recent.reduce((sum, item) => sum + item.ms, 0);
  const size = recent.reduce((sum, item) => sum + item.size, 0);
  return size > 0 ? size / ms : undefined;
}
