import { aFill, type FillRule } from '../algorithms/geometry/polygons.ts';
import { gridFields, type RasterGrid, type RasterSource } from '../algorithms/geometry/raster.ts';
import { aPixels, type Pixels } from '../algorithms/zonal/pixels.ts';
import { countPart, type PartCounts, type SurfacePart } from '../algorithms/zonal/surface-parts.ts';
import { aBinning, type Binning } from '../algorithms/zonal/types.ts';
import { aChoiceOfStatistics, type ChosenStatistics } from '../algorithms/zonal/zone-statistics.ts';
import { snapZones, type ZonesOnGrid } from '../algorithms/zonal/zones-on-grid.ts';
import type { ReadZones, ZoneOptions } from '../formats/polygons/zones.ts';
import { requireArguments } from '../primitives/checks/arguments.ts';
import {
  aBigint,
  aFiniteNumber,
  aFlag,
  aNumber,
  anArrayOf,
  aRecord,
  aText,
  aWhole,
  aWord,
  eitherOf,
  type Kind,
  optional,
} from '../primitives/checks/kinds.ts';
import type { Context } from '../primitives/index.ts';
import type { ReadingOptions } from './arguments.ts';
import {
  type FileFacts,
  factsOfFile,
  factsOfRaster,
  otherFile,
  requireSameFiles,
  someFileFacts,
} from './file-facts.ts';
import { Kept } from './kept.ts';
import { sharesOf } from './memory.ts';
import { maxBlockBytes, type RasterOptions } from './zonal-rasters.ts';
import { aReprojection, type Reprojection, type ReprojectionParts, repeated } from './zonal-reprojection.ts';

/** The id of the module whose function counts partitions. */
export const ZONAL_MODULE = 'quadrille.zonal';

/** A part of a run of `quadrille zonal`, as it travels to a worker. */
export interface ZonalPartition {
  /** Names the partition within its run. */
  readonly id: string;
  readonly part: SurfacePart;
  readonly zones: FileFacts;
  readonly zoneOptions: ReadingOptions;
  readonly reprojection: Reprojection | undefined;
  readonly raster: RasterFacts;
  readonly rasterOptions: RasterOptions;
  readonly binning: Binning;
  readonly fill: FillRule;
  readonly pixels: Pixels;
  readonly statistics: ChosenStatistics;
}

/** By what a raster is known again. */
export interface RasterFacts {
  readonly files: readonly FileFacts[];
  /** What the files state, as text; see {@link statedBy}. */
  readonly stated: string;
  /** The coordinate system in which the raster is counted. */
  readonly system: Pick<RasterGrid, 'crs' | 'ownCrs' | 'geographic'>;
}

/** What a worker counted. */
export interface CountedPartition {
  readonly id: string;
  readonly counts: PartCounts;
  /** The backend that counted. */
  readonly backend: string;
}

/** What is known of a raster when it has been opened, as text. Files beside it may change what it states. */
export function statedBy(raster: RasterSource): string {
  const { file, notes, ...stated } = raster as RasterSource & { readonly notes?: unknown };
  return JSON.stringify({ ...stated, hasMask: raster.readMask !== undefined });
}

const somePartition: Kind = aRecord<ZonalPartition>({
  id: aText,
  part: aRecord<SurfacePart>({
    ...{ raster: aWhole(), firstRow: aWhole(), endRow: aWhole(1) },
    grid: aRecord<RasterGrid>(gridFields),
    ...{ column: aFiniteNumber, row: aFiniteNumber },
    taken: anArrayOf(
      aRecord<SurfacePart['taken'][number]>({ left: aWhole(), top: aWhole(), right: aWhole(), bottom: aWhole() }),
    ),
    slots: aRecord<SurfacePart['slots']>({
      ...{ bins: aWhole(), nodata: aWhole(), below: aWhole(), above: aWhole(), near: aWhole(), count: aWhole() },
    }),
  }),
  zones: someFileFacts,
  zoneOptions: aRecord<ReadingOptions>({
    layer: optional(aText),
    geometryColumn: optional(aText),
    id: optional(aText),
    crs: optional(aText),
    antimeridian: optional(aWord(['as-written', 'unwrap'])),
    onBadRecord: optional(aWord(['stop', 'skip'])),
  }),
  reprojection: optional(aReprojection),
  raster: aRecord<RasterFacts>({
    files: anArrayOf(someFileFacts),
    stated: aText,
    system: aRecord<RasterFacts['system']>({ crs: optional(aText), ownCrs: optional(aText), geographic: aFlag }),
  }),
  rasterOptions: aRecord<RasterOptions>({
    band: aWhole(1),
    nodata: optional(eitherOf('a number or a bigint', aNumber, aBigint)),
    mask: aWord(['all', 'none']),
    raw: aFlag,
    approximate: optional(aNumber),
  }),
  binning: aBinning,
  fill: aFill,
  pixels: aPixels,
  statistics: aChoiceOfStatistics,
});

