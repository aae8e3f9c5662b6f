import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import fc from 'fast-check';
import { openVideo, type Video, type VideoOptions } from '../../../formats/index.ts';
import { encodeDirectory, encodeHeader, type Field } from '../../../formats/rasters/tiff/directory-writer.ts';

export type Samples = Uint8Array | Uint16Array;

/** Frames of samples in row-major order. */
export interface Frames {
  readonly width: number;
  readonly height: number;
  readonly frames: readonly Samples[];
}

/** Small videos with `samples` samples per pixel. */
export function someFrames(bits: 8 | 16, samples = 1): fc.Arbitrary<Frames> {
  const array = (bits === 8 ? fc.uint8Array : fc.uint16Array) as (
    size: fc.IntArrayConstraints,
  ) => fc.Arbitrary<Samples>;
  return fc
    .record({
      width: fc.integer({ min: 1, max: 9 }),
      height: fc.integer({ min: 1, max: 6 }),
      count: fc.integer({ min: 1, max: 7 }),
    })
    .chain(({ width, height, count }) => {
      const length = width * height * samples;
      const frame = array({ minLength: length, maxLength: length });
      return fc.record({
        width: fc.constant(width),
        height: fc.constant(height),
        frames: fc.array(frame, { minLength: count, maxLength: count }),
      });
    });
}

/** The expected luma by Rec. 601. The coefficients of this formula are exact in f64. */
export function lumaByHand(samples: Samples, step = 3): number[] {
  return Array.from({ length: samples.length / step }, (_, i) => {
    const [red, green, blue] = samples.subarray(step * i, step * i + 3);
    return Math.floor((19595 * red! + 38470 * green! + 7471 * blue!) / 65536 + 0.5);
  });
}

const folder = await mkdtemp(join(tmpdir(), 'video-'));
let files = 0;

/** A path that no test has used yet. */
export function newPath(): string {
  return join(folder, `${files++}`);
}

/** Writes bytes to a new file. */
export async function fileOf(bytes: Uint8Array): Promise<string> {
  const path = newPath();
  await writeFile(path, bytes);
  return path;
}

/** The frames of a video up to its end or its first error, and this error if there is one. */
export interface Outcome {
  readonly video: Video | undefined;
  readonly frames: readonly number[][];
  readonly error: unknown;
}

/** Reads a video to its end or to its first error. */
export async function readAll(source: Parameters<typeof openVideo>[0], options?: VideoOptions): Promise<Outcome> {
  const frames: number[][] = [];
  let video: Video | undefined;
  try {
    video = await openVideo(source, options);
    for await (const { grey } of video.frames()) frames.push([...grey]);
  } catch (error) {
    return { video, frames, error };
  }
  return { video, frames, error: undefined };
}

/** Samples as bytes in the given byte order. */
export function bytesOf(samples: Samples, littleEndian = true): Uint8Array {
  if (samples instanceof Uint8Array) return samples;
  const view = new DataView(new ArrayBuffer(2 * samples.length));
  for (const [i, sample] of samples.entries()) view.setUint16(2 * i, sample, littleEndian);
  return new Uint8Array(view.buffer);
}

/** How to write a TIFF. */
export interface TiffForm {
  readonly littleEndian?: boolean;
  readonly big?: boolean;
  readonly deflated?: boolean;
  readonly rowsPerStrip?: number;
  /** The order in which pages are stored in the file. */
  readonly order?: readonly number[];
  readonly fields?: readonly Field[];
}

