import fc from 'fast-check';

/** Whether laws are tried on as many cases as they were given: `npm run test:thorough`. */
export const THOROUGH: boolean = process.env.QUADRILLE_THOROUGH === '1';

/** Fewer cases than this find too little. */
const FEWEST = 5;
/** `npm test` tries a law on this share of its cases. */
const SHARE = 1 / 10;

/**
 * How many cases a law is tried on: all of `thorough` under `npm run test:thorough`, else a tenth of them, but at least 5
 * unless `thorough` is less.
 */
export function caseCount(thorough: number): number {
  return THOROUGH ? thorough : Math.min(thorough, Math.max(FEWEST, Math.ceil(thorough * SHARE)));
}

/**
 * As {@link caseCount}, for laws of which a single case takes long: a tenth of the cases, however few these are. The first
 * `examples` of them are examples, which are tried in any case; fast-check counts them among its runs.
 */
export function costlyCaseCount(thorough: number, examples = 0): number {
  return THOROUGH ? thorough : examples + Math.ceil(Math.max(0, thorough - examples) * SHARE);
}

/**
 * Which laws are tried on one of several variants of a backend: all of them under `npm run test:thorough`. Under `npm test`,
 * every law is tried on one variant.
 */
export function lawsOfVariant<T>(laws: readonly T[], variant: number, variants: number): readonly T[] {
  return THOROUGH ? laws : laws.filter((_, i) => i % variants === variant);
}

/**
 * Cases that take long and of which each says the same of another input: all of them under `npm run test:thorough`. Under
 * `npm test` as many as `count`, other ones in every run.
 */
export function someOf<T>(cases: readonly T[], count: number): readonly T[] {
  if (THOROUGH) return cases;
  const [some] = fc.sample(fc.shuffledSubarray([...cases], { minLength: count, maxLength: count }), 1) as [T[]];
  return some;
}
