import type { Counters } from './backend.ts';

/** Makes the counters of a new backend, all zero. Reading the counts of live buffers and bytes calls `live`. */
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
