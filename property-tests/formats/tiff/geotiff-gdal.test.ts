import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { type GeoTiffSource, openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import expected from '../../fixtures/gdal-rasters.json' with { type: 'json' };
import { bytesOf } from '../../fixtures/random-raster.ts';
import { test } from '../../law-test.ts';

const pathOf = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const realFolder = '../../../examples/';

/** The description of a file by GDAL, as written by `fixtures/gdal-rasters.py`. */
type Described =
  | (typeof expected.made)[keyof typeof expected.made]
  | (typeof expected.real)[keyof typeof expected.real];

async function expectAsGdal(path: string, described: Described): Promise<void> {
  const { bands, nodata, sample, width, height, ...place } = described;
  for (const [index, band] of bands.entries()) {
    const source = await openGeoTiff(path, { band: index + 1 });
    expect(source).toMatchObject({ sample, width, height });
    for (const [name, value] of Object.entries(place)) {
      expect(source[name as keyof typeof place]).toBeCloseTo(value, 13);
    }
    const isBig = sample === 'i64' || sample === 'u64';
    expect(source.nodata).toBe(nodata === null ? undefined : isBig ? BigInt(nodata) : Number(nodata));
    expect(await digest(source)).toEqual(band);
    await source.close();
  }
}

/** A digest of all cells in row-major order, and the number of cells without data. Reads windows of 100 rows. */
async function digest(source: GeoTiffSource): Promise<{ sha256: string; nodataCells: number }> {
  const hash = createHash('sha256');
  let nodataCells = 0;
  for (let row = 0; row < source.height; row += 100) {
    const rows = Math.min(100, source.height - row);
    const cells = await source.read({ column: 0, row, columns: source.width, rows });
    hash.update(bytesOf(cells));
    nodataCells += (cells as Float64Array).filter((value) => value === source.nodata).length;
  }
  return { sha256: hash.digest('hex'), nodataCells };
}

describe(`this reader agrees with GDAL ${expected.gdal} of ${expected.date}`, () => {
  test.each(Object.entries(expected.made))('on %s', async (name, described) => {
    await expectAsGdal(pathOf(`../../fixtures/gdal/${name}.tif`), described);
  });

  test.each(Object.entries(expected.real))('on %s', async (name, described) => {
    await expectAsGdal(pathOf(realFolder + name), described);
  });
});
