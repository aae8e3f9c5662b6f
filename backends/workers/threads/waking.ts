import { control } from './queue.ts';

/**
 * What takes fewer nanoseconds in the worst case is brief: vectors and several threads take a fraction of that. Whoever waits
 * for what is brief helps, and until more has come one worker is enough for it.
 */
const BRIEF = 2.4e6;

/** Messages after which sleeping workers are woken to take them. */
const MESSAGES_A_NAP = 64;

export function isBrief(nanoseconds: number): boolean {
  return nanoseconds < BRIEF;
}

/** Wakes workers that sleep until something is issued, as few as are of use. */
export interface Waking {
  /**
   * Wakes workers for a command that was just issued. For what is brief, as the calling thread may be about to wait for it, one;
   * when more has come, as many as leave the calling thread its core; the others at the end of this turn of the event loop.
   */
  forCommand(nanoseconds: number, wasIdle: boolean): void;
  /** Wakes all, if anything is left to be done. */
  all(): void;
  /** A message was sent to all workers, which they take when they are awake. */
  noteMessage(): void;
}

export interface WakingOptions {
  /** The control block. */
  readonly words: Int32Array;
  readonly workers: number;
  /** How many leave the calling thread its core. */
  readonly lingering: number;
  /** Whether the calling thread helps where it waits. */
  readonly mayHelp: boolean;
  isWorkLeft(): boolean;
}

export function createWaking({ words, workers, lingering, mayHelp, isWorkLeft }: WakingOptions): Waking {
  /** Nanoseconds of all commands since the workers were last seen to be idle, in the worst case. */
  let queued = 0;
  /** Messages that were sent since all workers were woken. */
  let unheard = 0;
  /** Whether all are to be woken at the end of this turn of the event loop. */
  let wakesLate = false;

  /** Wakes workers until so many are awake, or all. */
  const wake = (wanted: number): void => {
    const missing = Math.min(wanted, workers) - workers + Atomics.load(words, control.asleep);
    if (missing <= 0) return;
    const woken = Atomics.notify(words, control.issued, missing);
    Atomics.sub(words, control.asleep, woken);
  };
  const all = (): void => {
    if (!isWorkLeft()) return;
    unheard = 0;
    wake(workers);
  };
  const wakeLate = (): void => {
    if (wakesLate) return;
    wakesLate = true;
    queueMicrotask(() => {
      wakesLate = false;
      all();
    });
  };

  return {
    all,
    forCommand(nanoseconds, wasIdle) {
      queued = (wasIdle ? 0 : queued) + nanoseconds;
      if (!mayHelp || !isBrief(nanoseconds) || unheard > MESSAGES_A_NAP) {
        all();
        return;
      }
      // The place of the only worker is left to whoever comes first.
      if (workers > 1) wake(isBrief(queued) ? 1 : lingering);
      wakeLate();
    },
    noteMessage() {
      unheard++;
    },
  };
}
