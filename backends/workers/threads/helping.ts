import { type ChunkTaker, takeChunks } from './chunks.ts';
import { control, seat, seatWord } from './queue.ts';

/** Milliseconds that the calling thread looks whether commands are done that it has no place to take part in. */
const LOOKING = 0.05;

export interface HelpOptions {
  readonly workers: number;
  /** How many workers leave the calling thread its core. */
  readonly lingering: number;
  /** For how long it helps at most; 0 where it does not. */
  readonly milliseconds: number;
  /** The number of phases that are done. */
  look(): number;
  isStopped(): boolean;
}

/**
 * Takes part as a worker whose thread sleeps, for a short time: to wake threads and to be woken takes longer. Tells whether a
 * phase and those before it are done.
 */
export function helpUntil(phase: number, taker: ChunkTaker, options: HelpOptions): boolean {
  const { words } = taker;
  const { workers, lingering, milliseconds, look, isStopped } = options;
  const start = performance.now();
  const place = milliseconds > 0 ? takePlace(words, workers) : undefined;
  // A core that looks is one that a worker lacks.
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

/** The place of a worker that sleeps, for the calling thread; the worker waits where it is woken meanwhile. */
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
