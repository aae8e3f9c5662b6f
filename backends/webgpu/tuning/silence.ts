/** A hidden member of the tunings of reductions, scans and sorts, for tests only. */
export interface Silence {
  /**
   * If given, every `mute`-th tile publishes no result, so that later tiles must compute the missing results
   * themselves.
   */
  readonly mute?: number;
}
