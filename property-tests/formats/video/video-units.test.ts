import { describe, expect } from 'vitest';
import { caseCount } from '../../cases.ts';
import { fc, test } from '../../law-test.ts';
import { fileOf, readAll, tiffBytes } from './video-support.ts';

const frame = Uint8Array.of(1, 2, 3, 4, 5, 6);

/** Opens a TIFF of one frame, whose tag ImageDescription is `text`, with 4 columns and `rows` rows per unit. */
async function described(text: string, rows = 4) {
  const fields = [
    { tag: 'imageDescription', type: 'ascii', text },
    { tag: 'xResolution', type: 'rational', values: [4] },
    { tag: 'yResolution', type: 'rational', values: [rows] },
  ] as const;
  const { video } = await readAll(await fileOf(tiffBytes({ width: 3, height: 2, frames: [frame] }, { fields })));
  const { frameRate, pixelSize, notes } = video!;
  return { frameRate, pixelSize, notes, codes: notes.map(({ code }) => code) };
}

const ofImageJ = (lines: readonly string[], rows?: number) =>
  described(`ImageJ=1.54f\n${lines.map((line) => `${line}\n`).join('')}`, rows);
const ofOme = (attributes: string) =>
  described(`<OME><Image><Pixels SizeC="1" SizeT="1" SizeZ="1" ${attributes}/></Image></OME>`);

/** The micro sign as files have it: Latin-1, UTF-8 (of both signs) read as Latin-1, and ImageJ's escapes. */
const MICRO = ['\u00b5', '\u00c2\u00b5', '\u00ce\u00bc', '\\u00B5', '\\u03BC', '\\u00b5'];
const XML_MICRO = ['\u00b5', '\u00c2\u00b5', '\u00ce\u00bc', '&#181;', '&#xB5;', '&#x3bc;', '&#956;'];

const TIMES: readonly (readonly [number, readonly string[]])[] = [
  [1, ['s', 'sec', 'secs', 'Sec', 'second', 'seconds', 'Seconds', 'SEC', 'sec.']],
  [1e-3, ['ms', 'msec', 'msecs', 'Msec', 'millisecond', 'Milliseconds']],
  [1e-6, ['us', 'usec', 'microseconds', ...MICRO.flatMap((micro) => [`${micro}s`, `${micro}sec`])]],
  [1e-9, ['ns', 'nsec', 'nanoseconds']],
  [60, ['min', 'mins', 'Min', 'minute', 'minutes']],
  [3600, ['h', 'H', 'hr', 'hrs', 'hour', 'hours', 'Hours']],
  [86_400, ['d', 'day', 'days', 'Day']],
];
const LENGTHS: readonly (readonly [number, readonly string[]])[] = [
  [1, ['micron', 'microns', 'Micron', 'um', 'micrometer', 'micrometres', ...MICRO.map((micro) => `${micro}m`)]],
  [1e-3, ['nm', 'nanometer', 'Nanometres']],
  [1e3, ['mm', 'millimeter', 'MM']],
  [1e4, ['cm', 'centimetres']],
  [1e6, ['m', 'meter', 'metres']],
  [1e-4, ['\u00c5', '\\u00C5', 'angstrom']],
];
const UNKNOWN = ['frame', 'frames', 'Ms', 'Mm', 'foo', 'fps', 'sections', 'ticks', 'sec/frame', 'x\u001b[2J'];

const oneOf = (units: typeof TIMES) =>
  fc.constantFrom(...units.flatMap(([scale, names]) => names.map((name) => ({ scale, name }))));
const anInterval = fc.double({ min: 1e-6, max: 1e6, noNaN: true });

