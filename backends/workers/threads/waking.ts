import { control } from './queue.ts';

/**
 * Work with a worst-case bound below this number of nanoseconds is brief. With vectors and several threads, it takes
 * only a fraction of the bound. A caller that waits for brief work helps, so only one worker is woken as long as no
 * more work is issued.
 */
const BRIEF = 2.4e6;

/** Number of messages after which sleeping workers are woken to receive them. */
const MESSAGES_A_NAP = 64;

export function isBrief(nanoseconds: number): boolean {
  return nanoseconds < BRIEF;
}

/** Wakes sleeping workers, but not more of them than useful, because waking takes time. */
export interface Waking {
  /**
   * Wakes workers for a command that was just issued. For brief work, wakes only one worker, because the calling thread
   * may soon wait and help. For more work, wakes workers until only one core is left for the calling thread. The
   * remaining workers are woken at the end of the current turn of the event loop.
   */
  forCommand(nanoseconds: number, wasIdle: boolean): void;
  /** Wakes all workers, if any phase is not completed. */
  all(): void;
  /** Counts a message to all workers. Sleeping workers receive the message when they wake. */
  noteMessage(): void;
}

export interface WakingOptions {
  /** The control block. */
  readonly words: Int32Array;
  readonly workers: number;
  /** Number of workers that can be awake while a core is left for the calling thread. */
  readonly lingering: number;
  /** Whether the calling thread helps the workers while it waits. */
  readonly mayHelp: boolean;
  isWorkLeft(): boolean;
}

export function createWaking({ words, workers, lingering, mayHelp, isWorkLeft }: WakingOptions): Waking {
  /** Worst-case time in nanoseconds of all commands that were issued since the workers were last idle. */
  let queued = 0;
  /** Number of messages sent since all workers were last woken. */
  let unheard = 0;
  /** Whether all workers will be woken at the end of this turn of the event loop. */
  let wakesLate = false;

  /** Wakes workers until `wanted` workers, or all workers, are awake. */
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
      // If the pool has only one worker, the worker is not woken yet: the calling thread takes its place if it waits.
      if (workers > 1) wake(isBrief(queued) ? 1 : lingering);
      wakeLate();
    },
    noteMessage() {
      unheard++;
    },
  };
}
