import { mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { encode } from 'fast-png';
import { describe, expect } from 'vitest';
import { writeAvi } from '../../../bench/leukocyte/avi-writer.ts';
import { openVideo } from '../../../formats/index.ts';
import { FormatError } from '../../../primitives/checks/errors.ts';
import { caseCount, THOROUGH } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import {
  aviOf,
  aviStream,
  chunkOf,
  fileOf,
  newPath,
  type Outcome,
  readAll,
  tiffBytes,
  y4mBytes,
} from './video-support.ts';

const shape = { width: 6, height: 5 };
const frames = [1, 2, 3, 4].map((seed) => Uint8Array.from({ length: 30 }, (_, i) => (i * seed * 37) & 255));
const expected = frames.map((frame) => [...frame]);

async function aviBytes(): Promise<Uint8Array> {
  const path = newPath();
  await writeAvi(path, { ...shape, frameRate: 10 }, frames);
  return readFile(path);
}

const y4m = y4mBytes({ ...shape, frames }, 'Cmono');
const tiff = tiffBytes({ ...shape, frames }, { deflated: true });
const SOURCES: readonly (readonly [string, Uint8Array])[] = [
  ['AVI', await aviBytes()],
  ['TIFF', tiff],
  ['big TIFF', tiffBytes({ ...shape, frames }, { big: true, littleEndian: false, rowsPerStrip: 2 })],
  ['Y4M', y4m],
];

/** Expects frames of the right size, or an error of the library with all its details. */
function expectClearError({ error, video, frames: read }: Outcome): void {
  for (const frame of read) expect(frame.length).toBe(video!.width * video!.height);
  if (error === undefined) return;
  expect(error).toBeInstanceOf(FormatError);
  expect(error).toMatchObject({
    code: expect.stringMatching(/^format\/[a-z0-9-]+$/),
    remedy: expect.any(String),
    place: { file: expect.any(String) },
  });
}

describe.each(SOURCES)('damage of %s', (_, bytes) => {
  test('truncated anywhere, it gives the frames before the cut and then a clear error', async () => {
    // By default, every eighth position is tried. The first position differs between runs of the tests.
    const every = THOROUGH ? 1 : 8;
    const [first] = fc.sample(fc.nat(every - 1), 1) as [number];
    for (let length = first; length < bytes.length; length += every) {
      const outcome = await readAll(await fileOf(bytes.subarray(0, length)));
      expectClearError(outcome);
      expect(outcome.frames).toEqual(expected.slice(0, outcome.frames.length));
      expect(outcome.error !== undefined || outcome.frames.length > 0).toBe(true);
    }
  });

  test.prop([fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 4 })], {
    numRuns: caseCount(1500),
  })('with changed bytes, it is read or refused', async (changes) => {
    const changed = new Uint8Array(bytes);
    for (const [at, value] of changes) changed[at % changed.length] = value;
    expectClearError(await readAll(await fileOf(changed)));
  });
});

test.prop(
  [
    fc.uint8Array({ maxLength: 300 }),
    fc.constantFrom('RIFF\0\0\0\0AVI ', 'II*\0\x08\0\0\0', 'YUV4MPEG2 W4 H4 Cmono\n', ''),
  ],
  { numRuns: caseCount(500) },
)('any bytes after any valid beginning are read or refused', async (bytes, head) => {
  expectClearError(await readAll(await fileOf(Buffer.concat([Buffer.from(head, 'latin1'), bytes]))));
});

