import { expect } from 'vitest';
import type { NarrowSample, Sample } from '../../../algorithms/geometry/raster.ts';
import { type Binning, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { CELL_ARRAYS } from '../../../formats/rasters/tiff/samples.ts';
import { onEveryBackend } from '../../backends.ts';
import { fc, test } from '../../law-test.ts';
import { box, plain, rasterOf, zonesOf } from '../../support/zonal-support.ts';

const [WIDTH, HEIGHT] = [230, 170];
const side = fc.integer({ min: -10, max: 240 });
const corners = fc.array(fc.tuple(side, side, side, side), { minLength: 1, maxLength: 6 });
const samples = fc.constantFrom<Sample>('u8', 'i16', 'u16', 'i32', 'f32');
const binnings = fc.constantFrom<Binning>(
  { kind: 'even', low: -100, high: 900, width: 1 },
  { kind: 'even', low: 0, high: 3000, width: 500 },
  { kind: 'unique' },
  { kind: 'none' },
);
/** A way to cut a raster into windows. */
const cuts = fc.record({
  tile: fc.constantFrom(32, 64, 96, 160),
  memoryBytes: fc.integer({ min: 24, max: 27 }).map((bits) => 2 ** bits),
  blockColumns: fc.constantFrom(16, 64, WIDTH),
  blockRows: fc.constantFrom(1, 64, HEIGHT),
  channelBytes: fc.constantFrom(1, 2 ** 20),
});

onEveryBackend((opened, { runs }) => {
  test.prop([corners, samples, binnings, fc.array(cuts, { minLength: 2, maxLength: 2 })], { numRuns: runs })(
    'results do not depend on tiles, blocks and limits of memory',
    async (places, sample, binning, ways) => {
      const cells = new CELL_ARRAYS[sample as NarrowSample](WIDTH * HEIGHT);
      for (let i = 0; i < cells.length; i++) cells[i] = ((i * 7919) % 3001) - 900 + (sample === 'f32' ? 0.25 : 0);
      const zones = zonesOf(places.map(([x, y, right, top]) => [box(x, y, right, top), box(0.5 * x, 150, right, 160)]));
      const texts: string[] = [];
      for (const { blockColumns, blockRows, ...limits } of ways) {
        const raster = rasterOf(cells, WIDTH, sample, { nodata: 100, blockColumns, blockRows });
        texts.push(plain(await zonalHistogram(opened().context, { zones, raster, binning, ...limits })));
      }
      expect(texts[1]).toBe(texts[0]);
    },
  );
});
