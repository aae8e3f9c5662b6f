/** A hook for tests that a tuning of reductions, scans or sorts may carry. It is not part of the published tuning. */
export interface Silence {
  /** Every `mute`-th tile publishes nothing, so that later tiles must compute its result themselves. */
  readonly mute?: number;
}
