import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { encode } from 'fast-png';
import { describe, expect } from 'vitest';
import { openVideo } from '../../../formats/index.ts';
import { compareNatural } from '../../../formats/video/natural-order.ts';
import { caseCount } from '../../cases.ts';
import { encodeJpeg } from '../../fixtures/jpeg-encoder.ts';
import { fc, test } from '../../law-test.ts';
import { aviOf, aviStream, chunkOf, fileOf, listOf, newPath, readAll, someFrames, tiffBytes } from './video-support.ts';

const shape = { width: 6, height: 5 };
const frames = [1, 2, 3].map((seed) => Uint8Array.from({ length: 30 }, (_, i) => (i * seed * 37) & 255));
const expected = frames.map((frame) => [...frame]);
const codes = (notes: readonly { readonly code: string }[] = []): string[] => notes.map(({ code }) => code);

describe('Motion JPEG', () => {
  /** A JPEG of a smooth picture of one colour, with its grey values. */
  async function smoothJpeg(width: number, height: number, tilt: number, components: 1 | 3 = 3, progressive = false) {
    const grey = Array.from({ length: width * height }, (_, i) =>
      Math.min(255, 40 + tilt * (i % width) + 3 * Math.floor(i / width)),
    );
    const samples = Uint8Array.from(grey.flatMap((value) => (components === 1 ? [value] : [value, value, value])));
    return { bytes: await encodeJpeg(samples, { width, height, components, quality: 100, progressive }), grey };
  }
  const aviOfJpegs = (width: number, height: number, jpegs: readonly Uint8Array[]): Promise<string> =>
    fileOf(
      aviOf(
        [aviStream({ width, height, depth: 24, coding: 'MJPG' })],
        jpegs.map((each) => chunkOf('00dc', each)),
      ),
    );
  /** Removes the Huffman tables of a JPEG, which are the standard tables. */
  function withoutTables(bytes: Uint8Array): Uint8Array {
    let view = Buffer.from(bytes);
    for (let at = view.indexOf(HUFFMAN); at !== -1; at = view.indexOf(HUFFMAN))
      view = Buffer.concat([view.subarray(0, at), view.subarray(at + 2 + view.readUInt16BE(at + 2))]);
    return new Uint8Array(view);
  }
  const HUFFMAN = Buffer.from([0xff, 0xc4]);

  test.prop(
    [
      fc.integer({ min: 5, max: 40 }),
      fc.integer({ min: 5, max: 40 }),
      fc.integer({ min: 0, max: 5 }),
      fc.constantFrom(1 as const, 3 as const),
    ],
    { numRuns: caseCount(30) },
  )('decodes to what was encoded, with and without Huffman tables', async (width, height, tilt, components) => {
    const { bytes, grey } = await smoothJpeg(width, height, tilt, components);
    expect(withoutTables(bytes).length).toBeLessThan(bytes.length);
    const { frames: read, error } = await readAll(await aviOfJpegs(width, height, [bytes, withoutTables(bytes)]));
    expect(error).toBeUndefined();
    expect(read[1]).toEqual(read[0]);
    for (const [i, value] of read[0]!.entries()) expect(Math.abs(value - grey[i]!)).toBeLessThanOrEqual(3);
  });

  test('takes luma as it is stored, and colours by the formula of JFIF, unless Adobe says that they are RGB', async () => {
    const [width, height] = [16, 16];
    const colour = [200, 40, 90];
    const samples = Uint8Array.from({ length: 3 * width * height }, (_, i) => colour[i % 3]!);
    const bytes = await encodeJpeg(samples, { width, height, components: 3, quality: 100, subsampling: 'half' });
    const adobe = Uint8Array.from([0xff, 0xee, 0, 14, ...Buffer.from('Adobe'), 0, 100, 0, 0, 0, 0, 0]);
    const asRgb = new Uint8Array(Buffer.concat([bytes.subarray(0, 2), adobe, bytes.subarray(2)]));
    const channelOf = async (jpeg: Uint8Array, channel: 'grey' | 'red' | 'green' | 'blue') => {
      const { frames: read } = await readAll(await aviOfJpegs(width, height, [jpeg]), { channel });
      expect(new Set(read[0]).size).toBe(1);
      return read[0]![0]!;
    };
    const near = (value: number, wanted: number) => expect(Math.abs(value - wanted)).toBeLessThanOrEqual(2);
    const luma = 0.299 * 200 + 0.587 * 40 + 0.114 * 90;
    near(await channelOf(bytes, 'grey'), luma);
    near(await channelOf(bytes, 'red'), 200);
    near(await channelOf(bytes, 'blue'), 90);
    near(await channelOf(asRgb, 'red'), luma);
    near(await channelOf(asRgb, 'green'), 128 + (90 - luma) / 1.772);
  });

  test.prop(
    [fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { minLength: 1, maxLength: 3 }), fc.nat()],
    { numRuns: caseCount(200) },
  )('damaged or truncated, is read or refused with the number of the frame', async (changes, cut) => {
    const { bytes } = await smoothJpeg(17, 9, 4, 3, cut % 2 === 0);
    const changed = new Uint8Array(bytes);
    for (const [at, value] of changes) changed[at % changed.length] = value;
    const whole = await readAll(await aviOfJpegs(17, 9, [bytes, changed]));
    if (whole.error !== undefined)
      expect(whole.error).toMatchObject({ code: expect.stringMatching(/^format\//), place: { frame: 1 } });
    const short = await readAll(await aviOfJpegs(17, 9, [bytes, bytes.subarray(0, 1 + (cut % (bytes.length - 2)))]));
    expect([short.frames.length, short.error]).toMatchObject([1, { code: 'format/damaged-jpeg', place: { frame: 1 } }]);
  });
});

describe('AVI', () => {
  const stream = aviStream({ ...shape, depth: 8, coding: 'Y800', count: 3 });
  const chunks = frames.map((frame) => chunkOf('00dc', frame));

  test('continues in further RIFFs, through records and past junk and indices', async () => {
    const more = chunkOf(
      'RIFF',
      Buffer.from('AVIX'),
      listOf('movi', listOf('rec ', chunks[1]!, chunks[2]!), chunkOf('ix00', new Uint8Array(9))),
    );
    const path = await fileOf(aviOf([stream], [chunkOf('JUNK', new Uint8Array(5)), chunks[0]!], more));
    const { video, frames: read } = await readAll(path);
    expect([read, video?.notes, video?.frameCount]).toEqual([expected, [], 3]);
  });

  test('notes skipped audio, empty frames that repeat, and a wrong number of frames', async () => {
    const audio = aviStream({ ...shape, depth: 8, type: 'auds' });
    const all = [chunks[0]!, chunkOf('01wb', new Uint8Array(7)), chunkOf('00dc'), chunks[1]!, chunks[2]!];
    const { video, frames: read } = await readAll(await fileOf(aviOf([stream, audio], all)));
    expect(read).toEqual([expected[0], expected[0], expected[1], expected[2]]);
    expect(codes(video?.notes)).toEqual(['video/other-streams', 'video/repeated-frames', 'video/frame-count']);
  });

  test('applies the colours of a palette', async () => {
    const palette = Uint8Array.from([3, 2, 1, 0, 30, 20, 10, 0]);
    const path = await fileOf(
      aviOf([aviStream({ width: 4, height: -1, depth: 8, palette })], [chunkOf('00db', Uint8Array.of(0, 1, 1, 0))]),
    );
    const { video, frames: read } = await readAll(path, { channel: 'red' });
    expect([read, codes(video?.notes)]).toEqual([[[1, 10, 10, 1]], ['video/colour-palette']]);
  });
});

describe('TIFF', () => {
  const described = (text: string) => ({
    fields: [
      { tag: 'imageDescription', type: 'ascii', text },
      { tag: 'xResolution', type: 'rational', values: [4] },
    ] as const,
  });

  test('returns the frame interval and the pixel size of ImageJ', async () => {
    const text = 'ImageJ=1.53t\nimages=3\nslices=3\nunit=micron\nfinterval=0.05\nloop=false\n';
    const { video, frames: read } = await readAll(await fileOf(tiffBytes({ ...shape, frames }, described(text))));
    expect([read, video?.frameRate, video?.pixelSize]).toEqual([expected, 20, 0.25]);
  });

  test('returns the frame interval and the pixel size of OME', async () => {
    const text =
      '<OME><Image><Pixels SizeC="1" SizeT="3" SizeZ="1" PhysicalSizeX="650" PhysicalSizeXUnit="nm" TimeIncrement="40" TimeIncrementUnit="ms"/></Image></OME>';
    const { video } = await readAll(await fileOf(tiffBytes({ ...shape, frames }, described(text))));
    expect(video?.frameRate).toBeCloseTo(25);
    expect(video?.pixelSize).toBeCloseTo(0.65);
  });

  test('of OME may have colour pixels, which count as three channels', async () => {
    const text = (channel: string) =>
      `<OME><Image><Pixels SizeC="3" SizeT="2" SizeZ="1"><Channel ID="Channel:0:0"${channel}/></Pixels></Image></OME>`;
    const pages = expected.slice(0, 2).map((grey) => Uint8Array.from(grey.flatMap((x) => [x, x, x])));
    const ofText = async (channel: string) =>
      readAll(await fileOf(tiffBytes({ ...shape, frames: pages }, described(text(channel)))));
    const { frames: read } = await ofText(' SamplesPerPixel="3"');
    expect(read).toEqual(expected.slice(0, 2));
    expect((await ofText('')).error).toMatchObject({ code: 'format/unsupported-stack' });
  });

  test('takes no pixel size from a print resolution', async () => {
    const fields = [{ tag: 'xResolution', type: 'rational', values: [72] }] as const;
    const { video } = await readAll(await fileOf(tiffBytes({ ...shape, frames }, { fields })));
    expect([video?.pixelSize, codes(video?.notes)]).toEqual([undefined, ['video/print-resolution']]);
  });

  test('of one directory and consecutive images is read as ImageJ writes it, also when truncated', async () => {
    const text = 'ImageJ=1.53t\nimages=3\n';
    const fields = [
      { tag: 'imageDescription', type: 'ascii', text },
      { tag: 'stripOffsets', type: 'long', values: [2000] },
    ] as const;
    const head = tiffBytes({ ...shape, frames: [frames[0]!] }, { fields });
    // The encoder requires offsets inside the file. So zeros fill the space between the head and the first image.
    const bytes = Buffer.concat([head, new Uint8Array(2000 - head.length), ...frames]);
    expect((await readAll(await fileOf(bytes))).frames).toEqual(expected);
    const cut = await readAll(await fileOf(bytes.subarray(0, -1)));
    expect([cut.frames, cut.error]).toMatchObject([
      expected.slice(0, 2),
      { code: 'format/truncated', place: { frame: 2 } },
    ]);
  });

  const ofImageJ = (lines: string) => described(`ImageJ=1.53t\n${lines}\n`);

  test.each([
    'images=2.5',
    'images=0',
    'images=-3',
    'images=',
    'images=three',
    'images=1e300',
    'images=Infinity',
    'images=0x10',
    'images=4294967296',
    'images=3\u001b[2J\u009b31m',
    'channels=0.5',
    'slices=x',
    'frames=1e3',
  ])('whose ImageJ text states %j is refused, with that line', async (line) => {
    const bytes = tiffBytes({ ...shape, frames: [frames[0]!] }, ofImageJ(line));
    const { error, frames: read } = await readAll(await fileOf(bytes));
    const [name] = line.split('=');
    expect(read).toEqual([]);
    expect(error).toMatchObject({
      code: 'format/damaged-tiff',
      expected: `${name}= with a whole number from 1 to 4294967295`,
      got: expect.stringContaining(`"${name}=`),
      remedy: expect.stringContaining('ImageJ'),
      place: { frame: 0 },
    });
    expect((error as Error).message, 'nothing that a terminal obeys').not.toMatch(/\p{Cc}/u);
  });

  test('with more or fewer images than its ImageJ text states is read with a note', async () => {
    for (const images of [1, 2, 4]) {
      const { video, frames: read } = await readAll(
        await fileOf(tiffBytes({ ...shape, frames }, ofImageJ(`images=${images}`))),
      );
      expect([read, video?.frameCount, codes(video?.notes)]).toEqual([expected, 3, ['video/frame-count']]);
    }
    const packed = tiffBytes({ ...shape, frames: [frames[0]!] }, { deflated: true, ...ofImageJ('images=3') });
    const { video, frames: read } = await readAll(await fileOf(packed));
    expect([read, codes(video?.notes)]).toEqual([[expected[0]], ['video/frame-count']]);
  });

  test.prop([someFrames(16)])(
    'keeps the order of signed samples, and inverts samples where 0 is white',
    async (given) => {
      const signed = await readAll(
        await fileOf(tiffBytes(given, { fields: [{ tag: 'sampleFormat', type: 'short', values: [2] }] })),
      );
      expect(signed.frames).toEqual(
        given.frames.map((frame) => Array.from(frame, (value) => ((value << 16) >> 16) + 32768)),
      );
      expect(codes(signed.video?.notes)).toEqual(['video/signed-values']);
      const white = await readAll(
        await fileOf(tiffBytes(given, { fields: [{ tag: 'photometricInterpretation', type: 'short', values: [0] }] })),
      );
      expect(white.frames).toEqual(given.frames.map((frame) => Array.from(frame, (value) => 65535 - value)));
    },
  );

  test('skips masks and reduced images, with a note', async () => {
    const [only] = frames;
    const bytes = tiffBytes(
      { ...shape, frames: [only!] },
      { fields: [{ tag: 'newSubfileType', type: 'long', values: [1] }] },
    );
    expect((await readAll(await fileOf(bytes))).error).toMatchObject({ code: 'format/no-frames' });
  });

  test('the example video is read', async () => {
    const video = await openVideo('examples/leukocytes.tif');
    expect(video).toMatchObject({ width: 200, height: 131, frameCount: 20, bits: 8, notes: [] });
    await video.close();
  });
});

describe('Y4M', () => {
  const opened = async (rate: string) => {
    const video = await openVideo(await fileOf(Buffer.from(`YUV4MPEG2 W6 H5 ${rate} Cmono\nFRAME\n`)));
    await video.close();
    return [video.frameRate, codes(video.notes)];
  };

  test('has the frame rate of its header, none for 0:0, and a note for an invalid one', async () => {
    expect(await opened('F30000:1001')).toEqual([30000 / 1001, []]);
    expect(await opened('Ip')).toEqual([undefined, []]);
    for (const unknown of ['F0:0', 'F25:0']) expect(await opened(unknown)).toEqual([undefined, []]);
    for (const none of ['F25', 'F', 'F25:1:2', 'F-1:1', 'F2.5:1'])
      expect(await opened(none)).toEqual([undefined, ['video/frame-rate']]);
  });
});

describe('a folder of PNGs', () => {
  test('reads palettes and transparency, and notes skipped files and missing numbers', async () => {
    const folder = newPath();
    await mkdir(folder);
    const rgba = Uint8Array.from({ length: 120 }, (_, i) => (i % 4 === 3 ? 9 : (i >> 2) * 3));
    for (const number of [1, 2, 4])
      await writeFile(join(folder, `f${number}.png`), encode({ ...shape, data: rgba, channels: 4, depth: 8 }));
    await writeFile(join(folder, 'notes.txt'), '');
    const { video, frames: read } = await readAll(folder);
    expect(read[0]).toEqual(Array.from({ length: 30 }, (_, i) => 3 * i));
    expect(codes(video?.notes)).toEqual(['video/other-files', 'video/missing-numbers', 'video/transparency-ignored']);
  });

  test.prop([fc.array(fc.nat({ max: 100_000 }), { minLength: 2, maxLength: 20 })])(
    'is ordered by the numbers in names',
    (numbers) => {
      const names = numbers.map((number) => `frame ${number}.png`).sort(compareNatural);
      const sorted = [...numbers].sort((a, b) => a - b);
      expect(names).toEqual(sorted.map((number) => `frame ${number}.png`));
    },
  );
});
