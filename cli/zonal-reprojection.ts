import type { Polygons } from '../algorithms/geometry/polygons.ts';
import type { RasterSource } from '../algorithms/geometry/raster.ts';
import { sameCrs } from '../formats/crs.ts';
import type { ReadZones } from '../formats/polygons/polygon-layer.ts';
import type { ReprojectionGrid, ReprojectOptions } from '../formats/polygons/reproject-zones.ts';
import { crc32c } from '../formats/rasters/packed/crc32c.ts';
import { QuadrilleError } from '../primitives/checks/errors.ts';
import { aFiniteNumber, aNumber, aRecord, aText, type Kind } from '../primitives/checks/kinds.ts';

/** How zones were brought to the coordinate system of the rasters. */
export interface Reprojection extends ReprojectionGrid {
  readonly crs: string;
  /** Of all coordinates, so that processes with other versions of a package are found. */
  readonly checksum: number;
}

export const aReprojection: Kind = aRecord<Reprojection>({
  crs: aText,
  stepX: aFiniteNumber,
  stepY: aFiniteNumber,
  checksum: aNumber,
});

/** The function that brings zones to another system. */
export interface ReprojectionParts {
  reprojectZones(read: ReadZones, to: ReprojectionGrid, options: ReprojectOptions): Promise<ReadZones>;
}

/**
 * The system to which zones must be brought, and the smallest cells there. Undefined if the zones have the system of the
 * rasters, or one of the systems is not known, or the rasters have several.
 */
export function targetOf(zones: string | undefined, rasters: readonly RasterSource[]): ReprojectionGrid | undefined {
  const crs = rasters.find((raster) => raster.crs !== undefined)?.crs;
  if (zones === undefined || crs === undefined || sameCrs(zones, crs)) return undefined;
  if (!rasters.every((raster) => sameCrs(raster.crs, crs))) return undefined;
  const smallest = (steps: readonly number[]): number => steps.map(Math.abs).reduce((a, b) => Math.min(a, b));
  return {
    crs,
    stepX: smallest(rasters.map(({ stepX }) => stepX)),
    stepY: smallest(rasters.map(({ stepY }) => stepY)),
  };
}

export function checksumOf({ x, y }: Polygons): number {
  const bytes = (column: Float64Array): Uint8Array =>
    new Uint8Array(column.buffer, column.byteOffset, column.byteLength);
  return crc32c(bytes(y), crc32c(bytes(x)));
}

/** Brings zones to another system as another process did. */
export async function repeated(
  read: ReadZones,
  { checksum, ...to }: Reprojection,
  options: ReprojectOptions,
  parts: ReprojectionParts,
): Promise<ReadZones> {
  const brought = await parts.reprojectZones(read, to, options);
  if (checksumOf(brought.zones.polygons) === checksum) return brought;
  throw new QuadrilleError('zonal/other-zones', 'The zones came to other places than in the process that asks.', {
    remedy: 'Install the same versions of Node, proj4 and epsg-index for all processes.',
    place: { file: read.zones.file },
  });
}
