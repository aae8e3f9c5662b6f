import { mkdtemp, open as openFile, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { openGeoTiff } from '../../../formats/rasters/geotiff.ts';
import { writeGeoTiff } from '../../../formats/rasters/geotiff-writer.ts';
import { createDecodePool, startDecoder } from '../../../formats/rasters/tiff/decode-pool.ts';
import type { BlockCoding } from '../../../formats/rasters/tiff/layout.ts';
import { packPieces } from '../../../formats/rasters/tiff/pieces.ts';
import type { RunRequest } from '../../../formats/rasters/tiff/tiff-platform.ts';
import { Context } from '../../../index.ts';
import { plainBackends } from '../../backends.ts';
import { caseCount, someOf } from '../../cases.ts';
import {
  bytesOf,
  geoTiffBytes,
  randomRaster,
  sliceBytes,
  windowAt,
  windowFractions,
} from '../../fixtures/random-raster.ts';
import { fc, test } from '../../law-test.ts';
import { box, plain, zonesOf } from '../../support/zonal-support.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quadrille-decode-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** The size of a raster of f32. Width and height are not multiples of the sides of tiles. */
const [width, height] = [300, 200];
const cells = Float32Array.from({ length: width * height }, (_, i) => Math.sin(i) * 1000);
const whole = { column: 0, row: 0, columns: width, rows: height };

async function writeTiles(name: string): Promise<string> {
  const file = join(folder, name);
  const place = { width, height, originX: 0, originY: height, stepX: 1, stepY: -1, crs: undefined };
  const packing = { sample: 'f32', compression: 'deflate', predictor: 'float' } as const;
  await writeGeoTiff(file, { ...place, ...packing, tile: { columns: 64, rows: 48 } }, ({ row, rows }) =>
    cells.slice(row * width, (row + rows) * width),
  );
  return file;
}

describe('decoder threads', () => {
  test.prop([randomRaster, fc.array(windowFractions, { minLength: 1, maxLength: 6 })], { numRuns: caseCount(12) })(
    'return the same bytes as the caller, for windows in sequence and in parallel, into recycled cells',
    async (written, fractions) => {
      const file = join(folder, 'random.tif');
      await writeFile(file, await geoTiffBytes(written));
      const source = await openGeoTiff(file, { threads: 1, keepBytes: 1000 });
      const here = await openGeoTiff(file, { threads: 0 });
      try {
        const windows = fractions.map((fraction) => windowAt(fraction, source));
        const expected = windows.map((window) => sliceBytes(written.bands[0]!, source.width, window));
        for (const [index, window] of windows.entries()) {
          const read = await source.read(window);
          expect(bytesOf(read)).toEqual(expected[index]);
          // Overwrites the cells before their memory is reused, so that stale cells in a later result would be noticed.
          new Uint8Array(read.buffer).fill(77);
          source.reuse!(read);
        }
        const together = await Promise.all(windows.map((window) => source.read(window)));
        expect(together.map(bytesOf)).toEqual(expected);
        const all = { column: 0, row: 0, columns: source.width, rows: source.height };
        const [blocks, inTurn] = [await source.readBlocks!(all), await here.readBlocks!(all)];
        expect([bytesOf(blocks.cells), blocks.starts]).toEqual([bytesOf(inTurn.cells), inTurn.starts]);
      } finally {
        await Promise.all([source.close(), here.close()]);
      }
    },
    120_000,
  );

  test('readers of a series decode into the same memory, until the last of them is closed', async () => {
    const file = await writeTiles('series.tif');
    // Modules of its own, because tests of other files may have readers open.
    vi.resetModules();
    const { openGeoTiff } = await import('../../../formats/rasters/geotiff.ts');
    const [first, second, plainly] = await Promise.all([1, 1, 0].map((threads) => openGeoTiff(file, { threads })));
    const read = await first!.read(whole);
    new Uint8Array(read.buffer).fill(77);
    first!.reuse!(read);
    await first!.close();
    expect((await plainly!.read(whole)).buffer).toBeInstanceOf(ArrayBuffer);
    const again = await second!.read(whole);
    expect(again.buffer).toBe(read.buffer);
    expect(bytesOf(again)).toEqual(bytesOf(cells));
    second!.reuse!(again);
    await Promise.all([second!.close(), plainly!.close()]);
    const later = await openGeoTiff(file, { threads: 1 });
    expect((await later.read(whole)).buffer).not.toBe(read.buffer);
    await later.close();
  });

  test('report an invalid block like the caller', async () => {
    const file = await writeTiles('damaged.tif');
    const bytes = await readFile(file);
    bytes.fill(0xff, 5000, 9000);
    await writeFile(file, bytes);
    const [here, there] = await Promise.all([openGeoTiff(file, { threads: 0 }), openGeoTiff(file, { threads: 2 })]);
    const failure = (await here.read(whole).catch((error: unknown) => error)) as Error & Record<string, unknown>;
    const { code, message, place, remedy, name } = failure;
    expect(code).toBe('format/damaged-tiff');
    await expect(there.read(whole)).rejects.toMatchObject({ code, message, place, remedy, name });
    await Promise.all([here.close(), there.close()]);
  });

  test('report a file that is truncated while it is read', async () => {
    const file = await writeTiles('cut.tif');
    const source = await openGeoTiff(file, { threads: 2 });
    await truncate(file, 3000);
    await expect(source.read(whole)).rejects.toMatchObject({ code: 'format/truncated', place: { file } });
    await source.close();
  });

  test('stop at an abort with its reason, and still read afterwards', async () => {
    const source = await openGeoTiff(await writeTiles('aborted.tif'), { threads: 2 });
    const controller = new AbortController();
    const reason = new Error('enough');
    const read = source.read(whole, controller.signal);
    controller.abort(reason);
    await expect(read).rejects.toBe(reason);
    expect(bytesOf(await source.read(whole))).toEqual(bytesOf(cells));
    await source.close();
    await expect(source.read(whole)).rejects.toMatchObject({ code: 'device/closed' });
  });

  test.each(someOf(plainBackends, 1))('decode into the memory that $name counts', async (backend) => {
    const file = await writeTiles('counted.tif');
    const job = {
      zones: zonesOf([[box(3, 3, 290, 190)], [box(100, 50, 230, 170)]]),
      binning: { kind: 'even', low: -1000, high: 1000, width: 250 } as const,
      tile: 32,
      memoryBytes: 1_000_000,
    };
    await using context = new Context(await backend.open());
    const texts: string[] = [];
    for (const threads of [0, 2]) {
      const raster = await openGeoTiff(file, { threads });
      texts.push(plain(await zonalHistogram(context, { ...job, raster })));
      await raster.close();
    }
    expect(texts[1]).toBe(texts[0]);
  });
});

describe('a decoder pool', () => {
  const plainCoding: Omit<BlockCoding, 'blockColumns' | 'blockRows'> = {
    sample: 'u8',
    bits: 8,
    littleEndian: true,
    compression: 'none',
    predictor: 'none',
    jpeg: undefined,
    lerc: undefined,
    interleaved: 1,
    position: 0,
  };

  test('decodes on the caller when a thread dies or cannot start', async () => {
    const starts: (() => Worker)[] = [
      () => {
        throw new Error('no threads');
      },
      () => {
        const worker = startDecoder();
        void worker.terminate();
        return worker;
      },
    ];
    const file = join(folder, 'four.bin');
    await writeFile(file, Uint8Array.of(1, 2, 3, 4));
    const handle = await openFile(file);
    const request: Omit<RunRequest, 'descriptor' | 'targets'> = {
      file,
      size: 4,
      coding: { ...plainCoding, blockColumns: 2, blockRows: 2 },
      pieces: packPieces([{ block: 0, left: 0, top: 0, bottom: 2, offset: 0, packedBytes: 4, bytes: 4, whole: true }]),
      window: { column: 0, row: 0, columns: 2, rows: 2 },
    };
    for (const start of starts) {
      const pool = createDecodePool(1, start);
      const shared = new SharedArrayBuffer(4);
      await pool.decode({ ...request, descriptor: handle.fd, targets: [{ cells: shared, position: 0 }] });
      expect([...new Uint8Array(shared)]).toEqual([1, 2, 3, 4]);
      await pool.close();
    }
    await handle.close();
  });
});
