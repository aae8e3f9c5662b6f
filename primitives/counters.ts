import type { Counters } from './backend.ts';

/** Counters of a backend that has done nothing yet; what it holds is asked for when somebody looks. */
export function createCounters(live: () => { readonly buffers: number; readonly bytes: number }): Counters {
  return {
    submissions: 0,
    dispatches: 0,
    readbacks: 0,
    compilations: 0,
    allocations: 0,
    bindGroups: 0,
    get liveBuffers() {
      return live().buffers;
    },
    get liveBytes() {
      return live().bytes;
    },
  };
}
