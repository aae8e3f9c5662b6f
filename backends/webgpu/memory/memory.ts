import type { Counters, DeviceBuffer } from '../../../primitives/contract/backend.ts';
import { outOfMemory, usedAfterRelease } from '../../common/memory-errors.ts';
import { usage } from '../device/usage.ts';
import type { DispatchRecorder } from '../launches/recorder.ts';
import type { BufferPart } from './part.ts';

/**
 * The memory of a device buffer: one part (GPU buffer), or several if the buffer is longer than a binding. Every part
 * but the last has `1 << shift` words.
 */
export interface Memory extends DeviceBuffer {
  readonly parts: readonly BufferPart[];
  /** Log2 of the number of words per part (GPU buffer). Word w is in part `w >> shift`. */
  readonly shift: number;
  /**
   * Only on a tape (recorded launches of a prepared pipeline): the memory may start anywhere in its buffer. Each call
   * passes the memory's offset as value number `offsetValue`.
   */
  readonly offsetValue?: number;
  /**
   * Only on a tape (recorded launches): the words of the memory are values that each call passes. `valuesFrom` is the
   * index of the first of these values.
   */
  readonly valuesFrom?: number;
  /**
   * Only on a tape (recorded launches): called when a kernel reads four words of the memory at once. Each call must
   * then provide a memory that starts at a multiple of four words.
   */
  readonly onFours?: () => void;
}

/** A pool of GPU buffers, grouped by size class. */
export interface MemoryPool {
  readonly live: { buffers: number; bytes: number };
  /** Number of words per part (GPU buffer), for buffers that need several parts. */
  readonly partWords: number;
  /** Sets the limit of the total number of allocated bytes. Only later allocations are limited. */
  keepWithin(bytes: number): void;
  allocate(words: number): Memory;
  release(buffer: DeviceBuffer): void;
  /**
   * Wraps `bytes` bytes of the user's GPU buffer, from byte `byte` on. A binding must be able to start at this byte.
   */
  borrow(gpu: GPUBuffer, byte: number, bytes: number): Memory;
  /** Whether a GPU buffer was created by this pool. */
  isOwn(gpu: GPUBuffer): boolean;
  /**
   * Reserves memory for a tape (recorded launches of a prepared pipeline). Reserved memory does not count as in use,
   * and its owner must free it when memory runs short.
   */
  reserve(words: number): Memory;
  giveUp(memory: Memory): void;
  /** Runs a command. If the command throws, releases the memory that the command allocated. */
  attempt(command: () => void): void;
  /** The memory of a buffer. Throws if the buffer was released. If its contents are lost, throws the reason. */
  resolve(buffer: DeviceBuffer): Memory;
  /** Whether the contents of a buffer are lost. */
  isLost(buffer: DeviceBuffer): boolean;
  /** Destroys the GPU buffers that are not in use. */
  trim(): void;
  destroy(): void;
}

export interface PoolOptions {
  readonly device: GPUDevice;
  readonly counters: Counters;
  readonly bindingBytes: number;
  /** Usage flags of GPU buffers, in addition to the flags that kernels need. */
  readonly usage: number;
  /** Makes a call that may raise a device error; see {@link DispatchRecorder.watched}. */
  readonly watched: DispatchRecorder['watched'];
  /** Called for every GPU buffer that is created. */
  readonly madePart: (part: BufferPart) => void;
  /** Destroys a GPU buffer once no recorded command needs it. */
  readonly destroyPart: (part: BufferPart) => void;
  /** Drops all cached objects that refer to a borrowed part. */
  readonly forgetPart: (part: BufferPart) => void;
  /** Frees reserved memory. Called when memory runs short. */
  readonly giveUpReserved: () => void;
}

const STORAGE = usage.storage | usage.copySource | usage.copyDestination;
const SMALLEST = 256;

/**
 * A pool of device memory, with four size classes per octave. Released GPU buffers are reused immediately. This is safe
 * because commands take effect in order, so earlier commands still see the old contents.
 */
