/**
 * Histograms and statistics of the raster cells in polygonal zones: {@link zonalHistogram} of one raster,
 * {@link surfaceHistogram} of several that are parts of one surface. {@link zoneFractions} gives the fractions of cells that
 * zones cover.
 *
 * @packageDocumentation
 */

export type { Areas } from './areas.ts';
export { type ZoneFractions, type ZoneFractionsOptions, zoneFractions } from './fractions/zone-fractions.ts';
export { createOverlay, type Overlay, type OverlayOptions } from './overlay.ts';
export type { Pixels } from './pixels.ts';
export type { StatisticColumn, ValueShares } from './statistic-kinds.ts';
export type { SurfaceJob } from './surface.ts';
export type {
  AnyHistogram,
  Binning,
  ExactIntegers,
  WithStatistics,
  ZonalBins,
  ZonalHistogram,
} from './types.ts';
export type { ZonalJob } from './zonal.ts';
export { surfaceHistogram, zonalHistogram } from './zonal-histogram.ts';
export type { ChosenStatistics, NamedStatistics, StatisticsOf, ZoneStatistics } from './zone-statistics.ts';
