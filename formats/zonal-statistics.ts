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

/**
 * A statistic of a zone to the digit where its column cannot have it: the smallest and the largest integer of 64 bits.
 * Undefined for other statistics, and if no cell of the zone has data.
 */
export function exactStatistic(
  { exact, statistics }: ZonalHistogram,
  field: keyof ZoneStatistics,
  zone: number,
): bigint | undefined {
  const integers = field === 'minimum' ? exact?.minimum : field === 'maximum' ? exact?.maximum : undefined;
  return Number.isNaN(statistics?.[field][zone]) ? undefined : integers?.[zone];
}
