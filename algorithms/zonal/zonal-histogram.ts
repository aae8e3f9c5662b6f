import { aContext } from '../../primitives/checks/argument-kinds.ts';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { aFunction, anArrayOf, type Kind, optional, someOptions, where } from '../../primitives/checks/kinds.ts';
import type { Context } from '../../primitives/index.ts';
import { aRaster } from '../geometry/raster.ts';
import type { Pixels } from './pixels.ts';
import { countSurface, type SurfaceJob } from './surface.ts';
import type { ZonalHistogram } from './types.ts';
import { JOB_FIELDS, type ZonalJob } from './zonal.ts';
import type { ChosenStatistics, StatisticsOf } from './zone-statistics.ts';

/**
 * Counts, for every zone, the values of the raster cells whose centres are in the zone. The raster is streamed in
 * windows. Windows and blocks of the file that overlap no tile of a zone's bounding box are not read.
 *
 * A cell belongs to a zone if its centre is in one of the zone's parts by the even-odd rule. Edges are half-open in map
 * space: left and bottom edges belong to the zone. The test uses integer coordinates, on a grid with steps of 2⁻²⁰ of a
 * cell. With `pixels: 'all-touched'`, cells that share area with a zone belong to it, too; with `fractional`,
 * statistics are weighted by the fraction of each cell that is in the zone, exactly, within some units of 2⁻³⁰ of a cell (see
 * `zoneFractions`), and `areas` has the sums of fractions, also of bins. Statistics of samples are refused then
 * (`zonal/fractional-statistic`). Zones may overlap. The parts of a zone may overlap too; the result then has a note. `fill: 'even-odd'` applies
 * the even-odd rule to all rings of the zone together. On a geographic raster, a zone also holds what lies whole turns of
 * longitude beside it, and a cell that lies in it more than once counts once. A raster wider than 360° has meridians in
 * several columns; the cells of each column count, as in GDAL, and a note names the columns. For every zone, the counts of all bins plus nodata, below and
 * above equal the number of cells in the zone. Results have the same bytes on every backend.
 *
 * A cell has no data if its stored value is NaN or `raster.nodata`, or the raster's mask is 0. In a band of f32, values
 * b near the nodata value a have no data either, by GDAL's rule |a − b| < 2 · 2⁻²³ · |a + b| in f32 arithmetic; the note
 * `zonal/near-nodata` counts such cells. In other bands, also of f64, cells must equal the nodata value. Cells of i64, u64
 * and f64 are compared and summed to the last bit. Integers beyond 2⁵³ are rounded to f64 in `bins` and `statistics`, with
 * the note `zonal/rounded-integers`; `exact` has their digits. Bins, minimum, maximum and
 * unique values use scaled values, which are `stored × scale + offset` in f64. Sums add the exact scaled values and
 * are rounded to f64 once.
 *
 * With every binning, ±Infinity counts as above or below, NaN as nodata, and −0 as 0.
 *
 * With `weights` w, `weighted_mean` is Σcwx / Σcw of scaled values x, with c = 1 or, by fractions, the fraction of a cell that is
 * in the zone; `weighted_sum` is Σcwx, `weighted_variance` Σcw(x − mean)² / Σcw, and `weighted_stdev` its square root. All are exact
 * and rounded once. They are NaN for a zone in which a cell with data has no weight (nodata, NaN or infinite) or an infinite
 * value, and, but for the sum, if Σcw is 0. Weights may be negative; if the variance is, the standard deviation is NaN.
 *
 * @throws `ArgumentError` for bins that do not increase or an invalid tile size, and for weights: `zonal/weights-missing` if
 * a statistic needs them, `zonal/weights-unused` if none does, `zonal/weights-merge` beside several rasters,
 * `zonal/weights-grid` and `zonal/weights-crs` if their cells are others or their coordinate system is another,
 * `zonal/weights-samples` for integers of 64 bits, `zonal/weights-scaling` for scale and offset. `GeometryError` for
 * coordinates beyond the grid, `OutOfMemoryError` if histograms or unique values do not fit in `memoryBytes`, the signal's reason if it is
 * aborted.
 *
 * Source: Zhang and Wang, High-Performance Zonal Histogramming on Large-Scale Geospatial Rasters Using GPUs and
 * GPU-Accelerated Clusters, 2014.
 * @example
 * const triangle = '{ "type": "Polygon", "coordinates": [[[8.6, 46.3], [8.7, 46.3], [8.7, 46.4]]] }';
 * const { zones } = parseZones(triangle);
 * const raster = await openGeoTiff('examples/relief.tif');
 * const binning = { kind: 'even', low: 0, high: 3000, width: 1500 } as const;
 * const { bins, nodata } = await zonalHistogram(ctx, { zones, raster, binning });
 * await raster.close();
 * [bins.lower, bins.count, nodata];
 * // [Float64Array [0, 1500], BigUint64Array [2132n, 3654n], BigUint64Array [1474n]]
 */
