import fc from 'fast-check';
import { test as plainTest } from 'vitest';
import { caseCount } from './cases.ts';

export { fc };

/** Names a law and states it. `timeout` is in milliseconds. */
type NamedLaw<Case extends unknown[]> = (name: string, law: (...values: Case) => unknown, timeout?: number) => void;

interface Prop {
  /** A law of several values. */
  <Values extends [unknown, ...unknown[]]>(
    arbitraries: { [I in keyof Values]: fc.Arbitrary<Values[I]> },
    parameters?: fc.Parameters<NoInfer<Values>>,
  ): NamedLaw<Values>;
  /** A law of one record of values. */
  <Values extends object>(
    arbitraries: { [K in keyof Values]: fc.Arbitrary<Values[K]> },
    parameters?: fc.Parameters<[NoInfer<Values>]>,
  ): NamedLaw<[Values]>;
}

type TestWithLaws = typeof plainTest & { readonly prop: Prop };

const prop: Prop = (arbitraries: object, parameters?: object): NamedLaw<never[]> => {
  const list = Array.isArray(arbitraries) ? arbitraries : [fc.record(arbitraries)];
  // The types of fast-check know no list of any length.
  const values = list as [fc.Arbitrary<never>];
  const chosen = { numRuns: caseCount(100), ...parameters };
  return (name, law, timeout) => {
    const property = fc.asyncProperty(...values, async (...given) => law(...given) as void);
    plainTest(name, () => fc.assert(property, chosen), timeout);
  };
};

/**
 * Vitest's `test` with laws: `test.prop` tries `caseCount(100)` cases unless a law sets another number. Hooks run once for
 * a law, not for each case. The message of a failure has the seed. (`@fast-check/vitest` makes 58,000 variants of `test`
 * when it is imported, which take 230 MB of every heap that is then collected again and again.)
 */
export const test: TestWithLaws = new Proxy(plainTest as TestWithLaws, {
  get: (target, key) => (key === 'prop' ? prop : Reflect.get(target, key)),
});
