import { fc, test as lawTest } from '@fast-check/vitest';
import { caseCount } from './cases.ts';

export { fc };

const prop = ((arbitraries: never, parameters?: object) =>
  lawTest.prop(arbitraries, { numRuns: caseCount(100), ...parameters })) as typeof lawTest.prop;

/** The `test` of `@fast-check/vitest`. It tries `caseCount(100)` cases unless a law sets another number. */
export const test: typeof lawTest = Object.assign(
  ((...given: Parameters<typeof lawTest>) => lawTest(...given)) as typeof lawTest,
  lawTest,
  { prop },
);
