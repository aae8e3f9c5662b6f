import type { Note } from '../../../algorithms/notes.ts';
import type { Beside } from '../../bytes/beside.ts';
import { type ByteSource, openOver } from './byte-source.ts';
import { followingDirectories, isMask, isReduced, readDirectory, type TiffDirectory } from './directory.ts';
import type { GeoTransform } from './georeference.ts';
import { ALPHA, hasMasksFor } from './mask.ts';

/** An image of a raster: its own cells, or an overview of them. */
export interface TiffImage {
  /** The bytes of its blocks, and the first directory in them. */
  readonly source: ByteSource;
  readonly first: TiffDirectory;
  readonly directory: TiffDirectory;
  /** How many cells of the raster are side by side in a cell, and one below the other. */
  readonly across: number;
  readonly down: number;
  /** Closes what was opened for it besides the file of the raster. */
  close(): Promise<void>;
}

/** A raster of which an image is chosen. */
export interface ImageChoice {
  readonly source: ByteSource;
  /** The directory of its own cells. */
  readonly directory: TiffDirectory;
  /** The files beside it; undefined if there are none. */
  readonly beside: Beside | undefined;
  /** Maximum width and height of cells, in cells of the raster. Undefined: its own. */
  readonly approximate: number | undefined;
  /** Whether masks are applied. */
  readonly isMasked: boolean;
}

/**
 * Chooses the overview with the largest cells that are small enough; without one, the cells of the raster, with a note. Overviews
 * are in the file or, if it has none, in the file `.ovr` beside it, as GDAL has them. An overview with samples of another type, or
 * without a mask where the raster has one, is not taken: cells that are hidden would be counted.
 */
export async function chooseImage(choice: ImageChoice, notes: Note[]): Promise<TiffImage> {
  const { source, directory, approximate } = choice;
  const itself: TiffImage = { source, first: directory, directory, across: 1, down: 1, close: async () => {} };
  if (approximate === undefined) return itself;
  const whole = await sizeOf(directory);
  const within = await withOverviews(choice, itself);
  try {
    const found = await overviewsOf(directory, within);
    // Writers round lengths up or down.
    const isFine = (own: number, length: number): boolean =>
      own * approximate >= length || own >= Math.floor(length / Math.floor(approximate));
    const fine = found.filter(({ width, height }) => isFine(width, whole.width) && isFine(height, whole.height));
    for (const { directory: overview, width, height } of fine) {
      if (choice.isMasked && !(await hasMasksFor(directory, within.first, overview, choice.beside))) continue;
      notes.push(approximateNote(whole, { width, height }));
      return { ...within, directory: overview, across: whole.width / width, down: whole.height / height };
    }
    notes.push(noOverviewNote(approximate, whole, found, fine.length > 0));
  } catch (error) {
    await within.close();
    throw error;
  }
  await within.close();
  return itself;
}

/** The placement of an image, of that of the raster. */
export function placedBy([x, a, b, y, d, e]: GeoTransform, { across, down }: TiffImage): GeoTransform {
  return [x, a * across, b * down, y, d * across, e * down];
}

interface Size {
  readonly width: number;
  readonly height: number;
}

async function sizeOf(directory: TiffDirectory): Promise<Size> {
  const [width = 0, height = 0] = [await directory.number('imageWidth'), await directory.number('imageLength')];
  return { width, height };
}

/** The file itself if it has overviews or nothing else has; otherwise the file beside it. */
async function withOverviews({ directory, beside }: ImageChoice, itself: TiffImage): Promise<TiffImage> {
  if (beside === undefined) return itself;
  const { directories } = await followingDirectories(directory);
  for (const each of directories) if (await isOverview(each)) return itself;
  const source = await beside.open(`${beside.path}.ovr`).catch(() => undefined);
  if (source === undefined) return itself;
  return openOver(source, async () => ({
    ...itself,
    source,
    first: await readDirectory(source),
    close: () => source.close(),
  }));
}

async function isOverview(directory: TiffDirectory): Promise<boolean> {
  return (await isReduced(directory)) && !(await isMask(directory));
}

/** The overviews of a raster, those with the largest cells first. */
async function overviewsOf(raster: TiffDirectory, { first }: TiffImage) {
  const { directories } = await followingDirectories(first);
  const found: (Size & { readonly directory: TiffDirectory })[] = [];
  const whole = await sizeOf(raster);
  for (const directory of [first, ...directories]) {
    const size = await sizeOf(directory);
    if (!(await isOverview(directory)) || !isReductionOf(whole, size)) continue;
    if (await hasSameSamples(raster, directory)) found.push({ ...size, directory });
  }
  return found.sort((a, b) => a.width * a.height - b.width * b.height);
}

/** Whether an image shows all of a raster in fewer cells. A thumbnail may have another shape. */
function isReductionOf(whole: Size, { width, height }: Size): boolean {
  if (width < 1 || height < 1 || width > whole.width || height > whole.height) return false;
  const factor = Math.max(whole.width / width, whole.height / height);
  // Lengths are rounded up or down, some at each of several steps.
  const fits = (own: number, length: number): boolean => Math.abs(own - length / factor) <= 1;
  return factor > 1 && fits(width, whole.width) && fits(height, whole.height);
}

/** Whether two images have the same bands of the same type. An overview of bits may have shades of 8 bits. */
async function hasSameSamples(raster: TiffDirectory, overview: TiffDirectory): Promise<boolean> {
  const [own, other] = [await samplesOf(raster), await samplesOf(overview)];
  return own === other;
}

async function samplesOf(directory: TiffDirectory): Promise<string> {
  const count = (await directory.number('samplesPerPixel')) ?? 1;
  const [bits = [1], formats = [1]] = [
    await directory.numbers('bitsPerSample'),
    await directory.numbers('sampleFormat'),
  ];
  const extra = [...((await directory.numbers('extraSamples')) ?? [])];
  // Writers list samples that mean nothing, or leave them out. Only those of alpha hide cells.
  const alphas = extra.flatMap((kind, at) => (ALPHA.has(kind) ? [count - extra.length + at] : []));
  return JSON.stringify([count, [...new Set(bits)], [...new Set(formats)], alphas]);
}

const cellsOf = ({ width, height }: Size): string => `${width} × ${height}`;

function factorsOf(whole: Size, { width, height }: Size): string {
  const [across, down] = [whole.width / width, whole.height / height].map((factor) => Number(factor.toPrecision(4)));
  return `${across} × ${down}`;
}

function approximateNote(whole: Size, overview: Size): Note {
  const message = `An overview of ${cellsOf(overview)} cells is read in place of the ${cellsOf(whole)} of the raster: results are approximate, and all numbers of cells, counts and sums are of its cells, each of ${factorsOf(whole, overview)}.`;
  return { code: 'raster/approximate', message };
}

function noOverviewNote(approximate: number, whole: Size, found: readonly Size[], isFine: boolean): Note {
  const sizes = found.map((each) => factorsOf(whole, each)).join(', ');
  const reason =
    found.length === 0
      ? 'There is no overview with samples of its type (gdaladdo makes overviews)'
      : isFine
        ? 'Its overviews lack the mask that it has'
        : `The cells of its overviews are larger than ${approximate} × ${approximate} (${sizes})`;
  return { code: 'raster/no-overview', message: `${reason}: the cells of the raster are read.` };
}