/** Writes a TIFF with one page per frame. The directory of a page follows the page's data. */
export function tiffBytes({ width, height, frames }: Frames, form: TiffForm = {}): Uint8Array {
  const { littleEndian = true, big = false, deflated = false, rowsPerStrip = height, fields = [] } = form;
  const samples = frames[0]!.length / (width * height);
  const parts: Uint8Array[] = [encodeHeader(0, littleEndian, big)];
  let at = parts[0]!.length;
  const add = (bytes: Uint8Array): number => {
    const start = at;
    const padded = new Uint8Array(bytes.length + (bytes.length % 2));
    padded.set(bytes);
    parts.push(padded);
    at += padded.length;
    return start;
  };
  const starts = new Map<number, { readonly start: number; readonly directory: Uint8Array; readonly next: number }>();
  for (const page of form.order ?? frames.keys()) {
    const strips: Uint8Array[] = [];
    for (let row = 0; row < height; row += rowsPerStrip) {
      const rows = frames[page]!.subarray(row * width * samples, (row + rowsPerStrip) * width * samples);
      const bytes = bytesOf(rows, littleEndian);
      strips.push(deflated ? deflateSync(bytes) : bytes);
    }
    const offsets = strips.map(add);
    const own: Field[] = [
      { tag: 'imageWidth', type: 'long', values: [width] },
      { tag: 'imageLength', type: 'long', values: [height] },
      { tag: 'bitsPerSample', type: 'short', values: Array(samples).fill(8 * frames[0]!.BYTES_PER_ELEMENT) },
      { tag: 'compression', type: 'short', values: [deflated ? 8 : 1] },
      { tag: 'photometricInterpretation', type: 'short', values: [samples >= 3 ? 2 : 1] },
      { tag: 'stripOffsets', type: 'long', values: offsets },
      { tag: 'samplesPerPixel', type: 'short', values: [samples] },
      { tag: 'rowsPerStrip', type: 'long', values: [rowsPerStrip] },
      { tag: 'stripByteCounts', type: 'long', values: strips.map(({ length }) => length) },
    ];
    const all = [...own.filter(({ tag }) => !fields.some((field) => field.tag === tag)), ...fields];
    const directory = encodeDirectory(all, at, littleEndian, big);
    starts.set(page, {
      start: add(directory),
      directory: parts.at(-1)!,
      next: big ? 8 + 20 * all.length : 2 + 12 * all.length,
    });
  }
  const point = (bytes: Uint8Array, offset: number, start: number): void => {
    const view = new DataView(bytes.buffer);
    if (big) view.setBigUint64(offset, BigInt(start), littleEndian);
    else view.setUint32(offset, start, littleEndian);
  };
  point(parts[0]!, big ? 8 : 4, starts.get(0)!.start);
  for (const [page, { directory, next }] of starts) point(directory, next, starts.get(page + 1)?.start ?? 0);
  return new Uint8Array(Buffer.concat(parts));
}

/** Writes grey frames as YUV4MPEG2, with `chroma` bytes after each frame. */
export function y4mBytes({ width, height, frames }: Frames, coding: string, chroma = 0): Uint8Array {
  const parts: Uint8Array[] = [Buffer.from(`YUV4MPEG2 W${width} H${height} F30000:1001 Ip A1:1 ${coding}\n`)];
  for (const frame of frames) parts.push(Buffer.from('FRAME\n'), bytesOf(frame), new Uint8Array(chroma).fill(7));
  return new Uint8Array(Buffer.concat(parts));
}

/** Writes a RIFF chunk, padded to an even length. */
export function chunkOf(id: string, ...bodies: readonly Uint8Array[]): Uint8Array {
  const body = Buffer.concat(bodies);
  const head = Buffer.alloc(8);
  head.write(id, 'latin1');
  head.writeUInt32LE(body.length, 4);
  return new Uint8Array(Buffer.concat([head, body, Buffer.alloc(body.length % 2)]));
}

/** A list of chunks. */
export function listOf(type: string, ...chunks: readonly Uint8Array[]): Uint8Array {
  return chunkOf('LIST', Buffer.from(type, 'latin1'), ...chunks);
}

/** Fields of an AVI's stream header. */
export interface AviStreamHead {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  readonly coding?: string;
  readonly palette?: Uint8Array;
  readonly count?: number;
  readonly type?: string;
}

/** Writes the header and the format of a stream. */
export function aviStream({
  width,
  height,
  depth,
  coding,
  palette = new Uint8Array(0),
  count = 0,
  type = 'vids',
}: AviStreamHead): Uint8Array {
  const head = Buffer.alloc(56);
  head.write(`${type}DIB `, 'latin1');
  head.writeUInt32LE(1001, 20);
  head.writeUInt32LE(30_000, 24);
  head.writeUInt32LE(count, 32);
  const format = Buffer.alloc(40);
  format.writeUInt32LE(40, 0);
  format.writeInt32LE(width, 4);
  format.writeInt32LE(height, 8);
  format.writeUInt16LE(1, 12);
  format.writeUInt16LE(depth, 14);
  if (coding !== undefined) format.write(coding, 16, 'latin1');
  return listOf('strl', chunkOf('strh', head), chunkOf('strf', format, palette));
}

/** Writes an AVI with the given streams, and with the given chunks in its list of frames. */
export function aviOf(
  streams: readonly Uint8Array[],
  chunks: readonly Uint8Array[],
  ...behind: readonly Uint8Array[]
): Uint8Array {
  const avi = Buffer.from('AVI ', 'latin1');
  const riff = chunkOf(
    'RIFF',
    avi,
    listOf('hdrl', chunkOf('avih', new Uint8Array(56)), ...streams),
    listOf('movi', ...chunks),
  );
  return new Uint8Array(Buffer.concat([riff, ...behind]));
}
