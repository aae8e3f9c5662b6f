import { turn } from '../primitives/host/turn.ts';

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

/** Number of elements between two pauses. */
const PIECE = 2 ** 14;

/** Works on a range piece by piece, with pauses between the pieces. */
export function* piecewise(from: number, to: number, work: (from: number, to: number) => void): Stretches<void> {
  for (let start = from; start < to; start += PIECE) {
    if (start > from) yield;
    work(start, Math.min(to, start + PIECE));
  }
}

/** Fills an array with the values of a function. `TypedArray.from` takes ten times as long and cannot pause. */
export function* filled<A extends { readonly length: number; [i: number]: number }>(
  array: A,
  valueAt: (i: number) => number,
): Stretches<A> {
  yield* piecewise(0, array.length, (from, to) => {
    for (let i = from; i < to; i++) array[i] = valueAt(i);
  });
  return array;
}
