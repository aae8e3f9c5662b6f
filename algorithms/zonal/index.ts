/**
 * Histograms and statistics of the raster cells in polygonal zones: {@link zonalHistogram}.
 *
 * @packageDocumentation
 */

export type { Binning, WithStatistics, ZonalBins, ZonalHistogram, ZoneStatistics } from './types.ts';
export { type ZonalJob, zonalHistogram } from './zonal.ts';
