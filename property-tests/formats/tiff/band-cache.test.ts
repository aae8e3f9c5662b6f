import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { createBandCache, openGeoTiff } from '../../../formats/index.ts';
import { caseCount } from '../../cases.ts';
import { craftedTiff } from '../../fixtures/crafted-tiff.ts';
import {
  bytesOf,
  geoTiffBytes,
  randomRaster,
  sliceBytes,
  windowAt,
  windowFractions,
} from '../../fixtures/random-raster.ts';
import { fc, test } from '../../law-test.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-band-cache-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** A strip of 4 × 2 cells of three bands, with values 0 to 23. */
const strip = deflateSync(Uint8Array.from({ length: 24 }, (_, i) => i));
const interleaved = {
  bitsPerSample: [8, 8, 8],
  sampleFormat: [1, 1, 1],
  samplesPerPixel: [3],
  compression: [8],
  rowsPerStrip: [2],
  stripOffsets: [8, 0],
  stripByteCounts: [strip.length, 0],
};
const whole = { column: 0, row: 0, columns: 4, rows: 3 };

/** The bands of the file in `folder`, opened before any is read. */
async function openBands(file: string, bands: number, keepBytes: number) {
  const bandCache = createBandCache({ keepBytes });
  const opened = [];
  for (let band = 1; band <= bands; band++) opened.push(await openGeoTiff(file, { band, bandCache, threads: 0 }));
  return { bandCache, opened };
}

