import { Memory } from '../columns/column.ts';
import type { ContextMemory } from '../context/memory.ts';
import type { Backend, DeviceBuffer } from '../contract/backend.ts';
import type { RecordedPipeline } from './record-pipeline.ts';

/** A set of buffers for the results of one call. */
export interface ResultSet {
  readonly buffers: readonly DeviceBuffer[];
  /** Number of buffers of this set that are still in use. */
  inUse: number;
  /** True until the set returns to the ring (the pool of sets) for the first time. */
  isNew: boolean;
  /** Whether the set is freed after use instead of being reused. */
  isGivenUp: boolean;
}

/** A pool of result sets. Calls take a set, and the set returns to the pool once all its memory is released. */
export interface ResultRing {
  readonly bytes: number;
  take(): ResultSet;
  /** Frees a set that a failed call may have written in part. */
  drop(set: ResultSet): void;
  /**
   * Wraps the buffers of a set as memory for the results of a call. Once all this memory is released, the set returns
   * to the pool.
   */
  hand(set: ResultSet): Memory[];
  dispose(): void;
}

/**
 * Creates a pool of result sets and allocates `kept` sets for the pool. If `kept` is 0, no set is reused; otherwise all
 * sets are reused, including sets that are allocated later. `backend` is that of the context, without the wrapper that
 * watches commands.
 */
export function createRing(
  { context, allocateBuffer }: ContextMemory,
  backend: Backend,
  { script, results }: RecordedPipeline,
  kept: number,
): ResultRing {
  const sets = new Set<ResultSet>();
  let free: ResultSet[] = [];
  let disposed = false;
  /** Maps a result buffer to the result buffer that holds its row count. Both are freed together. */
  const countOf = new Map<number, number>();
  for (const result of results) {
    const { length } = result;
    if (result.from === 'result' && typeof length === 'object' && 'result' in length && length.result !== result.at) {
      countOf.set(result.at, length.result);
    }
  }
  const release = (set: ResultSet): void => {
    sets.delete(set);
    for (const buffer of set.buffers) backend.release(buffer);
  };
  const make = (): ResultSet => {
    const buffers: DeviceBuffer[] = [];
    try {
      for (const { words } of script.results) buffers.push(allocateBuffer(words));
    } catch (error) {
      for (const buffer of buffers) backend.release(buffer);
      throw error;
    }
    const set: ResultSet = { buffers, inUse: 0, isNew: true, isGivenUp: kept === 0 };
    sets.add(set);
    return set;
  };
  const isLost = ({ buffers }: ResultSet): boolean =>
    backend.isLost !== undefined && buffers.some((buffer) => backend.isLost!(buffer));
  const putBack = (set: ResultSet): void => {
    if (disposed || set.isGivenUp) release(set);
    else {
      set.isNew = false;
      free.push(set);
    }
  };
  // A function of its own, because what `hand` returns must not be reachable from here; see `Allocation`.
  const givingBack = (set: ResultSet) => (): void => {
    set.inUse--;
    if (set.inUse === 0) putBack(set);
  };
  const dispose = (): void => {
    disposed = true;
    free.forEach(release);
    free = [];
  };
  try {
    for (let i = 0; i < kept; i++) putBack(make());
  } catch (error) {
    dispose();
    throw error;
  }

  return {
    get bytes() {
      return 4 * sets.size * script.results.reduce((sum, { words }) => sum + words, 0);
    },
    take(): ResultSet {
      for (let set = free.at(-1); set !== undefined; set = free.at(-1)) {
        const mustGo = isLost(set);
        free.pop();
        if (!mustGo) return set;
        release(set);
      }
      return make();
    },
    drop: release,
    hand(set: ResultSet): Memory[] {
      const memories: Memory[] = [];
      const memoryOf = (at: number): Memory => {
        const count = countOf.get(at);
        memories[at] ??= new Memory(context, set.buffers[at]!, count === undefined ? undefined : memoryOf(count));
        return memories[at];
      };
      set.inUse = set.buffers.length;
      for (const at of set.buffers.keys()) memoryOf(at).allocation.giveBack = givingBack(set);
      if (set.buffers.length === 0) putBack(set);
      return memories;
    },
    dispose,
  };
}
