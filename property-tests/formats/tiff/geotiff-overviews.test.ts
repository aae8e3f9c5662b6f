import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Window } from '../../../algorithms/geometry/raster.ts';
import { openAddressBytes } from '../../../formats/bytes/addresses/address-bytes.ts';
import {
  type GeoTiffOptions,
  type GeoTiffSource,
  openGeoTiff,
  openGeoTiffFrom,
} from '../../../formats/rasters/geotiff.ts';
import { writeTiff } from '../../../formats/rasters/geotiff-writer.ts';
import { openRaster } from '../../../formats/rasters/open-raster.ts';
import { type ByteRange, bytesInMemory } from '../../../formats/rasters/tiff/byte-source.ts';
import { caseCount, THOROUGH } from '../../cases.ts';
import { bytesOf, windowAt, windowFractions } from '../../fixtures/random-raster.ts';
import { fc, test } from '../../law-test.ts';
import { serveRanges } from '../../support/range-server.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-overviews-'));
});
afterAll(() => rm(folder, { recursive: true }));

const COG = fileURLToPath(new URL('../../fixtures/gdal/u8-cog-mask.tif', import.meta.url));
const allOf = ({ width, height }: GeoTiffSource): Window => ({ column: 0, row: 0, columns: width, rows: height });
const overviewNotes = ({ notes }: GeoTiffSource) =>
  notes.filter(({ code }) => code === 'raster/approximate' || code === 'raster/no-overview');

/** What is known of an image when all of it is read. */
async function readAll(raster: GeoTiffSource) {
  // Texts, of which a failed test prints one line.
  const cells = bytesOf(await raster.read(allOf(raster))).toString('base64');
  const mask = await raster.readMask?.(allOf(raster));
  const { width, height, originX, originY, stepX, stepY } = raster;
  return {
    cells,
    mask: mask && Buffer.from(mask.map((shown) => (shown === 0 ? 0 : 1))).toString('base64'),
    place: { width, height, originX, originY, stepX, stepY },
  };
}

async function readOnce(file: string, options: GeoTiffOptions) {
  const raster = await openGeoTiff(file, options);
  try {
    return { ...(await readAll(raster)), notes: overviewNotes(raster) };
  } finally {
    await raster.close();
  }
}

describe('the overview of a COG of GDAL', () => {
  it.each([
    [2, 150, 130, 2_215_628],
    [3.9, 150, 130, 2_215_628],
    [4, 75, 65, 557_090],
    [1000, 75, 65, 557_090],
  ])('with cells of at most %d is read, with its place and its mask', async (approximate, width, height, sum) => {
    const { cells, mask, place, notes } = await readOnce(COG, { approximate });
    expect(place).toEqual({ width, height, originX: 10, originY: 60, stepX: 150 / width, stepY: -65 / height });
    expect(Buffer.from(cells, 'base64').reduce((total, cell) => total + cell, 0)).toBe(sum);
    const shown = Buffer.from(mask!, 'base64').reduce((total, each) => total + each, 0);
    expect(1 - shown / (width * height)).toBeCloseTo((120 * 50) / (300 * 260), 1);
    expect(notes).toMatchObject([{ code: 'raster/approximate' }]);
    expect(notes[0]!.message).toContain(`An overview of ${width} × ${height} cells is read in place of the 300 × 260`);
    expect(notes[0]!.message).toContain(`each of ${300 / width} × ${260 / height}.`);
  });

  it.each([1, 1.99])('is not read if its cells are larger than %d, and a note says so', async (approximate) => {
    const { notes, ...read } = await readOnce(COG, { approximate });
    const { notes: none, ...itself } = await readOnce(COG, {});
    expect(read).toEqual(itself);
    expect(notes).toMatchObject([{ code: 'raster/no-overview' }]);
    expect(notes[0]!.message).toContain('(4 × 4, 2 × 2): the cells of the raster are read.');
    expect(none).toEqual([]);
  });

  it('behind an address is the same, of fewer bytes', async () => {
    const bytes = await readFile(COG);
    await using server = await serveRanges(bytes);
    const open = async (approximate?: number) => {
      const source = await openAddressBytes(`${server.origin}/a.tif`, { headBytes: 300 });
      const raster = await openGeoTiffFrom(source, { approximate });
      const read = await readAll(raster);
      await raster.close();
      const asked = server.requests.splice(0).map(({ range }) => /(\d+)-(\d+)/.exec(range!)!.slice(1).map(Number));
      return { read, bytes: asked.reduce((sum, [first, last]) => sum + last! - first! + 1, 0) };
    };
    const [whole, coarse] = [await open(), await open(4)];
    const { notes, ...expected } = await readOnce(COG, { approximate: 4 });
    expect(coarse.read).toEqual(expected);
    expect(coarse.bytes).toBeLessThan(whole.bytes / 2);
  });

  it('is that of a packed raster in a note only', async () => {
    const { encodePackedRaster } = await import('../../../formats/rasters/encode-packed-raster.ts');
    const file = join(folder, 'packed.qbp');
    await encodePackedRaster(COG, file);
    const raster = await openRaster(file, { approximate: 4 });
    expect([raster.width, overviewNotes(raster)[0]?.code]).toEqual([300, 'raster/no-overview']);
    await raster.close();
  });
});

