import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { NarrowSample, Scaling } from '../../../algorithms/geometry/raster.ts';
import { type Binning, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { CELL_ARRAYS, SAMPLE_RANGE } from '../../../formats/rasters/tiff/samples.ts';
import { Context, open } from '../../../index.ts';
import { caseCount } from '../../cases.ts';
import { craftedTiff } from '../../fixtures/crafted-tiff.ts';
import { fc, test } from '../../law-test.ts';
import { openWorkshop } from '../../support/cli-support.ts';
import { openTestBackend } from '../../support/webgpu-support.ts';
import { box, isNodata, plain, rasterOf, zonesOf } from '../../support/zonal-support.ts';
import { fractionOf, isNearest, multiplyAdd } from '../nearest-f64.ts';

let reference: Context;
let workers: Context;
let webgpu: Context;

beforeAll(async () => {
  reference = await open({ backend: 'reference' });
  workers = await open({ backend: 'workers', workers: 2 });
  webgpu = new Context(await openTestBackend());
});
afterAll(async () => {
  await Promise.all([reference, workers, webgpu].map((context) => context?.close()));
});

const [WIDTH, HEIGHT] = [70, 40];
const zones = zonesOf([[box(0, 0, 70, 40)], [box(3.5, 2.5, 60.5, 39.5)], [box(10, 10, 20, 12)]]);

const samples = fc.constantFrom<NarrowSample>('u8', 'i8', 'u16', 'i16', 'u32', 'i32', 'f32');

/** Some values of a sample type, including its extremes. */
const storedOf = (sample: NarrowSample): fc.Arbitrary<number[]> => {
  if (sample === 'f32') {
    const value = fc.oneof(
      fc.float({ noDefaultInfinity: true, min: -1000, max: 1000 }),
      fc.constantFrom(0, -0, Infinity, -Infinity),
    );
    return fc.array(value, { minLength: 1, maxLength: 12 });
  }
  const [min, max] = SAMPLE_RANGE[sample];
  return fc.array(fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max, 0)), { minLength: 1, maxLength: 12 });
};

/**
 * Scale and offset of stored values. With the scalings of the first record, products and sums are exact. With the
 * scalings of the other two records, products and sums are rounded.
 */
const scalings = fc.oneof(
  fc.record({ scale: fc.constantFrom(0.25, -0.5, 2, -1), offset: fc.constantFrom(0, -40, 0.5) }),
  fc.record({
    scale: fc.constantFrom(0.1, -0.1, 1e-9, 3.7e5, -1e-20),
    offset: fc.double({ min: -100, max: 100, noNaN: true }),
  }),
  // Scalings for which sums and means are close to the smallest f64.
  fc.record({
    scale: fc.constantFrom(Number.MIN_VALUE, -3e-310, 7e-300),
    offset: fc.oneof(
      fc.constantFrom(0, 5e-324, -1e-308, 2 ** -1022),
      fc.double({ min: -1e-305, max: 1e-305, noNaN: true }),
    ),
  }),
);

interface Band {
  readonly sample: NarrowSample;
  readonly stored: number[];
  readonly scaling: Scaling | undefined;
  readonly nodata: number | undefined;
  readonly mask: boolean[] | undefined;
}

const bands: fc.Arbitrary<Band> = samples.chain((sample) =>
  storedOf(sample).chain((stored) =>
    fc.record({
      sample: fc.constant(sample),
      stored: fc.constant(stored),
      scaling: fc.option(scalings, { nil: undefined }),
      nodata: fc.option(fc.constantFrom(...stored), { nil: undefined }),
      mask: fc.option(fc.array(fc.boolean(), { minLength: 1, maxLength: 9 }), { nil: undefined }),
    }),
  ),
);

function rasterWith({ sample, stored, scaling, nodata, mask }: Band) {
  const cells = new CELL_ARRAYS[sample](WIDTH * HEIGHT);
  for (let i = 0; i < cells.length; i++) cells[i] = stored[(i * 7 + (i >> 5)) % stored.length]!;
  const shown = Uint8Array.from(cells, (_, i) => (mask === undefined || mask[(i * 5) % mask.length] ? 255 : 0));
  const masks = rasterOf(shown, WIDTH, 'u8');
  const readMask = mask && ((window: Parameters<typeof masks.read>[0]) => masks.read(window) as Promise<Uint8Array>);
  return { raster: rasterOf(cells, WIDTH, sample, { scaling, nodata, readMask, blockRows: 9 }), cells, shown };
}

const ONE = fractionOf(1);

