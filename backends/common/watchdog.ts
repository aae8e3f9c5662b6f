import { requireHangLimit } from './backend-options.ts';

/** Gives up on a device that leaves everybody waiting for too long. */
export interface Watchdog {
  /** Somebody begins to wait. */
  begin(): void;
  /** A wait has ended: the device lives. */
  end(): void;
}

/** Looks that a watchdog takes before it gives up. A thread that is busy itself misses looks, which count for one. */
const LOOKS = 8;

export interface WatchdogOptions {
  /** Milliseconds; without them it never gives up. */
  readonly limit: number | undefined;
  readonly giveUp: (limit: number) => void;
  /** A number that changes as work goes on, where there is one. */
  readonly progress?: () => number;
}

/**
 * Gives up once somebody has waited for `limit` milliseconds while no wait ended and no progress was seen. Time in which the
 * calling thread itself is busy does not count, but for an eighth of the limit.
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
