import { UsageError } from '../formats/usage-error.ts';
import type { Context } from '../primitives/context/context.ts';
import type { CompareParts } from './compare.ts';
import type { MachineReport } from './devices.ts';
import type { TrackParts } from './track-video.ts';
import type { ZonalParts } from './zonal.ts';

/**
 * The functions that `quadrille zonal` uses. Their code is imported when first needed, so that invalid input is
 * reported before a backend is loaded.
 */
export const zonalParts: ZonalParts<Context> = {
  async readZones(path, options) {
    const { readZones } = await import('../formats/read-zones.ts');
    return readZones(path, options);
  },
  async openRaster(path, options) {
    const { openRaster } = await import('../formats/open-raster.ts');
    return openRaster(path, options);
  },
  async openContext(options) {
    const { open } = await import('../on-node.ts');
    return open(options);
  },
  async openQueue({ url, folder, queue }) {
    const { redisQueue } = await import('../queues/redis-queue.ts');
    return redisQueue({ url, folder, queue });
  },
  async zonalHistogram(context, job) {
    const { zonalHistogram } = await import('../algorithms/zonal/index.ts');
    return zonalHistogram(context, job);
  },
  async surfaceHistogram(context, job) {
    const { surfaceHistogram } = await import('../algorithms/zonal/index.ts');
    return surfaceHistogram(context, job);
  },
};

/** The functions that `quadrille compare` uses. Their code is imported when first needed. */
export const compareParts: CompareParts<Context> = {
  async openResultSet(path, options) {
    const { openResultSet } = await import('../formats/result-sets/open-result-set.ts');
    return openResultSet(path, options);
  },
  openContext: zonalParts.openContext,
  async openParser(options) {
    const { openTileParser } = await import('../formats/result-sets/tile-parser.ts');
    return openTileParser(options);
  },
  async openDeviceParser(context, pixelSize) {
    const { parserOnDevice } = await import('../formats/result-sets/device-parser.ts');
    return parserOnDevice(context, pixelSize);
  },
  async crossCompare(context, job) {
    const { crossCompare } = await import('../algorithms/cross-compare/cross-compare.ts');
    return crossCompare(context, job);
  },
};

/** The functions that `quadrille track` uses. Their code is imported when first needed. */
export const trackParts: TrackParts<Context> = {
  async openVideo(source, options) {
    if (source === '-' && process.stdin.isTTY) throw fromTerminal();
    const { openVideo } = await import('../formats/video/open-video.ts');
    return openVideo(source === '-' ? process.stdin : source, options);
  },
  async openContext(options, onFailover) {
    const { open } = await import('../on-node.ts');
    const failover = options.backend === 'reference' ? undefined : 'workers';
    return open({ ...options, failover, onFailover });
  },
  async loadTracking() {
    const { cellTracker, stillBackground } = await import('../algorithms/cell-tracking/index.ts');
    return { cellTracker, stillBackground };
  },
};

/** Returns the error for the input `-` if stdin is a terminal, on which the command would otherwise wait forever. */
function fromTerminal(): UsageError {
  return new UsageError('usage/terminal', 'Standard input is a terminal, not a video.', {
    remedy: 'Pipe Y4M to it: ffmpeg -i VIDEO -f yuv4mpegpipe -pix_fmt gray - | quadrille track -',
  });
}

/** Lists the backends, adapters and graphics cards of this machine. */
export async function findDevices(): Promise<MachineReport> {
  const [{ listDevices }, { listCards }] = await Promise.all([import('../on-node.ts'), import('./cards.ts')]);
  const [report, gpus] = await Promise.all([listDevices(), listCards()]);
  return { ...report, gpus };
}
