/**
 * The type `Context`, for files that `context.ts` imports. Columns refer to their context, and contexts create columns,
 * so the two types need each other. Because this file exports only a type, the importing files do not load `context.ts`
 * at run time. `.dependency-cruiser.mjs` does not follow the imports of this file when it looks for import cycles.
 */
export type { Context } from './context.ts';
