import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { requireArguments } from '../../primitives/checks/arguments.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { anInstance, aSignal, aText, aWord, eitherOf, optional, someOptions } from '../../primitives/checks/kinds.ts';
import { openFileBytes } from '../bytes/file-bytes.ts';
import { fileError } from '../bytes/file-error.ts';
import type { ByteSource } from '../rasters/tiff/byte-source.ts';
import { openAvi } from './avi.ts';
import { type ByteStream, byteStream } from './byte-stream.ts';
import { videoOf } from './frames.ts';
import { openPngFolder } from './png-folder.ts';
import { openTiff } from './tiff.ts';
import type { Video, VideoChannel, VideoOptions, VideoReader, VideoStream } from './video.ts';
import { CONVERT } from './video-error.ts';
import { openY4m, Y4M_MAGIC } from './y4m.ts';

/**
 * Opens a video, to be read frame by frame as grey values. The format is detected from the content:
 *
 * - AVI, uncompressed: 8 bits with a palette or grey (Y800, GREY), 16 bits of grey (Y16), RGB of 24 and 32 bits, YUV
 *   (I420, YV12, NV12, NV21, YUY2, UYVY). AVI with Motion JPEG, also without Huffman tables (640 × 480 pixels take
 *   about 2 ms). No index is needed. Files over 2 GiB (OpenDML) are supported.
 * - TIFF and BigTIFF with several pages, which are read in the order of their directories: 8 and 16 bits; grey, RGB or
 *   palette; strips or tiles; uncompressed, deflate, LZW, PackBits, Zstandard, LERC
 *   or JPEG of grey or RGB. Large stacks of ImageJ, which have a single
 *   directory, are also read. Frame interval and pixel size are taken from the metadata of ImageJ or OME.
 * - A folder of PNGs, ordered by the numbers in their names.
 * - Y4M, from a file or a stream: 8 to 16 bits, grey or any chroma.
 *
 * Grey values of the file are used unchanged, with three exceptions: half the range is added to signed samples, values
 * are inverted if 0 means white, and PNGs of fewer than 8 bits are scaled to 8 bits. Values of 10 or 12 bits are stored
 * in 16 bits without scaling. Samples of f32 are not supported, because they have no fixed range.
 *
 * For coloured videos, the option `channel` selects the value. For RGB, `grey` is the luma of Rec. 601,
 * (19595 R + 38470 G + 7471 B + 2^15) / 2^16 rounded down, which is the same on every JavaScript engine. For YUV and
 * Motion JPEG, `grey` is the stored luma. The channels `red`, `green` and `blue` are not supported for YUV; for Motion
 * JPEG, they are computed by the formula of JFIF.
 *
 * Memory is proportional to a few frames, not to the length of the video. O(pixels) per frame.
 *
 * Irregularities that do not prevent reading are added to `notes`, with these codes: `video/grey` (a colour channel was
 * requested of a grey video), `video/colour-palette`, `video/transparency-ignored`, `video/bit-depth`,
 * `video/signed-values`, `video/interlaced`, `video/other-streams` (such as audio), `video/other-pages`,
 * `video/other-samples`, `video/other-files`, `video/missing-numbers`, `video/pixels-not-square`,
 * `video/print-resolution`, `video/frame-rate`, `video/frame-count` (of a TIFF). The following notes are added while
 * frames are read: `video/repeated-frames`, `video/frame-count` (of an AVI), `video/trailing-bytes`,
 * `video/cut-behind-frames`.
 *
 * @param source - Path of a file or of a folder of PNGs, or a stream of Y4M, such as `process.stdin`.
 * @throws FormatError if the file does not exist, is not a supported video, has no frame, or has a damaged or truncated
 * header; codes `format/…`. If the signal is aborted, the promise is rejected with the signal's reason.
 * @example
 * const video = await openVideo('examples/leukocytes.tif');
 * let frames = 0;
 * for await (const { grey } of video.frames()) frames += grey.length / (video.width * video.height);
 * [video.format, video.bits, frames]; // ['tiff', 8, 20]
 */
export async function openVideo(source: string | VideoStream, options: VideoOptions = {}): Promise<Video> {
  requireArguments('openVideo', { source, options }, ARGUMENTS);
  const { channel = 'grey', signal = new AbortController().signal } = options;
  signal.throwIfAborted();
  const name = typeof source === 'string' ? source : 'standard input';
  const reader =
    typeof source === 'string'
      ? await openPath(source, channel, signal)
      : await openStream(source, name, channel, signal);
  if (signal.aborted) await reader.close();
  signal.throwIfAborted();
  return videoOf(name, reader);
}

const ARGUMENTS = {
  source: eitherOf('the path of a file or a folder, or a Readable', aText, anInstance(Readable)),
  options: someOptions<VideoOptions>({
    channel: optional(aWord(['grey', 'red', 'green', 'blue'])),
    signal: optional(aSignal),
  }),
};

