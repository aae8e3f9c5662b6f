import { OutOfMemoryError } from '../../../primitives/errors.ts';

/** A piece of the heap, used or free; pieces are linked in the order of their addresses. */
export interface HeapBlock {
  readonly address: number;
  size: number;
  /** Bytes that count as live: the requested size, unless the block is for a transfer. */
  bytes: number;
  free: boolean;
  /** Commands up to this number may still use the memory, because of its previous use. */
  fence: number;
  before: HeapBlock | undefined;
  after: HeapBlock | undefined;
}

/** The memory that an allocator divides. */
export interface Heap {
  /** First address that may be allocated. */
  readonly start: number;
  /** End of the addresses that may ever be allocated. */
  readonly limit: number;
  /** Makes the addresses below `end` usable; throws if there is no memory. */
  grow(end: number): void;
}

export interface Allocator {
  /** Bytes allocated and not released. */
  readonly liveBytes: number;
  /**
   * Allocates a block of at least the given size, aligned to 64 bytes.
   *
   * Device commands run in order, so they may get memory that an earlier command still uses. The host does not wait for
   * its turn: it passes the number of the last completed command, and gets only memory that no later command uses.
   */
  allocate(bytes: number, completed?: number): HeapBlock;
  /**
   * The same for data in transit between host and device: it is released soon, and does not count towards any limit.
   */
  allocatePassing(bytes: number, completed?: number): HeapBlock;
  /** Releases a block that commands up to number `fence` may still use. */
  release(block: HeapBlock, fence: number): void;
}

const LINE = 64;
const PAGE = 4096;

/**
 * Columns that kernels process side by side should not start at the same offset within a page: processors index cache
 * lines by those bits, and on Zen, two such streams took twice the time. So large blocks are `SKEW` bytes longer than
 * whole pages, and consecutive blocks start at different offsets.
 */
const LARGE = 16 * PAGE;
const SKEW = 17 * LINE;
const GROWTH = 2 ** 20;
const CLASSES = 33 * 4;

/**
 * Segregated fits (after Masmano's TLSF): four classes per power of two, first fit. Neighbouring free blocks are merged
 * on release if the same command was the last to use both, otherwise only if no block is large enough. A merged block
 * must wait for the last command on any of its parts; if the host always merged, it would find no block for uploads
 * while commands are running, and the heap would grow with every upload.
 */
