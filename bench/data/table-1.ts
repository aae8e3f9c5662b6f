import type { RasterGrid } from '../../algorithms/geometry/raster.ts';

/**
 * The six rasters of Table 1 in Zhang and Wang, High-Performance Zonal Histogramming on Large-Scale Geospatial Rasters
 * Using GPUs and GPU-Accelerated Clusters, 2014: their cells, and into how many parts each was cut. The paper does not
 * say where they lie. At a second of arc per cell they are the six regions of SRTM, which share no cell and cover the
 * conterminous United States.
 */
const RASTERS: readonly {
  readonly columns: number;
  readonly rows: number;
  readonly parts: number;
  readonly west: number;
  readonly north: number;
}[] = [
  { columns: 54_000, rows: 43_200, parts: 2, west: -126, north: 50 },
  { columns: 50_400, rows: 43_200, parts: 2, west: -111, north: 50 },
  { columns: 50_400, rows: 43_200, parts: 2, west: -97, north: 50 },
  { columns: 82_800, rows: 36_000, parts: 2, west: -123, north: 38 },
  { columns: 61_200, rows: 46_800, parts: 2, west: -100, north: 38 },
  { columns: 68_400, rows: 111_600, parts: 4, west: -83, north: 48 },
];

const CELLS_PER_DEGREE = 3600;

/** A partition of a raster. */
export interface Partition extends RasterGrid {
  /** `RASTER-PART`, both counted from 1, the parts row by row. */
  readonly name: string;
  /** Number of the partition, from 0. */
  readonly number: number;
}

/** The 36 partitions. With a scale below 1, cells are larger and fewer by it, and the extents nearly the same. */
export function partitionsOf(scale: number): Partition[] {
  const side = Math.sqrt(scale);
  const step = 1 / (CELLS_PER_DEGREE * side);
  const partitions: Partition[] = [];
  for (const [raster, { columns, rows, parts, west, north }] of RASTERS.entries()) {
    const width = Math.round((columns / parts) * side);
    const height = Math.round((rows / parts) * side);
    for (let part = 0; part < parts ** 2; part++) {
      partitions.push({
        ...{ name: `${raster + 1}-${String(part + 1).padStart(2, '0')}`, number: partitions.length, width, height },
        originX: west + (part % parts) * width * step,
        originY: north - Math.floor(part / parts) * height * step,
        ...{ stepX: step, stepY: -step, crs: 'EPSG:4326', geographic: true },
      });
    }
  }
  return partitions;
}