async function openPath(path: string, channel: VideoChannel, signal: AbortSignal): Promise<VideoReader> {
  const found = await stat(path).catch((error: unknown) => {
    throw fileError(path, error);
  });
  if (found.isDirectory()) return openPngFolder(path, channel);
  // Pipes and devices can only be read sequentially.
  if (!found.isFile()) return openStream(createReadStream(path), path, channel, signal);
  const bytes = await openFileBytes(path);
  try {
    const magic = Buffer.from(await bytes.read(0, Math.min(MAGIC_BYTES, bytes.size))).toString('latin1');
    const open = OPENERS.find(([isMagic]) => isMagic(magic))?.[1];
    if (open !== undefined) return await open(bytes, channel);
    if (!magic.startsWith(Y4M_MAGIC)) throw notVideo(magic, path);
  } catch (error) {
    await bytes.close();
    throw error;
  }
  await bytes.close();
  const stream = createReadStream(path, { highWaterMark: FILE_PIECE });
  return openStream(stream, path, channel, signal, new Promise<void>((resolve) => stream.once('close', resolve)));
}

const MAGIC_BYTES = 16;
const FILE_PIECE = 2 ** 20;

type Opener = (bytes: ByteSource, channel: VideoChannel) => Promise<VideoReader>;

const OPENERS: readonly (readonly [isMagic: (magic: string) => boolean, open: Opener])[] = [
  [(magic) => magic.startsWith('RIFF') && magic.startsWith('AVI ', 8), openAvi],
  [(magic) => TIFF_MAGICS.includes(magic.slice(0, 4)), openTiff],
];

/** Magic numbers of TIFF and BigTIFF in both byte orders. */
const TIFF_MAGICS: readonly string[] = ['II*\0', 'MM\0*', 'II+\0', 'MM\0+'];

async function openStream(
  source: VideoStream,
  name: string,
  channel: VideoChannel,
  signal: AbortSignal,
  closed?: Promise<void>,
): Promise<VideoReader> {
  const stream: ByteStream = byteStream(source, name, closed);
  try {
    const magic = Buffer.from(await stream.peek(MAGIC_BYTES, signal)).toString('latin1');
    if (OPENERS.some(([isMagic]) => isMagic(magic))) throw notInStream(magic, name);
    if (!magic.startsWith(Y4M_MAGIC)) throw notY4m(magic, name);
    return await openY4m(stream, channel, signal);
  } catch (error) {
    await stream.close();
    throw error;
  }
}

function notVideo(magic: string, file: string): FormatError {
  const got = kindOf(magic);
  return new FormatError('format/not-video', 'This is not a supported video.', {
    expected: 'an AVI, a TIFF of several pages, a folder of PNGs, or Y4M',
    got,
    remedy: got === 'a PNG' ? 'Name the folder of the PNGs.' : CONVERT,
    place: { file },
  });
}

/** The error for a stream that is not Y4M. Other formats cannot be read from a stream. */
function notY4m(magic: string, file: string): FormatError {
  return new FormatError('format/not-video', 'The stream is not a supported video.', {
    expected: `Y4M, which begins with ${Y4M_MAGIC}`,
    got: kindOf(magic),
    remedy:
      magic === ''
        ? 'Check the program that writes to it.'
        : 'Write Y4M to it, for example with ffmpeg -i VIDEO -f yuv4mpegpipe -pix_fmt gray -.',
    place: { file },
  });
}

function kindOf(magic: string): string {
  const known = OTHERS.find(([at, other]) => magic.startsWith(other, at))?.[2];
  return known ?? (magic === '' ? 'no bytes' : 'something else');
}

const OTHERS: readonly (readonly [at: number, magic: string, name: string])[] = [
  [4, 'ftyp', 'an MP4 or QuickTime file'],
  [0, '\x1aE\xdf\xa3', 'a Matroska or WebM file'],
  [0, '\x89PNG', 'a PNG'],
  [0, 'GIF8', 'a GIF'],
  [0, '\xff\xd8\xff', 'a JPEG'],
  [0, '0&\xb2u', 'a Windows Media file'],
  [0, '\0\0\x01', 'an MPEG file'],
  [0, 'RIFF', 'another RIFF file'],
  [0, '\x1f\x8b', 'a gzip file'],
  [0, '\x89HDF', 'an HDF5 file'],
];

function notInStream(magic: string, file: string): FormatError {
  return new FormatError('format/not-in-stream', 'Of streams, only Y4M is read.', {
    expected: Y4M_MAGIC,
    got: magic.startsWith('RIFF') ? 'an AVI' : 'a TIFF',
    remedy: 'Write it to a file, and name that.',
    place: { file },
  });
}
