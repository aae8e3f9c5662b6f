import type { Window } from '../../../algorithms/geometry/raster.ts';
import type { Note } from '../../../algorithms/notes.ts';
import type { Beside } from '../../bytes/beside.ts';
import { type ByteRange, type ByteSource, openOver, readOnce } from './byte-source.ts';
import { followingDirectories, isMask, isReduced, readDirectory, type TiffDirectory } from './directory.ts';
import { type BandLayout, readLayout } from './layout.ts';
import type { TiffPlatform } from './tiff-platform.ts';
import { windowReader } from './windows.ts';

/** A mask that determines which cells of a band have data, in addition to the nodata value. */
export interface BandMask {
  /** Name of the mask in notes, such as `The mask in the file`. */
  readonly name: string;
  /**
   * Returns one byte per cell of a window, row by row. The byte is 0 if the cell has no data. Blocks that are not wanted are
   * not read, and hide no cell.
   */
  read(window: Window, signal: AbortSignal | undefined, isWanted?: Wanted): Promise<Uint8Array>;
  /** The bytes that reading a window needs. */
  rangesOf(window: Window, isWanted?: Wanted): ByteRange[];
  close(): Promise<void>;
}

type Wanted = (part: Window) => boolean;

/** A band whose masks are to be found. */
export interface MaskedBand {
  readonly source: ByteSource;
  /** The first directory of the file. */
  readonly first: TiffDirectory;
  readonly directory: TiffDirectory;
  /** Whether the band is that of an overview (a reduced image), which has masks of its own. */
  readonly isOverview: boolean;
  readonly layout: BandLayout;
  /** Number of the band, from 1. */
  readonly band: number;
  readonly keepBytes: number;
  readonly platform: TiffPlatform;
  /** Maximum bytes of the table of blocks of a mask. */
  readonly maxTableBytes: number;
  checkBlocks(layout: BandLayout, file: string): void;
}

/**
 * Finds the masks of a band: transparency masks in the file, the mask in a neighbouring `.msk` file, and the alpha
 * band. Masks of other images are ignored: those of overviews (reduced images), or those of other sizes.
 *
 * @param beside - The files beside the raster; undefined if it has none.
 */
export async function findMasks(of: MaskedBand, beside: Beside | undefined, notes: Note[]): Promise<BandMask[]> {
  const masks: BandMask[] = [];
  try {
    for (const mask of await internalMasks(of, notes)) masks.push(mask);
    const outside = beside && (await maskBeside(of, beside, notes));
    if (outside !== undefined) masks.push(outside);
    const alpha = await alphaMask(of);
    if (alpha !== undefined) masks.push(alpha);
    return masks;
  } catch (error) {
    for (const mask of masks) await mask.close();
    throw error;
  }
}

async function internalMasks(of: MaskedBand, notes: Note[]): Promise<BandMask[]> {
  const masks: BandMask[] = [];
  const { directories, isWhole } = await followingDirectories(of.first);
  if (!isWhole) {
    const message = 'The directories after the first one cannot be read; masks in them, if any, are not applied.';
    notes.push({ code: 'raster/directories-unreadable', message });
  }
  for (const directory of directories) {
    if (!(await isMask(directory)) || (await isReduced(directory)) !== of.isOverview) continue;
    // Each overview has a mask of its own.
    if (of.isOverview && !(await hasSizeOf(directory, of.directory))) continue;
    const mask = await maskIn(of, of.source, directory, 'The mask in the file', notes);
    if (mask !== undefined) masks.push({ ...mask, close: async () => {} });
  }
  return masks;
}

async function hasSizeOf(directory: TiffDirectory, other: TiffDirectory): Promise<boolean> {
  for (const tag of ['imageWidth', 'imageLength'] as const) {
    if ((await directory.number(tag)) !== (await other.number(tag))) return false;
  }
  return true;
}

/** The directory of a file with masks that has the size of an image; without one, the first. */
async function maskAmong(first: TiffDirectory, image: TiffDirectory): Promise<TiffDirectory> {
  if (await hasSizeOf(first, image)) return first;
  const { directories } = await followingDirectories(first);
  for (const directory of directories) if (await hasSizeOf(directory, image)) return directory;
  return first;
}

