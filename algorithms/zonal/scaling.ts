import type { Scaling } from '../geometry/raster.ts';
import type { ZonalBins } from './types.ts';

/** The scaled value of a stored value. The product and the sum are each rounded to f64, as in GDAL. */
export function scaledValue(scaling: Scaling | undefined, stored: number): number {
  return scaling === undefined ? stored : stored * scaling.scale + scaling.offset;
}

/** Whether larger stored values mean smaller scaled values. */
export function isReversed(scaling: Scaling | undefined): boolean {
  return scaling !== undefined && scaling.scale < 0;
}

/**
 * Replaces unique stored values by their scaled values, ascending within each zone. Values that are equal after
 * rounding are merged. Values that become infinite are counted as above or below all bins.
 */
export function scaleUnique({ zone, lower, count }: ZonalBins, scaling: Scaling): ZonalBins {
  const order = Uint32Array.from(zone.keys());
  if (isReversed(scaling)) order.sort((a, b) => zone[a]! - zone[b]! || b - a);
  const kept = { zone: new Uint32Array(order.length), value: new Float64Array(order.length) };
  const counts = new BigUint64Array(order.length);
  let rows = 0;
  for (const row of order) {
    const value = scaledValue(scaling, lower[row]!);
    if (!Number.isFinite(value)) continue;
    const isSame = rows > 0 && kept.zone[rows - 1] === zone[row] && kept.value[rows - 1] === value;
    if (!isSame) {
      kept.zone[rows] = zone[row]!;
      kept.value[rows++] = value;
    }
    counts[rows - 1]! += count[row]!;
  }
  const values = kept.value.slice(0, rows);
  return { zone: kept.zone.slice(0, rows), lower: values, upper: values, count: counts.slice(0, rows) };
}
