import { turn } from '../primitives/turn.ts';

/** Long work on the host. It pauses at every `yield`, some milliseconds of work apart at most. */
export type Stretches<T> = Generator<undefined, T, undefined>;

/** Milliseconds of work between two turns of the event loop. */
const STRETCH = 20;

/** Does all of the work at once, on the thread of the caller. */
export function atOnce<T>(work: Stretches<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Does the work in stretches, between which timers and events run. Short work is done when the call returns, and its
 * result is no promise: commands that it issues then keep their place among those of the caller.
 */
export function inStretches<T>(work: Stretches<T>): T | Promise<T> {
  const step = stretch(work);
  return step.done === true ? step.value : finish(work);
}

async function finish<T>(work: Stretches<T>): Promise<T> {
  for (;;) {
    await turn();
    const step = stretch(work);
    if (step.done === true) return step.value;
  }
}

function stretch<T>(work: Stretches<T>): IteratorResult<undefined, T> {
  const end = performance.now() + STRETCH;
  for (;;) {
    const step = work.next();
    if (step.done === true || performance.now() >= end) return step;
  }
}
