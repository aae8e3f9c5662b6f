import { OutOfMemoryError } from '../../../primitives/checks/errors.ts';

/** A contiguous part of the heap, allocated or free. Blocks form a linked list in the order of their addresses. */
export interface HeapBlock {
  readonly address: number;
  size: number;
  /**
   * Bytes of this block that count towards `liveBytes`: the requested size, or 0 if the block is free or belongs to a
   * transfer.
   */
  bytes: number;
  free: boolean;
  /** Number of the last command in which a previous owner of the block may still use the memory. */
  fence: number;
  before: HeapBlock | undefined;
  after: HeapBlock | undefined;
}

/** The address range that an allocator divides into blocks. */
export interface Heap {
  /** First address of the range. */
  readonly start: number;
  /** End of the range, exclusive, after all possible growth. */
  readonly limit: number;
  /** Makes all addresses below `end` usable. Throws if the memory cannot grow that far. */
  grow(end: number): void;
}

export interface Allocator {
  /** Total bytes of allocated blocks, not counting the blocks of transfers. */
  readonly liveBytes: number;
  /**
   * Allocates a block of at least `bytes` bytes, aligned to 64 bytes.
   *
   * Without `completed`, an issued command may still use the memory of the block. This is safe if commands use the new
   * block, because commands run in order. The host does not wait for the queue, so it passes the number of the last
   * completed command as `completed`. The host then gets a block that no unfinished command uses.
   */
  allocate(bytes: number, completed?: number): HeapBlock;
  /**
   * Like `allocate`, for data in transit between host and device. Such blocks are released soon and count towards no
   * limit.
   */
  allocatePassing(bytes: number, completed?: number): HeapBlock;
  /** Releases a block. Issued commands up to number `fence` may still use the memory. */
  release(block: HeapBlock, fence: number): void;
}

const LINE = 64;
const PAGE = 4096;

/**
 * Blocks of at least `LARGE` bytes are padded to `SKEW` bytes more than a whole number of pages. Consecutive columns
 * therefore start at different offsets within a page. Processors choose a cache line by this offset: on Zen, it took
 * twice the time to read two columns at equal offsets.
 */
const LARGE = 16 * PAGE;
const SKEW = 17 * LINE;
const GROWTH = 2 ** 20;
const CLASSES = 33 * 4;

/**
 * An allocator with segregated fits (after Masmano's TLSF): four size classes per power of two, first fit.
 *
 * On release, a block is merged with a free neighbour only if both have the same fence. Other neighbours are merged
 * only if no free block is large enough. The reason is that a merged block has the later of the two fences (last
 * commands that may use the memory). If all neighbours were merged, the host would find no block for an upload while
 * commands are running, and every upload would grow the heap.
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

  /** Merges two neighbouring blocks into `block`, which has the lower address. */
  const merge = (block: HeapBlock, next: HeapBlock): void => {
    block.size += next.size;
    block.fence = Math.max(block.fence, next.fence);
    block.after = next.after;
    if (next.after === undefined) last = block;
    else next.after.before = block;
  };

  /**
   * Merges all neighbouring free blocks that no command after `completed` uses. Returns whether any blocks were merged.
   */
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
    // A block gets no padding if the padded block would exceed the heap.
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

/** The size of a block with the padding for large blocks. */
function skewed(size: number): number {
  return size < LARGE ? size : Math.ceil((size - SKEW) / PAGE) * PAGE + SKEW;
}

/** The size class of a block; each power of two is divided into four classes. */
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