export async function zonalHistogram<const S extends ChosenStatistics = boolean, const P extends Pixels = 'center'>(
  context: Context,
  job: ZonalJob<S, P>,
): Promise<ZonalHistogram<StatisticsOf<S, P>>> {
  requireArguments('zonalHistogram', { context, job }, { context: aContext, job: aJob });
  const { raster, ...others } = job;
  return countSurface(context, { ...others, rasters: [raster] }) as Promise<ZonalHistogram<StatisticsOf<S, P>>>;
}

const aJob: Kind = someOptions<ZonalJob>({ raster: aRaster, ...JOB_FIELDS });

/**
 * Counts, for every zone, the values of the cells of several rasters that are parts of one surface, as
 * {@link zonalHistogram} counts those of one raster. The rasters are counted one after the other, in the given order, and
 * added up exactly: each sum is rounded once.
 *
 * The parts of a raster that was cut give the bytes of the whole raster, however it was cut, in any order and on every
 * backend. Rasters may have grids of their own: another origin, size of cells, or direction of rows.
 *
 * A cell that lies in two rasters is counted once, in the raster named first. A cell lies in an earlier raster if its
 * centre is inside the extent of that raster; the left and bottom edges of an extent belong to it. On one grid, this is
 * the cell itself. On a geographic surface, extents repeat after 360° of longitude. Only extents decide, so a cell that
 * lacks data in the first raster counts there as a cell without data, whatever the next rasters have. The note
 * `zonal/cells-left-out` says how many cells of the zones were left out in later rasters; a cell in two zones counts
 * twice.
 *
 * `gridStep` is that of the first raster's grid. Nodata values, masks and blocks may differ.
 *
 * - Cost: as counting the rasters one by one. The counters of all rasters are the same memory. Windows of which earlier
 *   rasters hold all cells are not read.
 *
 * @throws `ArgumentError` `zonal/surface-samples`, `zonal/surface-scaling` or `zonal/surface-crs` if two rasters differ in
 * the type of their cells, in scale or offset, or in the coordinate system; `zonal/no-rasters` without rasters; further the
 * errors of {@link zonalHistogram}.
 * @example
 * const triangle = '{ "type": "Polygon", "coordinates": [[[8.6, 46.3], [8.7, 46.3], [8.7, 46.4]]] }';
 * const { zones } = parseZones(triangle);
 * const raster = await openGeoTiff('examples/relief.tif');
 * const binning = { kind: 'even', low: 0, high: 3000, width: 1500 } as const;
 * const { bins, notes } = await surfaceHistogram(ctx, { zones, rasters: [raster, raster], binning });
 * await raster.close();
 * [bins.count, notes.at(-1)?.count]; // [BigUint64Array [2132n, 3654n], 7260]
 */
export async function surfaceHistogram<const S extends ChosenStatistics = boolean, const P extends Pixels = 'center'>(
  context: Context,
  job: SurfaceJob<S, P>,
): Promise<ZonalHistogram<StatisticsOf<S, P>>> {
  requireArguments('surfaceHistogram', { context, job }, { context: aContext, job: aSurfaceJob });
  return countSurface(context, job) as Promise<ZonalHistogram<StatisticsOf<S, P>>>;
}

const someRasters: Kind = where('at least one raster', (given) => (given as readonly unknown[]).length > 0, {
  code: 'zonal/no-rasters',
});

const aSurfaceJob: Kind = someOptions<SurfaceJob>({
  rasters: (given, path, homes) => anArrayOf(aRaster)(given, path, homes) ?? someRasters(given, path, homes),
  onCounted: optional(aFunction),
  ...JOB_FIELDS,
});
