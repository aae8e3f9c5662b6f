import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Note } from '../../algorithms/notes.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { openFileBytes } from '../bytes/file-bytes.ts';
import { fileError } from '../bytes/file-error.ts';
import { compareNatural } from './natural-order.ts';
import { decodePng, type PngFrame } from './png-frame.ts';
import type { Grey, VideoChannel, VideoReader } from './video.ts';
import { frameChanged, placedError } from './video-error.ts';
import { noteOnce } from './video-notes.ts';

/** Opens a folder of PNGs. Each file is a frame. Frames are ordered by the numbers in the names. */
export async function openPngFolder(folder: string, channel: VideoChannel): Promise<VideoReader> {
  const { names, notes } = await listFrames(folder);
  const first = await readFrame(folder, names, 0, channel);
  for (const note of first.notes) notes.push(note);
  return {
    ...{ format: 'png', width: first.width, height: first.height, bits: first.bits, frameCount: names.length, notes },
    ...{ frameRate: undefined, pixelSize: undefined },
    read: (signal) => readFrames(folder, names, first, notes, channel, signal),
    close: async () => {},
  };
}

async function listFrames(folder: string): Promise<{ readonly names: readonly string[]; readonly notes: Note[] }> {
  const all = await readdir(folder).catch((error: unknown) => {
    throw fileError(folder, error);
  });
  const visible = all.filter((name) => !name.startsWith('.'));
  const names = visible.filter((name) => /\.png$/i.test(name)).sort(compareNatural);
  if (names.length === 0) throw noPngs(folder, visible);
  return { names, notes: [...othersNote(visible.length - names.length), ...missingNote(names)] };
}

function othersNote(count: number): Note[] {
  if (count === 0) return [];
  const message = `${count === 1 ? '1 entry of the folder is no PNG, and is' : `${count} entries of the folder are no PNGs, and are`} not read.`;
  return [{ code: 'video/other-files', message, count }];
}

const LAST_NUMBER = /\d+(?=\D*$)/;

/**
 * Returns a note if numbers are missing in the sequence of file names, because frames may then be missing. Returns an
 * empty list if no number is missing.
 */
function missingNote(names: readonly string[]): Note[] {
  const counted = new Set(names.map((name) => name.replace(LAST_NUMBER, ''))).size === 1;
  const numbers = counted ? names.map((name) => Number(LAST_NUMBER.exec(name)?.[0] ?? Number.NaN)) : [];
  const steps = numbers.slice(1).map((number, i) => number - numbers[i]!);
  const step = steps.reduce((min, each) => Math.min(min, each), Number.POSITIVE_INFINITY);
  const gap = steps.findIndex((each) => each > step);
  if (gap < 0 || !(step >= 1)) return [];
  const message = `Numbers are missing among the names, first after ${JSON.stringify(names[gap])}; the frames on both sides of a gap are taken as consecutive.`;
  return [{ code: 'video/missing-numbers', message, count: steps.filter((each) => each > step).length }];
}

function noPngs(folder: string, names: readonly string[]): FormatError {
  const shown = names.slice(0, 3).join(', ');
  const hasTiffs = names.some((name) => /\.tiff?$/i.test(name));
  return new FormatError('format/no-frames', 'The folder has no PNGs.', {
    expected: 'files whose names end in .png, one per frame',
    got:
      names.length === 0
        ? 'an empty folder'
        : `${names.length} other entries (${shown}${names.length > 3 ? ', …' : ''})`,
    remedy: hasTiffs
      ? 'Join the TIFFs to one of many pages, for example with tiffcp *.tif VIDEO.tif, and name that.'
      : 'Name a folder of PNGs, or a file.',
    place: { file: folder },
  });
}

async function* readFrames(
  folder: string,
  names: readonly string[],
  first: PngFrame,
  notes: Note[],
  channel: VideoChannel,
  signal: AbortSignal,
): AsyncGenerator<Grey, void, undefined> {
  for (let index = 0; index < names.length; index++) {
    signal.throwIfAborted();
    const frame = await readFrame(folder, names, index, channel);
    if (shapeOf(frame) !== shapeOf(first)) {
      throw frameChanged(shapeOf(first), shapeOf(frame), { file: join(folder, names[index]!), frame: index });
    }
    for (const note of frame.notes) noteOnce(notes, note);
    yield frame.grey;
  }
}

function shapeOf({ width, height, bits }: PngFrame): string {
  return `${width} × ${height} pixels of ${bits} bits`;
}

async function readFrame(
  folder: string,
  names: readonly string[],
  frame: number,
  channel: VideoChannel,
): Promise<PngFrame> {
  const file = join(folder, names[frame]!);
  try {
    const source = await openFileBytes(file);
    const bytes = await source.read(0, source.size).finally(() => source.close());
    return await decodePng(bytes, file, channel);
  } catch (error) {
    throw placedError(error, { file, frame });
  }
}
