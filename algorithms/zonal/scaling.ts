import type { Scaling } from '../geometry/raster.ts';

/**
 * The scaled value of a stored value. The product and the sum are each rounded to f64, as in GDAL, and so is a stored
 * integer beyond 2⁵³ before.
 */
export function scaledValue(scaling: Scaling | undefined, stored: number | bigint): number {
  const value = Number(stored);
  return scaling === undefined ? value : value * scaling.scale + scaling.offset;
}

/** The same, without rounding integers that are not scaled. */
export function unroundedValue(scaling: Scaling | undefined, stored: number | bigint): number | bigint {
  return scaling === undefined ? stored : scaledValue(scaling, stored);
}

/** Whether larger stored values mean smaller scaled values. */
export function isReversed(scaling: Scaling | undefined): boolean {
  return scaling !== undefined && scaling.scale < 0;
}
