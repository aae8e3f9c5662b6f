/** One finished item: its size, the milliseconds it took, and the number of items finished by then. */
interface Measurement {
  readonly size: number;
  readonly ms: number;
  readonly finished: number;
}

/**
 * The latest items of one side of a stage, from which its rate is estimated. Immutable: adding an item returns a new
 * estimate.
 */
export interface RateEstimate {
  readonly recent: readonly Measurement[];
  /** True until a second item has finished. The first one includes compilation and warm-up. */
  readonly cold: boolean;
}

export const unmeasured: RateEstimate = { recent: [], cold: true };

/** Maximum number of items in an estimate. */
const WINDOW = 24;

/**
 * An estimate expires when this many items have finished without a new item in it. It is then better to move an item
 * and measure again.
 */
const LIFETIME = 256;

/** Minimum of a measured duration. Below the clock's resolution all items look alike. */
const SHORTEST_MS = 0.001;

/** Returns the estimate with one more item. The very first item is dropped when the second arrives. */
export function measured({ recent, cold }: RateEstimate, size: number, ms: number, finished: number): RateEstimate {
  const kept = cold ? [] : recent.slice(-WINDOW + 1);
  return { recent: [...kept, { size, ms: Math.max(ms, SHORTEST_MS), finished }], cold: recent.length === 0 };
}

/** Rate of one lane in size per millisecond; undefined before warm-up, and when the estimate has expired. */
export function rateOf({ recent, cold }: RateEstimate, finished: number): number | undefined {
  const last = recent.at(-1);
  if (cold || last === undefined || finished - last.finished > LIFETIME) return undefined;
  const ms = recent.reduce((sum, item) => sum + item.ms, 0);
  const size = recent.reduce((sum, item) => sum + item.size, 0);
  return size > 0 ? size / ms : undefined;
}
