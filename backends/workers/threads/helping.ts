import { type ChunkTaker, takeChunks } from './chunks.ts';
import { control, seat, seatWord } from './queue.ts';

/** Milliseconds for which the calling thread polls for completion if it cannot take a worker's place. */
const LOOKING = 0.05;

export interface HelpOptions {
  readonly workers: number;
  /** Number of workers that can be awake while a core is left for the calling thread. */
  readonly lingering: number;
  /** Maximum time for which the calling thread helps; 0 if it must not help. */
  readonly milliseconds: number;
  /** Reads and returns the number of completed phases. */
  look(): number;
  isStopped(): boolean;
}

/**
 * Lets the calling thread run chunks in place of a sleeping worker, for a short time. This is faster than to wake a
 * worker and wait for its answer. Returns whether all phases before number `phase` are completed.
 */
export function helpUntil(phase: number, taker: ChunkTaker, options: HelpOptions): boolean {
  const { words } = taker;
  const { workers, lingering, milliseconds, look, isStopped } = options;
  const start = performance.now();
  const place = milliseconds > 0 ? takePlace(words, workers) : undefined;
  // All cores are busy with workers, so polling by the calling thread would slow a worker down.
  if (place === undefined && workers - Atomics.load(words, control.asleep) > lingering) return false;
  const end = start + (place === undefined ? LOOKING : milliseconds);
  const mayGoOn = (): boolean => performance.now() < end;
  try {
    let taken = -1;
    for (let done = look(); done < phase; done = look()) {
      if (!mayGoOn() || isStopped()) return false;
      if (place === undefined || done === taken) continue;
      taken = done;
      takeChunks(taker, done, place, mayGoOn);
    }
    return true;
  } finally {
    if (place !== undefined) leavePlace(words, place);
  }
}

/**
 * Takes the place of a sleeping worker for the calling thread. Returns the number of the worker, or undefined if no
 * worker sleeps. If the worker is woken meanwhile, it waits until the calling thread gives the place back.
 */
function takePlace(words: Int32Array, workers: number): number | undefined {
  for (let worker = workers - 1; worker >= 0; worker--) {
    if (Atomics.compareExchange(words, seatWord(worker), seat.free, seat.host) === seat.free) return worker;
  }
  return undefined;
}

function leavePlace(words: Int32Array, worker: number): void {
  const before = Atomics.exchange(words, seatWord(worker), seat.free);
  if (before === seat.wanted) Atomics.notify(words, seatWord(worker));
}
