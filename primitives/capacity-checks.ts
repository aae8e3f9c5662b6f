import type { DeviceLength, Memory } from './columns/column.ts';
import type { DeviceBuffer } from './contract/backend.ts';
import { CapacityError } from './errors.ts';

/** A call of a primitive whose rows may exceed its capacity. */
interface Check {
  /** Serial number of the check in its context. */
  readonly number: number;
  readonly length: DeviceLength;
  readonly primitive: string;
  /** The live buffers whose contents derive from its rows. */
  readonly marked: Set<DeviceBuffer>;
  /** The number of rows needed, once somebody asks. */
  needed: Promise<number> | undefined;
  /** Whether it holds the memory of its count. */
  holds: boolean;
}

/**
 * Tracks which buffers derive from the rows of a primitive that was given a capacity. Only the device knows whether the
 * rows exceeded it, so the check asks when somebody reads such a buffer. If they did not, the check is dropped; if they
 * did, every read of these buffers throws.
 */
export interface CapacityChecks {
  /** Whether no live buffer derives from rows that are checked. */
  readonly idle: boolean;
  /** Starts a check of a count. Every buffer that later uses the count derives from it. */
  expect(length: DeviceLength, primitive: string): void;
  /** Records that a command reads and writes these buffers. */
  derive(reads: readonly DeviceBuffer[], writes: readonly DeviceBuffer[]): void;
  /** Drops a buffer that is freed. */
  forget(buffer: DeviceBuffer): void;
  /** Rejects with the {@link CapacityError} of the first failed check among those that the buffers derive from. */
  ensure(buffers: Iterable<DeviceBuffer>): Promise<void>;
  /** Queries the outcome of all checks and drops those that passed; throws nothing. */
  settle(): Promise<void>;
}

interface Owner {
  /** Reads the word that holds a count. */
  read(buffer: DeviceBuffer, word: number, words: number): Promise<Uint32Array>;
  /** Prevents memory from being freed. */
  hold(memory: Memory): void;
  letGo(memory: Memory): void;
}

export function createCapacityChecks({ read, hold, letGo }: Owner): CapacityChecks {
  const checks = new Set<Check>();
  const marks = new Map<DeviceBuffer, Set<Check>>();
  let started = 0;

  const mark = (buffer: DeviceBuffer, check: Check): void => {
    const marksOfBuffer = marks.get(buffer);
    if (marksOfBuffer === undefined) marks.set(buffer, new Set([check]));
    else marksOfBuffer.add(check);
    check.marked.add(buffer);
  };

  const freeCount = (check: Check): void => {
    if (!check.holds) return;
    check.holds = false;
    letGo(check.length.memory);
  };

  const drop = (check: Check): void => {
    checks.delete(check);
    for (const buffer of check.marked) {
      const marksOfBuffer = marks.get(buffer)!;
      marksOfBuffer.delete(check);
      if (marksOfBuffer.size === 0) marks.delete(buffer);
    }
    check.marked.clear();
    freeCount(check);
  };

  const ask = (check: Check): Promise<number> => {
    check.needed ??= find(check);
    return check.needed;
  };

  const find = async (check: Check): Promise<number> => {
    const { memory, word, limit } = check.length;
    try {
      const [needed] = await read(memory.buffer, word, 1);
      if (needed! <= limit) drop(check);
      else freeCount(check);
      return needed!;
    } catch (error) {
      // The next read tries again.
      check.needed = undefined;
      throw error;
    }
  };

  return {
    get idle() {
      return marks.size === 0;
    },
    expect(length, primitive) {
      const check: Check = { number: started++, length, primitive, marked: new Set(), needed: undefined, holds: true };
      checks.add(check);
      hold(length.memory);
      mark(length.memory.buffer, check);
    },
    derive(reads, writes) {
      for (const source of reads) {
        for (const check of marks.get(source) ?? []) for (const buffer of writes) mark(buffer, check);
      }
    },
    forget(buffer) {
      for (const check of marks.get(buffer) ?? []) {
        check.marked.delete(buffer);
        if (check.marked.size === 0) drop(check);
      }
      marks.delete(buffer);
    },
    async ensure(buffers) {
      if (marks.size === 0) return;
      const sources = new Set([...buffers].flatMap((buffer) => [...(marks.get(buffer) ?? [])]));
      const ordered = [...sources].sort((a, b) => a.number - b.number);
      const needed = await Promise.all(ordered.map(ask));
      const outgrown = ordered.findIndex(({ length }, i) => needed[i]! > length.limit);
      if (outgrown >= 0) throw capacityOutgrown(ordered[outgrown]!, needed[outgrown]!);
    },
    async settle() {
      await Promise.allSettled([...checks].map(ask));
    },
  };
}

function capacityOutgrown({ length, primitive }: Check, needed: number): CapacityError {
  return new CapacityError('capacity/outgrown', `${primitive} made more rows than its capacity.`, {
    expected: `at most ${length.limit} rows`,
    got: needed,
    remedy: 'Give it a larger capacity, run it in parts, or leave the capacity out and let it wait once.',
  });
}