/** The stored values of the cells in a box, except those without data. */
function storedIn(band: Band, corners: readonly number[]): number[] {
  const stored = valuesIn({ ...band, scaling: undefined }, corners);
  return stored.filter((value) => !Number.isNaN(value));
}

/** The values of the cells in a box; NaN for cells without data. */
function valuesIn(band: Band, [left, bottom, right, top]: readonly number[]): number[] {
  const { cells, shown } = rasterWith(band);
  const { scale, offset } = band.scaling ?? { scale: 1, offset: 0 };
  return Array.from(cells).flatMap((stored, i) => {
    const [x, y] = [(i % WIDTH) + 0.5, HEIGHT - Math.floor(i / WIDTH) - 0.5];
    if (x < left! || x >= right! || y < bottom! || y >= top!) return [];
    const value = band.scaling === undefined ? stored : stored * scale + offset;
    return [shown[i] === 0 || isNodata(band.sample, stored, band.nodata) ? Number.NaN : value];
  });
}

const boxes = [
  [0, 0, 70, 40],
  [3.5, 2.5, 60.5, 39.5],
  [10, 10, 20, 12],
];

describe('cell values', () => {
  const binning: Binning = { kind: 'edges', edges: [-1000, -40, 0, 0.25, 7.3, 1e5] };

  test.prop([bands, fc.constantFrom(32, 64)], { numRuns: caseCount(120) })(
    'are scaled, and are missing where they are nodata or masked',
    async (band, tile) => {
      const found = await zonalHistogram(reference, { zones, raster: rasterWith(band).raster, binning, tile });
      for (const [zone, corners] of boxes.entries()) {
        const values = valuesIn(band, corners);
        const data = values.filter((value) => !Number.isNaN(value));
        const count = (from: number, to: number): bigint => BigInt(data.filter((v) => v >= from && v < to).length);
        expect(found.cells[zone]).toBe(BigInt(values.length));
        expect(found.nodata[zone]).toBe(BigInt(values.length - data.length));
        expect(found.below[zone]).toBe(count(-Infinity, -1000));
        expect(found.above[zone]).toBe(count(1e5, Infinity) + BigInt(data.filter((v) => v === Infinity).length));
        const { edges } = binning as Extract<Binning, { kind: 'edges' }>;
        const expected = edges.slice(1).flatMap((to, bin) => {
          const inBin = count(edges[bin]!, to);
          return inBin === 0n ? [] : [[edges[bin], to, inBin]];
        });
        const { bins } = found;
        const rows = [...bins.zone.keys()].filter((row) => bins.zone[row] === zone);
        expect(rows.map((row) => [bins.lower[row], bins.upper[row], bins.count[row]])).toEqual(expected);
        const { minimum, maximum, sum, mean } = found.statistics!;
        if (data.length === 0) continue;
        expect([minimum[zone]! + 0, maximum[zone]! + 0]).toEqual([Math.min(...data) + 0, Math.max(...data) + 0]);
        checkSums(sum[zone]!, mean[zone]!, band, corners);
      }
    },
  );

  /** The sum and the mean must be the f64 nearest to the exact sum and mean. */
  function checkSums(sum: number, mean: number, band: Band, corners: readonly number[]): void {
    const stored = storedIn(band, corners);
    const { scale, offset } = band.scaling ?? { scale: 1, offset: 0 };
    const infinite = stored
      .filter((value) => !Number.isFinite(value))
      .reduce((total, value) => total + value * scale, 0);
    if (infinite !== 0) {
      expect([sum, mean]).toEqual([infinite, infinite]);
      return;
    }
    const count = fractionOf(stored.length);
    const all = stored.reduce((total, value) => multiplyAdd(fractionOf(value), ONE, total), fractionOf(0));
    const exact = multiplyAdd(all, fractionOf(scale), multiplyAdd(fractionOf(offset), count, fractionOf(0)));
    const exactMean = { ...exact, denominator: exact.denominator * count.numerator };
    expect({ sum, isNearest: isNearest(sum, exact) }).toEqual({ sum, isNearest: true });
    expect({ mean, isNearest: isNearest(mean, exactMean) }).toEqual({ mean, isNearest: true });
  }

  test.prop([bands], { numRuns: caseCount(60) })('are unique after scaling', async (band) => {
    const { raster } = rasterWith(band);
    const { bins } = await zonalHistogram(reference, { zones, raster, binning: { kind: 'unique' } });
    for (const [zone, corners] of boxes.entries()) {
      const counts = new Map<number, bigint>();
      for (const value of valuesIn(band, corners)) {
        if (Number.isFinite(value)) counts.set(value + 0, (counts.get(value + 0) ?? 0n) + 1n);
      }
      const rows = [...bins.zone.keys()].filter((row) => bins.zone[row] === zone);
      expect(rows.map((row) => [bins.lower[row]! + 0, bins.count[row]])).toEqual([...counts].sort(([a], [b]) => a - b));
      expect(rows.every((row) => Object.is(bins.lower[row], bins.upper[row]))).toBe(true);
    }
  });

  test('of scaled integers have exact sums, rounded once', async () => {
    const scaling = { scale: 0.1, offset: 1e-3 };
    const raster = rasterOf(Int32Array.of(3, 2 ** 31 - 1, -(2 ** 31), 7), 4, 'i32', { scaling });
    const { statistics } = await zonalHistogram(reference, {
      zones: zonesOf([[box(0, 0, 4, 1)]]),
      raster,
      binning: { kind: 'unique' },
    });
    // The sum of 9 times the f64 nearest to 0.1 and 4 times the f64 nearest to 0.001. The sum is computed exactly, in
    // hundreds of bits, and then rounded.
    const tenth = 0x1999999999999an; // × 2^-56
    const thousandth = 0x10624dd2f1a9fcn; // × 2^-62
    const exact = 9n * (tenth << 6n) + 4n * thousandth;
    expect(statistics!.sum[0]).toBe(Number(exact) * 2 ** -62);
  });

  test.prop([bands], { numRuns: caseCount(12) })('give the same bytes on workers', async (band) => {
    const job = { zones, raster: rasterWith(band).raster, binning, tile: 32 };
    expect(plain(await zonalHistogram(workers, job))).toBe(plain(await zonalHistogram(reference, job)));
  });

  test.each(fc.sample(bands, { numRuns: 3, seed: 11 }))('give the same bytes on WebGPU: %j', async (band) => {
    const masked = { ...band, mask: [true, false, true] };
    const job = { zones, raster: rasterWith(masked).raster, binning, tile: 32 };
    expect(plain(await zonalHistogram(webgpu, job))).toBe(plain(await zonalHistogram(reference, job)));
  });
});

