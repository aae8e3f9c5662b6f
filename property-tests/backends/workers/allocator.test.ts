import { describe, expect } from 'vitest';
import { createAllocator, type Heap, type HeapBlock } from '../../../backends/workers/memory/allocator.ts';
import { createArgumentRing } from '../../../backends/workers/memory/argument-ring.ts';
import { OutOfMemoryError } from '../../../primitives/checks/errors.ts';
import { fc, test } from '../../law-test.ts';

const START = 65536;

function heapOf(limit: number): Heap & { end: number } {
  return {
    start: START,
    limit,
    end: START,
    grow(end) {
      if (end > limit) throw new RangeError('no more memory');
      this.end = Math.max(this.end, end);
    },
  };
}

type Step =
  | { readonly kind: 'allocate'; readonly bytes: number; readonly forHost: boolean }
  | { readonly kind: 'release'; readonly which: number }
  | { readonly kind: 'issue' }
  | { readonly kind: 'complete' };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constant('allocate' as const),
    bytes: fc.oneof(fc.nat(300), fc.nat(100_000), fc.constant(2 ** 20)),
    forHost: fc.boolean(),
  }),
  fc.record({ kind: fc.constant('release' as const), which: fc.nat() }),
  fc.constant({ kind: 'issue' as const }),
  fc.constant({ kind: 'complete' as const }),
);

/** All blocks of a heap, in the order in which the allocator links them. `any` is an arbitrary block of the heap. */
function chain(any: HeapBlock): HeapBlock[] {
  let block = any;
  while (block.before !== undefined) block = block.before;
  const blocks = [block];
  for (let next = block.after; next !== undefined; next = next.after) blocks.push(next);
  return blocks;
}

