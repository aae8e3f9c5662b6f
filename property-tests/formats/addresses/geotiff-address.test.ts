import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect } from 'vitest';
import { zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { openAddressBytes } from '../../../formats/bytes/addresses/address-bytes.ts';
import { encodePackedRaster } from '../../../formats/rasters/encode-packed-raster.ts';
import {
  type GeoTiffOptions,
  type GeoTiffSource,
  openGeoTiff,
  openGeoTiffFrom,
} from '../../../formats/rasters/geotiff.ts';
import { openPackedRaster } from '../../../formats/rasters/packed-raster.ts';
import { open } from '../../../index.ts';
import { caseCount } from '../../cases.ts';
import { bytesOf, geoTiffBytes, randomRaster, windowAt, windowFractions } from '../../fixtures/random-raster.ts';
import { fc, test } from '../../law-test.ts';
import { PASSING_FAULTS, RIGHT_WAYS, serveRanges } from '../../support/range-server.ts';
import { plain } from '../../support/zonal-support.ts';

/** So that rasters of tests have more than one request. */
const SMALL = { headBytes: 200, maxBytes: 2 ** 17, patience: { stallMs: 5000, pauseMs: 0, attempts: 20 } };

async function openAt(origin: string, options: GeoTiffOptions = {}): Promise<GeoTiffSource> {
  return openGeoTiffFrom(await openAddressBytes(`${origin}/a.tif`, SMALL), options);
}

describe('a GeoTIFF behind an address', () => {
  const ways = fc.array(
    fc.constantFrom(
      ...RIGHT_WAYS.filter((way) => !way.startsWith('whole')),
      ...PASSING_FAULTS.filter((way) => way !== 'no answer' && way !== 'half an answer'),
    ),
    { maxLength: 8 },
  );

  test.prop([randomRaster, fc.array(windowFractions, { minLength: 1, maxLength: 5 }), ways, fc.nat(4096)], {
    numRuns: caseCount(40),
  })('has the cells of the file, also if windows are fetched ahead', async (written, fractions, ways, keepBytes) => {
    const bytes = await geoTiffBytes(written);
    await using server = await serveRanges(bytes, (before) => ways[Math.floor(before / 2)] ?? 'part');
    const far = await openAt(server.origin, { keepBytes });
    const near = await openGeoTiff(bytes, { keepBytes });
    const windows = fractions.map((fraction) => windowAt(fraction, near));
    for (const window of windows.slice(1)) far.prefetch!(window);
    const together = await Promise.all(windows.map((window) => far.read(window)));
    for (const [at, window] of windows.entries()) {
      const expected = bytesOf(await near.read(window));
      expect(bytesOf(together[at]!).equals(expected)).toBe(true);
      expect(bytesOf(await far.read(window)).equals(expected)).toBe(true);
    }
    const whole = { column: 0, row: 0, columns: near.width, rows: near.height };
    const [blocks, expected] = [await far.readBlocks?.(whole), await near.readBlocks?.(whole)];
    expect(blocks?.starts).toEqual(expected?.starts);
    expect(blocks && bytesOf(blocks.cells).equals(bytesOf(expected!.cells))).toBe(expected && true);
    expect({ ...far, notes: [], file: '', version: '' }).toMatchObject(
      JSON.parse(JSON.stringify({ ...near, notes: [], file: '' })),
    );
    await far.close();
  });

  const cog = fileURLToPath(new URL('../../fixtures/gdal/u8-cog-mask.tif', import.meta.url));
  const WHOLE = { column: 0, row: 0, columns: 300, rows: 260 };

  test('may be a COG of GDAL, whose smallest overview comes first, and whose masks come last', async () => {
    await using server = await serveRanges(await readFile(cog));
    const far = await openAt(server.origin);
    const near = await openGeoTiff(cog);
    expect((await far.read(WHOLE)) as Uint8Array).toEqual(await near.read(WHOLE));
    const mask = await far.readMask!(WHOLE);
    const hidden = (at: number): boolean => at % 300 >= 100 && at % 300 < 220 && at >= 50 * 300 && at < 100 * 300;
    expect(mask.findIndex((shown, at) => (shown === 0) !== hidden(at))).toBe(-1);
    expect(far.notes.map(({ code }) => code)).toEqual(['raster/no-side-files', 'raster/crs-unknown', 'raster/mask']);
    expect(far.version).toBe('"first"');
    await Promise.all([far.close(), near.close()]);
  });

  test('is opened by a URL too, as is a file, also if it is packed', async () => {
    await using server = await serveRanges(await readFile(cog));
    const raster = await openGeoTiff(new URL(`${server.origin}/a.tif?b`));
    expect(raster.file).toBe(`${server.origin}/a.tif?…`);
    const local = await openGeoTiff(pathToFileURL(cog));
    expect(local.file).toBe(cog);
    expect((await raster.read(WHOLE)) as Uint8Array).toEqual(await local.read(WHOLE));
    await Promise.all([raster.close(), local.close()]);
    const folder = await mkdtemp(join(tmpdir(), 'quadrille-'));
    const file = join(folder, 'a b.qbp');
    await encodePackedRaster(cog, file);
    await using packed = await serveRanges(await readFile(file));
    for (const url of [pathToFileURL(file), new URL(`${packed.origin}/a.qbp`)]) {
      const source = await openPackedRaster(url);
      expect((await source.read(WHOLE)) as Uint8Array).toHaveLength(300 * 260);
      await source.close();
    }
    await rm(folder, { recursive: true });
  });

  const triangles = fc.array(fc.tuple(fc.nat(290), fc.nat(250), fc.integer({ min: 1, max: 60 })), {
    minLength: 1,
    maxLength: 6,
  });

  test.prop([triangles, fc.constantFrom('center' as const, 'fractional' as const)], { numRuns: caseCount(12) })(
    'gives the zones the statistics of the file',
    async (corners, pixels) => {
      const near = await openGeoTiff(cog);
      await using server = await serveRanges(await readFile(cog), (before) => (before % 3 === 1 ? 'cut off' : 'wider'));
      const far = await openAt(server.origin);
      const at = (column: number, row: number): readonly [number, number] => [
        near.originX + column * near.stepX,
        near.originY + row * near.stepY,
      ];
      const points = corners.flatMap(([column, row, side]) => [
        at(column, row),
        at(column, row + side),
        at(column + side, row + side),
      ]);
      const zones = {
        polygons: {
          polygonRings: Uint32Array.from({ length: corners.length + 1 }, (_, zone) => zone),
          ringVertices: Uint32Array.from({ length: corners.length + 1 }, (_, ring) => 3 * ring),
          x: Float64Array.from(points, ([x]) => x),
          y: Float64Array.from(points, ([, y]) => y),
        },
        names: corners.map((_, zone) => `${zone}`),
        crs: near.crs,
      };
      await using context = await open({ backend: 'reference' });
      const statistics = pixels === 'center' ? ['mean', 'median', 'nodata'] : ['mean'];
      const job = { zones, pixels, statistics, binning: { kind: 'unique' } } as const;
      const expected = await zonalHistogram(context, { ...job, raster: near });
      expect(plain(await zonalHistogram(context, { ...job, raster: far }))).toBe(plain(expected));
      await Promise.all([far.close(), near.close()]);
    },
  );
});
