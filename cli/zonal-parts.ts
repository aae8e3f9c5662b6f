import type { Context } from '../primitives/context/context.ts';
import type { ZonalParts } from './zonal.ts';

// Of `zonal` by itself, because workers, which are not in the bundle of the command, count its partitions.

/** A function whose code is imported when it is called. */
export function imported<A extends readonly unknown[], R>(
  load: () => Promise<(...args: A) => R | Promise<R>>,
): (...args: A) => Promise<R> {
  return async (...args) => (await load())(...args);
}

/** Opens a context. */
export const openContext: ZonalParts<Context>['openContext'] = imported(
  async () => (await import('../on-node.ts')).open,
);

export const zonalParts: ZonalParts<Context> = {
  readZones: imported(async () => (await import('../formats/read-zones.ts')).readZones),
  openRaster: imported(async () => (await import('../formats/open-raster.ts')).openRaster),
  openContext,
  openQueue: async ({ url, folder, queue }) =>
    (await import('../queues/redis-queue.ts')).redisQueue({ url, folder, queue }),
  zonalHistogram: imported(async () => (await import('../algorithms/zonal/index.ts')).zonalHistogram),
  surfaceHistogram: imported(async () => (await import('../algorithms/zonal/index.ts')).surfaceHistogram),
};
