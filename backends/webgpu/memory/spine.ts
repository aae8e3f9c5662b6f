import type { Counters } from '../../../primitives/contract/backend.ts';
import { usage } from '../device/usage.ts';
import type { DispatchRecorder } from '../launches/recorder.ts';
import type { Memory } from './memory.ts';
import type { BufferPart } from './part.ts';

/** One use of the spine by a kernel whose workgroups communicate. */
export interface SpineRun {
  readonly memory: Memory;
  /** Marks the words of this run; words with another epoch count as not written. */
  readonly epoch: number;
  /** Only on a tape: the index of the call's value that is added to the epoch. */
  readonly epochValue?: number;
}

/**
 * Words through which the workgroups of one dispatch pass on results, tile by tile. They are not cleared between runs:
 * every word written carries an epoch.
 */
export interface Spine {
  /** Starts a run that needs `words` words. */
  begin(words: number): SpineRun;
  /** Starts several consecutive runs; returns the first. */
  beginMany(words: number, runs: number): SpineRun;
  destroy(): void;
}

/** Bits of a word for the epoch, besides 16 bits of payload and 2 of state. */
const EPOCH_BITS = 14;

export function createSpine(device: GPUDevice, recorder: DispatchRecorder, counters: Counters): Spine {
  let memory: Memory | undefined;
  let epoch = 0;

  const grow = (words: number): Memory => {
    if (memory !== undefined) recorder.destroyLater(memory.parts[0]!);
    const bytes = 2 ** Math.ceil(Math.log2(Math.max(words * 4, 4096)));
    counters.allocations++;
    const uses = usage.storage | usage.copyDestination;
    const gpu = recorder.watched(() => device.createBuffer({ size: bytes, usage: uses }));
    const part: BufferPart = { id: nextId--, gpu, bytes, lastUse: -1 };
    recorder.made(part);
    epoch = 0;
    return { id: part.id, words: bytes / 4, parts: [part], shift: 31 };
  };

  const beginMany = (words: number, runs: number): SpineRun => {
    recorder.begin();
    // If the device lacked memory for it, the buffer is unusable.
    const isUsable = memory !== undefined && memory.words >= words && memory.parts[0]!.spoiled === undefined;
    if (memory === undefined || !isUsable) memory = grow(words);
    const first = epoch + 1;
    epoch += runs;
    if (epoch < 2 ** EPOCH_BITS) return { memory, epoch: first };
    const [part] = memory.parts;
    recorder.clear(part!, 0, part!.bytes);
    epoch = runs;
    return { memory, epoch: 1 };
  };

  return {
    begin: (words) => beginMany(words, 1),
    beginMany,
    destroy() {
      for (const { gpu } of memory?.parts ?? []) gpu.destroy();
      memory = undefined;
    },
  };
}

/**
 * Ids of the buffers of spines. Those of the pool are positive, those of parameters count down from −1 to a few hundred
 * below.
 */
let nextId = -1_000_000;
