import { control } from './queue.ts';

/**
 * Work below this many nanoseconds in the worst case is brief; with vectors and several threads it takes a fraction of
 * that. A caller that waits for brief work helps, and one worker is woken for it until more has been issued.
 */
const BRIEF = 2.4e6;

/** Number of messages after which sleeping workers are woken to receive them. */
const MESSAGES_A_NAP = 64;

export function isBrief(nanoseconds: number): boolean {
  return nanoseconds < BRIEF;
}

/** Wakes sleeping workers, as few as are useful. */
export interface Waking {
  /**
   * Wakes workers for a command that was just issued. For brief work, one, because the calling thread may be about to
   * wait for it; after more work, as many as leave a core to the calling thread; the others at the end of this turn of
   * the event loop.
   */
  forCommand(nanoseconds: number, wasIdle: boolean): void;
  /** Wakes all, if any work is left. */
  all(): void;
  /** Records a message to all workers, which they receive when they are awake. */
  noteMessage(): void;
}

export interface WakingOptions {
  /** The control block. */
  readonly words: Int32Array;
  readonly workers: number;
  /** Number of workers that leave a core to the calling thread. */
  readonly lingering: number;
  /** Whether the calling thread helps while it waits. */
  readonly mayHelp: boolean;
  isWorkLeft(): boolean;
}

export function createWaking({ words, workers, lingering, mayHelp, isWorkLeft }: WakingOptions): Waking {
  /** Worst-case nanoseconds of all commands since the workers were last seen idle. */
  let queued = 0;
  /** Number of messages since all workers were last woken. */
  let unheard = 0;
  /** Whether all workers will be woken at the end of this turn of the event loop. */
  let wakesLate = false;

  /** Wakes workers until `wanted` are awake, or all. */
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
      // The place of a single worker is left to whoever comes first.
      if (workers > 1) wake(isBrief(queued) ? 1 : lingering);
      wakeLate();
    },
    noteMessage() {
      unheard++;
    },
  };
}
