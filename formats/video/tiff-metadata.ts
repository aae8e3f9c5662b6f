import type { Note } from '../../algorithms/notes.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import type { TiffDirectory } from '../rasters/tiff/directory.ts';
import { isPixelUnit, micrometresIn, secondsIn } from './metadata-units.ts';
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
  if (/<OME[\s>]/.test(text) && !text.startsWith('ImageJ=')) return readOme(text, file, notes);
  const resolution = await resolutionOf(directory);
  if (text.startsWith('ImageJ=')) return readImageJ(text, resolution, file, notes);
  noteUnlessSquare(resolution, 1, notes);
  return { frameRate: undefined, images: undefined, pixelSize: await printedSize(directory, resolution.x, notes) };
}

async function descriptionOf(directory: TiffDirectory): Promise<string> {
  // Damaged metadata is ignored, because the frames can be read without it.
  return (await directory.text('imageDescription', MAX_DESCRIPTION).catch(() => undefined)) ?? '';
}

/** Columns (`x`) and rows (`y`) per unit of length. */
interface Resolution {
  readonly x: number | undefined;
  readonly y: number | undefined;
}

async function resolutionOf(directory: TiffDirectory): Promise<Resolution> {
  const [x, y] = await Promise.all([
    directory.number('xResolution').catch(() => undefined),
    directory.number('yResolution').catch(() => undefined),
  ]);
  return { x: positive(x), y: positive(y) };
}

/** Adds a note if the resolutions differ. `ratio` is the unit of `y` divided by the unit of `x`. */
function noteUnlessSquare({ x, y }: Resolution, ratio: number, notes: Note[]): void {
  if (x === undefined || y === undefined || isSame(x, y / ratio)) return;
  const message = `Pixels are not square: ${x} columns and ${y / ratio} rows per unit. The resolution of the columns gives the pixel size.`;
  notes.push({ code: 'video/pixels-not-square', message });
}

function isSame(a: number, b: number): boolean {
  return Math.abs(b / a - 1) <= 1e-3;
}

function positive(value: number | undefined): number | undefined {
  return value !== undefined && value > 0 && value < Number.POSITIVE_INFINITY ? value : undefined;
}

/**
 * Parses ImageJ's metadata, which consists of lines `name=value`. A stack with several slices but only one frame is
 * accepted as a video, because ImageJ stores the frames of an imported video as slices.
 */
function readImageJ(text: string, resolution: Resolution, file: string, notes: Note[]): TiffMetadata {
  const values = new Map(text.split('\n').map((line) => line.trim().split('=', 2) as [string, string | undefined]));
  const count = (name: string): number | undefined => countOf(name, values.get(name), file);
  checkStack({ channels: count('channels') ?? 1, slices: count('slices') ?? 1, frames: count('frames') ?? 1 }, file);
  const unit = values.get('unit') ?? '';
  const [width, height] = [unit, values.get('yunit') ?? unit].map(micrometresIn);
  noteUnlessSquare(resolution, width === undefined || height === undefined ? 1 : height / width, notes);
  return {
    frameRate: rateOfImageJ(values, notes),
    pixelSize: sizeOfImageJ(unit, resolution.x, notes),
    images: count('images'),
  };
}

/** ImageJ takes inches from the tags of printed images, so inches are judged as {@link printedSize} judges them. */
function sizeOfImageJ(unit: string, resolution: number | undefined, notes: Note[]): number | undefined {
  const size = resolution === undefined ? undefined : sizeIn(unit, 1 / resolution, notes);
  return size !== undefined && micrometresIn(unit) === INCH ? unlessPrinted(size, notes) : size;
}

/** ImageJ writes the unit `tunit` only if it is not `sec`. `fps` is the speed at which ImageJ plays the stack. */
function rateOfImageJ(values: ReadonlyMap<string, string | undefined>, notes: Note[]): number | undefined {
  const interval = positive(Number(values.get('finterval')));
  if (interval !== undefined) return rateIn(values.get('tunit') || 'sec', interval, notes);
  const speed = positive(Number(values.get('fps')));
  if (speed === undefined) return undefined;
  const message = `ImageJ plays the file at ${speed} frames per second, but the file does not say how long its frames are apart. So no frame rate is taken from it.`;
  notes.push({ code: 'video/playback-rate', message });
  return undefined;
}