describe('refused videos', () => {
  const refusals: readonly (readonly [string, () => Uint8Array, object])[] = [
    [
      'an unknown codec, with its letters',
      () => aviOf([aviStream({ ...shape, depth: 24, coding: 'XVID' })], []),
      { code: 'format/unsupported-codec', got: 'the codec "XVID"' },
    ],
    [
      'RGB of 16 bits',
      () => aviOf([aviStream({ ...shape, depth: 16 })], []),
      { code: 'format/unsupported-codec', got: 'RGB of 16 bits' },
    ],
    ['an AVI without frames', () => aviOf([aviStream({ ...shape, depth: 8 })], []), { code: 'format/no-frames' }],
    [
      'sizes of 0',
      () => aviOf([aviStream({ width: 0, height: 5, depth: 8 })], []),
      { code: 'format/frame-size', got: '0 × 5' },
    ],
    ['huge sizes', () => Buffer.from('YUV4MPEG2 W60000 H60000 Cmono\nFRAME\n'), { code: 'format/frame-size' }],
    [
      'an MP4',
      () => Buffer.from('\0\0\0\x18ftypisom0000', 'latin1'),
      { code: 'format/not-video', got: 'an MP4 or QuickTime file' },
    ],
    ['an empty file', () => new Uint8Array(0), { code: 'format/not-video', got: 'no bytes' }],
    [
      'unsupported chroma',
      () => Buffer.from('YUV4MPEG2 W6 H5 C999\nFRAME\n'),
      { code: 'format/unsupported-codec', got: '"C999"' },
    ],
    ...(
      [
        ['no width', 'H5 F25:1', 'W480', 'no W'],
        ['no height', 'W6 F25:1', 'H480', 'no H'],
        ['a width that is no number', 'Wide H5', 'W480', '"Wide"'],
        ['a negative height', 'W6 H-5', 'H480', '"H-5"'],
        ['letters that a terminal obeys', 'W6 H\x1b[31m\x9b5', 'H480', '"H\\u001b[31m\\u009b5"'],
      ] as const
    ).map(
      ([what, parameters, expected, got]) =>
        [
          `a Y4M with ${what}`,
          () => Buffer.from(`YUV4MPEG2 ${parameters}\nFRAME\n`, 'latin1'),
          { code: 'format/damaged-y4m', expected: expect.stringContaining(expected), got },
        ] as const,
    ),
    [
      'a Y4M whose lines end with a carriage return too',
      () => Buffer.from('YUV4MPEG2 W6 H5 C420\r\nFRAME\r\n'),
      { code: 'format/damaged-y4m', got: expect.stringContaining('C420\\r'), remedy: expect.stringContaining('bytes') },
    ],
    [
      'floats',
      () =>
        tiffBytes(
          { width: 2, height: 1, frames: [new Uint8Array(8)] },
          {
            fields: [
              { tag: 'bitsPerSample', type: 'short', values: [32] },
              { tag: 'sampleFormat', type: 'short', values: [3] },
              { tag: 'samplesPerPixel', type: 'short', values: [1] },
              { tag: 'photometricInterpretation', type: 'short', values: [1] },
            ],
          },
        ),
      { code: 'format/unsupported-sample-type', got: 'samples of type f32', place: { frame: 0 } },
    ],
    [
      'a stack of channels',
      () =>
        tiffBytes(
          { ...shape, frames },
          {
            fields: [
              {
                tag: 'imageDescription',
                type: 'ascii',
                text: 'ImageJ=1.53t\nimages=4\nchannels=2\nframes=2\nhyperstack=true\n',
              },
            ],
          },
        ),
      { code: 'format/unsupported-stack' },
    ],
  ];

  test.each(refusals)('%s', async (_, bytes, error) => {
    expect((await readAll(await fileOf(bytes()))).error).toMatchObject(error);
  });

  test('a missing file, a folder without PNGs, an AVI as a stream', async () => {
    await expect(openVideo(newPath())).rejects.toMatchObject({ code: 'format/missing-file' });
    const folder = newPath();
    await mkdir(folder);
    await expect(openVideo(folder)).rejects.toMatchObject({ code: 'format/no-frames', got: 'an empty folder' });
    await writeFile(join(folder, 'f1.tif'), tiff);
    await expect(openVideo(folder)).rejects.toMatchObject({ remedy: expect.stringContaining('tiffcp') });
    await expect(openVideo(Readable.from([]))).rejects.toMatchObject({
      code: 'format/not-video',
      got: 'no bytes',
      remedy: 'Check the program that writes to it.',
    });
    await expect(openVideo(Readable.from([Buffer.from('\0\0\0\x18ftypisom0000', 'latin1')]))).rejects.toMatchObject({
      code: 'format/not-video',
      expected: expect.stringContaining('Y4M'),
      got: 'an MP4 or QuickTime file',
      remedy: expect.stringContaining('yuv4mpegpipe'),
    });
    await expect(openVideo(Readable.from([await aviBytes()]))).rejects.toMatchObject({
      code: 'format/not-in-stream',
      got: 'an AVI',
    });
  });

  test('a luma or chroma channel, by its name', async () => {
    const path = await fileOf(y4mBytes({ ...shape, frames }, 'C444', 60));
    await expect(openVideo(path, { channel: 'red' })).rejects.toMatchObject({
      code: 'format/unsupported-channel',
      got: 'luma and chroma (C444)',
    });
  });

  test('frames that change in size, with their number', async () => {
    const chunks = [48, 48, 40].map((bytes) => chunkOf('00db', new Uint8Array(bytes)));
    const { frames: read, error } = await readAll(await fileOf(aviOf([aviStream({ ...shape, depth: 8 })], chunks)));
    expect([read.length, error]).toMatchObject([2, { code: 'format/frame-changed', place: { frame: 2 } }]);
  });

  test('a PNG among others that is damaged or of another size, with its file and number', async () => {
    const folder = newPath();
    await mkdir(folder);
    for (const i of [0, 1, 2])
      await writeFile(join(folder, `${i}.png`), encode({ ...shape, data: frames[i]!, channels: 1, depth: 8 }));
    const file = join(folder, '1.png');
    await writeFile(file, (await readFile(file)).subarray(0, 50));
    const cut = await readAll(folder);
    expect([cut.frames, cut.error]).toMatchObject([
      [expected[0]],
      { code: 'format/bad-png', place: { file, frame: 1 } },
    ]);
    await writeFile(file, encode({ width: 5, height: 6, data: frames[1]!, channels: 1, depth: 8 }));
    expect((await readAll(folder)).error).toMatchObject({ code: 'format/frame-changed', place: { file, frame: 1 } });
  });

  test('circular directories', async () => {
    const bytes = new Uint8Array(tiff);
    const view = new DataView(bytes.buffer);
    const first = view.getUint32(4, true);
    let at = first;
    for (let next = at; next !== 0; ) {
      at = next;
      next = view.getUint32(at + 2 + 12 * view.getUint16(at, true), true);
    }
    view.setUint32(at + 2 + 12 * view.getUint16(at, true), first, true);
    expect((await readAll(await fileOf(bytes))).error).toMatchObject({
      code: 'format/damaged-tiff',
      message: expect.stringContaining('circle'),
    });
  });
});

