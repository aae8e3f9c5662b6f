import { requireHangLimit } from './backend-options.ts';

/** Gives up on a device that keeps everybody waiting for too long. */
export interface Watchdog {
  /** Call when a wait starts. */
  begin(): void;
  /** Call when a wait ends, which shows that the device is alive. */
  end(): void;
}

/** Number of checks before a watchdog gives up. Checks missed while the calling thread is busy count as one. */
const LOOKS = 8;

export interface WatchdogOptions {
  /** Milliseconds; without a limit it never gives up. */
  readonly limit: number | undefined;
  readonly giveUp: (limit: number) => void;
  /** A number that changes while work proceeds, if available. */
  readonly progress?: () => number;
}

/**
 * Gives up once somebody has waited for `limit` milliseconds while no wait ended and no progress was seen. Time in
 * which the calling thread itself is busy counts at most as an eighth of the limit.
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
