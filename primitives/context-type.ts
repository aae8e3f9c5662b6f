/**
 * The type of contexts, for the files that `context.ts` is built from. Columns name their context and contexts make
 * columns, so the two types need each other; at run time, nothing below `context.ts` loads it. This is the one file
 * whose imports `.dependency-cruiser.mjs` does not follow when it looks for circles.
 */
export type { Context } from './context.ts';
