import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { crc32c } from '../../../formats/rasters/packed/crc32c.ts';
import { CODEC, ENTRY_BYTES, FOOTER_BYTES, MASK } from '../../../formats/rasters/packed/directory.ts';
import { openPackedRaster } from '../../../formats/rasters/packed-raster.ts';
import { QuadrilleError } from '../../../primitives/checks/errors.ts';
import type { Context } from '../../../primitives/context/context.ts';
import { scaledCount } from '../../cases.ts';
import { bitsOf, packedBytes, type RandomPacked, randomPacked } from '../../fixtures/random-packed.ts';
import { fc, test } from '../../law-test.ts';
import { openReference } from '../../support/reference-context.ts';

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);

/** Where the parts of a packed raster are, as its footer says. */
function partsOf(bytes: Uint8Array) {
  const view = viewOf(bytes);
  const footer = bytes.length - FOOTER_BYTES;
  return { metadata: view.getUint32(footer, true), directory: view.getUint32(footer + 16, true), footer };
}

/** Computes all checksums again, of whatever the bytes claim to be. */
function sealed(bytes: Uint8Array): Uint8Array {
  const view = viewOf(bytes);
  const { metadata, directory, footer } = partsOf(bytes);
  view.setUint32(60, crc32c(bytes.subarray(0, 60)), true);
  for (let at = directory; at + ENTRY_BYTES <= footer; at += ENTRY_BYTES) {
    const [offset, size] = [view.getUint32(at, true), view.getUint32(at + 8, true)];
    view.setUint32(at + 12, crc32c(bytes.subarray(offset, offset + size)), true);
  }
  const length = view.getUint32(footer + 8, true);
  view.setUint32(footer + 12, crc32c(bytes.subarray(metadata, metadata + length)), true);
  view.setUint32(footer + 24, crc32c(bytes.subarray(directory, footer)), true);
  view.setUint32(footer + 40, crc32c(bytes.subarray(footer, footer + 40)), true);
  return bytes;
}