export function createMemoryPool(options: PoolOptions): MemoryPool {
  const { device, counters, bindingBytes, watched, madePart, destroyPart, forgetPart, giveUpReserved } = options;
  const free = new Map<number, BufferPart[]>();
  const owned = new Map<number, Memory>();
  const made = new WeakSet<GPUBuffer>();
  const live = { buffers: 0, bytes: 0 };
  const shift = Math.floor(Math.log2(bindingBytes / 4));
  const partWords = 2 ** shift;
  let memoryBytes = Number.POSITIVE_INFINITY;
  let held = 0;
  let nextId = 1;

  const take = (bytes: number): BufferPart => {
    const pooled = pooledPart(bytes);
    if (pooled !== undefined) return pooled;
    if (held + bytes > memoryBytes) trim();
    const gpu = watched(() => device.createBuffer({ size: bytes, usage: STORAGE | options.usage }));
    made.add(gpu);
    held += bytes;
    counters.allocations++;
    const part: BufferPart = { id: nextId++, gpu, bytes, lastUse: -1 };
    madePart(part);
    return part;
  };

  const pooledPart = (bytes: number): BufferPart | undefined => {
    const pooled = free.get(bytes);
    for (let part = pooled?.pop(); part !== undefined; part = pooled?.pop()) {
      if (part.spoiled === undefined) return part;
      destroy(part);
    }
    return undefined;
  };

  /**
   * Returns a GPU buffer to the pool. The oldest buffer is reused first, so that a loop gets the same buffers in every
   * round and can reuse their bind groups.
   */
  const putBack = (part: BufferPart): void => {
    const pooled = free.get(part.bytes) ?? [];
    free.set(part.bytes, pooled);
    let low = 0;
    let high = pooled.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (pooled[middle]!.id > part.id) low = middle + 1;
      else high = middle;
    }
    pooled.splice(low, 0, part);
  };

  const trim = (): void => {
    giveUpReserved();
    const parts = [...free.values()].flat();
    free.clear();
    for (const part of parts) destroy(part);
  };

  const destroy = (part: BufferPart): void => {
    held -= part.bytes;
    destroyPart(part);
  };

  const resolve = (buffer: DeviceBuffer): Memory => {
    const memory = ownedBy(buffer);
    for (const { spoiled } of memory.parts) if (spoiled !== undefined) throw spoiled;
    return memory;
  };

  const ownedBy = (buffer: DeviceBuffer): Memory => {
    const memory = owned.get(buffer.id);
    if (memory !== undefined) return memory;
    throw usedAfterRelease(buffer);
  };

  const release = (buffer: DeviceBuffer): void => {
    const { words, parts } = ownedBy(buffer);
    owned.delete(buffer.id);
    if (parts[0]!.borrowedAt !== undefined) {
      parts.forEach(forgetPart);
      return;
    }
    live.buffers--;
    live.bytes -= words * 4;
    parts.forEach(putBackOrDestroy);
  };

  const putBackOrDestroy = (part: BufferPart): void => {
    if (part.spoiled === undefined) putBack(part);
    else destroy(part);
  };

  return {
    live,
    partWords,
    resolve,
    isLost: ({ id }) => owned.get(id)?.parts.some(({ spoiled }) => spoiled !== undefined) ?? false,
    release,
    trim,
    keepWithin(bytes) {
      memoryBytes = bytes;
    },
    attempt(command) {
      const first = nextId;
      try {
        command();
      } catch (error) {
        for (const memory of [...owned.values()].filter(({ id }) => id >= first)) release(memory);
        throw error;
      }
    },
    allocate(words) {
      const bytes = words * 4;
      if (live.bytes + bytes > memoryBytes) throw outOfMemory(bytes, live.bytes, memoryBytes);
      const parts = partSizes(bytes, bindingBytes, partWords * 4).map(take);
      const memory: Memory = { id: nextId++, words, parts, shift };
      owned.set(memory.id, memory);
      live.buffers++;
      live.bytes += bytes;
      return memory;
    },
    reserve(words) {
      const bytes = words * 4;
      const sizes = partSizes(bytes, bindingBytes, partWords * 4);
      const more = sizes.reduce((sum, size) => sum + size, 0);
      if (held + more > memoryBytes) trim();
      if (held + more > memoryBytes) throw outOfMemory(bytes, held, memoryBytes);
      return { id: nextId++, words, parts: sizes.map(take), shift };
    },
    giveUp: ({ parts }) => parts.forEach(putBackOrDestroy),
    borrow(gpu, byte, bytes) {
      const partBytes = bytes <= bindingBytes ? bytes : partWords * 4;
      const parts: BufferPart[] = [];
      for (let at = 0; at < bytes; at += partBytes) {
        const size = Math.min(partBytes, bytes - at);
        parts.push({ id: nextId++, gpu, bytes: size, lastUse: -1, borrowedAt: byte + at });
      }
      const memory: Memory = { id: nextId++, words: bytes / 4, parts, shift };
      owned.set(memory.id, memory);
      return memory;
    },
    isOwn: (gpu) => made.has(gpu),
    destroy() {
      for (const { parts } of owned.values()) if (parts[0]!.borrowedAt === undefined) parts.forEach(destroy);
      owned.clear();
      live.buffers = 0;
      live.bytes = 0;
      for (const parts of free.values()) parts.forEach(destroy);
      free.clear();
    },
  };
}

function partSizes(bytes: number, bindingBytes: number, partBytes: number): number[] {
  if (bytes <= bindingBytes) return [sizeClass(bytes, bindingBytes)];
  const full = Math.floor(bytes / partBytes);
  const rest = bytes - full * partBytes;
  const sizes = new Array<number>(full).fill(partBytes);
  return rest === 0 ? sizes : [...sizes, sizeClass(rest, bindingBytes)];
}

/** Rounds a size in bytes up to one of four sizes per octave, so that buffers of similar sizes are interchangeable. */
export function sizeClass(bytes: number, max: number): number {
  const size = Math.max(bytes, SMALLEST);
  const step = Math.max(64, 2 ** (Math.floor(Math.log2(size - 1)) - 2));
  return Math.min(Math.ceil(size / step) * step, Math.max(max - (max % 4), bytes));
}