describe('quadrille zonal', () => {
  const ZONE = {
    type: 'Polygon',
    coordinates: [
      [
        [100, 191],
        [108, 191],
        [108, 200],
        [100, 200],
        [100, 191],
      ],
    ],
  };
  const METADATA =
    '<GDALMetadata><Item name="OFFSET" sample="0" role="offset">-1</Item>' +
    '<Item name="SCALE" sample="0" role="scale">0.5</Item></GDALMetadata>';

  test('applies scale and offset and notes that, and counts stored values on request', async () => {
    const shop = await openWorkshop();
    try {
      await shop.write('zone.json', ZONE);
      await shop.write('raster.tif', craftedTiff({ gdalMetadata: METADATA }));
      const words = ['zonal', '--zones', '@zone.json', '--raster', '@raster.tif', '--assume-crs', 'EPSG:32633'];
      const scaled = await shop.quadrille([...words, '--edges', '-1,0,4.5']);
      expect(scaled.stdout).toBe('zone,lower,upper,count\n0,-1,0,2\n0,0,4.5,9\n0,above,,1\n');
      expect(scaled.stderr).toContain(
        "note: Values are 0.5 × stored - 1, by the file's scale and offset; --raw counts stored values.\n",
      );
      const raw = await shop.quadrille([...words, '--edges', '0,6,11', '--raw']);
      expect(raw.stdout).toBe('zone,lower,upper,count\n0,0,6,6\n0,6,11,5\n0,above,,1\n');
      expect(raw.stderr).toContain(
        "note: Stored values are counted; the file's scale and offset would make them 0.5 × stored - 1.\n",
      );
    } finally {
      await shop.remove();
    }
  });

  test('counts masked cells as cells without data, and notes that', async () => {
    const shop = await openWorkshop();
    try {
      await shop.write('zone.json', ZONE);
      await shop.write('raster.tif', craftedTiff());
      await shop.write('raster.tif.msk', craftedTiff({}, Uint8Array.of(0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 0, 1)));
      const words = ['zonal', '--zones', '@zone.json', '--raster', '@raster.tif', '--edges', '0,12'];
      const found = await shop.quadrille([...words, '--assume-crs', 'EPSG:32633', '--stats', '@stats.csv']);
      expect(found.stdout).toBe('zone,lower,upper,count\n0,0,12,7\n0,nodata,,5\n');
      expect(found.stderr).toContain(
        'note: The mask raster.tif.msk marks the cells without data: where it is 0, a cell has none; --mask none ignores it.\n',
      );
    } finally {
      await shop.remove();
    }
  });
});