/** The bits of all cells of the first band. Any other outcome than cells or an error of the library fails the test. */
async function readOrRefuse(bytes: Uint8Array, context?: Context): Promise<readonly number[] | 'refused'> {
  try {
    const source = await openPackedRaster(bytes, { context });
    const [columns, rows] = [Math.min(source.width, 200), Math.min(source.height, 200)];
    const cells = await source.read({ column: 0, row: 0, columns, rows });
    await source.readMask?.({ column: 0, row: 0, columns, rows });
    expect(cells).toHaveLength(columns * rows);
    return bitsOf(cells);
  } catch (error) {
    expect(error).toBeInstanceOf(QuadrilleError);
    expect(error).toMatchObject({ code: expect.stringMatching(/^(format|usage)\//), remedy: expect.any(String) });
    return 'refused';
  }
}

const share = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
const changes = fc.array(fc.tuple(share, fc.integer({ min: 1, max: 255 })), { minLength: 1, maxLength: 5 });

function change(
  bytes: Uint8Array,
  [from, end]: readonly [number, number],
  made: readonly (readonly [number, number])[],
) {
  for (const [place, value] of made) {
    const at = from + Math.floor(place * (end - from));
    bytes[at] = bytes[at]! ^ value;
  }
}

describe('a damaged packed raster', () => {
  test.prop([randomPacked, changes], { numRuns: scaledCount(1, 20_000, 100) })(
    'has the right cells or is refused',
    async (raster, made) => {
      const bytes = await packedBytes(raster);
      change(bytes, [0, bytes.length], made);
      const cells = await readOrRefuse(bytes);
      if (cells !== 'refused') expect(cells).toEqual(bitsOf(raster.bands[0]!));
    },
  );

  const mutations = { numRuns: scaledCount(1, 16_000, 50) };
  for (const part of ['header', 'tiles', 'metadata', 'directory', 'footer'] as const) {
    test.prop([randomPacked, changes], mutations)(
      `whose ${part} and checksums were changed is read or refused`,
      async (raster, made) => {
        const bytes = await packedBytes(raster);
        const { metadata, directory, footer } = partsOf(bytes);
        const places: Readonly<Record<typeof part, readonly [number, number]>> = {
          ...{ header: [8, 60], tiles: [64, metadata], metadata: [metadata, directory] },
          ...{ directory: [directory, footer], footer: [footer, footer + 40] },
        };
        change(bytes, places[part], made);
        await readOrRefuse(sealed(bytes));
      },
    );
  }

  const reference = openReference();

  test.prop([randomPacked, changes, fc.boolean()], { numRuns: scaledCount(1, 2000, 8) })(
    'of BQ-trees is read or refused alike on the host and by primitives, whatever was changed with its checksums',
    async (raster, made, inTiles) => {
      const bytes = await packedBytes(raster, 2 ** 20, { codec: 'bq', context: reference });
      const { metadata, directory, footer } = partsOf(bytes);
      change(bytes, inTiles ? [64, metadata] : [directory, footer], made);
      sealed(bytes);
      expect(await readOrRefuse(bytes, reference)).toEqual(await readOrRefuse(bytes));
    },
  );

  test.prop([randomPacked, share])('whose end is missing is refused', async (raster, fraction) => {
    const bytes = await packedBytes(raster);
    expect(await readOrRefuse(bytes.subarray(0, Math.floor(fraction * bytes.length)))).toBe('refused');
  });
});

const LAYOUT = { width: 100, height: 70, bands: 1, sample: 'u16', tileColumns: 64, tileRows: 64 } as const;
const RASTER: RandomPacked = {
  layout: LAYOUT,
  bands: [Uint16Array.from({ length: 7000 }, (_, at) => 500 + ((at * at) % 97))],
  ...{ nodata: 500, mask: undefined },
};

/** A raster whose directory, payloads or header were changed, and whose checksums fit. */
async function changedBy(make: (view: DataView, parts: ReturnType<typeof partsOf>) => void): Promise<Uint8Array> {
  const bytes = await packedBytes(RASTER);
  make(viewOf(bytes), partsOf(bytes));
  return sealed(bytes);
}

describe('a hostile packed raster', () => {
  test.each<[string, (view: DataView, parts: ReturnType<typeof partsOf>) => void, RegExp]>([
    [
      'of a size that its directory does not have',
      (view) => view.setUint32(16, 2 ** 31 - 1, true),
      /parts do not follow/,
    ],
    ['of tiles beyond 2^16 cells', (view) => view.setUint32(24, 2 ** 20, true), /its tiles have 1048576 × 64/],
    ['of no bands', (view) => view.setUint16(14, 0, true), /it has 0 bands/],
    [
      'whose tiles overlap',
      (view, { directory }) => view.setUint32(directory + ENTRY_BYTES, view.getUint32(directory, true) + 4, true),
      /do not follow each other/,
    ],
    [
      'that has a tile twice',
      (view, { directory }) => view.setUint32(directory + ENTRY_BYTES, view.getUint32(directory, true), true),
      /do not follow each other/,
    ],
    [
      'whose tiles lie behind its end',
      (view, { directory }) => view.setUint32(directory + 4, 2 ** 21 - 1, true),
      /do not follow each other/,
    ],
    [
      'whose directory is where its tiles are',
      (view, { footer }) => view.setUint32(footer + 16, 64, true),
      /parts do not follow/,
    ],
    [
      'of a tile larger than its cells',
      (view, { directory }) => view.setUint32(directory + 8, 2 ** 20, true),
      /do not follow each other|a tile has 1048576 bytes/,
    ],
    [
      'of residuals beyond 32 bits',
      (view, { directory }) => view.setUint8(view.getUint32(directory, true), 33),
      /do not add up/,
    ],
    ['of an unknown codec', (view, { directory }) => view.setUint8(directory + 28, 9), /its codec 9 is unknown/],
    [
      'of a mask with too many cells',
      (view, { directory }) => {
        const end = view.getUint32(directory, true) + view.getUint32(directory + 8, true);
        view.setUint8(end - 1, 127);
      },
      /a mask is damaged/,
    ],
    [
      'of a mask of the nodata value over residuals',
      (view, { directory }) => view.setUint8(directory + 29, MASK.nodata),
      /a mask is of no kind/,
    ],
    [
      'of a constant tile that has bytes',
      (view, { directory }) => view.setUint8(directory + 28, CODEC.constant),
      /a constant tile has bytes/,
    ],
  ])('%s is refused by a coded error', async (_, make, message) => {
    const read = async () => {
      const source = await openPackedRaster(await changedBy(make));
      await source.read({ column: 0, row: 0, columns: 100, rows: 70 });
    };
    await expect(read()).rejects.toMatchObject({
      code: 'format/damaged-packed-raster',
      message: expect.stringMatching(message),
    });
  });

  test('of a newer major version is refused by its name, whatever its header is like', async () => {
    const bytes = await packedBytes(RASTER);
    viewOf(bytes).setUint16(8, 2, true);
    await expect(openPackedRaster(bytes)).rejects.toMatchObject({ code: 'format/newer-version', got: '2.0' });
  });

  test('that is something else is refused as such', async () => {
    await expect(openPackedRaster(new Uint8Array(200))).rejects.toMatchObject({ code: 'format/not-a-packed-raster' });
    await expect(openPackedRaster(new Uint8Array())).rejects.toMatchObject({ code: 'format/not-a-packed-raster' });
  });

  test('that grows while it is read has the cells that it had', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quadrille-packed-'));
    try {
      const file = join(folder, 'a.qbp');
      await writeFile(file, await packedBytes(RASTER));
      const source = await openPackedRaster(file);
      await appendFile(file, new Uint8Array(1000));
      const cells = await source.read({ column: 0, row: 0, columns: 100, rows: 70 });
      expect(bitsOf(cells)).toEqual(bitsOf(RASTER.bands[0]!));
      await source.close();
      await expect(openPackedRaster(file)).rejects.toMatchObject({ code: 'format/damaged-packed-raster' });
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
