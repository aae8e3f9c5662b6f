import { OutOfMemoryError } from '../../../primitives/checks/errors.ts';
import type { DeviceBuffer, WordSink } from '../../../primitives/contract/backend.ts';
import { usedAfterRelease } from '../../common/memory-errors.ts';
import { fixed } from '../threads/queue.ts';
import { MAX_PAGES, PAGE_BYTES } from '../wasm/wasm-encoder.ts';
import { type Allocator, createAllocator, type HeapBlock } from './allocator.ts';

/** Minimum number of pages to reserve (64 MiB). */
const MIN_PAGES = 1024;

/** A buffer in the shared memory. */
export interface SharedBuffer extends DeviceBuffer {
  readonly block: HeapBlock;
  readonly address: number;
  /** Number of the last issued command that may use the buffer. */
  fence: number;
  readonly reads: Set<PendingRead>;
}

/** A read from a buffer to the host that has not copied all its words yet. */
export interface PendingRead {
  address: number;
  /** Number of phases that must be completed before the words may be copied. */
  fence: number;
  readonly words: number;
  /** Receives the words on the host, one slice at a time. */
  readonly take: WordSink;
  copied: number;
  /** Memory with a copy of the remaining words, made before a command overwrote the buffer. */
  snapshot?: HeapBlock;
}

export interface SharedMemory {
  readonly memory: WebAssembly.Memory;
  /**
   * Bytes available to the allocator. The fixed areas and the last page of the memory are excluded; without the last
   * page, address arithmetic cannot overflow 32 bits.
   */
  readonly heapBytes: number;
  readonly allocator: Allocator;
  /**
   * `buffers` is the number of buffers that are not released. `bytes` is the size of these buffers and of released
   * buffers with pending reads.
   */
  readonly live: { buffers: number; bytes: number };
  /** Released buffers whose memory is still allocated because of pending reads. */
  readonly beingRead: ReadonlySet<SharedBuffer>;
  /** Number of times the memory has grown. */
  readonly growths: number;
  allocate(words: number): SharedBuffer;
  /** The buffer of a handle. Throws if the buffer was released. */
  resolve(buffer: DeviceBuffer): SharedBuffer;
  /** Forgets a handle and returns its buffer. The caller must free the buffer's memory with `free`. */
  release(buffer: DeviceBuffer): SharedBuffer;
  /**
   * Frees the memory of a released buffer, once its pending reads have ended. Issued commands up to number `issued` may
   * still use the memory.
   */
  free(buffer: SharedBuffer, issued: number): void;
  /**
   * Removes a finished read from a buffer. If this was the last read of a released buffer, frees the buffer's memory.
   */
  finishRead(buffer: SharedBuffer, read: PendingRead, issued: number): void;
  /** The whole memory as 32-bit words. The array is replaced whenever the memory grows, so callers must not keep it. */
  words(): Uint32Array;
  /** Forgets all buffers and drops the reference to the memory. */
  clear(): void;
}