export function createAllocator(heap: Heap, limitBytes: number): Allocator {
  const classes = Array.from({ length: CLASSES }, () => new Set<HeapBlock>());
  let first: HeapBlock | undefined;
  let last: HeapBlock | undefined;
  let end = heap.start;
  let live = 0;

  const find = (size: number, completed: number): HeapBlock | undefined => {
    for (let c = classOf(size); c < CLASSES; c++) {
      for (const block of classes[c]!) if (block.size >= size && block.fence <= completed) return block;
    }
    return undefined;
  };
  const insert = (block: HeapBlock): void => {
    block.free = true;
    classes[classOf(block.size)]!.add(block);
  };
  const remove = (block: HeapBlock): void => {
    block.free = false;
    classes[classOf(block.size)]!.delete(block);
  };

  const append = (size: number, completed: number): HeapBlock => {
    const extended = last?.free && last.fence <= completed ? last : undefined;
    const newEnd = end + size - (extended?.size ?? 0);
    if (newEnd > heap.limit) throw outOfHeap(size, live, heap);
    const reserved = Math.min(heap.limit, Math.ceil(newEnd / GROWTH) * GROWTH);
    try {
      heap.grow(reserved);
    } catch (cause) {
      throw outOfHeap(size, live, heap, cause);
    }
    if (extended !== undefined) {
      remove(extended);
      extended.size += reserved - end;
      end = reserved;
      return extended;
    }
    const block: HeapBlock = {
      address: end,
      size: reserved - end,
      bytes: 0,
      free: false,
      fence: 0,
      before: last,
      after: undefined,
    };
    if (last === undefined) first = block;
    else last.after = block;
    last = block;
    end = reserved;
    return block;
  };

  const split = (block: HeapBlock, size: number): void => {
    if (block.size === size) return;
    const { address, fence, after } = block;
    const rest: HeapBlock = {
      address: address + size,
      size: block.size - size,
      bytes: 0,
      free: false,
      fence,
      before: block,
      after,
    };
    if (after === undefined) last = rest;
    else after.before = rest;
    block.after = rest;
    block.size = size;
    insert(rest);
  };

  /** Merges two neighbouring blocks into the first. */
  const merge = (block: HeapBlock, next: HeapBlock): void => {
    block.size += next.size;
    block.fence = Math.max(block.fence, next.fence);
    block.after = next.after;
    if (next.after === undefined) last = block;
    else next.after.before = block;
  };

  /** Merges all free neighbours that were last used by commands up to `completed`; returns whether there were any. */
  const mergeFree = (completed: number): boolean => {
    let merged = false;
    for (let block = first; block !== undefined; ) {
      const { after } = block;
      if (block.free && after?.free && Math.max(block.fence, after.fence) <= completed) {
        remove(block);
        remove(after);
        merge(block, after);
        insert(block);
        merged = true;
      } else block = after;
    }
    return merged;
  };

  const take = (bytes: number, completed = Number.POSITIVE_INFINITY): HeapBlock => {
    const min = Math.max(LINE, Math.ceil(bytes / LINE) * LINE);
    // Near the end of the heap, no padding is added.
    const size = end + skewed(min) > heap.limit ? min : skewed(min);
    let block = find(size, completed);
    if (block === undefined && mergeFree(completed)) block = find(size, completed);
    if (block === undefined) block = append(size, completed);
    else remove(block);
    split(block, size);
    return block;
  };

  return {
    get liveBytes() {
      return live;
    },
    allocate(bytes, completed) {
      if (live + bytes > limitBytes) throw overLimit(bytes, live, limitBytes);
      const block = take(bytes, completed);
      block.bytes = bytes;
      live += bytes;
      return block;
    },
    allocatePassing: (bytes, completed) => take(bytes, completed),
    release(block, fence) {
      live -= block.bytes;
      block.bytes = 0;
      block.fence = Math.max(block.fence, fence);
      let merged = block;
      const { before, after } = block;
      if (after?.free && after.fence === block.fence) {
        remove(after);
        merge(block, after);
      }
      if (before?.free && before.fence === block.fence) {
        remove(before);
        merge(before, block);
        merged = before;
      }
      insert(merged);
    },
  };
}

/** The padded size of a block. */
function skewed(size: number): number {
  return size < LARGE ? size : Math.ceil((size - SKEW) / PAGE) * PAGE + SKEW;
}

/** Four classes per power of two. */
function classOf(size: number): number {
  const lines = size / LINE;
  const exponent = 31 - Math.clz32(lines);
  return 4 * exponent + Math.floor((4 * (lines - 2 ** exponent)) / 2 ** exponent);
}

function overLimit(bytes: number, live: number, limit: number): OutOfMemoryError {
  return new OutOfMemoryError('memory/limit', `${bytes} bytes do not fit in addition to the ${live} bytes in use.`, {
    expected: `at most ${limit} bytes in total`,
    got: live + bytes,
    remedy: 'Raise limits.memoryBytes, free columns earlier, or work in smaller windows.',
  });
}

function outOfHeap(bytes: number, live: number, heap: Heap, cause?: unknown): OutOfMemoryError {
  return new OutOfMemoryError(
    'memory/webassembly',
    `${bytes} bytes in one piece do not fit beside ${live} bytes in use; WebAssembly memory ends at 4 GiB.`,
    {
      expected: `at most ${heap.limit - heap.start} bytes in total`,
      got: live + bytes,
      remedy: 'Work in smaller windows, free columns earlier, or use another backend.',
      cause,
    },
  );
}
