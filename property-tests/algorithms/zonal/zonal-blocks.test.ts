import { expect } from 'vitest';
import type { BlockCells, NarrowSample, RasterSource, Window } from '../../../algorithms/geometry/raster.ts';
import { type Binning, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { CELL_ARRAYS } from '../../../formats/rasters/tiff/samples.ts';
import { open } from '../../../index.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount } from '../../cases.ts';
import { expectWholeBlocksOnly } from '../../fixtures/block-windows.ts';
import { geoTiffBytes, randomRaster, sliceBytes, windowAt, windowFractions } from '../../fixtures/random-raster.ts';
import { fc, test } from '../../law-test.ts';
import { box, plain, rasterOf, zonesOf } from '../../support/zonal-support.ts';

/**
 * A raster that returns its blocks in reverse order. There is garbage between the blocks, and in the cells of blocks
 * that are outside of the raster.
 */
function inBlocks(raster: RasterSource): RasterSource & { readonly windows: Window[] } {
  const { blockColumns, blockRows, sample, width, height } = raster;
  const windows: Window[] = [];
  const readBlocks: RasterSource['readBlocks'] = async (window, signal, isWanted = () => true) => {
    windows.push(window);
    const blocks = blocksOf(window, blockColumns, blockRows);
    const wanted = [...blocks.keys()].filter((at) => isWanted(blocks[at]!)).reverse();
    const area = blockColumns * blockRows;
    const cells = new CELL_ARRAYS[sample as NarrowSample]((wanted.length + 1) * area + 5).fill(77);
    const starts = new Uint32Array(blocks.length);
    for (const [rank, at] of wanted.entries()) {
      const block = blocks[at]!;
      starts[at] = 5 + rank * area;
      const inside = {
        ...block,
        columns: Math.min(blockColumns, width - block.column),
        rows: Math.min(blockRows, height - block.row),
      };
      const read = await raster.read(inside, signal);
      for (let row = 0; row < inside.rows; row++) {
        const cut = read.subarray(row * inside.columns, (row + 1) * inside.columns) as Int16Array;
        cells.set(cut, starts[at]! + row * blockColumns);
      }
    }
    return { cells, starts };
  };
  return { ...raster, readBlocks, windows };
}

function blocksOf({ column, row, columns, rows }: Window, blockColumns: number, blockRows: number): Window[] {
  const [across, down] = [Math.ceil(columns / blockColumns), Math.ceil(rows / blockRows)];
  return Array.from({ length: across * down }, (_, at) => ({
    column: column + (at % across) * blockColumns,
    row: row + Math.floor(at / across) * blockRows,
    columns: blockColumns,
    rows: blockRows,
  }));
}

const side = fc.integer({ min: -5, max: 205 });
const boxes = fc.array(fc.tuple(side, side, side, side), { minLength: 1, maxLength: 5 });
const binnings = fc.constantFrom<Binning>(
  { kind: 'even', low: 0, high: 3000, width: 500 },
  { kind: 'unique' },
  { kind: 'none' },
);
const masks = fc.option(fc.array(fc.boolean(), { minLength: 1, maxLength: 9 }), { nil: undefined });

onEveryBackend((opened, { runs }) => {
  test.prop(
    [
      boxes,
      fc.constantFrom('i16' as const, 'f32' as const),
      fc.constantFrom(32, 64, 96),
      fc.constantFrom(32, 64),
      binnings,
      masks,
    ],
    { numRuns: runs },
  )(
    'stored separately give the same counts as rows',
    async (corners, sample, blockColumns, blockRows, binning, mask) => {
      const [width, height] = [200, 190];
      const cells = new CELL_ARRAYS[sample as NarrowSample](width * height);
      for (let i = 0; i < cells.length; i++) cells[i] = ((i * 7919) % 3001) - 9;
      const shown = Uint8Array.from(cells, (_, i) => (mask === undefined || mask[(i * 5) % mask.length] ? 255 : 0));
      const readMask = mask && ((window: Window) => rasterOf(shown, width, 'u8').read(window) as Promise<Uint8Array>);
      const rows = rasterOf(cells, width, sample, { nodata: 40, blockColumns, blockRows, readMask });
      const zones = zonesOf(
        corners.map(([x, y, right, top]) => [box(x, y, Math.max(x + 1, right), Math.max(y + 1, top))]),
      );
      // With this memory limit, a window has several rows of blocks, but not all block rows of the raster.
      const job = { zones, binning, tile: 32, memoryBytes: 600_000 };
      const blocks = inBlocks(rows);
      expect(plain(await zonalHistogram(opened().context, { ...job, raster: blocks }))).toBe(
        plain(await zonalHistogram(opened().context, { ...job, raster: rows })),
      );
    },
    300_000,
  );
});

test('tiles that cross the edges of blocks are read by rows, not by blocks', async () => {
  const cells = Int16Array.from({ length: 100 * 100 }, (_, i) => i);
  const raster = inBlocks(rasterOf(cells, 100, 'i16', { blockColumns: 48, blockRows: 32 }));
  await using context = await open({ backend: 'reference' });
  const job = { zones: zonesOf([[box(0, 0, 100, 100)]]), binning: { kind: 'none' } as const, raster };
  const { cells: counted } = await zonalHistogram(context, { ...job, tile: 32 });
  expect([counted, raster.windows]).toEqual([BigUint64Array.of(10_000n), []]);
});

const part = fc.tuple(fc.nat(9), fc.nat(9), fc.nat(9), fc.nat(9));

test.prop([randomRaster, part, fc.nat(6)], { numRuns: caseCount(60) })(
  'a GeoTIFF returns the same cells by blocks as by rows',
  async (written, [left, top, across, down], skipped) => {
    const source = await openGeoTiff(await geoTiffBytes(written));
    const { blockColumns, blockRows, width, height } = source;
    const column = (left * blockColumns) % (Math.ceil(width / blockColumns) * blockColumns);
    const row = (top * blockRows) % (Math.ceil(height / blockRows) * blockRows);
    const columns = Math.min(width - column, (across + 1) * blockColumns);
    const rows = Math.min(height - row, (down + 1) * blockRows);
    const window = { column, row, columns, rows };
    const blocks = blocksOf(window, blockColumns, blockRows);
    const isWanted = (part: Window): boolean => (part.column / blockColumns + part.row / blockRows) % 7 !== skipped;
    const { cells, starts }: BlockCells = await source.readBlocks!(window, undefined, isWanted);
    expect(starts.length).toBe(blocks.length);
    for (const [at, block] of blocks.entries()) {
      if (!isWanted(block)) continue;
      for (let line = 0; line < blockRows && block.row + line < height; line++) {
        const shown = Math.min(blockColumns, width - block.column);
        const from = starts[at]! + line * blockColumns;
        const inRow = { column: block.column, row: block.row + line, columns: shown, rows: 1 };
        const bytes = cells.slice(from, from + shown);
        expect(Buffer.from(bytes.buffer)).toEqual(sliceBytes(written.bands[0]!, width, inRow));
      }
    }
    await source.close();
  },
);

test.prop([randomRaster, windowFractions], { numRuns: caseCount(60) })(
  'a GeoTIFF refuses to read by blocks what cuts a block',
  async (written, fractions) => {
    const source = await openGeoTiff(await geoTiffBytes(written));
    await expectWholeBlocksOnly(source, windowAt(fractions, source));
    await source.close();
  },
);
