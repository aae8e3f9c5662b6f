import { control } from './queue.ts';

/**
 * Work is brief if its worst-case time is below this number of nanoseconds. The actual time is only a fraction of the
 * worst case, because of vectors and several threads. A caller that waits for brief work helps the workers. One awake
 * worker is therefore enough, as long as the total of the queued work is brief.
 */
const BRIEF = 2.4e6;

/**
 * If more than this number of messages are sent without all workers being woken, the next command wakes all workers, so
 * that sleeping workers receive the messages.
 */
const MESSAGES_A_NAP = 64;

export function isBrief(nanoseconds: number): boolean {
  return nanoseconds < BRIEF;
}

/** Wakes sleeping workers, but not more of them than useful, because waking takes time. */
export interface Waking {
  /**
   * Wakes workers for a command that was just issued and takes at most `nanoseconds`. Wakes all workers at once if the
   * command is not brief or the calling thread does not help. Otherwise, if the total of the queued work is brief,
   * wakes only one worker, because the calling thread may soon wait and help. If the total is not brief, wakes workers
   * until only one core is left for the calling thread. The remaining workers are woken at the end of the current turn
   * of the event loop.
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
      // The worker of a pool with only one worker is not woken yet. If the calling thread waits for the command, this
      // thread takes the place of the worker.
      if (workers > 1) wake(isBrief(queued) ? 1 : lingering);
      wakeLate();
    },
    noteMessage() {
      unheard++;
    },
  };
}
