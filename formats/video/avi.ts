import type { Note } from '../../algorithms/notes.ts';
import { type ErrorPlace, FormatError } from '../../primitives/checks/errors.ts';
import type { ByteSource } from '../rasters/tiff/byte-source.ts';
import { afterChunk, type Chunk, chunkAt, damagedAvi, endOfList } from './avi-chunks.ts';
import { type AviHead, readAviHead } from './avi-head.ts';
import { type AviPixels, aviPixels } from './avi-pixels.ts';
import { withSmallReads } from './small-reads.ts';
import type { Grey, VideoChannel, VideoReader } from './video.ts';
import { CONVERT, cutOff, frameChanged, noFrames, placedError } from './video-error.ts';
import { noteOnce } from './video-notes.ts';

/**
 * Opens an AVI. The reader visits all chunks in the order of the file, also the chunks inside lists, so that it needs
 * neither an index nor the sizes of lists. Therefore it can also read AVIs over 2 GiB (OpenDML) and AVIs of interrupted
 * recordings.
 */
export async function openAvi(bytes: ByteSource, channel: VideoChannel): Promise<VideoReader> {
  const source = withSmallReads(bytes);
  const head = await readAviHead(source);
  const number = head.streams.findIndex(({ type }) => type === 'vids');
  const stream = head.streams[number];
  if (stream === undefined) throw noFrames('no stream of images', { file: source.file });
  const pixels = await aviPixels(stream, source.file, channel);
  const walk: Walk = { source, head, number, notes: [...pixels.notes] };
  noteStreams(walk);
  const first = await frameChunks(walk).next();
  if (first.done) throw noFrames('0 frames', { file: source.file });
  return {
    ...{ format: 'avi', width: pixels.width, height: pixels.height, bits: pixels.bits },
    frameCount: stream.length === 0 ? undefined : stream.length,
    frameRate: stream.rate,
    pixelSize: undefined,
    notes: walk.notes,
    read: (signal) => readFrames(walk, pixels, stream.length, signal),
    close: () => bytes.close(),
  };
}

/** State while the chunks of an AVI are visited. */
interface Walk {
  readonly source: ByteSource;
  readonly head: AviHead;
  /** Number of the stream whose frames are read. */
  readonly number: number;
  readonly notes: VideoReader['notes'];
}

function noteStreams({ head, number, notes }: Walk): void {
  const others = head.streams.filter((_, i) => i !== number);
  if (others.length === 0) return;
  const names = others.map(({ type }) => STREAMS[type] ?? JSON.stringify(type));
  const message = `Only the first stream of images is read. Streams that are not read: ${names.join(', ')}.`;
  notes.push({ code: 'video/other-streams', message, count: others.length });
}

const STREAMS: Readonly<Record<string, string>> = {
  auds: 'audio',
  vids: 'images',
  txts: 'text',
  mids: 'music',
  iavs: 'audio and images',
};

async function* readFrames(
  walk: Walk,
  pixels: AviPixels,
  announced: number,
  signal: AbortSignal,
): AsyncGenerator<Grey, void, undefined> {
  const { source, notes } = walk;
  let [frame, repeated, size] = [0, 0, 0];
  let last: Grey | undefined;
  for await (const { at, start, size: bytes } of frameChunks(walk)) {
    signal.throwIfAborted();
    const place: ErrorPlace = { file: source.file, frame, byte: at };
    if (bytes === 0) {
      if (last === undefined) throw emptyFirst(place);
      repeated++;
    } else {
      if (size === 0) size = bytes;
      else if (pixels.isRaw && size !== bytes) throw frameChanged(`${size} bytes`, `${bytes} bytes`, place);
      if (start + bytes > source.size) throw cutOff(`${bytes} bytes`, `${source.size - start} bytes`, place);
      last = pixels.decode(await readBytes(source, start, bytes, place), place);
    }
    frame++;
    yield last.slice();
  }
  if (repeated > 0) notes.push(repeatedNote(repeated));
  if (announced !== 0 && announced !== frame) {
    const message = `The header states ${announced} frames, but the file has ${frame}.`;
    notes.push({ code: 'video/frame-count', message });
  }
}

async function readBytes(source: ByteSource, start: number, size: number, place: ErrorPlace): Promise<Uint8Array> {
  try {
    return await source.read(start, size);
  } catch (error) {
    throw placedError(error, place);
  }
}

