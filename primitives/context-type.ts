/**
 * The type of contexts, for the files that `context.ts` imports. Columns refer to their context, and contexts create
 * columns, so the two types need each other. At run time, these files do not load `context.ts`.
 * `.dependency-cruiser.mjs` does not follow the imports of this file when it looks for import cycles.
 */
export type { Context } from './context.ts';
