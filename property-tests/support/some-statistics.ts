import { STATISTICS_DESCRIBED } from '../../algorithms/zonal/zone-statistics.ts';
import { fc } from '../law-test.ts';

/** The names of all statistics that need no weights, families with some number. */
export const ALL_STATISTICS: readonly string[] = STATISTICS_DESCRIBED.map(([name]) =>
  name.replace(/\(.*\)/, '(0.37)'),
).filter((name) => !name.startsWith('weighted_'));

/** Some statistics, in any order. */
export const someStatistics: fc.Arbitrary<string[]> = fc.shuffledSubarray([...ALL_STATISTICS], { minLength: 1 });
