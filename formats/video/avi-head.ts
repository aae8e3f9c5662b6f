import { FormatError } from '../../primitives/checks/errors.ts';
import type { ByteSource } from '../rasters/tiff/byte-source.ts';
import { afterChunk, type Chunk, chunkAt, damagedAvi } from './avi-chunks.ts';
import { noFrames } from './video-error.ts';

/** A stream (images, audio, …) of an AVI, as described in the file's header. */
export interface AviStream {
  /** `vids` (images), `auds` (audio), `txts` (text) or `mids` (MIDI). */
  readonly type: string;
  /** Number of frames or samples per second; undefined if unknown. `length` is the total number of frames or samples. */
  readonly rate: number | undefined;
  readonly length: number;
  /** Description of the stream's contents. For images, it is a BITMAPINFO structure. */
  readonly format: Buffer;
  /** Byte offset in the file of the description `format`. */
  readonly formatAt: number;
}

/** The header of an AVI, without the frames. */
export interface AviHead {
  readonly streams: readonly AviStream[];
  /** The list chunk that contains the frames. */
  readonly movi: Chunk;
}

/** Maximum number of streams, because stream numbers in chunk names have two digits. */
const MAX_STREAMS = 100;

/** Maximum bytes of the description of a stream. The description of a stream of images has 40 bytes and a palette. */
const MAX_FORMAT = 2 ** 16;

/**
 * Reads the header of an AVI.
 *
 * @throws FormatError if the file ends before its frames, or has no list of frames.
 */
export async function readAviHead(source: ByteSource): Promise<AviHead> {
  const { file } = source;
  const streams: AviStream[] = [];
  let stream: Partial<AviStream> = {};
  let at = 12;
  for (;;) {
    const chunk = await chunkAt(source, at);
    if (chunk === undefined) throw noMovi(source, at);
    if (chunk.list === 'movi') return { streams, movi: chunk };
    if (chunk.id === 'strh') stream = await readStreamHead(source, chunk);
    if (chunk.id === 'strf' && stream.type !== undefined) {
      streams.push({ ...(stream as AviStream), format: await readChunk(source, chunk), formatAt: chunk.start });
      stream = {};
    }
    if (streams.length > MAX_STREAMS) throw damagedAvi(`it has more than ${MAX_STREAMS} streams`, file, at);
    const isEntered = chunk.list === 'hdrl' || chunk.list === 'strl';
    at = isEntered ? chunk.next : afterChunk(chunk.at, chunk.size);
  }
}

/**
 * Reads the header of a stream. The header states the frame rate as a fraction: a rate of 30000 and a scale of 1001
 * mean 29.97 frames per second.
 */
async function readStreamHead(source: ByteSource, chunk: Chunk): Promise<Partial<AviStream>> {
  if (chunk.size < 36) throw damagedAvi(`the head of a stream has ${chunk.size} bytes`, source.file, chunk.at);
  const head = await readChunk(source, chunk);
  const [scale, rate] = [head.readUInt32LE(20), head.readUInt32LE(24)];
  return {
    type: head.toString('latin1', 0, 4),
    rate: scale > 0 && rate > 0 ? rate / scale : undefined,
    length: head.readUInt32LE(32),
  };
}

async function readChunk(source: ByteSource, { start, size, id }: Chunk): Promise<Buffer> {
  if (size > MAX_FORMAT) throw damagedAvi(`its chunk ${id} has ${size} bytes`, source.file, start);
  if (start + size > source.size) throw noMovi(source, start);
  return Buffer.from(await source.read(start, size));
}

function noMovi({ file, size }: ByteSource, at: number): FormatError {
  if (at === size) return noFrames('no list of frames (movi)', { file, byte: at });
  return new FormatError('format/truncated', 'The file ends within its head.', {
    expected: `more than ${at} bytes`,
    got: `${size} bytes`,
    remedy: 'Copy or record the file again.',
    place: { file, byte: size },
  });
}
