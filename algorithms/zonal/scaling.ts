import type { Scaling } from '../geometry/raster.ts';
import type { ZonalBins } from './types.ts';

/** What a stored value stands for: a product and a sum, each rounded to f64, as GDAL has it. */
export function scaledValue(scaling: Scaling | undefined, stored: number): number {
  return scaling === undefined ? stored : stored * scaling.scale + scaling.offset;
}

/** Whether larger stored values stand for smaller ones. */
export function isReversed(scaling: Scaling | undefined): boolean {
  return scaling !== undefined && scaling.scale < 0;
}

/**
 * Unique stored values as what they stand for, ascending in every zone; those that rounding makes the same become one, and
 * those that it makes infinite are above or below all bins.
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
