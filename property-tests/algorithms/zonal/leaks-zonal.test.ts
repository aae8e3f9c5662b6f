import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import type { RasterSource } from '../../../algorithms/geometry/raster.ts';
import { type ZonalJob, zonalHistogram } from '../../../algorithms/zonal/index.ts';
import { createReferenceBackend } from '../../../backends/reference/index.ts';
import { HEADER_BYTES } from '../../../formats/rasters/packed/layout.ts';
import { openPackedBand } from '../../../formats/rasters/packed/reader.ts';
import { openPackedRaster } from '../../../formats/rasters/packed-raster.ts';
import { bytesInMemory } from '../../../formats/rasters/tiff/byte-source.ts';
import { Context } from '../../../primitives/context/context.ts';
import { dealToBackends, dealtBackends, onEveryBackend } from '../../backends.ts';
import { packedBytes } from '../../fixtures/random-packed.ts';
import { box, plain, rasterOf, zonesOf } from '../../support/zonal-support.ts';

const side = 96;
const cells = Float32Array.from({ length: side * side }, (_, i) => (i % 977) / 8);
const raster = rasterOf(cells, side, 'f32', { blockRows: 32 });
/** A raster in which no two cells have the same value. */
const distinct = rasterOf(
  Float32Array.from({ length: 160 * 160 }, (_, i) => i),
  160,
  'f32',
  { blockRows: 32 },
);
/** Limits so small that each window (the cells that are read at once) has only a few tiles. */
const small = { tile: 32, memoryBytes: 32_000 } as const;
const zones = zonesOf([[box(3, 3, 90, 90)], [box(50, 50, 150, 85), box(60, 55, 70, 65)]]);
const edges = { kind: 'edges', edges: [0, 10, 100] } as const;
const unique = { kind: 'unique' } as const;

/** Whole numbers in tiles that devices decode. */
const whole = Int16Array.from(cells, (cell, i) => (i % 11 === 0 ? -1 : Math.round(cell) + (i % side)));
const layout = { width: side, height: side, bands: 1, sample: 'i16', tileColumns: 32, tileRows: 32 } as const;
const packed = await packedBytes({ layout, bands: [whole], nodata: -1, mask: undefined });

/** Zones and bins over the packed raster, whose cells are counted as they are decoded. */
const packedJob = async (
  signal: AbortSignal,
  bytes: Uint8Array,
  changes: Partial<ZonalJob> = {},
): Promise<ZonalJob> => {
  const raster = await openPackedRaster(bytes);
  const { originX, originY, stepX, stepY } = raster;
  const zones = zonesOf([[box(originX, originY + side * stepY, originX + 90 * stepX, originY)]]);
  return job(signal, { raster, zones, statistics: false, ...changes });
};

type Ending = (context: Context, signal: AbortSignal, abort: (reason: Error) => void) => Promise<unknown>;

const job = (signal: AbortSignal, changes: Partial<ZonalJob> = {}): ZonalJob => ({
  zones,
  raster,
  binning: edges,
  ...small,
  signal,
  ...changes,
});

/** A copy of `raster` that runs `what` before the nth window of cells is read. */
const atWindow = (nth: number, what: (signal?: AbortSignal) => void | Promise<never>): RasterSource => {
  let windows = 0;
  return {
    ...raster,
    async read(window, signal) {
      if (++windows === nth) await what(signal);
      return raster.read(window);
    },
  };
};

/** The bytes of the packed raster, which run `what` before the nth read of tiles. */
const atTiles = async (nth: number, what: () => void): Promise<RasterSource> => {
  let reads = Number.NEGATIVE_INFINITY;
  const source = bytesInMemory(packed);
  const raster = await openPackedBand({
    ...source,
    async read(offset, length, into) {
      if (++reads === nth) what();
      return source.read(offset, length, into);
    },
  });
  reads = 0;
  return raster;
};

