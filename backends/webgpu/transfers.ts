import type { Counters } from '../../primitives/backend.ts';
import type { Failure } from './failure.ts';
import { type Memory, type Part, sizeClass } from './memory.ts';
import type { Recorder } from './recorder.ts';
import { MAP_MODE_READ, usage } from './usage.ts';

/** Copies between host and device. */
export interface Transfers {
  write(memory: Memory, word: number, data: Uint32Array): void;
  read(memory: Memory, word: number, words: number): Promise<Uint32Array>;
  destroy(): void;
}

/** Idle staging buffers that are kept, in bytes; mapping a fresh one costs ten times the copy. */
const KEPT_BYTES = 2 ** 28;

export interface TransfersOptions {
  readonly device: GPUDevice;
  /** Whether others use the device too. */
  readonly shared: boolean;
  readonly recorder: Recorder;
  readonly failure: Failure;
  readonly counters: Counters;
  /** Why the device did not answer, for which it gave this reason itself. */
  readonly explain: (cause: unknown) => Promise<unknown>;
}

export function createTransfers({ device, shared, recorder, failure, counters, explain }: TransfersOptions): Transfers {
  const idle = new Map<number, Part[]>();
  let kept = 0;
  let isClosed = false;

  const take = (words: number): Part => {
    const bytes = sizeClass(words * 4, device.limits.maxBufferSize);
    const pooled = idle.get(bytes)?.pop();
    if (pooled !== undefined) {
      kept -= bytes;
      return pooled;
    }
    counters.allocations++;
    const uses = usage.mapRead | usage.copyDestination;
    const gpu = recorder.watched(() => device.createBuffer({ size: bytes, usage: uses }));
    const part: Part = { id: 0, gpu, bytes, lastUse: -1 };
    recorder.made(part);
    return part;
  };

  const putBack = (part: Part): void => {
    if (isClosed || kept + part.bytes > KEPT_BYTES) {
      part.gpu.destroy();
      return;
    }
    kept += part.bytes;
    const pooled = idle.get(part.bytes);
    if (pooled === undefined) idle.set(part.bytes, [part]);
    else pooled.push(part);
  };

  /** Maps a buffer; what the device finds in that is told by the promise, and by nothing else. */
  const mapped = (gpu: GPUBuffer, bytes: number): Promise<unknown> => {
    if (!shared) return gpu.mapAsync(MAP_MODE_READ, 0, bytes);
    device.pushErrorScope('validation');
    const mapping = gpu.mapAsync(MAP_MODE_READ, 0, bytes);
    device.popErrorScope().catch(() => {});
    return mapping;
  };

  const download = async (memory: Memory, word: number, words: number): Promise<Uint32Array> => {
    let isNew = false;
    const staged = [...rangesOf(memory, word, words)].map((range) => {
      const staging = take(range.words);
      isNew ||= staging.lastUse < 0;
      recorder.copy(range.part, range.word * 4, staging, 0, range.words * 4);
      return { ...range, staging };
    });
    const result = new Uint32Array(words);
    const { accepted } = recorder.begin();
    await recorder.flushSoon();
    try {
      // What the device had no memory for cannot be mapped either.
      if (isNew) await accepted;
      for (const { staging, at, words: length } of staged) {
        await mapped(staging.gpu, length * 4);
        result.set(new Uint32Array(staging.gpu.getMappedRange(0, length * 4)), at);
        staging.gpu.unmap();
      }
      await accepted;
    } catch (cause) {
      for (const { staging } of staged) staging.gpu.destroy();
      // What the device says of the commands says more than what it says of the mapping.
      await accepted;
      throw await explain(cause);
    }
    for (const { staging } of staged) putBack(staging);
    return result;
  };

  return {
    write(memory, word, data) {
      for (const { part, word: from, words, at } of rangesOf(memory, word, data.length)) {
        recorder.write(part, from * 4, unshared(data.subarray(at, at + words)));
      }
    },
    read: (memory, word, words) => failure.guarded(download(memory, word, words)),
    destroy() {
      isClosed = true;
      for (const { gpu } of [...idle.values()].flat()) gpu.destroy();
      idle.clear();
    },
  };
}

interface Range {
  readonly part: Part;
  /** First word within the part. */
  readonly word: number;
  readonly words: number;
  /** Where the words lie in the whole. */
  readonly at: number;
}

/** The pieces of a range of words, one for every part that it touches. */
export function* rangesOf(memory: Memory, word: number, words: number): Generator<Range> {
  const { parts, shift } = memory;
  const partWords = parts.length === 1 ? Number.POSITIVE_INFINITY : 2 ** shift;
  for (let at = 0; at < words; ) {
    const index = parts.length === 1 ? 0 : Math.floor((word + at) / partWords);
    const inPart = word + at - (index === 0 ? 0 : index * partWords);
    const length = Math.min(words - at, partWords - inPart);
    yield { part: parts[index]!, word: inPart, words: length, at };
    at += length;
  }
}

/** Words that no other thread can write: Dawn ends the process at arrays on shared memory. */
function unshared(data: Uint32Array): Uint32Array {
  const isShared = typeof SharedArrayBuffer !== 'undefined' && data.buffer instanceof SharedArrayBuffer;
  return isShared ? new Uint32Array(data) : data;
}
