/** One finished item: its size, its duration in milliseconds, and how many items of all stages had finished by then. */
interface Measurement {
  readonly size: number;
  readonly ms: number;
  readonly finished: number;
}

/**
 * The latest items that one side of a stage has finished, for estimating the side's rate. Immutable: `measured` returns
 * a new estimate.
 */
export interface RateEstimate {
  readonly recent: readonly Measurement[];
  /** True until a second item has finished. The duration of the first item includes compilation and warm-up. */
  readonly cold: boolean;
}

export const unmeasured: RateEstimate = { recent: [], cold: true };

/** Maximum number of items in an estimate. Older items are dropped. */
const WINDOW = 24;

/**
 * An estimate expires when more than this many items, of all stages and sides, have finished since its latest item. The
 * rate then counts as unknown, so one item is moved to measure the rate again.
 */
const LIFETIME = 256;

/**
 * Minimum duration of a measurement in milliseconds. Shorter durations are raised to this minimum, because the clock
 * cannot resolve them.
 */
const SHORTEST_MS = 0.001;

/** Returns the estimate with one more item. The very first item is dropped when the second item is added. */
export function measured({ recent, cold }: RateEstimate, size: number, ms: number, finished: number): RateEstimate {
  const kept = cold ? [] : recent.slice(-WINDOW + 1);
  return { recent: [...kept, { size, ms: Math.max(ms, SHORTEST_MS), finished }], cold: recent.length === 0 };
}

/** The rate of one lane, in size per millisecond. Undefined before warm-up, or if the estimate has expired. */
export function rateOf({ recent, cold }: RateEstimate, finished: number): number | undefined {
  const last = recent.at(-1);
  if (cold || last === undefined || finished - last.finished > LIFETIME) return undefined;
  const ms = recent.reduce((sum, item) => sum + item.ms, 0);
  const size = recent.reduce((sum, item) => sum + item.size, 0);
  return size > 0 ? size / ms : undefined;
}
