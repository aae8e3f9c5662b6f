import type { Counters } from './backend.ts';

/** Counters of a new backend. `live` is called whenever somebody reads the live counts. */
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
