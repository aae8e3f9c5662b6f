import { ArgumentError } from '../../primitives/checks/errors.ts';
import { type Wanted, wantedStatistics } from './counting-way.ts';

/**
 * Throws if a job asks for what fractions of cells do not give.
 *
 * @throws ArgumentError `zonal/fractional-statistic`.
 */
export function requireByArea(job: Wanted): void {
  for (const [name, record] of Object.entries(wantedStatistics(job) ?? {})) {
    if (!('folds' in record && record.isOfSample === true)) continue;
    throw new ArgumentError('zonal/fractional-statistic', `There is no ${name} of fractions of cells.`, {
      expected: 'statistics of populations, such as variance and stdev',
      got: name,
      remedy: `Leave ${name} out, or count whole cells: center or all-touched.`,
    });
  }
}
