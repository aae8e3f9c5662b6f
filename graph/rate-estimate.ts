/** One finished item: its size, the milliseconds it took, and how many items had finished when it did. */
interface Measurement {
  readonly size: number;
  readonly ms: number;
  readonly finished: number;
}

/** The latest items of one side of a stage, from which its rate is estimated. A value: adding gives a new one. */
export interface RateEstimate {
  readonly recent: readonly Measurement[];
  /** Whether there is at most the very first item, which paid for compiling and warming up. */
  readonly cold: boolean;
}

export const unmeasured: RateEstimate = { recent: [], cold: true };

/** How many items an estimate is made from. */
const WINDOW = 24;

/** Finished items after which an estimate that got no new one is too old: better to move an item and learn. */
const LIFETIME = 256;

/** Below the clock's resolution all items look alike. */
const SHORTEST_MS = 0.001;

/** The estimate with one item more; the first is dropped at the second. */
export function measured({ recent, cold }: RateEstimate, size: number, ms: number, finished: number): RateEstimate {
  const kept = cold ? [] : recent.slice(-WINDOW + 1);
  return { recent: [...kept, { size, ms: Math.max(ms, SHORTEST_MS), finished }], cold: recent.length === 0 };
}

/** Size per millisecond of one lane; undefined until warmed up, and once nothing new has come for long. */
export function rateOf({ recent, cold }: RateEstimate, finished: number): number | undefined {
  const last = recent.at(-1);
  if (cold || last === undefined || finished - last.finished > LIFETIME) return undefined;
  const ms = recent.reduce((sum, item) => sum + item.ms, 0);
  const size = recent.reduce((sum, item) => sum + item.size, 0);
  return size > 0 ? size / ms : undefined;
}
