import type { Counters } from '../../../primitives/contract/backend.ts';
import { usage } from '../device/usage.ts';
import type { DispatchRecorder } from '../launches/recorder.ts';
import type { Memory } from './memory.ts';
import type { BufferPart } from './part.ts';

/** The spine (see {@link Spine}) as one dispatch uses it. */
export interface SpineRun {
  readonly memory: Memory;
  /** Number that marks the words written by this dispatch. Words with another epoch count as not written. */
  readonly epoch: number;
  /**
   * Only on a tape (recorded launches of a prepared pipeline): each call adds its value number `epochValue` to the
   * epoch.
   */
  readonly epochValue?: number;
}

/**
 * Device memory in which the workgroups of one dispatch exchange the results of tiles. The memory is not cleared
 * between dispatches, because every word contains the epoch of the dispatch that wrote it.
 */
export interface Spine {
  /** Reserves `words` words for one dispatch, with a new epoch (dispatch number). */
  begin(words: number): SpineRun;
  /**
   * Reserves `words` words for `runs` consecutive dispatches, each with its own epoch (dispatch number). Returns the
   * spine for the first dispatch; every further dispatch adds 1 to the epoch.
   */
  beginMany(words: number, runs: number): SpineRun;
  destroy(): void;
}

/**
 * Number of bits of a word that hold the epoch (dispatch number). Of the other bits, 16 are payload and 2 are state.
 */
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
    // A buffer for which the device had no memory is marked as spoiled and must be replaced.
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
 * Next id of the buffer of a spine (memory in which workgroups communicate). The ids of spines are below −1,000,000, so
 * that they differ from the ids of the pool (positive) and of parameter buffers (from −1 down, a few hundred at most).
 */
let nextId = -1_000_000;
