import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type HostFrame, stillBackground } from '../../../algorithms/cell-tracking/index.ts';
import { createWorkersBackend } from '../../../backends/workers/index.ts';
import { Context } from '../../../primitives/context/context.ts';
import { onEveryBackend } from '../../backends.ts';
import { openReference } from '../../support/reference-context.ts';

const TYPES = { u8: Uint8Array, u16: Uint16Array, f32: Float32Array } as const;
const values = {
  u8: fc.constantFrom(0, 1, 7, 127, 128, 254, 255),
  u16: fc.constantFrom(0, 1, 255, 256, 32767, 32768, 65535),
  f32: fc.constantFrom(0, -0, 1.5, -1.5, 2 ** -149, -(2 ** -149), Number.MAX_VALUE, Infinity, -Infinity),
};

const video = fc
  .record({
    type: fc.constantFrom('u8' as const, 'u16' as const, 'f32' as const),
    width: fc.integer({ min: 1, max: 9 }),
    height: fc.integer({ min: 1, max: 4 }),
    count: fc.integer({ min: 1, max: 9 }),
  })
  .chain(({ type, width, height, count }) => {
    const grey = fc.array(values[type], { minLength: width * height, maxLength: width * height });
    return fc.array(
      grey.map((all): HostFrame => ({ width, height, grey: TYPES[type].from(all) })),
      { minLength: count, maxLength: count },
    );
  });
const quantile = fc.oneof(fc.constantFrom(0, 0.5, 1), fc.double({ min: 0, max: 1, noNaN: true }));

/** Compares numbers for sorting; −0 comes before 0. */
function ascending(a: number, b: number): number {
  return a === b ? Number(Object.is(b, -0)) - Number(Object.is(a, -0)) : a < b ? -1 : 1;
}

onEveryBackend((opened, { runs }) => {
  test('every background pixel is the quantile of that pixel over all frames', async () => {
    const property = fc.asyncProperty(video, quantile, async (frames, quantile) => {
      const found = await stillBackground(opened().context, frames, { quantile });
      const rank = Math.floor(quantile * (frames.length - 1));
      const byHand = frames[0]!.grey.map((_, i) => frames.map(({ grey }) => grey[i]!).sort(ascending)[rank]!);
      expect(found).toEqual({ ...frames[0], grey: byHand });
    });
    await fc.assert(property, { numRuns: runs });
  });
});

describe('stillBackground', () => {
  test('takes the quantile for the decimal number: 0.29 of 100 frames are 29', async () => {
    const frames = Array.from({ length: 101 }, (_, i) => ({ width: 1, height: 1, grey: Uint8Array.of(i) }));
    const { grey } = await stillBackground(openReference(), frames, { quantile: 0.29 });
    expect(grey).toEqual(Uint8Array.of(29));
  });

  test('processes many frames in bands, and frees its memory', async () => {
    const context = new Context(await createWorkersBackend({ workers: 2 }));
    // A band of rows can hold at most 2^24 samples. Three rows of 2^13 pixels in 1,024 frames have more.
    const [width, height] = [2 ** 13, 3];
    const frames = Array.from({ length: 1024 }, (_, frame) => ({
      ...{ width, height },
      grey: new Uint8Array(width * height).map((_, pixel) => (frame < 512 ? pixel % 251 : 255)),
    }));
    const { grey } = await stillBackground(context, frames);
    expect(grey).toEqual(frames[0]!.grey);
    expect(context.backend.counters.liveBuffers).toBe(0);
    await context.close();
  });

  test('refuses no frames, too many frames and frames of different sizes', async () => {
    const context = openReference();
    const frame = (width: number, grey: HostFrame['grey']) => ({ width, height: 1, grey });
    const one = frame(2, new Uint8Array(2));
    const refusals = [
      ['background/frames', []],
      ['background/frames', new Array(1025).fill(one)],
      ['frame/size', [one, frame(1, new Uint8Array(1))]],
      ['frame/size', [frame(3, new Uint8Array(2))]],
      ['frame/depth', [one, frame(2, new Uint16Array(2))]],
    ] as const;
    for (const [code, frames] of refusals) {
      await expect(stillBackground(context, frames), code).rejects.toMatchObject({ code });
    }
    await expect(stillBackground(context, [one], { quantile: 2 })).rejects.toMatchObject({
      code: 'background/quantile',
    });
  });
});
