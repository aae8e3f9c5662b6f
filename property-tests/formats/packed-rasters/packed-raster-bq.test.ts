import { describe, expect } from 'vitest';
import type { NarrowSample } from '../../../algorithms/geometry/raster.ts';
import { encodePackedRaster } from '../../../formats/rasters/encode-packed-raster.ts';
import { bqDecoder } from '../../../formats/rasters/packed/bq-decoder.ts';
import { bqDeviceDecoder } from '../../../formats/rasters/packed/bq-device-decoder.ts';
import { bqEncoder } from '../../../formats/rasters/packed/bq-encoder.ts';
import { squaresOf } from '../../../formats/rasters/packed/bq-squares.ts';
import { CODEC } from '../../../formats/rasters/packed/directory.ts';
import { openPackedFile } from '../../../formats/rasters/packed/reader.ts';
import { openPackedRaster } from '../../../formats/rasters/packed-raster.ts';
import { bytesInMemory } from '../../../formats/rasters/tiff/byte-source.ts';
import { wordsOver } from '../../../formats/rasters/tiff/samples.ts';
import { onEveryBackend } from '../../backends.ts';
import { caseCount, scaledCount } from '../../cases.ts';
import { bitsOf, packedBytes, randomPacked } from '../../fixtures/random-packed.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';

const SAMPLES: Record<8 | 16 | 32, NarrowSample> = { 8: 'u8', 16: 'u16', 32: 'u32' };
const someBits = fc.constantFrom<8 | 16 | 32>(8, 16, 32);

/** A tile of a few values in patches. */
const someTile = fc
  .record({
    bits: someBits,
    columns: fc.constantFrom(4, 8, 12, 32),
    rows: fc.constantFrom(1, 8, 16, 33),
    values: fc.array(fc.integer({ min: 0, max: 2 ** 32 - 1 }), { minLength: 1, maxLength: 4 }),
    patch: fc.constantFrom(1, 3, 8),
  })
  .map(({ bits, columns, rows, values, patch }) => {
    const cells = Array.from({ length: columns * rows }, (_, i) => {
      const place = Math.floor((i % columns) / patch) + 5 * Math.floor(i / columns / patch);
      return values[(place ^ (place >> 2)) % values.length]!;
    });
    const bytes = { 8: Uint8Array, 16: Uint16Array, 32: Uint32Array }[bits].from(cells);
    return { bits, columns, rows, cells: wordsOver(new Uint8Array(bytes.buffer), (bits / 8) as 1 | 2 | 4) };
  });

describe('a packed raster of BQ-trees', () => {
  const reference = openReference();

  test.prop([randomPacked, fc.constantFrom('bq' as const, 'auto' as const)], { numRuns: caseCount(200) })(
    'holds the cells of every band, bit for bit, in no more bytes than with residuals if the codec is auto',
    async (raster, codec) => {
      const bytes = await packedBytes(raster, 2 ** 20, { codec, context: reference });
      for (const [at, cells] of raster.bands.entries()) {
        for (const context of [undefined, reference]) {
          const source = await openPackedRaster(bytes, { band: at + 1, context });
          const { width, height } = source;
          expect(bitsOf(await source.read({ column: 0, row: 0, columns: width, rows: height }))).toEqual(bitsOf(cells));
        }
        const { codec: used } = await (await openPackedFile(bytesInMemory(bytes))).entries(at + 1);
        if (codec === 'bq') expect(used.includes(CODEC.residuals)).toBe(false);
      }
      if (codec === 'auto') expect(bytes.length).toBeLessThanOrEqual((await packedBytes(raster)).length);
    },
  );

  test('takes BQ-trees for classes and residuals for slopes with auto, tile by tile', async () => {
    const layout = { width: 128, height: 64, bands: 1, sample: 'u16', tileColumns: 64, tileRows: 64 } as const;
    const cells = Uint16Array.from({ length: 128 * 64 }, (_, i) => {
      const [x, y] = [i % 128, Math.floor(i / 128)];
      return x < 64 ? (((x >> 3) * 7 + (y >> 3) * 5) % 6) * 40 : 3 * x + 5 * y;
    });
    const raster = { layout, bands: [cells], nodata: undefined, mask: undefined };
    const bytes = await packedBytes(raster, 2 ** 20, { codec: 'auto', context: reference });
    const { codec } = await (await openPackedFile(bytesInMemory(bytes))).entries(1);
    expect([...codec]).toEqual([CODEC.bqTree, CODEC.residuals]);
  });

  onEveryBackend((opened, { runs }) => {
    test.prop([someTile], { numRuns: scaledCount(runs, 2, 1) })(
      'has tiles that are the same bytes on every backend, and decode to their cells',
      async ({ bits, columns, rows, cells }) => {
        const coding = { sample: SAMPLES[bits], tileColumns: columns, tileRows: rows, nodataBits: undefined };
        const tile = { words: cells, start: 0, stride: columns, columns, rows, mask: undefined };
        const [payload] = await bqEncoder(opened().context, coding)([tile]);
        expect(payload).toEqual((await bqEncoder(reference, coding)([tile]))[0]);
        const plane = new Int32Array(columns * rows);
        expect(bqDecoder(coding.sample, columns, rows)(payload!, plane)).toBe(undefined);
        expect(Uint32Array.from(plane)).toEqual(Uint32Array.from(cells));
        const [onDevice] = await bqDeviceDecoder(opened().context, coding).decode([payload!]);
        expect(onDevice).toEqual(plane);
      },
    );
  });

  test.prop(
    [
      someBits,
      fc.constantFrom(4, 8, 32),
      fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
      fc.array(fc.tuple(fc.nat(), fc.nat({ max: 31 })), { maxLength: 3 }),
    ],
    { numRuns: caseCount(400) },
  )('is decoded on the host as by primitives, and both refuse the same trees', async (...given) => {
    const [bits, side, values, flips] = given;
    const [sample, size] = [SAMPLES[bits], side ** 2];
    const cells = Uint32Array.from({ length: size }, (_, i) => values[(i >> 2) % values.length]! >>> (i % 3));
    const words = wordsOver(
      new Uint8Array({ 8: Uint8Array, 16: Uint16Array, 32: Uint32Array }[bits].from(cells).buffer),
      (bits / 8) as 1 | 2 | 4,
    );
    const coding = { sample, tileColumns: side, tileRows: side, nodataBits: undefined };
    expect(squaresOf(side, side).count).toBe(1);
    const tile = { words, start: 0, stride: side, columns: side, rows: side, mask: undefined };
    const [payload] = await bqEncoder(reference, coding)([tile]);
    const tree = new Uint32Array(payload!.buffer);
    for (const [word, bit] of flips) tree[word % tree.length]! ^= 1 << bit;
    const plane = new Int32Array(size);
    const fault = bqDecoder(sample, side, side)(payload!, plane);
    const [onDevice] = await bqDeviceDecoder(reference, coding).decode([payload!]);
    expect(onDevice).toEqual(fault ?? plane);
  });

  test('needs a context to be encoded', async () => {
    const call = encodePackedRaster('a.tif', 'a.qbp', { codec: 'bq' });
    await expect(call).rejects.toThrow(expect.objectContaining({ code: 'argument/context' }));
  });
});
