import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { writeGeoTiff } from '../../../formats/rasters/geotiff-writer.ts';
import type { FormatError } from '../../../primitives/checks/errors.ts';
import { type CraftedImage, craftedTiff, craftedTiffs, type Tags } from '../../fixtures/crafted-tiff.ts';
import { fc, test } from '../../law-test.ts';

const CELLS = Uint8Array.from({ length: 12 }, (_, i) => i);
const WHOLE = { column: 0, row: 0, columns: 4, rows: 3 };

/** A mask of three rows of four cells, with one bit per cell. */
const BITS = Uint8Array.of(0b1010_0000, 0b0111_0000, 0b1111_0000);
const SHOWN = [1, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1];

const maskImage = (tags: Tags = {}, strip: Uint8Array = BITS): CraftedImage => ({
  tags: {
    newSubfileType: [4],
    imageWidth: [4],
    imageLength: [3],
    bitsPerSample: [1],
    photometricInterpretation: [4],
    rowsPerStrip: [3],
    ...tags,
  },
  strip,
});

async function maskOf(file: string | Uint8Array, band = 1) {
  const raster = await openGeoTiff(file, { band });
  try {
    const mask = await raster.readMask?.(WHOLE);
    // In the result, every value except 0 means that the cell has data.
    return {
      mask: mask && Array.from(mask, (value) => (value === 0 ? 0 : 1)),
      notes: raster.notes.map(({ code }) => code),
    };
  } finally {
    await raster.close();
  }
}

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-masks-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe('a mask in the file', () => {
  test.each<[string, CraftedImage]>([
    ['of one bit per cell', maskImage()],
    ['of one bit per cell, deflated', maskImage({ compression: [8] }, deflateSync(BITS))],
    [
      'of one byte per cell',
      maskImage(
        { bitsPerSample: [8] },
        Uint8Array.from(SHOWN, (bit) => 255 * bit),
      ),
    ],
    ['in strips of another height', maskImage({ rowsPerStrip: [3], planarConfiguration: [1] })],
  ])('%s is read', async (_, image) => {
    expect(await maskOf(craftedTiffs({}, CELLS, [image]))).toEqual({ mask: SHOWN, notes: ['raster/mask'] });
  });

  test('after overviews is found, and masks of overviews are ignored', async () => {
    const overview = maskImage(
      { newSubfileType: [1], imageWidth: [2], imageLength: [2], bitsPerSample: [8] },
      CELLS.slice(0, 4),
    );
    const ofOverview = maskImage({ newSubfileType: [5] }, Uint8Array.of(0, 0, 0));
    expect(await maskOf(craftedTiffs({}, CELLS, [overview, ofOverview]))).toEqual({ mask: undefined, notes: [] });
    expect((await maskOf(craftedTiffs({}, CELLS, [ofOverview, overview, maskImage()]))).mask).toEqual(SHOWN);
  });

  test('of another size is noted and not applied', async () => {
    const small = maskImage({ imageWidth: [2], imageLength: [3] });
    expect(await maskOf(craftedTiffs({}, CELLS, [small]))).toEqual({ mask: undefined, notes: ['raster/mask-size'] });
  });

  test('with an unknown compression is an error, and is not ignored', async () => {
    const error = await maskOf(craftedTiffs({}, CELLS, [maskImage({ compression: [4] })])).catch((e: FormatError) => e);
    expect(error).toMatchObject({ code: 'format/unsupported-compression' });
  });

  test('is not searched when the chain of directories is broken or circular, with a note', async () => {
    const file = craftedTiffs({}, CELLS, [maskImage()]);
    const first = file.readUInt32LE(4);
    const link = first + 2 + 12 * file.readUInt16LE(first);
    const beyond = Buffer.from(file);
    beyond.writeUInt32LE(file.length + 1000, link);
    expect((await maskOf(beyond)).notes).toEqual(['raster/directories-unreadable']);
    const ring = craftedTiff();
    ring.writeUInt32LE(first, first + 2 + 12 * ring.readUInt16LE(first));
    expect((await maskOf(ring)).notes).toEqual(['raster/directories-unreadable']);
  });

  test.prop([
    fc.integer({ min: 1, max: 40 }),
    fc.integer({ min: 1, max: 5 }),
    fc.infiniteStream(fc.boolean()),
    fc.nat(),
    fc.nat(),
  ])('of one bit per cell is read in any window', async (width, height, stream, a, b) => {
    const bits = Array.from({ length: width * height }, () => (stream.next().value ? 1 : 0));
    const pitch = Math.ceil(width / 8);
    const strip = new Uint8Array(pitch * height);
    bits.forEach((bit, i) => {
      strip[Math.floor(i / width) * pitch + ((i % width) >> 3)]! |= bit << (7 - ((i % width) & 7));
    });
    const size = { imageWidth: [width], imageLength: [height], rowsPerStrip: [height] };
    const file = craftedTiffs(size, new Uint8Array(width * height), [maskImage(size, strip)]);
    const raster = await openGeoTiff(file);
    const [column, row] = [a % width, b % height];
    const window = { column, row, columns: 1 + ((a >> 8) % (width - column)), rows: height - row };
    const expected = bits.filter(
      (_, i) => i % width >= column && i % width < column + window.columns && Math.floor(i / width) >= row,
    );
    expect([...(await raster.readMask!(window))]).toEqual(expected);
  });
});