function emptyFirst(place: ErrorPlace): FormatError {
  return new FormatError('format/damaged-avi', 'The AVI is damaged: its first frame repeats one before it.', {
    remedy: 'Copy or record the file again.',
    place,
  });
}

function repeatedNote(count: number): Note {
  const message = `${count === 1 ? '1 frame is' : `${count} frames are`} empty, which is how recorders mark lost frames; the previous frame is repeated.`;
  return { code: 'video/repeated-frames', message, count };
}

/** The chunks that contain the frames of the stream, in the order of the file. */
async function* frameChunks({ source, head, number, notes }: Walk): AsyncGenerator<Chunk, void, undefined> {
  const { file, size } = source;
  let frame = 0;
  for (let movi: Chunk | undefined = head.movi; movi !== undefined; ) {
    const end: number = endOfList(movi) ?? size;
    let at: number = movi.next;
    while (at < end) {
      const chunk = await chunkAt(source, at);
      if (chunk === undefined)
        throw cutOff(`${end - at} more bytes of frames`, `${Math.max(0, size - at)} bytes`, { file, frame, byte: at });
      // If the size of the list is missing or slightly wrong, the list ends at the index or at the next RIFF chunk.
      if (chunk.id === 'idx1' || chunk.id === 'RIFF') break;
      const kind = kindOf(chunk, head.streams.length, number);
      if (kind === undefined) throw damagedAvi('there is no chunk where a frame should start', file, at, frame);
      if (kind === 'palette') throw paletteChange(file, at, frame);
      if (kind === 'frame') {
        yield chunk;
        frame++;
      }
      at = kind === 'list' ? chunk.next : afterChunk(chunk.at, chunk.size);
    }
    movi = await nextMovi(source, at, frame, notes);
  }
}

type ChunkKind = 'list' | 'frame' | 'palette' | 'other';

/**
 * Matches the name of a stream's chunk, such as `00dc`. The two digits are the number of the stream. The letters are
 * `db` or `dc` for a frame, `pc` for a palette, `wb` for audio, `tx` for text, `sb` for subtitles, and `ix` for an
 * index. The letters `ix` may also come before the digits.
 */
const STREAM_CHUNK = /^(?:(\d\d)(db|dc|pc|wb|tx|sb|ix)|ix(\d\d))$/;

/**
 * Returns the kind of a chunk in the list of frames, or undefined if the chunk is not allowed there. `number` is the
 * stream to read, and `streams` is the number of streams.
 */
function kindOf({ id, list }: Chunk, streams: number, number: number): ChunkKind | undefined {
  if (list !== undefined) return id === 'LIST' && list === 'rec ' ? 'list' : undefined;
  if (id === 'JUNK') return 'other';
  const [, stream, kind = 'ix', indexed] = STREAM_CHUNK.exec(id) ?? [];
  const of = Number(stream ?? indexed ?? Number.NaN);
  if (!(of < streams)) return undefined;
  if (of !== number || kind === 'ix') return 'other';
  return kind === 'pc' ? 'palette' : kind === 'db' || kind === 'dc' ? 'frame' : undefined;
}

/** Finds the next list of frames. Files over 1 or 2 GiB have several RIFF chunks, each with a list of frames. */
async function nextMovi(
  source: ByteSource,
  from: number,
  frame: number,
  notes: Walk['notes'],
): Promise<Chunk | undefined> {
  const { file, size } = source;
  for (let at = from; at < size; ) {
    const chunk = await chunkAt(source, at);
    if (chunk?.list === 'movi') return chunk;
    if (chunk !== undefined && STREAM_CHUNK.test(chunk.id))
      throw damagedAvi('there is a frame after the list of frames', file, at, frame);
    if (chunk === undefined || !/^[\w ]{4}$/.test(chunk.id)) {
      noteOnce(notes, {
        code: 'video/trailing-bytes',
        message: `${size - at} bytes at the end of the file are not frames and were not read.`,
      });
      return undefined;
    }
    at = chunk.id === 'RIFF' ? chunk.next : afterChunk(chunk.at, chunk.size);
    if (at > size)
      noteOnce(notes, { code: 'video/cut-behind-frames', message: 'The file is cut off after its frames.' });
  }
  return undefined;
}

function paletteChange(file: string, byte: number, frame: number): FormatError {
  return new FormatError('format/unsupported-codec', 'The palette of the AVI changes, which is not supported.', {
    expected: 'one palette for all frames',
    got: 'another from this frame on',
    remedy: CONVERT,
    place: { file, frame, byte },
  });
}
