import type { Note } from '../../algorithms/notes.ts';
import { FormatError } from '../../primitives/errors.ts';
import type { TiffDirectory } from '../tiff/directory.ts';
import { quoted } from './quoted.ts';

/** Metadata of a TIFF video, from its first directory. */
export interface TiffMetadata {
  readonly frameRate: number | undefined;
  readonly pixelSize: number | undefined;
  /** Number of frames according to ImageJ's metadata. */
  readonly images: number | undefined;
}

const MAX_DESCRIPTION = 2 ** 20;

/** Reads the resolution tags, and the metadata that ImageJ or OME wrote into the tag ImageDescription. */
export async function readMetadata(directory: TiffDirectory, file: string, notes: Note[]): Promise<TiffMetadata> {
  const text = await descriptionOf(directory);
  const resolution = await resolutionOf(directory, notes);
  if (text.startsWith('ImageJ=')) return readImageJ(text, resolution, file);
  if (/<OME[\s>]/.test(text)) return readOme(text, file);
  return { frameRate: undefined, images: undefined, pixelSize: await printedSize(directory, resolution, notes) };
}

async function descriptionOf(directory: TiffDirectory): Promise<string> {
  // Damaged metadata is ignored, because the frames can be read without it.
  return (await directory.text('imageDescription', MAX_DESCRIPTION).catch(() => undefined)) ?? '';
}

/** Horizontal resolution in pixels per unit of length. Adds a note if the vertical resolution is different. */
async function resolutionOf(directory: TiffDirectory, notes: Note[]): Promise<number | undefined> {
  const [x, y] = await Promise.all([
    directory.number('xResolution').catch(() => undefined),
    directory.number('yResolution').catch(() => undefined),
  ]);
  const known = positive(x);
  if (known !== undefined && positive(y) !== undefined && Math.abs(y! / known - 1) > 1e-3) {
    const message = `Pixels are not square: ${x} columns and ${y} rows per unit. The resolution of the columns gives the pixel size.`;
    notes.push({ code: 'video/pixels-not-square', message });
  }
  return known;
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 && value < Number.POSITIVE_INFINITY ? value : undefined;
}

/**
 * Parses ImageJ's metadata, which consists of lines `name=value`. A stack with several slices but only one frame is
 * accepted as a video, because ImageJ stores the frames of an imported video as slices.
 */
function readImageJ(text: string, resolution: number | undefined, file: string): TiffMetadata {
  const values = new Map(text.split('\n').map((line) => line.trim().split('=', 2) as [string, string | undefined]));
  const count = (name: string): number | undefined => countOf(name, values.get(name), file);
  checkStack({ channels: count('channels') ?? 1, slices: count('slices') ?? 1, frames: count('frames') ?? 1 }, file);
  const interval = positive(Number(values.get('finterval')));
  const unit = micrometres(values.get('unit'));
  return {
    frameRate: interval === undefined ? undefined : 1 / interval,
    pixelSize: unit === undefined || resolution === undefined ? undefined : unit / resolution,
    images: count('images'),
  };
}

/** Maximum number of images, because frames are numbered in u32. */
const MAX_IMAGES = 2 ** 32 - 1;

/** A count in ImageJ's metadata, such as the number of channels; undefined if it is absent. */
function countOf(name: string, text: string | undefined, file: string): number | undefined {
  if (text === undefined) return undefined;
  const count = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (count >= 1 && count <= MAX_IMAGES) return count;
  throw new FormatError('format/damaged-tiff', `What ImageJ wrote into the TIFF is damaged: its number of ${name}.`, {
    expected: `${name}= with a whole number from 1 to ${MAX_IMAGES}`,
    got: quoted(`${name}=${text}`),
    remedy:
      'Save it again in ImageJ (File > Save As > Tiff), or set the tag ImageDescription anew, for example with tiffset.',
    place: { file },
  });
}

/** Parses OME-XML: the attributes of the first `Pixels` element. */
function readOme(text: string, file: string): TiffMetadata {
  const pixels = /<Pixels\s[^>]*>/.exec(text)?.[0] ?? '';
  const attribute = (name: string): string | undefined =>
    new RegExp(`\\s${name}\\s*=\\s*["']([^"']*)["']`).exec(pixels)?.[1];
  const number = (name: string): number | undefined => positive(Number(attribute(name)));
  // In SizeC, a channel of colour pixels counts once for each of its samples per pixel, such as three times for RGB.
  const together = Number(/<Channel\s[^>]*SamplesPerPixel\s*=\s*["'](\d+)["']/.exec(text)?.[1] ?? 1);
  const channels = (number('SizeC') ?? 1) / (together > 0 ? together : 1);
  checkStack({ channels, slices: number('SizeZ') ?? 1, frames: number('SizeT') ?? 1 }, file);
  const [size, interval] = [number('PhysicalSizeX'), number('TimeIncrement')];
  const unit = micrometres(attribute('PhysicalSizeXUnit') ?? 'um');
  const second = SECONDS[attribute('TimeIncrementUnit') ?? 's'];
  return {
    frameRate: interval === undefined || second === undefined ? undefined : 1 / (interval * second),
    pixelSize: size === undefined || unit === undefined ? undefined : size * unit,
    images: undefined,
  };
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, ms: 1e-3, min: 60, h: 3600 };

/**
 * Returns the number of micrometres in a unit of length; undefined if the unit is unknown. `unit` is the name that
 * ImageJ or OME writes. In these names, the letter µ has several encodings.
 */
function micrometres(unit = ''): number | undefined {
  if (/^(microns?|um|micromet(er|re)s?|(\u00c2?\u00b5|\u00ce\u00bc|\u03bc|\\u00b5)m)$/i.test(unit)) return 1;
  return UNITS[unit.toLowerCase()];
}

const UNITS: Readonly<Record<string, number>> = { nm: 1e-3, mm: 1e3, cm: 1e4, m: 1e6, inch: 25_400, in: 25_400 };

interface StackSizes {
  readonly channels: number;
  readonly slices: number;
  readonly frames: number;
}

/**
 * Throws if the pages of a stack are not only the frames of a video, but also channels or slices. Several slices are
 * accepted if there is only one frame.
 */
function checkStack({ channels, slices, frames }: StackSizes, file: string): void {
  if (channels === 1 && (slices === 1 || frames === 1)) return;
  throw new FormatError('format/unsupported-stack', 'The pages of the TIFF are not all frames.', {
    expected: 'one channel and one section per frame',
    got: `${channels} channels, ${slices} sections and ${frames} frames`,
    remedy: 'Split the channels, or project the sections, for example in ImageJ.',
    place: { file },
  });
}

/**
 * Maximum pixel size in µm, which corresponds to 1000 dpi. A larger pixel size comes from a resolution for printing,
 * not from a microscope.
 */
const MAX_PIXEL_SIZE = 25.4;

/**
 * Pixel size in µm according to the tags ResolutionUnit and XResolution. Resolutions for printing, such as 72 or 300
 * dpi, are noted and ignored.
 */
async function printedSize(
  directory: TiffDirectory,
  resolution: number | undefined,
  notes: Note[],
): Promise<number | undefined> {
  const unit = { 2: 25_400, 3: 10_000 }[(await directory.number('resolutionUnit').catch(() => undefined)) ?? 2];
  if (unit === undefined || resolution === undefined) return undefined;
  const size = unit / resolution;
  if (size <= MAX_PIXEL_SIZE) return size;
  const message = `The resolution of ${+(25_400 / size).toFixed(2)} dots per inch looks like a print resolution, so no pixel size is taken from it.`;
  notes.push({ code: 'video/print-resolution', message });
  return undefined;
}
