import { describe, expect } from 'vitest';
import { openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { bytesInMemory } from '../../../formats/rasters/tiff/byte-source.ts';
import { readDirectory, TAG } from '../../../formats/rasters/tiff/directory.ts';
import { keepTags } from '../../../formats/rasters/tiff/kept-tags.ts';
import { caseCount } from '../../cases.ts';
import { craftedTiff, type Tags } from '../../fixtures/crafted-tiff.ts';
import { jpegOfBlocks, type RandomBlocks } from '../../fixtures/jpeg-blocks.ts';
import { encodeJpeg, type JpegOptions } from '../../fixtures/jpeg-encoder.ts';
import { fc, test } from '../../law-test.ts';
import { readOrRefuse } from './read-or-refuse.ts';

interface Picture extends JpegOptions {
  readonly seed: number;
  /** Rows and columns of padding, which a tile has. */
  readonly padding: number;
  /** Whether the tables stand in a tag. */
  readonly hasTables: boolean;
}

const picture: fc.Arbitrary<Picture> = fc.record({
  width: fc.integer({ min: 5, max: 40 }),
  height: fc.integer({ min: 5, max: 40 }),
  components: fc.constantFrom(1, 3),
  quality: fc.integer({ min: 20, max: 100 }),
  subsampling: fc.constantFrom('whole', 'halfWidth', 'half'),
  progressive: fc.boolean(),
  seed: fc.nat(1000),
  padding: fc.constantFrom(0, 0, 3),
  hasTables: fc.boolean(),
});

function samplesOf({ width, height, components, seed }: Picture): Uint8Array {
  return Uint8Array.from({ length: width * height * components }, (_, i) => {
    const [cell, band] = [Math.floor(i / components), i % components];
    const wave = Math.sin((cell % width) / (3 + band) + seed) * Math.cos(Math.floor(cell / width) / 5 + band);
    return 128 + 90 * wave + ((i * seed) % 13);
  });
}

/** The bytes of segments of a JPEG, up to its first scan, with their markers; and all bytes from the scan on. */
function segmentsOf(jpeg: Uint8Array): { segments: [marker: number, bytes: Uint8Array][]; scans: Uint8Array } {
  const segments: [number, Uint8Array][] = [];
  for (let at = 2; ; ) {
    const [marker, end] = [jpeg[at + 1]!, at + 2 + jpeg[at + 2]! * 256 + jpeg[at + 3]!];
    if (marker === 0xda) return { segments, scans: jpeg.subarray(at) };
    segments.push([marker, jpeg.subarray(at, end)]);
    at = end;
  }
}

const isTable = (marker: number): boolean => marker === 0xdb || marker === 0xc4;
const START = Uint8Array.of(0xff, 0xd8);

type TiffShape = Pick<Picture, 'width' | 'height' | 'padding' | 'hasTables'> & { readonly components: number };

/** A TIFF of one strip, or of one tile that is larger than the raster. */
function tiffOf(jpeg: Uint8Array, of: TiffShape, colours: 1 | 2 | 6): Buffer {
  const { width, height, components, padding, hasTables } = of;
  const { segments, scans } = segmentsOf(jpeg);
  const tables = segments.filter(([marker]) => isTable(marker)).map(([, bytes]) => bytes);
  const kept = segments.filter(([marker]) => !hasTables || !isTable(marker)).map(([, bytes]) => bytes);
  const strip = new Uint8Array(Buffer.concat([START, ...kept, scans]));
  const isTile: Tags = {
    tileOffsets: [8],
    tileByteCounts: [strip.length],
    tileWidth: [width],
    tileLength: [height],
    ...{ stripOffsets: undefined, stripByteCounts: undefined, rowsPerStrip: undefined },
  };
  const tags: Tags = {
    compression: [7],
    imageWidth: [width - padding],
    imageLength: [height - padding],
    rowsPerStrip: [height],
    samplesPerPixel: [components],
    bitsPerSample: Array<number>(components).fill(8),
    sampleFormat: Array<number>(components).fill(1),
    photometricInterpretation: [colours],
    ...(hasTables && { jpegTables: [...Buffer.concat([START, ...tables, Uint8Array.of(0xff, 0xd9)])] }),
    ...(padding > 0 && isTile),
  };
  return craftedTiff(tags, strip);
}

async function readBands(tiff: Uint8Array): Promise<Uint8Array[]> {
  const { bands, width, height } = await openGeoTiff(tiff);
  const read = async (_: unknown, index: number): Promise<Uint8Array> => {
    const source = await openGeoTiff(tiff, { band: index + 1 });
    return (await source.read({ column: 0, row: 0, columns: width, rows: height })) as Uint8Array;
  };
  return Promise.all(Array.from({ length: bands }, read));
}

let codec: Promise<{ readonly JPEGDecoder: new () => Decoder }> | undefined;

interface Decoder {
  getEncodedBuffer(length: number): Uint8Array;
  decode(): void;
  getDecodedBuffer(): Uint8ClampedArray;
  delete(): void;
}

/** What libjpeg-turbo decodes by itself, which converts luma and chroma of JFIF as libtiff does. */
async function decodedAlone(jpeg: Uint8Array): Promise<Uint8ClampedArray> {
  // @ts-expect-error: the package has no types.
  codec ??= import('@cornerstonejs/codec-libjpeg-turbo-8bit/wasmjs').then(({ default: open }) => open());
  const decoder = new (await codec!).JPEGDecoder();
  decoder.getEncodedBuffer(jpeg.length).set(jpeg);
  decoder.decode();
  const samples = decoder.getDecodedBuffer();
  decoder.delete();
  return samples;
}

const clamped = (value: number): number => Math.min(255, Math.max(0, value));

describe('JPEG', () => {
  test.prop([picture], { numRuns: caseCount(200) })('has the cells that libjpeg decodes', async (of) => {
    const jpeg = await encodeJpeg(samplesOf(of), of);
    const bands = await readBands(tiffOf(jpeg, of, of.components === 1 ? 1 : 6));
    const alone = await decodedAlone(jpeg);
    const { width, height, components, padding } = of;
    const inside = (_: number, i: number): boolean => {
      const cell = Math.floor(i / components);
      return cell % width < width - padding && cell < width * (height - padding);
    };
    const kept = alone.filter(inside);
    for (const [band, cells] of bands.entries()) {
      expect(cells).toEqual(Uint8Array.from(kept.filter((_, i) => i % components === band)));
    }
  });

  test.prop([picture], { numRuns: caseCount(50) })('of RGB has its samples as they are stored', async (of) => {
    const colour = { ...of, components: 3, subsampling: 'whole' } as const;
    const jpeg = await encodeJpeg(samplesOf(colour), colour);
    const [luma, blue, red] = await readBands(tiffOf(jpeg, colour, 2));
    const converted = await readBands(tiffOf(jpeg, colour, 6));
    for (const [cell, value] of luma!.entries()) {
      const [cb, cr] = [blue![cell]! - 128, red![cell]! - 128];
      const rgb = [value + 1.402 * cr, value - 0.344136 * cb - 0.714136 * cr, value + 1.772 * cb];
      for (const [band, wanted] of rgb.entries())
        expect(Math.abs(converted[band]![cell]! - clamped(wanted))).toBeLessThanOrEqual(1);
    }
  });

  const blocks: fc.Arbitrary<RandomBlocks & TiffShape> = fc.record({
    width: fc.integer({ min: 5, max: 40 }),
    height: fc.integer({ min: 5, max: 40 }),
    components: fc.constantFrom(2, 3, 4),
    interval: fc.constantFrom(0, 0, 1, 3),
    seed: fc.nat(),
    padding: fc.constantFrom(0, 0, 3),
    hasTables: fc.boolean(),
  });

  test.prop([blocks], { numRuns: caseCount(200) })(
    'of 2, 3 or 4 bands together has the cells of the bands by themselves',
    async (of) => {
      const { together, apart } = jpegOfBlocks(of);
      const bands = await readBands(tiffOf(together, of, 1));
      const { width, height, padding } = of;
      for (const [band, cells] of bands.entries()) {
        const alone = await decodedAlone(apart[band]!);
        const isInside = (_: number, cell: number): boolean =>
          cell % width < width - padding && cell < width * (height - padding);
        expect(cells).toEqual(Uint8Array.from(alone.filter(isInside)));
      }
    },
  );

  test.prop([blocks, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 })], {
    numRuns: caseCount(600),
  })('of bands together that is damaged is read or refused', async (of, changes) => {
    const tiff = tiffOf(jpegOfBlocks(of).together, of, 1);
    const end = tiff.readUInt32LE(4);
    for (const [at, byte] of changes) tiff[8 + (at % (end - 8))] = byte;
    await readOrRefuse(tiff);
  });

  test.prop([blocks, fc.nat()], { numRuns: caseCount(100) })(
    'of bands together that is cut off is refused, or only lacks its end',
    async (of, cut) => {
      const { together } = jpegOfBlocks(of);
      const { scans } = segmentsOf(together);
      const short = together.subarray(0, together.length - 1 - (cut % (scans.length - 16)));
      const whole = await readBands(tiffOf(together, of, 1));
      const cells = await readBands(tiffOf(short, of, 1)).catch((error: unknown) => error);
      if (cells instanceof Error) expect(cells).toMatchObject({ code: 'format/damaged-tiff' });
      else expect(cells).toEqual(whole);
    },
  );

  const four = { width: 16, height: 16, components: 4, interval: 0, seed: 3, padding: 0, hasTables: false };
  /** Changes bytes behind the first marker of a kind. */
  const changed = (jpeg: Uint8Array, marker: number, at: number, bytes: readonly number[]): Uint8Array => {
    const copy = Buffer.from(jpeg);
    copy.set(bytes, copy.indexOf(Buffer.of(0xff, marker)) + at);
    return new Uint8Array(copy);
  };

  test.each<[string, number, number, number[], string]>([
    ['progressive', 0xc0, 1, [0xc2], 'format/unsupported-compression'],
    ['of 12 bits', 0xc0, 4, [12], 'format/unsupported-compression'],
    [
      'of several blocks in a unit',
      0xc0,
      11,
      [0x22, 0, 2, 0x22, 1, 3, 0x22, 0, 4, 0x22],
      'format/unsupported-compression',
    ],
    ['of bands of different sizes', 0xc0, 11, [0x22], 'format/unsupported-compression'],
    ['with fewer bands in its scan', 0xda, 4, [3], 'format/unsupported-compression'],
    ['without its tables', 0xda, 6, [0x33], 'format/damaged-tiff'],
    ['with bands in another order', 0xda, 5, [2], 'format/damaged-tiff'],
  ])('of four bands together and %s is refused', async (_, marker, at, bytes, code) => {
    const jpeg = changed(jpegOfBlocks(four).together, marker, at, bytes);
    await expect(readBands(tiffOf(jpeg, four, 1))).rejects.toMatchObject({ code, remedy: expect.any(String) });
  });

  const plain: Picture = { width: 16, height: 16, components: 3, seed: 3, padding: 0, hasTables: false };
  const encoded = (options: Partial<Picture> = {}): Promise<Uint8Array> =>
    encodeJpeg(samplesOf({ ...plain, ...options }), { ...plain, ...options });

  test.prop([picture, fc.nat()], { numRuns: caseCount(100) })(
    'that is cut off is refused, or only lacks its end',
    async (of, cut) => {
      const jpeg = await encodeJpeg(samplesOf(of), of);
      const colours = of.components === 1 ? 1 : 6;
      const { scans } = segmentsOf(jpeg);
      const short = jpeg.subarray(0, jpeg.length - 1 - (cut % (scans.length - 4)));
      const tiff = tiffOf(short, of, colours);
      const whole = await readBands(tiffOf(jpeg, of, colours));
      const cells = await readBands(tiff).catch((error: unknown) => error);
      if (cells instanceof Error)
        expect(cells).toMatchObject({ code: 'format/damaged-tiff', remedy: expect.any(String) });
      else expect(cells).toEqual(whole);
    },
  );

  test('may have bytes behind its end, and other markers, which say nothing', async () => {
    const jpeg = await encoded();
    const adobe = Buffer.from([0xff, 0xee, 0, 14, ...Buffer.from('Adobe'), 0, 100, 0, 0, 0, 0, 0]);
    const more = new Uint8Array(Buffer.concat([jpeg.subarray(0, 2), adobe, jpeg.subarray(2), Buffer.from('more')]));
    expect(await readBands(tiffOf(more, plain, 6))).toEqual(await readBands(tiffOf(jpeg, plain, 6)));
  });

  /** Changes the segment with the size of the image, of which the fifth byte begins the height. */
  const resized = (jpeg: Uint8Array, height: number, width: number): Uint8Array => {
    const changed = Buffer.from(jpeg);
    const at = changed.indexOf(Buffer.of(0xff, 0xc0, 0));
    changed.writeUInt16BE(height, at + 5);
    changed.writeUInt16BE(width, at + 7);
    return new Uint8Array(changed);
  };

  test.each<[string, number, number]>([
    ['a head that declares 65,535 × 65,535 pixels', 65_535, 65_535],
    ['fewer rows', 15, 16],
    ['more columns', 16, 17],
    ['no rows', 0, 16],
  ])('with %s is refused before it takes memory', async (_, height, width) => {
    const tiff = tiffOf(resized(await encoded(), height, width), plain, 6);
    const before = process.memoryUsage().rss;
    await expect(readBands(tiff)).rejects.toMatchObject({ code: 'format/damaged-tiff', place: { block: 0 } });
    expect(process.memoryUsage().rss - before).toBeLessThan(2 ** 26);
  });

  test.each<[string, Partial<Picture>, 2 | 6, string]>([
    ['more columns than the block', { width: 24 }, 6, 'format/damaged-tiff'],
    ['more rows than the block', { height: 24 }, 6, 'format/damaged-tiff'],
    ['fewer rows than the block', { height: 8 }, 6, 'format/damaged-tiff'],
    ['chroma of half the size as RGB', { subsampling: 'half' }, 2, 'format/unsupported-compression'],
    ['one band for three', { components: 1 }, 2, 'format/damaged-tiff'],
  ])('with %s is refused', async (_, options, colours, code) => {
    const jpeg = await encoded(options);
    await expect(readBands(tiffOf(jpeg, plain, colours))).rejects.toMatchObject({ code, remedy: expect.any(String) });
  });

  test('of very many scans is refused, however few bytes they have', async () => {
    const jpeg = await encoded({ progressive: true });
    const { scans } = segmentsOf(jpeg);
    const last = Buffer.from(scans.subarray(Buffer.from(scans).lastIndexOf(Buffer.of(0xff, 0xda)), -2));
    const many = new Uint8Array(
      Buffer.concat([jpeg.subarray(0, -2), ...Array<Buffer>(200).fill(last), jpeg.subarray(-2)]),
    );
    await expect(readBands(tiffOf(many, plain, 6))).rejects.toMatchObject({
      code: 'format/unsupported-compression',
      message: expect.stringContaining('scans'),
    });
  });

  test('of luma and chroma is red, green and blue for whoever writes its cells again', async () => {
    const directory = await readDirectory(bytesInMemory(tiffOf(await encoded(), plain, 6)));
    expect((await keepTags(directory, {}, true))[TAG.photometricInterpretation]).toEqual([2]);
  });

  test('has a note if a nodata value is set, which its losses may change', async () => {
    const jpeg = await encoded();
    const codesOf = async (nodata?: number): Promise<string[]> =>
      (await openGeoTiff(tiffOf(jpeg, plain, 6), { nodata })).notes.map(({ code }) => code);
    expect([await codesOf(0), await codesOf()]).toEqual([['raster/lossy-nodata'], []]);
  });

  const change = fc.tuple(fc.nat(), fc.nat(255));
  test.prop([picture, fc.array(change, { minLength: 1, maxLength: 4 })], { numRuns: caseCount(600) })(
    'that is damaged is read or refused',
    async (of, changes) => {
      const jpeg = await encodeJpeg(samplesOf(of), of);
      const tiff = tiffOf(jpeg, of, of.components === 1 ? 1 : 6);
      const end = tiff.readUInt32LE(4);
      for (const [at, byte] of changes) tiff[8 + (at % (end - 8))] = byte;
      await readOrRefuse(tiff);
    },
  );
});
