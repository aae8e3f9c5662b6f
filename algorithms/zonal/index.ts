export type { Binning, WithStatistics, ZonalBins, ZonalHistogram, ZoneStatistics } from './types.ts';
export { type ZonalJob, zonalHistogram } from './zonal.ts';
