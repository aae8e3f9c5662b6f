import type { DeviceBuffer, WordSink } from '../../../primitives/contract/backend.ts';
import { OutOfMemoryError } from '../../../primitives/errors.ts';
import { usedAfterRelease } from '../../common/memory-errors.ts';
import { fixed } from '../threads/queue.ts';
import { MAX_PAGES, PAGE_BYTES } from '../wasm/wasm-encoder.ts';
import { type Allocator, createAllocator, type HeapBlock } from './allocator.ts';

/** Minimum number of pages to reserve: 64 MiB. */
const MIN_PAGES = 1024;

/** A buffer in the shared memory. */
export interface SharedBuffer extends DeviceBuffer {
  readonly block: HeapBlock;
  readonly address: number;
  /** Commands up to this number may use it. */
  fence: number;
  readonly reads: Set<PendingRead>;
}

/** A read whose words have not all been copied to the host. */
export interface PendingRead {
  address: number;
  /** The words are ready when this many phases are done. */
  fence: number;
  readonly words: number;
  /** Receives the words, slice by slice. */
  readonly take: WordSink;
  copied: number;
  /** A copy of the words, made before their buffer was overwritten. */
  snapshot?: HeapBlock;
}

export interface SharedMemory {
  readonly memory: WebAssembly.Memory;
  /** Size of the memory without its fixed areas and without the last page, so that no address wraps. */
  readonly heapBytes: number;
  readonly allocator: Allocator;
  /** Number of unreleased buffers; and the bytes of these and of released buffers with pending reads. */
  readonly live: { buffers: number; bytes: number };
  /** Released buffers that are not freed yet because of pending reads. */
  readonly beingRead: ReadonlySet<SharedBuffer>;
  /** Number of times the memory has grown. */
  readonly growths: number;
  allocate(words: number): SharedBuffer;
  /** The buffer of a handle. Throws if it was released. */
  resolve(buffer: DeviceBuffer): SharedBuffer;
  /** Drops a handle; the caller must then free its memory. */
  release(buffer: DeviceBuffer): SharedBuffer;
  /**
   * Frees the memory of a released buffer that commands up to a number may use: immediately, or after its pending
   * reads.
   */
  free(buffer: SharedBuffer, issued: number): void;
  /** Removes a read; frees a buffer that was released meanwhile. */
  finishRead(buffer: SharedBuffer, read: PendingRead, issued: number): void;
  /** The whole memory as words; a new array after every growth. */
  words(): Uint32Array;
  /** Drops all buffers and the memory. */
  clear(): void;
}

/** Memory whose allocator hands out at most `limitBytes` bytes; by default all. */
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
  // The error of a limit advises to raise it, which would not help if the heap is no larger: then there is no limit, and
  // the error is that of a full heap.
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
 * Reserves the maximum of WebAssembly's memory or, if the device refuses that, half of it, and so on. Only address
 * space is reserved; little memory is used before it is needed.
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

/** For every subset of a vector's four lanes, the byte permutation that moves these lanes to the front. */
function writeCompactionTable(memory: WebAssembly.Memory): void {
  const bytes = new Uint8Array(memory.buffer, fixed.compaction, 16 * 16);
  for (let mask = 0; mask < 16; mask++) {
    const lanes = [0, 1, 2, 3].filter((lane) => (mask >> lane) & 1);
    lanes.forEach((lane, place) => {
      for (let byte = 0; byte < 4; byte++) bytes[16 * mask + 4 * place + byte] = 4 * lane + byte;
    });
  }
}

/** For every subset of lanes, masks of the lanes that belong to the last run started by a lane of the subset. */
function writeRunTables(memory: WebAssembly.Memory): void {
  const lastRun = new Uint32Array(memory.buffer, fixed.lastRun, 16 * 4);
  const noHead = new Uint32Array(memory.buffer, fixed.noHead, 16 * 4);
  for (let mask = 0; mask < 16; mask++) {
    const first = mask === 0 ? 0 : 31 - Math.clz32(mask);
    lastRun.fill(0xffffffff, 4 * mask + first, 4 * mask + 4);
  }
  noHead.fill(0xffffffff, 0, 4);
}
