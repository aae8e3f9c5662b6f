import { CapacityError } from '../checks/errors.ts';
import type { Allocation, DeviceLength } from '../columns/column.ts';
import type { DeviceBuffer } from '../contract/backend.ts';
import type { ContextMemory } from './memory.ts';

/** A call of a primitive whose result may have more rows than the given capacity. */
interface Check {
  /** Serial number of the check in its context; the first failed check is the one reported. */
  readonly number: number;
  /** The buffer that holds the row count. Not its memory, which may be garbage-collected while the check is pending. */
  readonly count: Allocation;
  readonly word: number;
  readonly limit: number;
  readonly primitive: string;
  /** The live buffers whose contents derive from the result rows of the call. */
  readonly marked: Set<DeviceBuffer>;
  /** The number of rows that the call needed; undefined until a read asks the device for it. */
  needed: Promise<number> | undefined;
  /** Whether the check keeps the memory of the row count from being freed. */
  holds: boolean;
}

/**
 * Tracks which buffers derive from the result rows of a primitive that was given a capacity. Only the device knows
 * whether the number of rows exceeded the capacity, so the check asks the device when such a buffer is read. If the
 * capacity sufficed, the check is dropped; otherwise every read of these buffers throws.
 */
export interface CapacityChecks {
  /** True if no check is pending or failed for any live buffer, so that reads need not wait for checks. */
  readonly idle: boolean;
  /**
   * Starts to check whether the row count `length` exceeds its limit. The check covers the buffer with the count, and
   * every buffer that `derive` records as computed from a covered buffer.
   */
  expect(length: DeviceLength, primitive: string): void;
  /** Records that a command computes the buffers in `writes` from those in `reads`. */
  derive(reads: readonly DeviceBuffer[], writes: readonly DeviceBuffer[]): void;
  /** Stops tracking a buffer that is freed. */
  forget(buffer: DeviceBuffer): void;
  /**
   * Waits for all checks that concern the buffers. If checks failed, rejects with the {@link CapacityError} of the
   * failed check that started first.
   */
  ensure(buffers: Iterable<DeviceBuffer>): Promise<void>;
  /** Waits for the outcome of all checks and drops those that passed; never rejects. */
  settle(): Promise<void>;
}

export function createCapacityChecks(owner: ContextMemory): CapacityChecks {
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
    owner.letGo(check.count);
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
    const { count, word, limit } = check;
    try {
      const [needed] = await owner.context.backend.read(count.buffer, word, 1);
      if (needed! <= limit) drop(check);
      else freeCount(check);
      return needed!;
    } catch (error) {
      // Forget the failed attempt, so that the next read asks the device again.
      check.needed = undefined;
      throw error;
    }
  };

  return {
    get idle() {
      return marks.size === 0;
    },
    expect({ memory: { allocation: count }, word, limit }, primitive) {
      const state = { marked: new Set<DeviceBuffer>(), needed: undefined, holds: true };
      const check: Check = { number: started++, count, word, limit, primitive, ...state };
      checks.add(check);
      owner.hold(count);
      mark(count.buffer, check);
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
      const outgrown = ordered.findIndex(({ limit }, i) => needed[i]! > limit);
      if (outgrown >= 0) throw capacityOutgrown(ordered[outgrown]!, needed[outgrown]!);
    },
    async settle() {
      await Promise.allSettled([...checks].map(ask));
    },
  };
}

function capacityOutgrown({ limit, primitive }: Check, needed: number): CapacityError {
  return new CapacityError('capacity/outgrown', `${primitive} made more rows than its capacity.`, {
    expected: `at most ${limit} rows`,
    got: needed,
    remedy: 'Pass a larger capacity, pass the rows in parts, or omit the capacity.',
  });
}
