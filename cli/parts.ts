import type { TileSource } from '../formats/result-sets/result-set.ts';
import { UsageError } from '../formats/usage-error.ts';
import type { Context } from '../primitives/context/context.ts';
import type { CompareParts } from './compare.ts';
import type { MachineReport } from './devices.ts';
import { imported, openContext } from './imported.ts';
import type { BuildParts } from './index-build.ts';
import type { InfoParts } from './index-info.ts';
import type { DrawParts } from './index-outputs.ts';
import type { QueryParts } from './index-query.ts';
import type { NeighboursParts } from './neighbours-run.ts';
import type { DecodeParts } from './raster-decode.ts';
import type { EncodeParts } from './raster-encode.ts';
import type { RasterInfoParts } from './raster-info.ts';
import type { TableParts } from './table.ts';
import type { TrackParts } from './track-video.ts';

// The functions of other layers that commands use, by command. Their code is imported when first needed, so that invalid
// input is reported before a backend is loaded.

const openTable: TableParts<Context>['openTable'] = async (path, signal, csv) =>
  (await import('../formats/tables/open-table.ts')).openTable(path, { ...csv, signal });

export const rasterParts: EncodeParts & RasterInfoParts & DecodeParts = {
  openContext,
  encodeGeoTiff: imported(async () => (await import('../formats/rasters/encode-packed-raster.ts')).encodeGeoTiff),
  describeRaster: imported(async () => (await import('../formats/rasters/describe-packed-raster.ts')).describeFile),
  decodePackedRaster: imported(
    async () => (await import('../formats/rasters/decode-packed-raster.ts')).decodePackedRaster,
  ),
};

export const compareParts: CompareParts<Context> = {
  openResultSet: imported(async () => (await import('../formats/result-sets/open-result-set.ts')).openResultSet),
  openContext,
  openParser: imported(async () => (await import('../formats/result-sets/tile-parser.ts')).openTileParser),
  openDeviceParser: imported(async () => (await import('../formats/result-sets/device-parser.ts')).parserOnDevice),
  crossCompare: imported(
    async () => (await import('../algorithms/cross-compare/cross-compare.ts')).crossCompare<TileSource>,
  ),
};

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
  loadTracking: () => import('../algorithms/cell-tracking/index.ts'),
};

/** Returns the error for the input `-` if stdin is a terminal, on which the command would otherwise wait forever. */
function fromTerminal(): UsageError {
  return new UsageError('usage/terminal', 'Standard input is a terminal, not a video.', {
    remedy: 'Pipe Y4M to it: ffmpeg -i VIDEO -f yuv4mpegpipe -pix_fmt gray - | quadrille track -',
  });
}

export const neighboursParts: NeighboursParts<Context> = {
  openPoints: imported(async () => (await import('./neighbours-open.ts')).openPointFile),
  async openContext(options, memoryBytes) {
    const { open } = await import('../on-node.ts');
    // If a search does not fit in device memory, dividing the search is faster than moving (spilling) columns to the
    // host.
    return open({ ...options, spill: false, limits: { memoryBytes } });
  },
  neighbourIndex: imported(async () => (await import('./neighbours-index.ts')).neighbourIndex),
};

const drawParts: DrawParts = {
  async drawTree(file, format, options) {
    if (format === 'png')
      return (await import('../formats/charts/quadrant-plot/image.ts')).quadrantImage(file, options);
    return (await import('../formats/charts/quadrant-plot.ts')).quadrantPlot(file, options);
  },
};

export const buildParts: BuildParts<Context> = {
  ...drawParts,
  openLayer: imported(async () => (await import('../formats/polygons/open-polygon-layer.ts')).openPolygonLayer),
  openContext,
  buildTree: imported(async () => (await import('./index-graph.ts')).buildTree),
  encodeTree: imported(async () => (await import('../formats/results/maq-file.ts')).encodeMaq),
};

export const infoParts: InfoParts = {
  ...drawParts,
  openTree: imported(async () => (await import('./index-tree-file.ts')).openTreeFile),
};

export const queryParts: QueryParts<Context> = {
  openTree: infoParts.openTree,
  openLayer: buildParts.openLayer,
  openRows: imported(async () => (await import('./index-rows.ts')).openRows),
  openContext,
  askTree: imported(async () => (await import('./index-ask.ts')).askTree),
};

export const tableParts: TableParts<Context> = {
  openTable,
  openContext,
  loadSession: async () => (await import('./table-session.ts')).tableSession,
};

/** Lists the backends, adapters and graphics cards of this machine. */
export async function findDevices(): Promise<MachineReport> {
  const [{ listDevices }, { listCards }] = await Promise.all([import('../on-node.ts'), import('./cards.ts')]);
  const [report, gpus] = await Promise.all([listDevices(), listCards()]);
  return { ...report, gpus };
}
