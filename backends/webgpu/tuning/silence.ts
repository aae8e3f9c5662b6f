/** A hidden member of the tunings of reductions, scans and sorts, for tests only. */
export interface Silence {
  /** Every `mute`-th tile publishes no result, so that later tiles must compute that result themselves. */
  readonly mute?: number;
}
