import { UsageError } from '../formats/usage-error.ts';
import type { Context } from '../primitives/context/context.ts';
import { imported, openContext } from './imported.ts';
import type { ZonalParts } from './zonal.ts';

// By itself, because workers, which are not in the bundle of the command, count partitions, too.

export const zonalParts: ZonalParts<Context> = {
  readZones: imported(async () => (await import('../formats/polygons/read-zones.ts')).readZones),
  reprojectZones: imported(async () => (await import('../formats/polygons/reproject-zones.ts')).reprojectZones),
  async readPipedZones(options, signal) {
    if (process.stdin.isTTY) throw fromTerminal();
    const { readStreamedZones } = await import('../formats/polygons/read-streamed-zones.ts');
    return readStreamedZones(process.stdin, 'standard input', options, signal);
  },
  openRaster: imported(async () => (await import('../formats/rasters/open-raster.ts')).openRaster),
  openContext,
  openQueue: async ({ url, folder, queue }) =>
    (await import('../queues/redis-queue.ts')).redisQueue({ url, folder, queue }),
  zonalHistogram: imported(async () => (await import('../algorithms/zonal/index.ts')).zonalHistogram),
  createOverlay: imported(async () => (await import('../algorithms/zonal/index.ts')).createOverlay),
  surfaceHistogram: imported(async () => (await import('../algorithms/zonal/index.ts')).surfaceHistogram),
};

/** The error for zones from stdin if it is a terminal, on which the command would otherwise wait forever. */
function fromTerminal(): UsageError {
  return new UsageError('usage/terminal', 'Standard input is a terminal, not a file of zones.', {
    remedy: 'Pipe the zones to it, as in ogr2ogr -f GeoJSON /vsistdout/ FILE | quadrille zonal --zones - …',
  });
}