/** The frame rate of frames that are `interval` units apart. Adds a note if the unit is unknown. */
function rateIn(unit: string, interval: number, notes: Note[]): number | undefined {
  const seconds = secondsIn(unit);
  if (seconds !== undefined) return positive(1 / (interval * seconds));
  const message = `Frames are ${interval} ${quoted(unit)} apart, which is no known unit of time. So no frame rate is taken from the file.`;
  notes.push({ code: 'video/unknown-time-unit', message });
  return undefined;
}

/** The size in µm of a pixel that is `size` units wide. Adds a note if the unit is unknown. */
function sizeIn(unit: string, size: number, notes: Note[]): number | undefined {
  if (isPixelUnit(unit)) return undefined;
  const micrometres = micrometresIn(unit);
  if (micrometres !== undefined) return positive(size * micrometres);
  const message = `Pixels are ${size} ${quoted(unit)} wide, which is no known unit of length. So no pixel size is taken from the file.`;
  notes.push({ code: 'video/unknown-length-unit', message });
  return undefined;
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
function readOme(text: string, file: string, notes: Note[]): TiffMetadata {
  const pixels = /<Pixels\s[^>]*>/.exec(text)?.[0] ?? '';
  const attribute = (name: string): string | undefined =>
    new RegExp(`\\s${name}\\s*=\\s*["']([^"']*)["']`).exec(pixels)?.[1];
  const number = (name: string): number | undefined => positive(Number(attribute(name)));
  // In SizeC, a channel of colour pixels counts once for each of its samples per pixel, such as three times for RGB.
  const together = Number(/<Channel\s[^>]*SamplesPerPixel\s*=\s*["'](\d+)["']/.exec(text)?.[1] ?? 1);
  const channels = (number('SizeC') ?? 1) / (together > 0 ? together : 1);
  checkStack({ channels, slices: number('SizeZ') ?? 1, frames: number('SizeT') ?? 1 }, file);
  const [width, height, interval] = [number('PhysicalSizeX'), number('PhysicalSizeY'), number('TimeIncrement')];
  const lengthUnit = (axis: 'X' | 'Y'): string => attribute(`PhysicalSize${axis}Unit`) || 'um';
  const pixelSize = width === undefined ? undefined : sizeIn(lengthUnit('X'), width, notes);
  const rows = height === undefined ? undefined : micrometresIn(lengthUnit('Y'));
  if (pixelSize !== undefined && rows !== undefined && !isSame(pixelSize, height! * rows)) {
    const message = `Pixels are not square: ${pixelSize} µm wide and ${height! * rows} µm high. The width gives the pixel size.`;
    notes.push({ code: 'video/pixels-not-square', message });
  }
  return {
    frameRate: interval === undefined ? undefined : rateIn(attribute('TimeIncrementUnit') || 's', interval, notes),
    pixelSize,
    images: undefined,
  };
}

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
  resolution: Resolution['x'],
  notes: Note[],
): Promise<number | undefined> {
  const unit = { 2: INCH, 3: 10_000 }[(await directory.number('resolutionUnit').catch(() => undefined)) ?? 2];
  if (unit === undefined || resolution === undefined) return undefined;
  return unlessPrinted(unit / resolution, notes);
}

function unlessPrinted(size: number, notes: Note[]): number | undefined {
  if (size <= MAX_PIXEL_SIZE) return size;
  const message = `The resolution of ${+(INCH / size).toFixed(2)} dots per inch looks like a print resolution, so no pixel size is taken from it.`;
  notes.push({ code: 'video/print-resolution', message });
  return undefined;
}

/** Micrometres in an inch. */
const INCH = 25_400;