const endings: { readonly [ending: string]: Ending } = {
  'bins counted': (context, signal) => zonalHistogram(context, job(signal)),
  'unique values counted': (context, signal) =>
    zonalHistogram(context, job(signal, { binning: unique, memoryBytes: 300_000 })),
  'counts without statistics': (context, signal) => zonalHistogram(context, job(signal, { statistics: false })),
  'a packed raster that cannot be read on': async (context, signal) => {
    const raster = await atTiles(3, () => {
      throw new Error('unreadable');
    });
    const broken = await packedJob(signal, packed, { raster, statistics: true, memoryBytes: 8000 });
    await expect(zonalHistogram(context, broken)).rejects.toThrow('unreadable');
  },
  'an abort while a packed raster is read': async (context, signal, abort) => {
    const raster = await atTiles(3, () => abort(new Error('enough')));
    const aborting = await packedJob(signal, packed, { raster, statistics: true, memoryBytes: 8000 });
    await expect(zonalHistogram(context, aborting)).rejects.toThrow('enough');
  },
  'zones outside': (context, signal) =>
    zonalHistogram(context, job(signal, { zones: zonesOf([[box(-9, -9, -3, -3)]]) })),
  'a window that cannot be read': async (context, signal) => {
    const broken = atWindow(2, () => Promise.reject(new Error('unreadable')));
    await expect(zonalHistogram(context, job(signal, { raster: broken }))).rejects.toThrow('unreadable');
  },
  'coordinates beyond the grid': async (context, signal) => {
    const far = zonesOf([[box(0, 0, 1e300, 1)]]);
    await expect(zonalHistogram(context, job(signal, { zones: far }))).rejects.toThrow('far too large');
  },
  'decreasing edges': async (context, signal) => {
    const falling = { kind: 'edges', edges: [1, 0] } as const;
    await expect(zonalHistogram(context, job(signal, { binning: falling }))).rejects.toThrow('do not increase');
  },
  'too many unique values': async (context, signal) => {
    const changes = { raster: distinct, binning: unique, memoryBytes: 170_000, tile: 32 };
    await expect(zonalHistogram(context, job(signal, changes))).rejects.toMatchObject({
      code: 'zonal/unique-memory-bytes',
    });
  },
  'encoded cells counted': async (context, signal) => zonalHistogram(context, await packedJob(signal, packed)),
  'a damaged tile of encoded cells': async (context, signal) => {
    const damaged = Uint8Array.from(packed);
    damaged[HEADER_BYTES + 20]! ^= 1;
    await expect(zonalHistogram(context, await packedJob(signal, damaged))).rejects.toMatchObject({
      code: 'format/damaged-packed-raster',
    });
  },
  'an abort while encoded cells are counted': async (context, signal, abort) => {
    const onProgress = (done: number): void => {
      if (done > side * 40) abort(new Error('enough'));
    };
    const aborted = await packedJob(signal, packed, { onProgress });
    await expect(zonalHistogram(context, aborted)).rejects.toThrow('enough');
  },
  'an abort before the start': async (context, signal, abort) => {
    abort(new Error('enough'));
    await expect(zonalHistogram(context, job(signal))).rejects.toThrow('enough');
  },
  'an abort while a window is read': async (context, signal, abort) => {
    const aborting = atWindow(2, () => abort(new Error('enough')));
    await expect(zonalHistogram(context, job(signal, { raster: aborting }))).rejects.toThrow('enough');
  },
  'an abort that interrupts a read': async (context, signal, abort) => {
    const waiting = atWindow(2, (stop) => {
      setTimeout(() => abort(new Error('enough')), 5);
      return new Promise((_, reject) => stop!.addEventListener('abort', () => reject(stop!.reason), { once: true }));
    });
    await expect(zonalHistogram(context, job(signal, { raster: waiting }))).rejects.toThrow('enough');
  },
  'an abort while windows are counted': async (context, signal, abort) => {
    const onProgress = (done: number): void => {
      if (done > side * 40) abort(new Error('enough'));
    };
    await expect(zonalHistogram(context, job(signal, { onProgress }))).rejects.toThrow('enough');
  },
};

/** The result of the job on a new context. The job must give the same result after each of the `endings`. */
const expected = plain(await zonalHistogram(new Context(createReferenceBackend()), job(new AbortController().signal)));

const endingsOn = dealToBackends(Object.entries(endings));

onEveryBackend((opened, backend) => {
  test.each(endingsOn(backend))(
    '%s: memory returns to its initial level every time',
    async (_, ending) => {
      const { context } = opened();
      const held = () => {
        const { liveBuffers, liveBytes } = context.backend.counters;
        return { liveBuffers, liveBytes };
      };
      const before = held();
      for (let round = 0; round < 2; round++) {
        const controller = new AbortController();
        await ending(context, controller.signal, (reason) => controller.abort(reason));
        expect(held()).toEqual(before);
        expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
      }
      // The context must still be usable: a repetition of the job must give the same result.
      const { signal } = new AbortController();
      expect(plain(await zonalHistogram(context, job(signal)))).toBe(expected);
    },
    120_000,
  );
}, dealtBackends());
