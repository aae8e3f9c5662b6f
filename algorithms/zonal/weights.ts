import { ArgumentError } from '../../primitives/checks/errors.ts';
import type { AbortSignal } from '../../primitives/host/platform-types.ts';
import type { RasterSource } from '../geometry/raster.ts';
import type { WeightCells } from './cell-places.ts';
import { type Wanted, wantedProducts } from './counting-way.ts';
import { weightFloat } from './exact-sums.ts';
import { rangesOfAny } from './nodata-ranges.ts';
import { requireWeightsOn } from './weights-agreement.ts';
import { meetsZones, type WindowPlan } from './window-plan.ts';

/** Reads the weights of the cells of a window. Those without data, and infinite ones, are NaN. */
export async function readWeights(
  raster: RasterSource,
  plan: WindowPlan,
  signal: AbortSignal | undefined,
): Promise<WeightCells> {
  const { sample, nodata } = raster;
  const [cells, mask] = await Promise.all([
    raster.read(plan.window, signal, meetsZones(plan)),
    raster.readMask?.(plan.window, signal, meetsZones(plan)),
  ]);
  const weights = weightFloat(sample) === 'f64' ? new Float64Array(cells.length) : new Float32Array(cells.length);
  for (let at = 0; at < cells.length; at++) {
    const weight = cells[at] as number;
    // The sum makes 0 of −0, which is not negative.
    weights[at] = Number.isFinite(weight) && mask?.[at] !== 0 ? weight + 0 : Number.NaN;
  }
  for (const { low, high } of rangesOfAny({ sample, nodata })) {
    for (let at = 0; at < weights.length; at++)
      if (weights[at]! >= low && weights[at]! <= high) weights[at] = Number.NaN;
  }
  raster.reuse?.(cells);
  return weights;
}

/**
 * Throws if a job has weights that it cannot use, or lacks them.
 *
 * @throws ArgumentError `zonal/weights-missing`, `zonal/weights-unused` or `zonal/weights-merge`, and those of
 * {@link requireWeightsOn}.
 */
export function requireWeights(job: Wanted, rasters: readonly RasterSource[]): void {
  const { weights } = job;
  const isWanted = wantedProducts(job) > 0;
  if (weights === undefined) {
    if (!isWanted) return;
    const remedy = 'Give a raster of weights on the same grid (weights, or --weights FILE), or name other statistics.';
    throw new ArgumentError('zonal/weights-missing', 'The statistics need weights, and there are none.', { remedy });
  }
  if (!isWanted) {
    const remedy = 'Name one, such as weighted_mean, or leave the weights out.';
    throw new ArgumentError('zonal/weights-unused', 'There are weights, and none of the statistics needs them.', {
      remedy,
    });
  }
  if (rasters.length > 1) {
    const remedy = 'Count each raster by itself (without --merge), or join the rasters before.';
    throw new ArgumentError('zonal/weights-merge', 'Several rasters of one surface cannot have weights.', { remedy });
  }
  requireWeightsOn(rasters[0]!, weights);
}
