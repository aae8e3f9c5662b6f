import type { ZoneStatistics } from '../algorithms/zonal/statistics.ts';
import type { ZonalHistogram } from '../algorithms/zonal/types.ts';
import { ArgumentError } from '../primitives/checks/errors.ts';

/** The statistics of a zonal histogram. Throws if they were not computed. */
export function statisticsOf({ statistics }: ZonalHistogram): ZoneStatistics {
  if (statistics !== undefined) return statistics;
  throw new ArgumentError('zonal/no-statistics', 'The histogram was counted without statistics.', {
    remedy: 'Count with statistics: true.',
  });
}