describe('bands with a cache', () => {
  test.prop(
    [
      randomRaster,
      fc.array(windowFractions, { minLength: 1, maxLength: 5 }),
      fc.constantFrom(0, 300, 2 ** 20),
      fc.constantFrom(0, 2),
      fc.boolean(),
    ],
    { numRuns: caseCount(150) },
  )(
    'are the same bytes as without, whatever there is room for, and leave nothing',
    async (written, fractions, keepBytes, threads, isAtOnce) => {
      const path = join(folder, 'law.tif');
      await writeFile(path, await geoTiffBytes(written));
      const bandCache = createBandCache({ keepBytes });
      const sources = await Promise.all(
        written.bands.map((_, at) => openGeoTiff(path, { band: at + 1, bandCache, threads })),
      );
      const { width, height } = written.raster;
      const windows = fractions.map((fraction) => windowAt(fraction, { width, height }));
      const readBand = async (at: number): Promise<void> => {
        for (const window of windows) {
          const cells = await sources[at]!.read(window);
          expect(bytesOf(cells)).toEqual(sliceBytes(written.bands[at]!, width, window));
          expect(bandCache.bytes).toBeLessThanOrEqual(keepBytes);
          // Whoever reads the same place of another band must not be given this memory.
          new Uint8Array(cells.buffer).fill(0xa5);
          sources[at]!.reuse?.(cells);
        }
      };
      if (isAtOnce) await Promise.all(sources.map((_, at) => readBand(at)));
      else for (const at of sources.keys()) await readBand(at);
      for (const source of sources) await source.close();
      expect(bandCache.bytes).toBe(0);
    },
  );

  test.prop([randomRaster.filter(({ raster }) => raster.tile !== undefined)], { numRuns: caseCount(50) })(
    'are the same blocks, of which some are not wanted',
    async (written) => {
      const path = join(folder, 'blocks.tif');
      await writeFile(path, await geoTiffBytes(written));
      const bandCache = createBandCache();
      const isWanted = ({ column, row }: { column: number; row: number }) => (column + row) % 3 !== 0;
      const sources = [];
      for (const at of written.bands.keys()) sources.push(await openGeoTiff(path, { band: at + 1, bandCache }));
      for (const [at, source] of sources.entries()) {
        const alone = await openGeoTiff(path, { band: at + 1 });
        const all = { column: 0, row: 0, columns: source.width, rows: source.height };
        const found = await source.readBlocks!(all, undefined, isWanted);
        const expected = await alone.readBlocks!(all, undefined, isWanted);
        expect(found.starts).toEqual(expected.starts);
        expect(bytesOf(found.cells).equals(bytesOf(expected.cells))).toBe(true);
        await alone.close();
      }
      for (const source of sources) await source.close();
    },
  );

  test('are decoded once: what is kept does not need the file any more', async () => {
    const path = join(folder, 'once.tif');
    const bytes = craftedTiff(interleaved, strip);
    await writeFile(path, bytes);
    const { opened } = await openBands(path, 3, 2 ** 20);
    const values = [[...(await opened[0]!.read(whole))]];
    await writeFile(path, Buffer.from(bytes).fill(0, 8, 8 + strip.length));
    for (const raster of opened.slice(1)) values.push([...(await raster.read(whole))]);
    const ofBand = (band: number) => Array.from({ length: 12 }, (_, i) => (i < 8 ? 3 * i + band : 0));
    expect(values).toEqual([ofBand(0), ofBand(1), ofBand(2)]);
    // What was taken is not there again.
    await expect(opened[2]!.read(whole)).rejects.toMatchObject({ code: 'format/damaged-tiff' });
    for (const raster of opened) await raster.close();
  });

  test('have the value of their own in blocks that were never written', async () => {
    const path = join(folder, 'sparse.tif');
    await writeFile(path, craftedTiff(interleaved, strip));
    const ofBands = [1, 2, 3].map(
      (band) => `<PAMRasterBand band="${band}"><NoDataValue>${50 + band}</NoDataValue></PAMRasterBand>`,
    );
    await writeFile(`${path}.aux.xml`, `<PAMDataset>${ofBands.join('')}</PAMDataset>`);
    const { opened } = await openBands(path, 3, 2 ** 20);
    for (const [at, raster] of opened.entries()) {
      expect([...(await raster.read(whole))].slice(8)).toEqual(Array(4).fill(51 + at));
      await raster.close();
    }
  });

  test('are read by themselves where another band failed or was interrupted', async () => {
    const path = join(folder, 'failed.tif');
    const bytes = craftedTiff(interleaved, strip);
    await writeFile(path, bytes);
    const { bandCache, opened } = await openBands(path, 3, 2 ** 20);
    await writeFile(path, Buffer.from(bytes).fill(0, 8, 8 + strip.length));
    const failing = opened[0]!.read(whole);
    const waiting = opened[1]!.read(whole);
    await expect(failing).rejects.toMatchObject({ code: 'format/damaged-tiff' });
    await expect(waiting).rejects.toMatchObject({ code: 'format/damaged-tiff' });
    expect(bandCache.bytes).toBe(0);
    await writeFile(path, bytes);
    const stopping = new AbortController();
    const stopped = opened[0]!.read(whole, stopping.signal);
    const second = opened[1]!.read(whole);
    stopping.abort(new Error('enough'));
    await expect(stopped).rejects.toThrow('enough');
    expect([...(await second)].slice(0, 3)).toEqual([1, 4, 7]);
    for (const raster of opened) await raster.close();
  });

  test('of another file have other cells, also if the file has the same size', async () => {
    const [path, other] = [join(folder, 'a.tif'), join(folder, 'b.tif')];
    const bandCache = createBandCache();
    const turned = deflateSync(Uint8Array.from({ length: 24 }, (_, i) => 23 - i));
    await writeFile(path, craftedTiff(interleaved, strip));
    await writeFile(other, craftedTiff({ ...interleaved, stripByteCounts: [turned.length, 0] }, turned));
    const first = await openGeoTiff(path, { band: 1, bandCache });
    const second = await openGeoTiff(other, { band: 2, bandCache });
    await first.read(whole);
    expect([...(await second.read(whole))].slice(0, 3)).toEqual([22, 19, 16]);
    for (const raster of [first, second]) await raster.close();
  });
});
