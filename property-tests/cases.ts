import fc from 'fast-check';

/** Whether laws are tried on all of their cases, as under `npm run test:thorough`. */
export const THOROUGH: boolean = process.env.QUADRILLE_THOROUGH === '1';

/** Fewer cases than this find too few mistakes. */
const FEWEST = 5;
/** The share of a law's cases that `npm test` tries. */
const SHARE = 1 / 10;

/**
 * The number of cases of a law. It is `thorough` under `npm run test:thorough`, and otherwise a tenth of that. It is at
 * least 5, unless `thorough` is smaller.
 */
export function caseCount(thorough: number): number {
  return THOROUGH ? thorough : Math.min(thorough, Math.max(FEWEST, Math.ceil(thorough * SHARE)));
}

/**
 * Like {@link caseCount}, but without the minimum of 5, for laws whose single cases take long. The first `examples`
 * cases are fixed examples, which are always tried. fast-check counts them as runs.
 */
export function costlyCaseCount(thorough: number, examples = 0): number {
  return THOROUGH ? thorough : examples + Math.ceil(Math.max(0, thorough - examples) * SHARE);
}

/**
 * The laws to try on one of several variants of a backend. Under `npm run test:thorough` these are all laws. Under
 * `npm test`, each law is tried on one variant only.
 */
export function lawsOfVariant<T>(laws: readonly T[], variant: number, variants: number): readonly T[] {
  return THOROUGH ? laws : laws.filter((_, i) => i % variants === variant);
}

/**
 * Selects from slow cases that test the same thing on different inputs. Under `npm run test:thorough` it keeps all of
 * them. Under `npm test` it picks `count` of them at random in every run.
 */
export function someOf<T>(cases: readonly T[], count: number): readonly T[] {
  if (THOROUGH) return cases;
  const [some] = fc.sample(fc.shuffledSubarray([...cases], { minLength: count, maxLength: count }), 1) as [T[]];
  return some;
}
