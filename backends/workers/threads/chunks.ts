import { chunksOf, control, isShut, type KernelFunction, type Runtime, slot, slotWord } from './queue.ts';

/** The services that a thread needs to run chunks of phases. */
export interface ChunkTaker {
  /** The control block, as described in `queue.ts`. */
  readonly words: Int32Array;
  readonly runtime: Runtime;
  functionOf(number: number): KernelFunction;
  /** Called after this thread has raised the signal that wakes the host. */
  signalled(): void;
}

/**
 * Runs chunks of the current phase, as the worker with the given number. Returns true when no chunk is left to start,
 * or false as soon as `mayGoOn` returns false.
 */
export function takeChunks(taker: ChunkTaker, phase: number, worker: number, mayGoOn: () => boolean): boolean {
  const { words, runtime } = taker;
  const at = slotWord(phase);
  const args = words[at + slot.arguments]!;
  const chunks = isShut(runtime, words[at + slot.gate]!)
    ? 0
    : chunksOf(
        runtime,
        words[at + slot.count]!,
        words[at + slot.minus]!,
        words[at + slot.limit]!,
        words[at + slot.chunkSize]!,
        words[at + slot.minimum]!,
      );
  // `chunks` is valid only if the phase is not completed yet. Otherwise a later phase may have overwritten the row
  // count from which `chunks` was computed.
  if (Atomics.load(words, control.completed) !== (phase | 0)) return true;
  let call: KernelFunction | undefined;
  while (mayGoOn()) {
    const chunk = Atomics.add(words, at + slot.next, 1);
    if (chunk >= chunks) {
      // Normally the thread that runs the last chunk completes the phase. If a phase has no chunks, the first thread
      // that finds the phase completes it.
      if (chunks === 0 && chunk === 0) complete(taker, phase);
      return true;
    }
    // As long as a chunk is left, the phase is in progress, and the phase's function is still installed.
    call ??= taker.functionOf(words[at + slot.run]!);
    call(args, chunk, worker);
    if (Atomics.add(words, at + slot.done, 1) === chunks - 1) complete(taker, phase);
  }
  return false;
}

function complete({ words, signalled }: ChunkTaker, phase: number): void {
  const completed = (phase + 1) | 0;
  Atomics.store(words, control.completed, completed);
  Atomics.notify(words, control.completed);
  if (Atomics.load(words, control.target) !== completed) return;
  Atomics.add(words, control.signal, 1);
  Atomics.notify(words, control.signal);
  signalled();
}