describe('units in the metadata of a TIFF video', () => {
  test('of every name are known', async () => {
    for (const [seconds, names] of TIMES)
      for (const name of names)
        expect((await ofImageJ(['finterval=40', `tunit=${name}`])).frameRate, name).toBeCloseTo(1 / (40 * seconds), 12);
    for (const [micrometres, names] of LENGTHS)
      for (const name of names)
        expect((await ofImageJ([`unit=${name}`])).pixelSize, name).toBeCloseTo(micrometres / 4, 12);
  });

  test.prop([anInterval, oneOf(TIMES), oneOf(LENGTHS)], { numRuns: caseCount(200) })(
    'scale the frame rate and the pixel size of ImageJ',
    async (interval, time, length) => {
      const { frameRate, pixelSize, notes } = await ofImageJ([
        `unit=${length.name}`,
        `finterval=${interval}`,
        `tunit=${time.name}`,
        'fps=7',
      ]);
      expect(frameRate! * interval * time.scale).toBeCloseTo(1, 12);
      expect((pixelSize! * 4) / length.scale).toBeCloseTo(1, 12);
      expect(notes).toEqual([]);
    },
  );

  test.prop([anInterval, fc.constantFrom('s', 'ms', 'ns', 'min', 'h', 'd', ...XML_MICRO.map((micro) => `${micro}s`))], {
    numRuns: caseCount(100),
  })('scale the frame rate and the pixel size of OME', async (interval, unit) => {
    const seconds = { s: 1, ms: 1e-3, ns: 1e-9, min: 60, h: 3600, d: 86_400 }[unit] ?? 1e-6;
    const { frameRate, pixelSize, notes } = await ofOme(
      `PhysicalSizeX="65" PhysicalSizeXUnit="nm" PhysicalSizeY="0.065" TimeIncrement="${interval}" TimeIncrementUnit="${unit}"`,
    );
    expect(frameRate! * interval * seconds).toBeCloseTo(1, 12);
    expect([pixelSize!.toFixed(9), notes]).toEqual(['0.065000000', []]);
  });

  test.each(UNKNOWN)('that are unknown, such as %j, give no rate and no size, with a note', async (unit) => {
    const { frameRate, pixelSize, codes, notes } = await ofImageJ(['finterval=40', `tunit=${unit}`, `unit=${unit}`]);
    expect([frameRate, pixelSize]).toEqual([undefined, undefined]);
    expect(codes).toEqual(['video/unknown-time-unit', 'video/unknown-length-unit']);
    for (const { message } of notes) expect(message).not.toMatch(/\p{Cc}/u);
    const ome = await ofOme(
      `PhysicalSizeX="3" PhysicalSizeXUnit="${unit}" TimeIncrement="4" TimeIncrementUnit="${unit}"`,
    );
    expect([ome.frameRate, ome.pixelSize, ome.codes.toSorted()]).toEqual([undefined, undefined, codes.toSorted()]);
  });

  test('default to seconds and, in OME, to micrometres', async () => {
    expect(await ofImageJ(['finterval=0.05'])).toMatchObject({ frameRate: 20, pixelSize: undefined, codes: [] });
    expect(await ofOme('PhysicalSizeX="0.5" TimeIncrement="0.05"')).toMatchObject({ frameRate: 20, pixelSize: 0.5 });
    expect(await ofImageJ(['unit=pixel', 'tunit=ms'])).toMatchObject({ pixelSize: undefined, codes: [] });
  });

  test('leave out the speed at which ImageJ plays a stack, with a note', async () => {
    expect(await ofImageJ(['fps=7'])).toMatchObject({ frameRate: undefined, codes: ['video/playback-rate'] });
  });

  test('of inches that look like a print resolution are noted, and give no pixel size', async () => {
    expect(await ofImageJ(['unit=inch'])).toMatchObject({ pixelSize: undefined, codes: ['video/print-resolution'] });
  });

  test('of columns and rows are compared before pixels are called not square', async () => {
    expect((await ofImageJ(['unit=um', 'yunit=mm'], 4000)).codes).toEqual([]);
    expect((await ofImageJ(['unit=um', 'yunit=mm'])).codes).toEqual(['video/pixels-not-square']);
    expect((await ofImageJ(['unit=um'], 8)).codes).toEqual(['video/pixels-not-square']);
    expect((await ofOme('PhysicalSizeX="0.5" PhysicalSizeY="0.25"')).codes).toEqual(['video/pixels-not-square']);
  });
});
