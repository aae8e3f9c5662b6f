import { requireArguments } from '../../primitives/checks/arguments.ts';
import { anInstance, aText, eitherOf, type Kind, someOptions } from '../../primitives/checks/kinds.ts';
import type { BlobLike } from '../../primitives/host/platform-types.ts';
import { noPaths } from '../bytes/open-bytes.ts';
import { finished } from '../bytes/steps.ts';
import { blobInput } from './blob-input.ts';
import type { LayerInput, LayerPlatform } from './layer-input.ts';
import { LAYER_OPTIONS, type PolygonLayer, type PolygonLayerOptions, type ReadZones } from './polygon-layer.ts';
import { openLayer, readAll } from './read-layer.ts';
import { ZONE_OPTIONS, type ZoneOptions, zonesIn } from './zones.ts';

/** How files of layers are opened on Node or on a page. */
export interface LayerFiles {
  readonly platform: LayerPlatform;
  /** Opens a file on disk. Undefined on pages. */
  readonly openPath?: (file: string, memoryBytes?: number) => Promise<LayerInput>;
}

const ZONES: Kind = someOptions<ZoneOptions>(ZONE_OPTIONS);
const aFile: Kind = eitherOf('the path of a file, or a Blob', aText, anInstance(Blob));

/** Opens a layer as `openPolygonLayer` does. */
export async function openLayerOn(
  files: LayerFiles,
  file: string | BlobLike,
  options: PolygonLayerOptions,
): Promise<PolygonLayer> {
  requireArguments('openPolygonLayer', { file, options }, { file: aFile, options: LAYER_OPTIONS });
  return openLayer(await openInput(files, file, options), options);
}

/** Reads a layer as `readPolygonLayer` does. */
export async function readLayerOn(
  files: LayerFiles,
  file: string | BlobLike,
  options: PolygonLayerOptions,
): Promise<ReadZones> {
  requireArguments('readPolygonLayer', { file, options }, { file: aFile, options: LAYER_OPTIONS });
  return finished(readAll(await openInput(files, file, options), options));
}

/** Reads zones as `readZones` does. */
export async function readZonesOn(
  files: LayerFiles,
  file: string | BlobLike,
  options: ZoneOptions,
): Promise<ReadZones> {
  requireArguments('readZones', { file, options }, { file: aFile, options: ZONES });
  return finished(zonesIn(await openInput(files, file, options), options));
}

function openInput(
  { platform, openPath }: LayerFiles,
  file: string | BlobLike,
  { beside, memoryBytes }: Pick<PolygonLayerOptions, 'beside' | 'memoryBytes'>,
): Promise<LayerInput> {
  if (typeof file !== 'string') return blobInput(file, beside ?? [], platform, memoryBytes);
  return openPath === undefined ? noPaths(file) : openPath(file, memoryBytes);
}
