import { type ChunkTaker, takeChunks } from './chunks.ts';
import { control, seat, seatWord } from './queue.ts';

/** Milliseconds that the calling thread polls for completion if it cannot take part. */
const LOOKING = 0.05;

export interface HelpOptions {
  readonly workers: number;
  /** Number of workers that leave a core to the calling thread. */
  readonly lingering: number;
  /** Maximum time that it helps; 0 if it does not help. */
  readonly milliseconds: number;
  /** The number of completed phases. */
  look(): number;
  isStopped(): boolean;
}

/**
 * Takes the place of a sleeping worker for a short time, because waking threads and being woken takes longer. Returns
 * whether a phase and those before it are done.
 */
export function helpUntil(phase: number, taker: ChunkTaker, options: HelpOptions): boolean {
  const { words } = taker;
  const { workers, lingering, milliseconds, look, isStopped } = options;
  const start = performance.now();
  const place = milliseconds > 0 ? takePlace(words, workers) : undefined;
  // Polling would take a core from a worker.
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

/** Takes the place of a sleeping worker for the calling thread. If the worker is woken meanwhile, it waits. */
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
