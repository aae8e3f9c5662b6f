import { chunksOf, control, isShut, type KernelFunction, type Runtime, slot, slotWord } from './queue.ts';

/** A thread that takes part in phases. */
export interface ChunkTaker {
  /** The control block. */
  readonly words: Int32Array;
  readonly runtime: Runtime;
  functionOf(number: number): KernelFunction;
  /** Called when the host was signalled. */
  signalled(): void;
}

/**
 * Runs chunks of the current phase as one of the workers, until none is left, or until `mayGoOn` returns false; then it
 * returns false.
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
  // Otherwise its count of rows may have been overwritten by a later phase. A completed phase has no chunks left.
  if (Atomics.load(words, control.completed) !== (phase | 0)) return true;
  let call: KernelFunction | undefined;
  while (mayGoOn()) {
    const chunk = Atomics.add(words, at + slot.next, 1);
    if (chunk >= chunks) {
      // A phase without chunks is completed by the first thread that looks.
      if (chunks === 0 && chunk === 0) complete(taker, phase);
      return true;
    }
    // A phase with a remaining chunk is not done, so its function still exists.
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
