import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { zonalHistogram } from '../../algorithms/zonal/index.ts';
import { readZones } from '../../formats/polygons/read-zones.ts';
import { type GeoTiffSource, openGeoTiff } from '../../formats/rasters/geotiff.ts';
import { open } from '../../index.ts';
import manifest from '../../package.json' with { type: 'json' };

const root = join(import.meta.dirname, '..', '..');
const examples = join(root, 'examples');
const page = readFileSync(join(examples, 'README.md'), 'utf8');

/** The rows of the table of files: name, bytes and digest. */
const stated = [...page.matchAll(/^\| `([\w.-]+)` +\| ([\d,]+) +\| `([0-9a-f]{64})` \|$/gm)].map(
  ([, name, bytes, digest]) => [name!, bytes!, digest!] as const,
);

const withCommas = (count: number | bigint): string => count.toLocaleString('en-US');

/** The paragraph of the page that begins with the name of a file. */
function about(name: string): string {
  const [paragraph] = page.split('\n\n').filter((text) => text.startsWith(`\`${name}\``));
  return paragraph!;
}

/** Opens a raster, and compares it with the size, the type and the place that the page states. */
async function openAsStated(name: string): Promise<GeoTiffSource> {
  const raster = await openGeoTiff(join(examples, name));
  const { width, height, sample } = raster;
  expect(about(name)).toContain(`${withCommas(width)} × ${height} cells of ${sample}`);
  expect(raster.crs).toBe('EPSG:4326');
  return raster;
}

describe('the data of the examples', () => {
  test('are four files', () => {
    const names = stated.map(([name]) => name);
    expect(names).toEqual(['counties-10m.json', 'ndvi.tif', 'relief.tif', 'leukocytes.tif']);
  });

  test.each(stated)('%s has the size and the digest that the page states', (name, bytes, digest) => {
    const content = readFileSync(join(examples, name));
    expect(withCommas(content.length)).toBe(bytes);
    expect(createHash('sha256').update(content).digest('hex')).toBe(digest);
  });

  test('counties-10m.json is the file of us-atlas', async () => {
    const file = 'counties-10m.json';
    expect(readFileSync(join(examples, file))).toEqual(readFileSync(join(root, 'node_modules', 'us-atlas', file)));
    expect(about(file)).toContain(`us-atlas) ${manifest.devDependencies['us-atlas']}, unchanged`);
    const { zones } = await readZones(join(examples, file), { layer: 'counties' });
    expect(about(file)).toContain(`${withCommas(zones.names.length)} polygons`);
  });

  test('ndvi.tif lies where the page states, and counts as many cells of counties', async () => {
    const raster = await openAsStated('ndvi.tif');
    const { originX, originY, stepX, stepY, width, height } = raster;
    expect([originX, originY, stepX, stepY]).toEqual([-180, 72, 0.1, -0.1]);
    expect([originX + width * stepX, originY + height * stepY]).toEqual([-64, 17]);
    const cells = await raster.read({ column: 0, row: 0, columns: width, rows: height });
    // In the Gulf of Mexico, at 25.05° north and 89.95° west.
    expect(cells[469 * width + 900]).toBe(0);
    const { zones } = await readZones(join(examples, 'counties-10m.json'), { layer: 'counties' });
    const context = await open({ backend: 'workers', workers: 2 });
    const job = { zones, raster, binning: { kind: 'none' }, statistics: ['cells'] } as const;
    const counted = await zonalHistogram(context, job);
    await Promise.all([context.close(), raster.close()]);
    const sum = counted.cells.reduce((total, count) => total + count, 0n);
    expect(about('ndvi.tif')).toContain(`${withCommas(sum)} have their centre in a county`);
  });

  test('relief.tif lies where the page states, with as many voids, between the same heights', async () => {
    const raster = await openAsStated('relief.tif');
    const { originX, originY, stepX, stepY, width, height, nodata } = raster;
    expect([originX, originY]).toEqual([8.54125, 46.45875]);
    expect([stepX, -stepY].map((step) => Math.round(step * 3600 * 1e9) / 1e9)).toEqual([3, 3]);
    const cells = (await raster.read({ column: 0, row: 0, columns: width, rows: height })) as Int16Array;
    await raster.close();
    const seen = cells.filter((cell) => cell !== nodata);
    expect(about('relief.tif')).toContain(`did not see ${withCommas(cells.length - seen.length)} of them`);
    const [lowest, highest] = [seen.reduce((a, b) => Math.min(a, b)), seen.reduce((a, b) => Math.max(a, b))];
    expect(about('relief.tif')).toContain(`between ${lowest} and ${withCommas(highest)} m`);
  });
});