/**
 * Whether an overview has as many masks as the raster has in the file and beside it.
 *
 * @param first - The first directory of the file with the overview.
 */
export async function hasMasksFor(
  raster: TiffDirectory,
  first: TiffDirectory,
  overview: TiffDirectory,
  beside: Beside | undefined,
): Promise<boolean> {
  const own = await countMasks(raster, raster, false);
  if (own !== (await countMasks(first, overview, true))) return false;
  const source = await beside?.open(`${beside.path}.msk`);
  if (source === undefined) return true;
  return readOnce(source, async () => hasSizeOf(await maskAmong(await readDirectory(source), overview), overview));
}

async function countMasks(first: TiffDirectory, image: TiffDirectory, isOverview: boolean): Promise<number> {
  const { directories } = await followingDirectories(first);
  let count = 0;
  for (const directory of directories) {
    const isOfKind = (await isMask(directory)) && (await isReduced(directory)) === isOverview;
    if (isOfKind && (await hasSizeOf(directory, image))) count++;
  }
  return count;
}

async function maskBeside(of: MaskedBand, beside: Beside, notes: Note[]): Promise<BandMask | undefined> {
  const source = await beside.open(`${beside.path}.msk`);
  if (source === undefined) return undefined;
  return openOver(source, async () => {
    const directory = await maskAmong(await readDirectory(source), of.directory);
    const mask = await maskIn(of, source, directory, `The mask ${source.file}`, notes);
    if (mask === undefined) await source.close();
    return mask;
  });
}

/** Opens a mask. If the size of the mask differs from the size of the band, adds a note and returns undefined. */
async function maskIn(
  of: MaskedBand,
  source: ByteSource,
  directory: TiffDirectory,
  name: string,
  notes: Note[],
): Promise<BandMask | undefined> {
  const [width, height] = [await directory.number('imageWidth'), await directory.number('imageLength')];
  if (width !== of.layout.width || height !== of.layout.height) {
    const message = `${name} has ${width} × ${height} cells, not those of the raster, and is not applied.`;
    notes.push({ code: 'raster/mask-size', message });
    return undefined;
  }
  const bands = (await directory.number('samplesPerPixel')) ?? 1;
  const band = bands === 1 ? 1 : Math.min(of.band, bands);
  const layout = await readLayout(source, directory, band, of.maxTableBytes);
  of.checkBlocks(layout, source.file);
  return { name, ...maskReads(of, source, layout), close: () => source.close() };
}

/** Reads a mask of any numbers as bytes. 0 stays 0 (no data), and any other number means data. */
function maskReads(
  { keepBytes, platform }: MaskedBand,
  source: ByteSource,
  layout: BandLayout,
): Pick<BandMask, 'read' | 'rangesOf'> {
  const reader = windowReader({ source, layout, fill: 0, unread: 1, keepBytes, threads: 0, platform });
  return {
    async read(window, signal, isWanted) {
      const values = await reader.read(window, signal, isWanted);
      return values instanceof Uint8Array
        ? values
        : Uint8Array.from(values as ArrayLike<number | bigint>, (value) => (Number(value) === 0 ? 0 : 1));
    },
    rangesOf: reader.rangesOf,
  };
}

/** Values of the tag ExtraSamples that mean an alpha band. The colours are premultiplied by alpha (1) or not (2). */
export const ALPHA: ReadonlySet<number> = new Set([1, 2]);

async function alphaMask(of: MaskedBand): Promise<BandMask | undefined> {
  const samples = (await of.directory.number('samplesPerPixel')) ?? 1;
  const extra = (await of.directory.numbers('extraSamples', samples)) ?? new Float64Array();
  const which = extra.findIndex((kind) => ALPHA.has(kind));
  const band = samples - extra.length + which + 1;
  if (which === -1 || band === of.band || band < 1) return undefined;
  const layout = await readLayout(of.source, of.directory, band);
  return { name: `The alpha band ${band}`, ...maskReads(of, of.source, layout), close: async () => {} };
}
