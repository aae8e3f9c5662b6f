import type { Context } from '../primitives/context.ts';
import type { NeighboursParts } from './neighbours-run.ts';
import { openTableFile } from './table-files.ts';

/** The real parts of `quadrille neighbours`, each loaded on first use, so that bad input fails before a backend loads. */
export const neighboursParts: NeighboursParts<Context> = {
  openTable: openTableFile,
  async openContext(options, memoryBytes) {
    const { open } = await import('../on-node.ts');
    // A search that does not fit is split, which is faster than spilling.
    return open({ ...options, spill: false, limits: { memoryBytes } });
  },
  async neighbourIndex(context, job) {
    const { neighbourIndex } = await import('./neighbours-index.ts');
    return neighbourIndex(context, job);
  },
};
