import { bool, fn, u32 } from '../../primitives/functors/functor.ts';
import { type Column, copyIf, map, sequence } from '../../primitives/index.ts';

/**
 * The counters of a window that are not 0, in order. `slot` is the index of a counter among those of all zones of the
 * window.
 */
export type SlotCounts = { readonly slot: Column<'u32'>; readonly count: Column<'u32'> };

const isCounted = fn('isCounted', { count: u32 }, bool, ({ count }) => count.ne(0));

/**
 * Picks the counters that are not 0. A zone has cells in few of its bins, so the host reads, stores and adds up far
 * fewer numbers than there are counters.
 */
export function slotCounts(counts: Column<'u32'>): SlotCounts {
  return copyIf({ slot: sequence(counts.length), count: counts }, map(isCounted, { count: counts }));
}
