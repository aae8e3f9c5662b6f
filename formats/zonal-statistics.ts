import type { ZonalHistogram, ZoneStatistics } from '../algorithms/zonal/types.ts';
import { ArgumentError } from '../primitives/errors.ts';

/** The statistics of a histogram. Throws if it has none. */
export function statisticsOf({ statistics }: ZonalHistogram): ZoneStatistics {
  if (statistics !== undefined) return statistics;
  throw new ArgumentError('zonal/no-statistics', 'The histogram was counted without statistics.', {
    remedy: 'Count with statistics: true.',
  });
}
