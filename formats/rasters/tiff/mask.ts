import { access } from 'node:fs/promises';
import type { Cells, Window } from '../../../algorithms/geometry/raster.ts';
import type { Note } from '../../../algorithms/notes.ts';
import { openFileBytes } from '../../bytes/file-bytes.ts';
import type { ByteSource } from './byte-source.ts';
import { readDirectory, type TiffDirectory } from './directory.ts';
import { type BandLayout, readLayout } from './layout.ts';
import { windowReader } from './windows.ts';

/** A mask that determines which cells of a band have data, in addition to the nodata value. */
export interface BandMask {
  /** Name of the mask in notes, such as `The mask in the file`. */
  readonly name: string;
  /** Returns one byte per cell of a window, row by row. The byte is 0 if the cell has no data. */
  read(window: Window, signal: AbortSignal | undefined): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** A band whose masks are to be found. */
export interface MaskedBand {
  readonly source: ByteSource;
  readonly directory: TiffDirectory;
  readonly layout: BandLayout;
  /** Number of the band, from 1. */
  readonly band: number;
  readonly keepBytes: number;
  checkBlocks(layout: BandLayout, file: string): void;
}

/**
 * Finds the masks of a band: transparency masks in the file, the mask in a neighbouring `.msk` file, and the alpha
 * band. Masks that belong to overviews (reduced images) are ignored.
 *
 * @param path - Path of the file; undefined for bytes in memory, which have no `.msk` file.
 */
export async function findMasks(of: MaskedBand, path: string | undefined, notes: Note[]): Promise<BandMask[]> {
  const masks: BandMask[] = [];
  try {
    for (const mask of await internalMasks(of, notes)) masks.push(mask);
    const beside = path === undefined ? undefined : await maskBeside(of, `${path}.msk`, notes);
    if (beside !== undefined) masks.push(beside);
    const alpha = await alphaMask(of);
    if (alpha !== undefined) masks.push(alpha);
    return masks;
  } catch (error) {
    for (const mask of masks) await mask.close();
    throw error;
  }
}

/** Bits of the tag NewSubfileType. REDUCED marks an overview (a reduced image), and MASK marks a mask. */
const REDUCED = 1;
const MASK = 4;

async function internalMasks(of: MaskedBand, notes: Note[]): Promise<BandMask[]> {
  const masks: BandMask[] = [];
  const { directories, isWhole } = await followingDirectories(of.directory);
  if (!isWhole) {
    const message = 'The directories after the first one cannot be read; masks in them, if any, are not applied.';
    notes.push({ code: 'raster/directories-unreadable', message });
  }
  for (const directory of directories) {
    const kind = (await directory.number('newSubfileType')) ?? 0;
    if ((kind & MASK) === 0 || (kind & REDUCED) !== 0) continue;
    const mask = await maskIn(of, of.source, directory, 'The mask in the file', notes);
    if (mask !== undefined) masks.push({ ...mask, close: async () => {} });
  }
  return masks;
}

/**
 * Maximum number of directories. Real files have fewer. In a damaged file, the directories may form an endless cycle.
 */
const MAX_DIRECTORIES = 4096;

async function followingDirectories(first: TiffDirectory) {
  const directories: TiffDirectory[] = [];
  try {
    for (let next = await first.next(); next !== undefined; next = await next.next()) {
      if (directories.push(next) === MAX_DIRECTORIES) return { directories, isWhole: false };
    }
    return { directories, isWhole: true };
  } catch {
    return { directories, isWhole: false };
  }
}

async function maskBeside(of: MaskedBand, path: string, notes: Note[]): Promise<BandMask | undefined> {
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (!isThere) return undefined;
  const source = await openFileBytes(path);
  try {
    const mask = await maskIn(of, source, await readDirectory(source), `The mask ${path}`, notes);
    if (mask === undefined) await source.close();
    return mask;
  } catch (error) {
    await source.close();
    throw error;
  }
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
  const layout = await readLayout(source, directory, band);
  of.checkBlocks(layout, source.file);
  const reader = windowReader({ source, layout, fill: 0, keepBytes: of.keepBytes, threads: 0 });
  const read = wholeValues((window, signal) => reader.read(window, signal));
  return { name, read, close: () => source.close() };
}

type MaskRead = BandMask['read'];

/** Converts a reader of numbers to a reader of mask bytes. 0 stays 0 (no data), and any other number means data. */
function wholeValues(read: (window: Window, signal: AbortSignal | undefined) => Promise<Cells>): MaskRead {
  return async (window, signal) => {
    const values = await read(window, signal);
    return values instanceof Uint8Array
      ? values
      : Uint8Array.from(values as ArrayLike<number | bigint>, (value) => (Number(value) === 0 ? 0 : 1));
  };
}

/** Values of the tag ExtraSamples that mean an alpha band. The colours are premultiplied by alpha (1) or not (2). */
const ALPHA: ReadonlySet<number> = new Set([1, 2]);

async function alphaMask(of: MaskedBand): Promise<BandMask | undefined> {
  const samples = (await of.directory.number('samplesPerPixel')) ?? 1;
  const extra = (await of.directory.numbers('extraSamples', samples)) ?? new Float64Array();
  const which = extra.findIndex((kind) => ALPHA.has(kind));
  const band = samples - extra.length + which + 1;
  if (which === -1 || band === of.band || band < 1) return undefined;
  const layout = await readLayout(of.source, of.directory, band);
  const reader = windowReader({ source: of.source, layout, fill: 0, keepBytes: of.keepBytes, threads: 0 });
  const read = wholeValues((window, signal) => reader.read(window, signal));
  return { name: `The alpha band ${band}`, read, close: async () => {} };
}