/** The functions of other floors that a worker uses. */
export interface PartitionParts extends ReprojectionParts {
  readZones(path: string, options: ZoneOptions): Promise<ReadZones>;
  openRaster(
    path: string,
    options: RasterOptions & { readonly maxBlockBytes: number; readonly startThreads: boolean },
  ): Promise<RasterSource>;
}

/** A worker's module for `quadrille zonal`. */
export interface ZonalModule {
  /** Counts a partition. This is the function that jobs name. */
  countPartition(
    partition: ZonalPartition,
    work: { readonly ctx: unknown; readonly signal: AbortSignal },
  ): Promise<CountedPartition>;
}

/**
 * Number of rasters, files of zones, and grids with zones that are kept for the next partition. An open raster has
 * threads of its own.
 */
const KEPT = { rasters: 2, zones: 2, grids: 4 };

/**
 * Makes a worker's module. Files are opened and read once for as many partitions as possible, and checked for each: it
 * must be the file that the parent has.
 *
 * @param memoryBytes - The memory of the worker, for each partition that it counts at the same time.
 */
export function zonalModule(parts: PartitionParts, memoryBytes: number): ZonalModule & { close(): Promise<void> } {
  const zones = new Kept<ReadZones['zones']>(KEPT.zones);
  const grids = new Kept<ZonesOnGrid>(KEPT.grids);
  const rasters = new Kept<RasterSource>(KEPT.rasters, (raster) => raster.close());

  const useZones = <R>(partition: ZonalPartition, body: (zones: ReadZones['zones'], key: string) => Promise<R>) => {
    const { zones: file, zoneOptions, reprojection } = partition;
    const { onBadRecord } = zoneOptions;
    const key = JSON.stringify([file, zoneOptions, reprojection]);
    const read = async (): Promise<ReadZones['zones']> => {
      const found = await parts.readZones(file.path, { ...zoneOptions, memoryBytes });
      return (reprojection ? await repeated(found, reprojection, { onBadRecord, memoryBytes }, parts) : found).zones;
    };
    return zones.use(key, read, (found) => body(found, key));
  };
  const useRaster = <R>({ raster, rasterOptions }: ZonalPartition, body: (raster: RasterSource) => Promise<R>) => {
    const { path } = raster.files[0]!;
    const open = async (): Promise<RasterSource> => {
      const opened = await parts.openRaster(path, {
        ...rasterOptions,
        maxBlockBytes: maxBlockBytes(memoryBytes),
        startThreads: true,
      });
      const stated = statedBy(opened);
      if (stated === raster.stated) return { ...opened, ...raster.system };
      await opened.close();
      throw otherFile(path, { expected: raster.stated, got: stated });
    };
    return rasters.use(JSON.stringify([raster, rasterOptions]), open, body);
  };
  return {
    async countPartition(partition, { ctx, signal }) {
      requireArguments('countPartition', { partition }, { partition: somePartition });
      const { id, part, raster, binning, fill, pixels, statistics } = partition;
      await requireSameFiles([partition.zones], async () => [await factsOfFile(partition.zones.path)]);
      await requireSameFiles(raster.files, () => factsOfRaster(raster.files[0]!.path));
      const context = ctx as Context;
      const counts = await useZones(partition, (zones, key) =>
        grids.use(
          JSON.stringify([key, part.grid]),
          async () => snapZones(zones, part.grid),
          (onGrid) =>
            useRaster(partition, (source) =>
              countPart(context, {
                ...{ zones, raster: source, part, onGrid, binning, fill, pixels, statistics, signal },
                memoryBytes: sharesOf(memoryBytes).counters,
              }),
            ),
        ),
      );
      return { id, counts, backend: context.backend.name };
    },
    async close() {
      await Promise.all([zones.close(), grids.close(), rasters.close()]);
    },
  };
}
