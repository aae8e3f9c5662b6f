import type { Zones } from '../../algorithms/geometry/polygons.ts';
import type { Cells, RasterSource, Sample } from '../../algorithms/geometry/raster.ts';
import type { AnyHistogram } from '../../algorithms/zonal/index.ts';
import { type ZonalJob, zonalHistogram } from '../../algorithms/zonal/index.ts';
import { open } from '../../index.ts';

/** Converts a histogram to text, so that tests can compare all of its bytes. */
export const plain = (histogram: AnyHistogram): string =>
  JSON.stringify(histogram, (_, value) =>
    // Values that do not exist in JSON are written as text: bigints, NaN, infinities and −0.
    typeof value === 'bigint' || !(Number.isFinite(value) || typeof value !== 'number') || Object.is(value, -0)
      ? `${Object.is(value, -0) ? '-0' : value}`
      : value,
  );

/** The cell counts of all zones as numbers. */
export const cellsOf = ({ cells }: AnyHistogram): number[] => Array.from(cells, Number);

/**
 * Whether a stored cell matches a nodata value: by equality for integers, by GDAL's rule for f32, cell by cell
 * (`ARE_REAL_EQUAL` with two units in the last place).
 */
export function isNodata(sample: Sample, cell: number, nodata: number | undefined): boolean {
  if (nodata === undefined || cell === nodata) return cell === nodata;
  const { fround, abs } = Math;
  const tolerance = fround(fround(2 ** -23 * abs(fround(cell + nodata))) * 2);
  return sample === 'f32' && abs(fround(cell - nodata)) < tolerance;
}

/** A rectangle as a ring of positions. */
export const box = (left: number, bottom: number, right: number, top: number): Rings[number] => [
  [left, bottom],
  [right, bottom],
  [right, top],
  [left, top],
];

/** A raster over cells in memory. */
export function rasterOf(cells: Cells, width: number, sample: Sample, grid: Partial<RasterSource> = {}): RasterSource {
  const height = cells.length / width;
  return {
    width,
    height,
    originX: 0,
    originY: height,
    stepX: 1,
    stepY: -1,
    crs: undefined,
    geographic: false,
    sample,
    nodata: undefined,
    blockColumns: width,
    blockRows: 1,
    read: async ({ column, row, columns, rows }) => {
      const window = cells.slice(0, columns * rows);
      for (let r = 0; r < rows; r++) {
        const from = (row + r) * width + column;
        // Both have the same type.
        window.set(cells.subarray(from, from + columns) as never, r * columns);
      }
      return window;
    },
    close: async () => {},
    ...grid,
  };
}

/** The rings of a zone. */
export type Rings = readonly (readonly (readonly [x: number, y: number])[])[];

/** Makes zones whose names are their numbers. */
export function zonesOf(all: readonly Rings[]): Zones {
  const rings = all.flat();
  const vertices = rings.flat();
  const starts = (lengths: readonly number[]): Uint32Array =>
    Uint32Array.from([0, ...lengths], (_, i) => lengths.slice(0, i).reduce((sum, length) => sum + length, 0));
  return {
    names: all.map((_, zone) => `${zone}`),
    polygons: {
      polygonRings: starts(all.map(({ length }) => length)),
      ringVertices: starts(rings.map(({ length }) => length)),
      x: Float64Array.from(vertices, ([x]) => x),
      y: Float64Array.from(vertices, ([, y]) => y),
    },
    crs: undefined,
  };
}

/** The texts of a histogram on the reference and on workers, each by tiles of two sizes. They must be equal. */
export async function textsOnThreads(job: ZonalJob): Promise<string[]> {
  const texts: string[] = [];
  for (const backend of ['reference', 'workers'] as const) {
    await using context = await open({ backend });
    for (const tile of [undefined, 32]) texts.push(plain(await zonalHistogram(context, { ...job, tile })));
  }
  return texts;
}
