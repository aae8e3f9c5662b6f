import fc from 'fast-check';

/** Whether laws are tried on all of their cases; true under `npm run test:thorough`. */
export const THOROUGH: boolean = process.env.QUADRILLE_THOROUGH === '1';

/** Minimum number of cases, because fewer cases would find too few mistakes. */
const FEWEST = 3;
/** The share of a law's cases that `npm test` tries. */
const SHARE = 1 / 25;

/**
 * Number of cases of a law: `thorough` under `npm run test:thorough`, otherwise a twenty-fifth of `thorough`, but at
 * least 3 (or all, if `thorough` is below 3).
 */
export function caseCount(thorough: number): number {
  return THOROUGH ? thorough : Math.min(thorough, Math.max(FEWEST, Math.ceil(thorough * SHARE)));
}

/**
 * Like {@link caseCount}, but without the minimum of 3. For laws of which a single case takes long. The first
 * `examples` cases are fixed examples, which fast-check always tries and counts as runs.
 */
export function costlyCaseCount(thorough: number, examples = 0): number {
  return THOROUGH ? thorough : examples + Math.ceil(Math.max(0, thorough - examples) * SHARE);
}

/**
 * Number of cases of a law that needs more or fewer cases than `runs`, the number for its backend: `runs` times
 * `thorough` under `npm run test:thorough`, otherwise `runs` times `usual`. Fractions are rounded up.
 */
export function scaledCount(runs: number, thorough: number, usual: number): number {
  return Math.ceil(runs * (THOROUGH ? thorough : usual));
}

/**
 * Selects cases from a list of slow cases that test the same property with different inputs. Under `npm run
 * test:thorough`, returns all of them; under `npm test`, `count` random ones.
 */
export function someOf<T>(cases: readonly T[], count: number): readonly T[] {
  if (THOROUGH) return cases;
  const [some] = fc.sample(fc.shuffledSubarray([...cases], { minLength: count, maxLength: count }), 1) as [T[]];
  return some;
}

/**
 * Assigns laws to variants of a backend; `shares` holds the relative number of laws for each variant. Under
 * `npm run test:thorough`, every variant gets all laws; under `npm test`, each law is tried on one random variant.
 */
export function dealLaws<T>(laws: readonly T[], shares: readonly number[]): readonly (readonly T[])[] {
  if (THOROUGH) return shares.map(() => laws);
  const shuffled = someOf(laws, laws.length);
  const sum = shares.reduce((total, share) => total + share, 0);
  let given = 0;
  return shares.map((share) => {
    const start = Math.round((laws.length * given) / sum);
    given += share;
    return shuffled.slice(start, Math.round((laws.length * given) / sum));
  });
}