/** Creates the shared memory. Its allocator hands out at most `limitBytes` bytes; by default, all bytes of the heap. */
export function createSharedMemory(limitBytes: number = Number.POSITIVE_INFINITY): SharedMemory {
  const reserved = reserveMemory();
  const heapBytes = (reserved.pages - 1) * PAGE_BYTES - fixed.heap;
  let memory: WebAssembly.Memory | undefined = reserved.memory;
  const buffers = new Map<number, SharedBuffer>();
  const live = { buffers: 0, bytes: 0 };
  const beingRead = new Set<SharedBuffer>();
  let view = new Uint32Array(memory.buffer);
  let pages = fixed.heap / PAGE_BYTES;
  let nextId = 1;
  let growths = 0;
  writeCompactionTable(memory);
  writeRunTables(memory);

  const grow = (end: number): void => {
    const wanted = Math.ceil(end / PAGE_BYTES);
    if (wanted <= pages) return;
    memory!.grow(wanted - pages);
    pages = wanted;
    growths++;
    view = new Uint32Array(memory!.buffer);
  };
  // The error for an exceeded limit advises to raise the limit. This advice would not help if the limit is at least the
  // heap's size. Such a limit is therefore ignored, and a full heap is reported instead.
  const limit = limitBytes < heapBytes ? limitBytes : Number.POSITIVE_INFINITY;
  const allocator = createAllocator({ start: fixed.heap, limit: fixed.heap + heapBytes, grow }, limit);

  const resolve = (buffer: DeviceBuffer): SharedBuffer => {
    const found = buffers.get(buffer.id);
    if (found !== undefined) return found;
    throw usedAfterRelease(buffer);
  };

  return {
    get memory() {
      return memory!;
    },
    heapBytes,
    allocator,
    live,
    beingRead,
    get growths() {
      return growths;
    },
    resolve,
    words: () => view,
    allocate(words) {
      const block = allocator.allocate(words * 4);
      const { address, fence } = block;
      const buffer: SharedBuffer = {
        id: nextId++,
        words,
        block,
        address,
        fence,
        reads: new Set(),
      };
      buffers.set(buffer.id, buffer);
      live.buffers++;
      live.bytes += 4 * words;
      return buffer;
    },
    release(handle) {
      const buffer = resolve(handle);
      buffers.delete(buffer.id);
      live.buffers--;
      live.bytes -= 4 * buffer.words;
      return buffer;
    },
    free(buffer, issued) {
      if (buffer.reads.size === 0) {
        allocator.release(buffer.block, issued);
        return;
      }
      beingRead.add(buffer);
      live.bytes += 4 * buffer.words;
    },
    clear() {
      buffers.clear();
      beingRead.clear();
      memory = undefined;
      view = new Uint32Array(0);
      live.buffers = 0;
      live.bytes = 0;
    },
    finishRead(buffer, read, issued) {
      if (!buffer.reads.delete(read) || buffer.reads.size > 0) return;
      if (!beingRead.delete(buffer)) return;
      live.bytes -= 4 * buffer.words;
      allocator.release(buffer.block, issued);
    },
  };
}

/**
 * Reserves the maximum of 4 GiB. If the system refuses, tries half the size, and so on. Only address space is reserved;
 * the system provides memory when it is first used.
 */
function reserveMemory(): { readonly memory: WebAssembly.Memory; readonly pages: number } {
  for (let pages = MAX_PAGES; ; pages /= 2) {
    try {
      const memory = new WebAssembly.Memory({ initial: fixed.heap / PAGE_BYTES, maximum: pages, shared: true });
      return { memory, pages };
    } catch (cause) {
      if (pages <= MIN_PAGES) throw notReserved(pages, cause);
    }
  }
}

function notReserved(pages: number, cause: unknown): OutOfMemoryError {
  return new OutOfMemoryError('memory/shared', 'The memory shared by the worker threads cannot be reserved.', {
    expected: `${pages * PAGE_BYTES} bytes of address space at least`,
    got: (cause as Error).message,
    remedy:
      'Raise the limit of this process (ulimit -v), close other pages that run workers, or ' +
      "open({ backend: 'reference' }), which reserves nothing.",
    cause,
  });
}

/**
 * Writes a table with one entry for each subset of a vector's four lanes. The entry is the byte permutation that moves
 * the lanes of the subset to the front of the vector.
 */
function writeCompactionTable(memory: WebAssembly.Memory): void {
  const bytes = new Uint8Array(memory.buffer, fixed.compaction, 16 * 16);
  for (let mask = 0; mask < 16; mask++) {
    const lanes = [0, 1, 2, 3].filter((lane) => (mask >> lane) & 1);
    lanes.forEach((lane, place) => {
      for (let byte = 0; byte < 4; byte++) bytes[16 * mask + 4 * place + byte] = 4 * lane + byte;
    });
  }
}

/**
 * Writes two tables of vector masks with one entry for each subset of a vector's four lanes. A subset contains the
 * heads: the lanes with the first element of a run. The mask in `lastRun` selects the last head and all lanes after
 * this head, or all lanes if there is no head. The mask in `noHead` selects all lanes if there is no head, otherwise no
 * lanes.
 */
function writeRunTables(memory: WebAssembly.Memory): void {
  const lastRun = new Uint32Array(memory.buffer, fixed.lastRun, 16 * 4);
  const noHead = new Uint32Array(memory.buffer, fixed.noHead, 16 * 4);
  for (let mask = 0; mask < 16; mask++) {
    const first = mask === 0 ? 0 : 31 - Math.clz32(mask);
    lastRun.fill(0xffffffff, 4 * mask + first, 4 * mask + 4);
  }
  noHead.fill(0xffffffff, 0, 4);
}
