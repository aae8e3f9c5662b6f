import { ArgumentError } from '../../primitives/checks/errors.ts';
import { type Wanted, wantedStatistics } from './counting-way.ts';

/**
 * Throws if a job asks for what fractions of cells do not give.
 *
 * @throws ArgumentError `zonal/fractional-bins` or `zonal/fractional-statistic`.
 */
export function requireByArea(job: Wanted): void {
  if (job.binning.kind !== 'none') {
    throw new ArgumentError('zonal/fractional-bins', 'Bins count whole cells, not fractions of cells.', {
      expected: 'no bins, if cells count by fractions',
      got: `bins of the kind ${job.binning.kind}`,
      remedy: 'Ask for statistics alone (--stats FILE without bins), or count all cells that share area: all-touched.',
    });
  }
  for (const [name, record] of Object.entries(wantedStatistics(job) ?? {})) {
    if ('ofCells' in record || ('folds' in record && record.isOfSample !== true)) continue;
    throw new ArgumentError('zonal/fractional-statistic', `There is no ${name} of fractions of cells.`, {
      expected: 'statistics of numbers and sums, such as count, mean, sum, stdev, min and max',
      got: name,
      remedy: `Leave ${name} out, or count whole cells: center or all-touched.`,
    });
  }
}
