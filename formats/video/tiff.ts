import type { Note } from '../../algorithms/notes.ts';
import { QuadrilleError } from '../../primitives/checks/errors.ts';
import type { ByteSource } from '../rasters/tiff/byte-source.ts';
import { damaged, readDirectory, type TiffDirectory } from '../rasters/tiff/directory.ts';
import { withSmallReads } from './small-reads.ts';
import { readMetadata } from './tiff-metadata.ts';
import { decodePage, extentOf, readPage, TIFF_REMEDY, type TiffPage } from './tiff-page.ts';
import type { Grey, VideoChannel, VideoReader } from './video.ts';
import { cutOff, frameChanged, noFrames, placedError } from './video-error.ts';

/** Opens a TIFF with several pages. Each page is a frame. Frames are in the order of the directories. */
export async function openTiff(bytes: ByteSource, channel: VideoChannel): Promise<VideoReader> {
  const source = withSmallReads(bytes);
  const { file } = source;
  const stack = await atFrame(source, 0, () => openStack(source, channel));
  const { page, frameCount, metadata, notes } = stack;
  return {
    ...{ format: 'tiff', width: page.width, height: page.height, bits: page.bits, frameCount, notes },
    ...{ frameRate: metadata.frameRate, pixelSize: metadata.pixelSize },
    read: (signal) =>
      stack.isContiguous ? readContiguous(source, stack, channel, signal) : readPages(source, stack, channel, signal),
    close: () => bytes.close(),
  };

  async function openStack(source: ByteSource, channel: VideoChannel) {
    const notes: Note[] = [];
    const root = await readDirectory(source);
    const first = (await framesOf(root).next()).value;
    if (first === undefined) throw noFrames('only masks and reduced images', { file });
    const page = await readPage(source, first, channel);
    const metadata = await readMetadata(first, file, notes);
    const { count, others } = await countPages(root);
    // For stacks over 4 GiB, ImageJ writes only one directory, which describes the first image. The other images follow
    // the first one without gaps.
    const isContiguous = count === 1 && others === 0 && (metadata.images ?? 1) > 1 && isPlain(page);
    const frameCount = isContiguous ? metadata.images : count;
    const further = [...page.notes, ...othersNote(others), ...countNote(metadata.images, frameCount)];
    for (const note of further) notes.push(note);
    return { root, page, metadata, notes, isContiguous, frameCount };
  }
}

interface Stack {
  readonly root: TiffDirectory;
  readonly page: TiffPage;
  readonly frameCount: number | undefined;
}

/** Whether the pixels of a page are uncompressed and stored without gaps. */
function isPlain({ layouts }: TiffPage): boolean {
  const [layout] = layouts;
  if (layouts.length !== 1 || layout!.compression !== 'none' || layout!.tiled) return false;
  const [start, end] = extentOf(layout!);
  return end - start === layout!.byteCounts.reduce((sum, bytes) => sum + bytes, 0);
}

function othersNote(count: number): Note[] {
  if (count === 0) return [];
  const message = `${count === 1 ? '1 page is a mask or a reduced image, and is' : `${count} pages are masks or reduced images, and are`} not read.`;
  return [{ code: 'video/other-pages', message, count }];
}

function countNote(announced: number | undefined, count: number | undefined): Note[] {
  if (announced === undefined || count === undefined || announced === count) return [];
  const message = `ImageJ wrote ${announced} images into the head of the file, but the file has ${count}.`;
  return [{ code: 'video/frame-count', message }];
}

const REDUCED_OR_MASK = 0b101;

/** Iterates over the directories that are frames, in order. Directories of masks and reduced images are skipped. */
async function* framesOf(
  root: TiffDirectory,
  skipped?: () => void,
): AsyncGenerator<TiffDirectory, undefined, undefined> {
  for await (const directory of directoriesOf(root)) {
    if ((((await directory.number('newSubfileType')) ?? 0) & REDUCED_OR_MASK) === 0) yield directory;
    else skipped?.();
  }
}

/**
 * Iterates over all directories. Throws if the directories form a cycle. Cycles are detected by Brent's algorithm: each
 * position is compared with one earlier position, which is replaced after 1, 2, 4 … steps.
 */
async function* directoriesOf(root: TiffDirectory): AsyncGenerator<TiffDirectory, void, undefined> {
  let [kept, steps, power] = [root.offset, 0, 1];
  for (let directory: TiffDirectory | undefined = root; directory !== undefined; ) {
    yield directory;
    directory = await directory.next();
    if (directory?.offset === kept) throw new CircleError();
    if (++steps === power) [kept, steps, power] = [directory?.offset ?? 0, 0, 2 * power];
  }
}

class CircleError extends Error {}

/**
 * Counts the pages. The count is undefined if a directory is damaged. The error is thrown later, when the frame of this
 * directory is read.
 */
async function countPages(
  root: TiffDirectory,
): Promise<{ readonly count: number | undefined; readonly others: number }> {
  let [count, others] = [0, 0];
  try {
    for await (const _ of framesOf(root, () => others++)) count++;
  } catch (error) {
    if (!(error instanceof QuadrilleError)) throw error;
    return { count: undefined, others };
  }
  return { count, others };
}

async function* readPages(
  source: ByteSource,
  { root, page }: Stack,
  channel: VideoChannel,
  signal: AbortSignal,
): AsyncGenerator<Grey, void, undefined> {
  const pages = framesOf(root);
  for (let frame = 0; ; frame++) {
    const grey = await atFrame(source, frame, async () => {
      const { value: directory } = await pages.next();
      signal.throwIfAborted();
      if (directory === undefined) return undefined;
      const next = await readPage(source, directory, channel);
      if (shapeOf(next) !== shapeOf(page)) throw frameChanged(shapeOf(page), shapeOf(next), {});
      return decodePage(source, next, channel, 0);
    });
    if (grey === undefined) return;
    yield grey;
  }
}

function shapeOf({ width, height, layouts, colours }: TiffPage): string {
  return `${width} × ${height} pixels, ${colours} of ${layouts[0]!.sample}`;
}

async function* readContiguous(
  source: ByteSource,
  { page, frameCount }: Stack,
  channel: VideoChannel,
  signal: AbortSignal,
): AsyncGenerator<Grey, void, undefined> {
  const [start, end] = extentOf(page.layouts[0]!);
  for (let frame = 0; frame < frameCount!; frame++) {
    signal.throwIfAborted();
    const shift = frame * (end - start);
    if (end + shift > source.size)
      throw cutOff(`${frameCount} frames`, `${frame} frames`, { file: source.file, frame, byte: start + shift });
    yield await atFrame(source, frame, () => decodePage(source, page, channel, shift));
  }
}

/** Adds the frame's number to an error that occurs while the frame is read. */
async function atFrame<T>({ file }: ByteSource, frame: number, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    const known = error instanceof CircleError ? damaged(file, 'its directories go in a circle') : error;
    const isForRasters = known instanceof QuadrilleError && known.remedy?.includes('gdal_translate');
    throw placedError(known, { file, frame }, isForRasters ? TIFF_REMEDY : undefined);
  }
}