const PYTHON = '/usr/bin/python3';
const hasGdal = existsSync(PYTHON) && spawnSync(PYTHON, ['-c', 'import osgeo.gdal, numpy']).status === 0;

describe.runIf(hasGdal)('overviews that GDAL makes', () => {
  const KINDS = ['cog', 'inside', 'beside'] as const;
  const MASKS = ['none', 'nodata', 'inside', 'beside'] as const;
  const SAMPLES = ['u8', 'i16', 'u16', 'f32', 'f64'];
  const specs = KINDS.flatMap((kind, a) =>
    MASKS.filter((masked) => kind !== 'cog' || masked !== 'beside').flatMap((masked, b) =>
      (THOROUGH ? [0, 1, 2, 3] : [0]).map((c) => ({
        ...{ kind, masked, seed: 100 * a + 10 * b + c },
        sample: SAMPLES[(a + 2 * b + c) % SAMPLES.length]!,
        // GDAL takes three bands for colours in the files of overviews, but not in those of cells that are no bytes.
        bands: [3, 1, 2][(b + c) % 3]!,
        width: 195 + 61 * ((a + b + c) % 5),
        height: 130 + 47 * ((2 * a + b + 3 * c) % 5),
        resampling: (a + b + c) % 2 === 0 ? 'AVERAGE' : 'NEAREST',
        compress: ['DEFLATE', 'LZW', 'ZSTD'][(b + c) % 3]!,
      })),
    ),
  );

  interface Found {
    readonly path: string;
    readonly overviews: readonly {
      readonly width: number;
      readonly height: number;
      readonly cells: string;
      readonly mask: string | null;
    }[];
  }

  it('are read as GDAL reads them, those that lack the mask of the raster not at all', async () => {
    const script = fileURLToPath(new URL('overviews-by-gdal.py', import.meta.url));
    const input = JSON.stringify(specs);
    const { stdout, stderr } = spawnSync(PYTHON, [script, folder], { input, maxBuffer: 2 ** 28, encoding: 'utf8' });
    expect(stdout, stderr).toMatch(/^\[/);
    const found = JSON.parse(stdout) as Found[];
    for (const [at, { path, overviews }] of found.entries()) {
      const { kind, masked, width: W, height: H } = specs[at]!;
      const name = JSON.stringify(specs[at]);
      // GDAL makes no overviews of masks beside the file, and none beside it of masks in it.
      const isLacking = masked === 'beside' || (masked === 'inside' && kind === 'beside');
      expect(overviews.length, name).toBeGreaterThan(0);
      for (const { width, height, cells, mask } of overviews) {
        const { notes, ...read } = await readOnce(path, { approximate: Math.ceil(Math.max(W / width, H / height)) });
        expect(notes[0]!.code, name).toBe(isLacking ? 'raster/no-overview' : 'raster/approximate');
        if (isLacking) expect(notes[0]!.message).toContain('lack the mask');
        const own = { width, height, originX: 10, originY: 60, stepX: (0.5 * W) / width, stepY: (-0.25 * H) / height };
        const itself = { width: W, height: H, originX: 10, originY: 60, stepX: 0.5, stepY: -0.25 };
        expect(read.place, name).toEqual(isLacking ? itself : own);
        if (isLacking) continue;
        expect(read.cells === cells, name).toBe(true);
        expect(read.mask === (mask ?? undefined), name).toBe(true);
      }
    }
  });
});

describe('a mask in a file', () => {
  const SIDE = 96;
  const TILE = 16;
  const isShown = (column: number, row: number): boolean => (column * 7 + row * 3) % 11 > 4;
  let bytes: Buffer;
  beforeAll(async () => {
    const file = join(folder, 'masked.tif');
    const raster = {
      ...{ width: SIDE, height: SIDE, bands: 1, originX: 0, originY: 0, stepX: 1, stepY: -1 },
      ...{ sample: 'u8' as const, compression: 'deflate' as const, crs: 'EPSG:3035' },
      tile: { columns: TILE, rows: TILE },
    };
    const maskOf = ({ column, row, columns, rows }: Window) =>
      Uint8Array.from({ length: columns * rows }, (_, at) =>
        isShown(column + (at % columns), row + Math.floor(at / columns)) ? 1 : 0,
      );
    const cellsOf = async (window: Window) => maskOf(window).map((shown, at) => shown + (at % 5));
    await writeTiff(file, raster, cellsOf, { mask: async (window) => maskOf(window) });
    bytes = await readFile(file);
  });

  const wanted = fc.array(fc.boolean(), { minLength: 36, maxLength: 36 });

  test.prop([windowFractions, wanted], { numRuns: caseCount(60) })(
    'is read block by block where it is wanted, and announced with the cells',
    async (fractions, flags) => {
      const window = windowAt(fractions, { width: SIDE, height: SIDE });
      const isWanted = ({ column, row }: Window): boolean =>
        flags[Math.floor(row / TILE) * 6 + Math.floor(column / TILE)]!;
      const announced: ByteRange[][] = [];
      const read: number[] = [];
      const memory = bytesInMemory(bytes);
      const raster = await openGeoTiffFrom(
        {
          ...memory,
          read(offset, length) {
            read.push(offset);
            return memory.read(offset, length);
          },
          announce(ranges) {
            announced.push([...ranges]);
            return true;
          },
          forget: () => undefined,
        },
        {},
      );
      read.length = 0;
      raster.prefetch!(window, isWanted);
      const mask = await raster.readMask!(window, undefined, isWanted);
      const blocks = new Set<number>();
      for (let at = 0; at < mask.length; at++) {
        const [column, row] = [window.column + (at % window.columns), window.row + Math.floor(at / window.columns)];
        const block = Math.floor(row / TILE) * 6 + Math.floor(column / TILE);
        // What is not wanted hides nothing.
        expect(mask[at] !== 0).toBe(!flags[block] || isShown(column, row));
        if (flags[block]) blocks.add(block);
      }
      expect(read).toHaveLength(blocks.size);
      const [together] = announced;
      expect(together).toHaveLength(2 * blocks.size);
      expect(together).toEqual(together!.toSorted((a, b) => a.start - b.start));
      for (const offset of read) expect(together!.some(({ start }) => start === offset)).toBe(true);
      await raster.close();
    },
  );
});