describe('a mask beside the file', () => {
  const place = { originX: 0, originY: 3, stepX: 1, stepY: -1, crs: 'EPSG:4326' };
  const write = (
    name: string,
    bands: number,
    cellOf: (cell: number, band: number) => number,
    size = { width: 4, height: 3 },
  ) =>
    writeGeoTiff(join(folder, name), { ...size, ...place, sample: 'u8', bands }, ({ row, rows }, band) =>
      Uint8Array.from({ length: size.width * rows }, (_, i) => cellOf(row * size.width + i, band)),
    );

  test('is applied to all bands', async () => {
    await write('a.tif', 2, (cell) => cell);
    await write('a.tif.msk', 1, (cell) => 255 * SHOWN[cell]!);
    for (const band of [1, 2]) {
      const { mask, notes } = await maskOf(join(folder, 'a.tif'), band);
      expect([mask, notes]).toEqual([SHOWN, ['raster/mask']]);
    }
  });

  test('with several bands has one mask for each band', async () => {
    await write('a.tif', 2, (cell) => cell);
    await write('a.tif.msk', 2, (cell, band) => (band === 1 ? SHOWN[cell]! : 1 - SHOWN[cell]!));
    expect((await maskOf(join(folder, 'a.tif'), 1)).mask).toEqual(SHOWN);
    expect((await maskOf(join(folder, 'a.tif'), 2)).mask).toEqual(SHOWN.map((bit) => 1 - bit));
  });

  test('of another size is noted; one that is not a TIFF is an error', async () => {
    await write('a.tif', 1, (cell) => cell);
    await write('a.tif.msk', 1, () => 0, { width: 2, height: 3 });
    expect(await maskOf(join(folder, 'a.tif'))).toEqual({ mask: undefined, notes: ['raster/mask-size'] });
    await writeFile(join(folder, 'a.tif.msk'), 'mask');
    await expect(maskOf(join(folder, 'a.tif'))).rejects.toMatchObject({ code: 'format/not-tiff' });
  });

  test('and one in the file both hide cells', async () => {
    await writeFile(join(folder, 'a.tif'), craftedTiffs({}, CELLS, [maskImage()]));
    await write('a.tif.msk', 1, (cell) => (cell === 11 ? 0 : 1));
    const { mask, notes } = await maskOf(join(folder, 'a.tif'));
    expect(mask).toEqual([...SHOWN.slice(0, 11), 0]);
    expect(notes).toEqual(['raster/mask', 'raster/mask']);
  });
});

describe('an alpha band', () => {
  const cells = Uint8Array.from({ length: 24 }, (_, i) => (i % 2 === 0 ? i / 2 : 200 * SHOWN[(i - 1) / 2]!));
  const tags: Tags = { samplesPerPixel: [2], bitsPerSample: [8, 8], sampleFormat: [1, 1] };

  test.each([1, 2])('hides cells, of kind %d', async (kind) => {
    const file = craftedTiff({ ...tags, extraSamples: [kind] }, cells);
    const { mask, notes } = await maskOf(file);
    expect([mask, notes]).toEqual([SHOWN, ['raster/mask']]);
    expect(await maskOf(file, 2)).toEqual({ mask: undefined, notes: [] });
  });

  test('needs the tag that declares alpha', async () => {
    expect(await maskOf(craftedTiff({ ...tags, extraSamples: [0] }, cells))).toEqual({ mask: undefined, notes: [] });
  });
});

describe('scale and offset', () => {
  const metadata = (items: string): string => `<GDALMetadata>\n${items}\n</GDALMetadata>`;
  const open = async (text: string, raw = false) => {
    const { scaling, notes } = await openGeoTiff(craftedTiff({ gdalMetadata: text }), { raw });
    return [scaling, notes.map(({ code }) => code)];
  };
  const item = (role: string, value: string, sample = 0): string =>
    `  <Item name="${role.toUpperCase()}" sample="${sample}" role="${role}">${value}</Item>`;

  test.each<[string, string, { scale: number; offset: number } | undefined, string[]]>([
    ['both', item('scale', '0.1') + item('offset', '-40'), { scale: 0.1, offset: -40 }, ['raster/scaled']],
    ['a scale alone', item('scale', '2'), { scale: 2, offset: 0 }, ['raster/scaled']],
    ['an offset alone', item('offset', '1e3'), { scale: 1, offset: 1000 }, ['raster/scaled']],
    [
      'attributes in another order',
      `<Item role='scale' sample='0' name='SCALE'>5</Item>`,
      { scale: 5, offset: 0 },
      ['raster/scaled'],
    ],
    ['items of another band', item('scale', '2', 1), undefined, []],
    ['items without a role', '<Item name="SCALE" sample="0">2</Item>', undefined, []],
    ['items that change nothing', item('scale', '1') + item('offset', '0'), undefined, []],
    ['a scale that is not a number', item('scale', 'two'), undefined, ['raster/scaling-unusable']],
    ['an offset that is not finite', item('offset', 'nan'), undefined, ['raster/scaling-unusable']],
    ['a scale of 0', item('scale', '0'), undefined, ['raster/scaling-unusable']],
  ])('from %s', async (_, items, scaling, notes) => {
    expect(await open(metadata(items))).toEqual([scaling, notes]);
  });

  test('are not applied when stored values are requested', async () => {
    expect(await open(metadata(item('scale', '0.1')), true)).toEqual([undefined, ['raster/scaling-left-out']]);
  });

  test('are found after much other metadata', async () => {
    const others = Array.from({ length: 500 }, (_, i) => `<Item name="n${i}">${'x'.repeat(20)}</Item>`).join('\n');
    expect((await open(metadata(others + item('scale', '3'))))[0]).toEqual({ scale: 3, offset: 0 });
  });
});
