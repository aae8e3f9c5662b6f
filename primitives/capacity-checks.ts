import type { DeviceBuffer } from './backend.ts';
import type { DeviceLength, Memory } from './columns/column.ts';
import { CapacityError } from './errors.ts';

/** A primitive that may have had more rows than its capacity. */
interface Check {
  /** Counts the checks of a context. */
  readonly number: number;
  readonly length: DeviceLength;
  readonly primitive: string;
  /** The buffers in use that hold what derives from its rows. */
  readonly marked: Set<DeviceBuffer>;
  /** How many rows there were, once somebody asks. */
  needed: Promise<number> | undefined;
  /** Whether its count is kept from being freed. */
  holds: boolean;
}

/**
 * Which buffers derive from the rows of a primitive that was given a capacity. Whether there were more rows is known to the
 * device alone: it is asked when somebody reads such a buffer. Where there were not, the check is dropped; where there were,
 * every read of these buffers is told.
 */
export interface CapacityChecks {
  /** Whether no buffer derives from such rows. */
  readonly idle: boolean;
  /** Starts a check of a count, from which every use of it derives. */
  expect(length: DeviceLength, primitive: string): void;
  /** Notes that a command has read and written buffers. */
  derive(reads: readonly DeviceBuffer[], writes: readonly DeviceBuffer[]): void;
  /** Forgets a buffer that is freed. */
  forget(buffer: DeviceBuffer): void;
  /** Rejects with the {@link CapacityError} of the first check that buffers derive from and that failed. */
  ensure(buffers: Iterable<DeviceBuffer>): Promise<void>;
  /** Asks for the outcome of all checks, to drop those that passed; throws nothing. */
  settle(): Promise<void>;
}

interface Owner {
  /** The word at which a count stands. */
  read(buffer: DeviceBuffer, word: number, words: number): Promise<Uint32Array>;
  /** Keeps memory from being freed. */
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
      // The next read asks again.
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
