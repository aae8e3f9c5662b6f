import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { encode } from 'fast-png';
import { describe, expect } from 'vitest';
import { writeAvi } from '../../../bench/leukocyte/avi-writer.ts';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import {
  aviOf,
  aviStream,
  bytesOf,
  chunkOf,
  type Frames,
  fileOf,
  lumaByHand,
  newPath,
  readAll,
  someFrames,
  tiffBytes,
  y4mBytes,
} from './video-support.ts';

const grey = fc.oneof(someFrames(8), someFrames(16));
const colours = fc.oneof(someFrames(8, 3), someFrames(16, 3));
const greys = ({ frames }: Frames): number[][] => frames.map((frame) => [...frame]);
const lumas = ({ frames }: Frames, step = 3): number[][] => frames.map((frame) => lumaByHand(frame, step));

describe('AVI', () => {
  test.prop([someFrames(8)])('returns the frames that writeAvi wrote', async (given) => {
    const path = newPath();
    await writeAvi(path, { ...given, frameRate: 25 }, given.frames as Uint8Array[]);
    const { video, frames } = await readAll(path);
    expect(frames).toEqual(greys(given));
    expect(video).toMatchObject({
      format: 'avi',
      width: given.width,
      bits: 8,
      frameCount: frames.length,
      frameRate: 25,
      notes: [],
    });
  });

  test.prop([someFrames(8, 3), fc.boolean(), fc.constantFrom(3, 4), fc.boolean()])(
    'returns grey and colour of RGB with 24 and 32 bits, top-down or bottom-up, rows padded or not',
    async (given, topDown, step, isPadded) => {
      const { width, height } = given;
      const stride = isPadded ? (width * step + 3) & ~3 : width * step;
      const chunks = given.frames.map((frame) => {
        const bytes = new Uint8Array(stride * height);
        for (let row = 0; row < height; row++) {
          const at = (topDown ? row : height - 1 - row) * stride;
          for (let x = 0; x < width; x++)
            bytes.set(frame.slice(3 * (row * width + x), 3 * (row * width + x) + 3).reverse(), at + step * x);
        }
        return chunkOf('00db', bytes);
      });
      const path = await fileOf(
        aviOf([aviStream({ width, height: topDown ? -height : height, depth: 8 * step })], chunks),
      );
      expect((await readAll(path)).frames).toEqual(lumas(given));
      const red = (await readAll(path, { channel: 'red' })).frames;
      expect(red).toEqual(given.frames.map((frame) => [...frame.filter((_, i) => i % 3 === 0)]));
    },
  );

  test.prop([someFrames(16)])('returns Y16 unchanged', async (given) => {
    const stream = aviStream({ ...given, depth: 16, coding: 'Y16 ' });
    const path = await fileOf(
      aviOf(
        [stream],
        given.frames.map((frame) => chunkOf('00dc', bytesOf(frame))),
      ),
    );
    const { video, frames } = await readAll(path);
    expect([video?.bits, frames]).toEqual([16, greys(given)]);
  });
});

describe('TIFF', () => {
  const forms = fc.record({
    littleEndian: fc.boolean(),
    big: fc.boolean(),
    deflated: fc.boolean(),
    rowsPerStrip: fc.integer({ min: 1, max: 6 }),
  });

  test.prop([grey, forms, fc.gen()])(
    'returns pages in the order of their directories, wherever they are stored',
    async (given, form, gen) => {
      const pages = [...given.frames.keys()];
      const order = gen(fc.shuffledSubarray, pages, { minLength: pages.length, maxLength: pages.length });
      const { video, frames, error } = await readAll(await fileOf(tiffBytes(given, { ...form, order })));
      expect(error).toBeUndefined();
      expect(frames).toEqual(greys(given));
      expect(video).toMatchObject({
        format: 'tiff',
        frameCount: pages.length,
        bits: 8 * given.frames[0]!.BYTES_PER_ELEMENT,
      });
    },
  );

  test.prop([colours, forms])('returns the luma of RGB', async (given, form) => {
    expect((await readAll(await fileOf(tiffBytes(given, form)))).frames).toEqual(lumas(given));
  });
});

describe('a folder of PNGs', () => {
  test.prop([fc.oneof(grey, colours)], { numRuns: caseCount(20) })(
    'returns frames in the order of the numbers in their names',
    async ({ width, height, frames: given }) => {
      const folder = newPath();
      await mkdir(folder);
      const channels = given[0]!.length / (width * height);
      const depth = given[0] instanceof Uint8Array ? 8 : 16;
      const names = given.map((_, i) => `f${8 + i}.png`);
      for (const [i, data] of given.entries())
        await writeFile(join(folder, names[i]!), encode({ width, height, data, channels, depth }));
      const { video, frames } = await readAll(folder);
      expect(frames).toEqual(given.map((frame) => (channels === 1 ? [...frame] : lumaByHand(frame))));
      expect(video).toMatchObject({ format: 'png', frameCount: given.length, notes: [] });
    },
  );
});

describe('Y4M', () => {
  test.prop([grey, fc.integer({ min: 1, max: 50 })])(
    'of grey frames is the same from a file and from chunks of any size',
    async (given, size) => {
      const bytes = y4mBytes(given, given.frames[0] instanceof Uint8Array ? 'Cmono' : 'Cmono16');
      const fromFile = await readAll(await fileOf(bytes));
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.slice(i * size, (i + 1) * size),
      );
      const fromStream = await readAll(Readable.from(pieces));
      expect(fromFile.frames).toEqual(greys(given));
      expect(fromStream.frames).toEqual(fromFile.frames);
      expect(fromStream.video).toMatchObject({
        name: 'standard input',
        format: 'y4m',
        frameCount: undefined,
        frameRate: 30000 / 1001,
      });
    },
  );

  const CHROMA = { C420jpeg: [2, 2], C422: [2, 1], C444: [1, 1], C411: [4, 1], C440: [1, 2] } as const;
  test.prop([someFrames(8), fc.constantFrom(...(Object.keys(CHROMA) as (keyof typeof CHROMA)[]))])(
    'returns the luma of any chroma format',
    async (given, coding) => {
      const [columns, rows] = CHROMA[coding];
      const chroma = 2 * Math.ceil(given.width / columns) * Math.ceil(given.height / rows);
      expect((await readAll(await fileOf(y4mBytes(given, coding, chroma)))).frames).toEqual(greys(given));
    },
  );
});