describe('allocator', () => {
  test.prop([fc.array(step, { maxLength: 200, size: 'max' })])(
    'returns aligned blocks that do not overlap, and counts them',
    (steps) => {
      const heap = heapOf(2 ** 32 - 65536);
      const allocator = createAllocator(heap, 2 ** 32);
      const live: HeapBlock[] = [];
      let issued = 0;
      let completed = 0;
      /** For each line of 64 bytes, the number of the last command that may use the line. */
      const users = new Map<number, number>();
      for (const one of steps) {
        if (one.kind === 'issue') issued++;
        if (one.kind === 'complete') completed = issued;
        if (one.kind === 'allocate') {
          const block = one.forHost ? allocator.allocate(one.bytes, completed) : allocator.allocate(one.bytes);
          expect(block.size).toBeGreaterThanOrEqual(Math.max(1, one.bytes));
          expect(block.address % 64).toBe(0);
          expect(block.address).toBeGreaterThanOrEqual(START);
          expect(block.address + block.size).toBeLessThanOrEqual(heap.end);
          for (const other of live) {
            expect(other.address + other.size <= block.address || block.address + block.size <= other.address).toBe(
              true,
            );
          }
          let latest = 0;
          for (let at = block.address; at < block.address + block.size; at += 64) {
            latest = Math.max(latest, users.get(at) ?? 0);
          }
          expect(block.fence).toBeGreaterThanOrEqual(latest);
          if (one.forHost) expect(latest).toBeLessThanOrEqual(completed);
          live.push(block);
        }
        if (one.kind === 'release' && live.length > 0) {
          const [block] = live.splice(one.which % live.length, 1) as [HeapBlock];
          for (let at = block.address; at < block.address + block.size; at += 64) users.set(at, issued);
          allocator.release(block, issued);
        }
        expect(allocator.liveBytes).toBe(live.reduce((sum, { bytes }) => sum + bytes, 0));
      }
      const [some] = live;
      for (const block of live.splice(0)) allocator.release(block, issued);
      expect(allocator.liveBytes).toBe(0);
      if (some === undefined) return;
      const whole = allocator.allocate(heap.end - START);
      expect(chain(whole).filter(({ free }) => !free)).toEqual([whole]);
    },
  );

  test('reuses memory, and grows only when necessary', () => {
    const heap = heapOf(2 ** 32 - 65536);
    const allocator = createAllocator(heap, 2 ** 32);
    for (let round = 0; round < 1000; round++) {
      const blocks = [300_000, 64, 500_000].map((bytes) => allocator.allocate(bytes));
      for (const block of blocks) allocator.release(block, round);
    }
    expect(heap.end - START).toBeLessThanOrEqual(2 ** 20);
  });

  const lines = fc.integer({ min: 1, max: 2 ** 14 });

  test.prop([fc.array(lines, { minLength: 1, maxLength: 4 }), lines, fc.integer({ min: 1, max: 3 })])(
    'does not grow with the number of uploads while commands are running',
    (columns, upload, lag) => {
      const heap = heapOf(2 ** 32 - 65536);
      const allocator = createAllocator(heap, 2 ** 32);
      const round = (number: number): void => {
        const staging = allocator.allocate(64 * upload, number - lag);
        const blocks = columns.map((size) => allocator.allocate(64 * size));
        allocator.release(staging, number);
        for (const block of blocks) allocator.release(block, number + 1);
      };
      for (let number = lag; number < 400; number += 2) round(number);
      const bytes = 64 * (upload + columns.reduce((sum, size) => sum + size));
      expect(heap.end - START).toBeLessThanOrEqual((lag + 4) * bytes + 2 ** 20);
    },
  );

  test('merges adjacent free blocks, so that all of them can be allocated as one', () => {
    const heap = heapOf(START + 2 ** 20);
    const allocator = createAllocator(heap, 2 ** 32);
    const blocks = Array.from({ length: 32 }, () => allocator.allocate(32768));
    expect(() => allocator.allocate(64)).toThrow(OutOfMemoryError);
    const order = [3, 1, 2, 0, 15, 14, 4, 6, 5, 13, 12, 7, 8, 9, 11, 10];
    for (const i of order) for (const half of [0, 1]) allocator.release(blocks[2 * i + half]!, 0);
    expect(allocator.allocate(2 ** 20).size).toBe(2 ** 20);
  });

  const columns = fc.array(fc.integer({ min: 2 ** 12, max: 2 ** 20 }), { minLength: 2, maxLength: 8 });

  test.prop([columns])('consecutive large blocks start at different cache lines of their pages', (sizes) => {
    const allocator = createAllocator(heapOf(2 ** 32 - 65536), 2 ** 32);
    // Blocks are consecutive because none has been released yet.
    const blocks = sizes.map((lines) => allocator.allocate(64 * lines));
    expect(new Set(blocks.map(({ address }) => address % 4096)).size).toBe(sizes.length);
  });

  test('reports what does not fit and a remedy', () => {
    const allocator = createAllocator(heapOf(2 ** 32 - 65536), 1000);
    allocator.allocate(640);
    expect(() => allocator.allocate(640)).toThrow(
      expect.objectContaining({
        code: 'memory/limit',
        got: 1280,
        remedy: expect.stringContaining('limits.memoryBytes'),
      }),
    );
    const large = createAllocator(heapOf(2 ** 32 - 65536), Number.POSITIVE_INFINITY);
    expect(() => large.allocate(2 ** 32)).toThrow(
      expect.objectContaining({ code: 'memory/webassembly', message: expect.stringContaining('4 GiB') }),
    );
    expect(large.liveBytes).toBe(0);
  });
});

describe('argument ring', () => {
  test.prop([fc.array(fc.record({ words: fc.integer({ min: 1, max: 200 }), done: fc.boolean() }), { maxLength: 300 })])(
    'never places a block over one that is in use',
    (steps) => {
      const ring = createArgumentRing(1024, 2048);
      let inUse: { from: number; to: number; last: number }[] = [];
      let issued = 0;
      let completed = 0;
      for (const { words, done } of steps) {
        if (done) completed = Math.min(issued, completed + 2);
        inUse = inUse.filter(({ last }) => last > completed);
        const from = ring.place(words, issued + 1, completed);
        if (from === undefined) {
          expect(inUse.length).toBeGreaterThan(0);
          continue;
        }
        issued++;
        const to = from + 4 * words;
        expect(from).toBeGreaterThanOrEqual(1024);
        expect(to).toBeLessThanOrEqual(1024 + 2048);
        for (const other of inUse) expect(other.to <= from || to <= other.from).toBe(true);
        inUse.push({ from, to, last: issued });
      }
    },
  );

  test('refuses a block that can never fit', () => {
    expect(() => createArgumentRing(0, 1024).place(257, 1, 0)).toThrow(
      expect.objectContaining({ code: 'program/arguments' }),
    );
  });
});
