import type { Column, Context } from '../../primitives/index.ts';
import type { Regions } from './regions.ts';

/** The corners of regions on a device, row by row. */
export interface DeviceCorners {
  readonly x: Column<'i32'>;
  readonly y: Column<'i32'>;
  readonly region: Column<'u32'>;
}

/** Puts the corners of regions on the device, each with the number of its region. */
export function uploadCorners(context: Context, { cornerStart, x, y }: Regions): DeviceCorners {
  const region = new Uint32Array(x.length);
  for (let r = 0; r + 1 < cornerStart.length; r++) region.fill(r, cornerStart[r], cornerStart[r + 1]);
  return { x: context.column(x), y: context.column(y), region: context.column(region) };
}
