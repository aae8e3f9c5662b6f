import { deflateSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { unpackLzw } from '../../../formats/rasters/tiff/lzw.ts';
import { unpackPackBits } from '../../../formats/rasters/tiff/packbits.ts';
import { caseCount } from '../../cases.ts';
import { craftedTiff } from '../../fixtures/crafted-tiff.ts';
import { packLzw } from '../../fixtures/lzw-encoder.ts';
import { bytesOf, randomCells } from '../../fixtures/random-raster.ts';
import { zstdFrame } from '../../fixtures/zstd-frame.ts';
import { fc, test } from '../../law-test.ts';

const bytes = fc
  .tuple(fc.integer({ min: 0, max: 20000 }), fc.integer(), fc.constantFrom(1, 2, 5, 256))
  .map(([count, seed, levels]) => new Uint8Array(bytesOf(randomCells('u8', count, seed, levels))));

describe('LZW', () => {
  test.prop([bytes])('unpacks what packLzw packed', (plain) => {
    expect(unpackLzw(packLzw(plain), plain.length)).toEqual(plain);
  });

  test.prop([bytes], { numRuns: caseCount(30) })('adds no more entries when the table is full', (plain) => {
    expect(unpackLzw(packLzw(plain, Number.POSITIVE_INFINITY), plain.length)).toEqual(plain);
  });

  test.prop([bytes, fc.double({ min: 0, max: 1, noNaN: true })])(
    'unpacks the start of truncated data, and a requested part',
    (plain, fraction) => {
      const packed = packLzw(plain);
      const part = unpackLzw(packed.subarray(0, Math.floor(fraction * packed.length)), plain.length)!;
      expect(part).toEqual(plain.subarray(0, part.length));
      const wanted = Math.floor(fraction * plain.length);
      expect(unpackLzw(packed, wanted)).toEqual(plain.subarray(0, wanted));
    },
  );

  test.prop([bytes.filter(({ length }) => length > 0)])('unpacks the variant with the low bit first', (plain) => {
    expect(unpackLzw(packLzw(plain, 4094, true), plain.length)).toEqual(plain);
  });

  test.prop([fc.uint8Array({ maxLength: 300 }), fc.nat(5000)])(
    'accepts or refuses any bytes without a crash',
    (packed, size) => {
      expect(unpackLzw(packed, size)?.length ?? 0).toBeLessThanOrEqual(size);
    },
  );

  test('refuses a code without an entry', () => {
    expect(unpackLzw(Uint8Array.of(0x80, 0x7f, 0xff), 10)).toBeUndefined();
  });
});

describe('PackBits', () => {
  test('unpacks the example of Apple Technical Note 1023', () => {
    const packed = Buffer.from('fe aa 02 80 00 2a fd aa 03 80 00 2a 22 f7 aa'.replaceAll(' ', ''), 'hex');
    const plain = 'aa aa aa 80 00 2a aa aa aa aa 80 00 2a 22 aa aa aa aa aa aa aa aa aa aa';
    expect(Buffer.from(unpackPackBits(packed, 24)).toString('hex')).toBe(plain.replaceAll(' ', ''));
  });

  test.prop([fc.uint8Array({ maxLength: 300 }), fc.nat(5000)])(
    'accepts or refuses any bytes without a crash',
    (packed, size) => {
      expect(unpackPackBits(packed, size).length).toBeLessThanOrEqual(size);
    },
  );
});

/** What follows packed data, or what was packed beyond the cells, is ignored, as GDAL 3.6.2 ignores it. */
describe('a block with more than its cells', () => {
  const plain = Uint8Array.from({ length: 12 }, (_, i) => i);
  const longer = (count: number): Uint8Array => new Uint8Array(Buffer.concat([plain, Buffer.alloc(count, 9)]));
  test.prop(
    [
      fc.constantFrom<[number, (bytes: Uint8Array) => Uint8Array]>(
        [5, (bytes) => packLzw(bytes)],
        [8, (bytes) => deflateSync(bytes)],
        [50000, (bytes) => zstdFrame([bytes])],
      ),
      fc.integer({ min: 0, max: 9000 }),
      fc.uint8Array({ maxLength: 20 }),
    ],
    { numRuns: caseCount(50) },
  )('is read', async ([compression, pack], more, trailing) => {
    const packed = new Uint8Array(Buffer.concat([pack(longer(more)), trailing]));
    const source = await openGeoTiff(craftedTiff({ compression: [compression] }, packed));
    expect([...(await source.read({ column: 0, row: 0, columns: 4, rows: 3 }))]).toEqual([...plain]);
  });
});

describe('Zstandard', () => {
  const tags = { compression: [50000] };
  const pieces = fc
    .array(
      fc.oneof(
        fc.uint8Array({ minLength: 1, maxLength: 9 }),
        fc.record({ byte: fc.nat(255), times: fc.integer({ min: 1, max: 9 }) }),
      ),
      { minLength: 1, maxLength: 8 },
    )
    .map((blocks) => ({
      packed: zstdFrame(blocks),
      plain: blocks.flatMap((one) => (one instanceof Uint8Array ? [...one] : Array(one.times).fill(one.byte))),
    }));
  const whole = { column: 0, row: 0, columns: 4, rows: 3 };

  test.prop([pieces])('blocks have the cells that were packed, or are refused', async ({ packed, plain }) => {
    const source = await openGeoTiff(craftedTiff(tags, packed));
    if (plain.length >= 12) expect([...(await source.read(whole))]).toEqual(plain.slice(0, 12));
    else await expect(source.read(whole)).rejects.toMatchObject({ code: 'format/damaged-tiff', place: { block: 0 } });
  });

  test.prop([fc.nat(30), fc.nat(255)])('damaged blocks are read or refused', async (at, byte) => {
    const packed = zstdFrame([Uint8Array.of(1, 2, 3), { byte: 7, times: 9 }]);
    packed[at % packed.length] = byte;
    const source = await openGeoTiff(craftedTiff(tags, packed));
    const cells = await source.read(whole).catch((error: { code: string }) => error.code);
    if (typeof cells === 'string') expect(cells).toBe('format/damaged-tiff');
    else expect(cells.length).toBe(12);
  });

  test('a block that claims 2^29 bytes is refused before it takes memory', async () => {
    const tall = { ...tags, imageWidth: [2 ** 15], imageLength: [2 ** 14], rowsPerStrip: [2 ** 14] };
    const packed = new Uint8Array(2 ** 15);
    const source = await openGeoTiff(craftedTiff(tall, packed));
    await expect(source.read({ column: 0, row: 0, columns: 1, rows: 1 })).rejects.toMatchObject({
      code: 'format/damaged-tiff',
    });
  });
});

describe('a raster packed by', () => {
  const plain = Uint8Array.from({ length: 12 }, (_, i) => i);
  const runs = Uint8Array.of(11, ...plain);
  test.each([
    ['LZW', 5, packLzw(plain)],
    ['LZW before TIFF 6.0', 5, packLzw(plain, 4094, true)],
    ['PackBits', 32773, runs],
    ['Zstandard', 50000, zstdFrame([plain])],
  ])('%s is read', async (_, compression, packed) => {
    const source = await openGeoTiff(craftedTiff({ compression: [compression] }, packed));
    expect([...(await source.read({ column: 1, row: 1, columns: 2, rows: 2 }))]).toEqual([5, 6, 9, 10]);
  });
});
