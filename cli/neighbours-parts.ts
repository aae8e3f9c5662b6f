import type { Context } from '../primitives/context/context.ts';
import type { NeighboursParts } from './neighbours-run.ts';
import { openTableFile } from './table-files.ts';

/**
 * The functions that `quadrille neighbours` uses. Their code is imported when first needed, so that invalid input is
 * reported before a backend is loaded.
 */
export const neighboursParts: NeighboursParts<Context> = {
  openTable: openTableFile,
  async openContext(options, memoryBytes) {
    const { open } = await import('../on-node.ts');
    // If a search does not fit in device memory, dividing the search is faster than moving (spilling) columns to the
    // host.
    return open({ ...options, spill: false, limits: { memoryBytes } });
  },
  async neighbourIndex(context, job) {
    const { neighbourIndex } = await import('./neighbours-index.ts');
    return neighbourIndex(context, job);
  },
};
