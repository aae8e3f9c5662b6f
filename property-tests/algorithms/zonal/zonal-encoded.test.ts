import { expect } from 'vitest';
import { type Binning, surfaceHistogram, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { HEADER_BYTES } from '../../../formats/rasters/packed/layout.ts';
import { openPackedBand } from '../../../formats/rasters/packed/reader.ts';
import type { PackedCodec } from '../../../formats/rasters/packed/tile-encoder.ts';
import { openPackedRaster } from '../../../formats/rasters/packed-raster.ts';
import { bytesInMemory } from '../../../formats/rasters/tiff/byte-source.ts';
import { onEveryBackend } from '../../backends.ts';
import { packedBytes, randomPacked } from '../../fixtures/random-packed.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';
import { box, plain, type Rings, zonesOf } from '../../support/zonal-support.ts';

/** Rasters in the tiles that devices decode, with voids, masks, raw and constant tiles. */
const rasters = randomPacked.filter(
  ({ layout: { sample, tileColumns, tileRows } }) => sample !== 'f32' && tileColumns % 32 === 0 && tileRows % 32 === 0,
);

/** Corners of zones, as parts of the raster's width and height. */
const part = fc.double({ min: -0.1, max: 1.1, noNaN: true });
const corners = fc.array(fc.tuple(part, part, part, part), { minLength: 1, maxLength: 4 });
const binnings = fc.constantFrom<Binning>(
  { kind: 'even', low: 0, high: 100, width: 1 },
  { kind: 'even', low: 40, high: 70, width: 15 },
  { kind: 'unique' },
  { kind: 'none' },
);

/** Tiles are those of some files, or smaller. Windows of a few tiles take little memory. */
const ways = fc.record({
  statistics: fc.constantFrom(true, false, ['max_center_x', 'sum', 'min_center_y']),
  tile: fc.constantFrom(32, 64),
  isCut: fc.boolean(),
  codec: fc.constantFrom<PackedCodec>('residuals', 'auto'),
});

onEveryBackend((opened, { runs }) => {
  test.prop([rasters, corners, binnings, ways, fc.boolean()], { numRuns: 3 * runs })(
    'counts cells that the device decodes as it counts decoded cells',
    async (packed, corners, binning, { statistics, tile, isCut, codec }, isTwice) => {
      const raster = await openPackedRaster(await packedBytes(packed, undefined, { codec }));
      if (codec === 'residuals') expect(raster.readEncoded).toBeDefined();
      const { width, height, originX, originY, stepX, stepY } = raster;
      const at = ([x0, y0, x1, y1]: readonly [number, number, number, number]): Rings => {
        const x = [x0, x1].map((part) => originX + part * width * stepX).sort((a, b) => a - b);
        const y = [y0, y1].map((part) => originY + part * height * stepY).sort((a, b) => a - b);
        return [box(x[0]!, y[0]!, x[1]! + 0.01, y[1]! + 0.01)];
      };
      const zones = zonesOf(corners.map(at));
      const memoryBytes = isCut && 'low' in binning ? (statistics ? 180_000 : 60_000) : undefined;
      const job = { zones, binning, statistics, tile, memoryBytes };
      const { context } = opened();
      let windows = 0;
      const readEncoded: typeof raster.readEncoded = (...given) => {
        windows++;
        return raster.readEncoded!(...given);
      };
      // In a second raster, shifted by some columns, most cells of the zones are left out.
      const shift = isTwice ? [0, 5 * stepX] : [0];
      const rastersWith = (read: typeof readEncoded | undefined) =>
        shift.map((by) => ({ ...raster, originX: originX + by, readEncoded: read }));
      const found = await surfaceHistogram(context, {
        ...job,
        rasters: rastersWith(raster.readEncoded && readEncoded),
      });
      const isWhole = tile <= packed.layout.tileColumns;
      if (raster.readEncoded && isWhole && found.cells.some((cells) => cells > 0)) expect(windows).toBeGreaterThan(0);
      const decoded = await surfaceHistogram(context, { ...job, rasters: rastersWith(undefined) });
      expect(plain(found)).toBe(plain(decoded));
    },
  );
});

onEveryBackend((opened) => {
  test.prop([fc.nat(999), fc.integer({ min: 1, max: 255 }), fc.boolean()], { numRuns: 4 })(
    'finds damage in what the device decodes',
    async (at, change, statistics) => {
      const [width, height] = [130, 128];
      const cells = Int16Array.from({ length: width * height }, (_, i) => ((i * 7919) % 101) + (i % width));
      const layout = { width, height, bands: 1, sample: 'i16', tileColumns: 64, tileRows: 64 } as const;
      const bytes = await packedBytes({ layout, bands: [cells], nodata: undefined, mask: undefined });
      bytes[HEADER_BYTES + at]! ^= change;
      const raster = await openPackedRaster(bytes);
      const { originX, originY, stepX, stepY } = raster;
      const zones = zonesOf([[box(originX, originY + height * stepY, originX + width * stepX, originY)]]);
      const binning = { kind: 'even', low: 0, high: 100, width: 1 } as const;
      await expect(zonalHistogram(opened().context, { zones, raster, binning, statistics })).rejects.toMatchObject({
        code: 'format/damaged-packed-raster',
      });
    },
  );
});

const reference = openReference();

test('tiles that lie in one bin, or outside the bins, are not read unless statistics are wanted', async () => {
  const [width, height] = [128, 192];
  const cells = Int16Array.from({ length: width * height }, (_, i) => {
    const [column, row] = [i % width, Math.floor(i / width)];
    // Values of the tiles, row by row: 10 to 16, 110 to 116 and so on. Those of the third cross 200.
    return 100 * (2 * Math.floor(row / 64) + Math.floor(column / 64)) + 10 + ((column * row) % 7);
  });
  cells[64 * width] = 199;
  const layout = { width, height, bands: 1, sample: 'i16', tileColumns: 64, tileRows: 64 } as const;
  const source = bytesInMemory(await packedBytes({ layout, bands: [cells], nodata: -1, mask: undefined }));
  const reads: number[] = [];
  const counted: typeof source = {
    ...source,
    read(offset, length, into) {
      reads.push(length);
      return source.read(offset, length, into);
    },
  };
  const raster = await openPackedBand(counted);
  const { originX, originY, stepX, stepY } = raster;
  const zones = zonesOf([[box(originX, originY + height * stepY, originX + 100 * stepX, originY)]]);
  const count = async (low: number, statistics: boolean): Promise<number> => {
    const binning = { kind: 'even', low, high: low + 300, width: 100 } as const;
    reads.length = 0;
    const found = await zonalHistogram(reference, { zones, raster, binning, statistics });
    const bytes = reads.reduce((sum, length) => sum + length, 0);
    const job = { zones, raster: { ...raster, readEncoded: undefined }, binning, statistics };
    expect(plain(found)).toBe(plain(await zonalHistogram(reference, job)));
    return bytes;
  };
  const all = await count(100, true);
  const one = await count(100, false);
  expect(one).toBeGreaterThan(0);
  expect(one).toBeLessThan(all / 5);
  // All but the tile that crosses 200 are in one bin, below all or above all.
  expect(await count(-100, false)).toBe(one);
  expect(await count(1000, false)).toBe(0);
});