describe('closing', () => {
  async function isOpen(path: string): Promise<boolean> {
    const names = await readdir('/proc/self/fd').catch(() => []);
    const targets = await Promise.all(names.map((name) => readlink(join('/proc/self/fd', name)).catch(() => '')));
    return targets.includes(path);
  }

  test.each(SOURCES)('%s is closed at its end, on early return and by close, even twice', async (_, bytes) => {
    const path = await fileOf(bytes);
    await readAll(path);
    expect(await isOpen(path)).toBe(false);
    const left = await openVideo(path);
    for await (const { index } of left.frames()) if (index === 1) break;
    expect(await isOpen(path)).toBe(false);
    const unread = await openVideo(path);
    await unread.close();
    await unread.close();
    expect(await isOpen(path)).toBe(false);
    expect(() => left.frames()).toThrow(expect.objectContaining({ code: 'usage/read-twice' }));
    await expect(unread.frames()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'format/closed' });
  });

  test.each(SOURCES)('an abort ends %s with its reason', async (_, bytes) => {
    const path = await fileOf(bytes);
    const controller = new AbortController();
    const video = await openVideo(path);
    const read: number[] = [];
    const reading = (async () => {
      for await (const { index } of video.frames({ signal: controller.signal })) {
        read.push(index);
        controller.abort(new Error('enough'));
      }
    })();
    await expect(reading).rejects.toThrow('enough');
    expect([read, await isOpen(path)]).toEqual([[0], false]);
    await expect(openVideo(path, { signal: controller.signal })).rejects.toThrow('enough');
  });

  test('a stalled stream is destroyed at once when the caller stops', async () => {
    const stream = new PassThrough();
    stream.write(y4m.subarray(0, y4m.length - 10));
    const video = await openVideo(stream);
    for await (const { index } of video.frames()) if (index === 1) break;
    expect(stream.destroyed).toBe(true);
  });
});
