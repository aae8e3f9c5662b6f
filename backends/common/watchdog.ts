import { requireHangLimit } from './backend-options.ts';

/** Declares a device hung if it makes no progress while somebody waits for it. */
export interface Watchdog {
  /** Must be called when a wait starts. */
  begin(): void;
  /** Must be called when a wait ends, which shows that the device is alive. */
  end(): void;
}

/**
 * Number of consecutive checks without progress after which the watchdog gives up. While the calling thread is busy it
 * misses checks; all missed checks count as one.
 */
const LOOKS = 8;

export interface WatchdogOptions {
  /** Milliseconds without progress. If undefined, the watchdog never gives up. */
  readonly limit: number | undefined;
  readonly giveUp: (limit: number) => void;
  /** A number that changes as long as the device makes progress. */
  readonly progress?: () => number;
}

/**
 * Calls `giveUp` once somebody has waited for `limit` milliseconds in which no wait ended and `progress` did not
 * change. A period in which the calling thread is busy counts as at most an eighth of the limit.
 *
 * @throws ArgumentError `device/hang-limit`
 */
export function createWatchdog({ limit, giveUp, progress }: WatchdogOptions): Watchdog {
  requireHangLimit(limit);
  let waiting = 0;
  let seen: number | undefined;
  let looks = 0;
  let timer: ReturnType<typeof setInterval> | undefined;

  const look = (): void => {
    const now = progress?.();
    looks = now === seen ? looks + 1 : 0;
    seen = now;
    if (looks < LOOKS) return;
    clearInterval(timer);
    giveUp(limit!);
  };

  return {
    begin() {
      if (limit === undefined || waiting++ > 0) return;
      looks = 0;
      timer = setInterval(look, limit / LOOKS);
    },
    end() {
      if (limit === undefined) return;
      looks = 0;
      if (--waiting === 0) clearInterval(timer);
    },
  };
}
