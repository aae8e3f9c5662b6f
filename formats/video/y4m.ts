import { type ErrorPlace, FormatError } from '../../primitives/checks/errors.ts';
import { LITTLE_ENDIAN_MACHINE, swappedBytes } from '../rasters/tiff/samples.ts';
import type { ByteStream } from './byte-stream.ts';
import { quoted } from './quoted.ts';
import type { Grey, VideoChannel, VideoReader } from './video.ts';
import { CONVERT, checkSize, cutOff, noChannel, noFrames } from './video-error.ts';
import { ALPHA_NOTE, depthNote, greyChannelNotes } from './video-notes.ts';

export const Y4M_MAGIC = 'YUV4MPEG2';

/** Opens a YUV4MPEG2 stream. Luma is used as grey values, and chroma is skipped. */
export async function openY4m(stream: ByteStream, channel: VideoChannel, signal: AbortSignal): Promise<VideoReader> {
  const head = await readHead(stream, signal);
  const { width, height, samples, file } = head;
  if (samples.chroma !== undefined && channel !== 'grey')
    throw noChannel(channel, `luma and chroma (C${samples.name})`, { file });
  const notes = samples.chroma === undefined ? greyChannelNotes(channel) : [];
  if (samples.bits > 8 && samples.bits < 16) notes.push(depthNote(samples.bits));
  if (samples.alpha) notes.push(ALPHA_NOTE);
  if (head.rate !== undefined && fractionOf(head.rate) === undefined)
    notes.push({
      code: 'video/frame-rate',
      message: `The head says ${quoted(`F${head.rate}`)}, which is not a frame rate such as F30:1; the frame rate is unknown.`,
    });
  if (head.isInterlaced)
    notes.push({
      code: 'video/interlaced',
      message: 'The video is interlaced: the odd and even rows of a frame are of different moments.',
    });
  if ((await stream.peek(1, signal)).length === 0) throw noFrames('0 frames', { file });
  return {
    ...{ format: 'y4m', width, height, bits: samples.bits > 8 ? 16 : 8, notes },
    ...{ frameCount: undefined, frameRate: rateOf(head.rate), pixelSize: undefined },
    read: (end) => readFrames(stream, head, end),
    close: () => stream.close(),
  };
}

interface Y4mHead {
  readonly file: string;
  readonly width: number;
  readonly height: number;
  /** Frames per second as written in the header, such as `30:1`. */
  readonly rate: string | undefined;
  readonly isInterlaced: boolean;
  readonly samples: Samples;
}

/**
 * How samples are stored: the number of bits of a sample, and how many columns and rows share a chroma sample. Grey
 * videos have no chroma.
 */
interface Samples {
  readonly name: string;
  readonly bits: number;
  readonly chroma: readonly [columns: number, rows: number] | undefined;
  readonly alpha: boolean;
}

const MAX_HEAD = 4096;

async function readHead(stream: ByteStream, signal: AbortSignal): Promise<Y4mHead> {
  const { file } = stream;
  const line = await stream.line(MAX_HEAD, signal);
  const [magic, ...parameters] = line?.split(' ') ?? [];
  const place = { file, byte: 0 };
  if (magic !== Y4M_MAGIC)
    throw badHead('a first line that starts with YUV4MPEG2', line === undefined ? 'no line' : quoted(line), place);
  if (line!.endsWith('\r')) throw changedOnTheWay(line!, place);
  const values = new Map(
    parameters.filter((each) => each !== '' && !each.startsWith('X')).map((each) => [each[0]!, each.slice(1)]),
  );
  const [width, height] = [sideOf('W', 'width', values.get('W'), place), sideOf('H', 'height', values.get('H'), place)];
  checkSize(width, height, place);
  const coding = values.get('C') ?? '420';
  const samples = samplesOf(coding);
  if (samples === undefined) throw unsupported(coding, file);
  return {
    file,
    width,
    height,
    samples,
    rate: values.get('F'),
    isInterlaced: /^[tbm]/.test(values.get('I') ?? ''),
  };
}

/** Width or height of a frame, from the header parameter `W` or `H`. */
function sideOf(letter: string, side: string, text: string | undefined, place: ErrorPlace): number {
  if (text !== undefined && /^\d{1,9}$/.test(text)) return Number(text);
  const got = text === undefined ? `no ${letter}` : quoted(letter + text);
  throw badHead(`the ${side} of a frame in pixels, such as ${letter}480, in the first line`, got, place);
}

/** Frames per second from a fraction such as `30:1`; undefined for `0:0`, which means an unknown rate. */
function rateOf(text = ''): number | undefined {
  const [rate, scale] = fractionOf(text) ?? [0, 0];
  return rate > 0 && scale > 0 ? rate / scale : undefined;
}

function fractionOf(text: string): [over: number, under: number] | undefined {
  const [, over, under] = /^(\d{1,9}):(\d{1,9})$/.exec(text) ?? [];
  return over === undefined ? undefined : [Number(over), Number(under)];
}

const CHROMA: Readonly<Record<string, readonly [number, number]>> = {
  ...{ 410: [4, 4], 411: [4, 1], 420: [2, 2], 422: [2, 1], 440: [1, 2], 444: [1, 1] },
};

/** Parses the colour space of the header, such as `420`, `420jpeg`, `422p10`, `444alpha`, `mono` or `mono16`. */
function samplesOf(name: string): Samples | undefined {
  const [, mono, monoBits, layout, variant, planeBits] = CODING.exec(name) ?? [];
  if (mono === undefined && layout === undefined) return undefined;
  const bits = Number(monoBits ?? planeBits ?? 8);
  if (bits < 8 || bits > 16) return undefined;
  return { name, bits, chroma: layout === undefined ? undefined : CHROMA[layout], alpha: variant === 'alpha' };
}

const CODING = /^(?:(mono)(\d{1,2})?|(410|411|420|422|440|444)(jpeg|mpeg2|paldv|alpha)?(?:p(\d{1,2}))?)$/;

async function* readFrames(
  stream: ByteStream,
  head: Y4mHead,
  signal: AbortSignal,
): AsyncGenerator<Grey, void, undefined> {
  const { width, height, samples, file } = head;
  const sampleBytes = samples.bits > 8 ? 2 : 1;
  const lumaBytes = width * height * sampleBytes;
  const otherBytes = chromaSamples(head) * sampleBytes;
  for (let frame = 0; (await stream.peek(1, signal)).length > 0; frame++) {
    const place = { file, frame, byte: stream.offset };
    await readFrameHead(stream, place, signal);
    const luma = await stream.take(lumaBytes, signal);
    const others = luma.length === lumaBytes ? await stream.skip(otherBytes, signal) : 0;
    const got = luma.length + others;
    if (got < lumaBytes + otherBytes) throw cutOff(`${lumaBytes + otherBytes} bytes`, `${got} bytes`, place);
    yield sampleBytes === 1 ? luma : wordsOf(luma);
  }
}

function chromaSamples({ width, height, samples: { chroma, alpha } }: Y4mHead): number {
  if (chroma === undefined) return 0;
  return 2 * Math.ceil(width / chroma[0]) * Math.ceil(height / chroma[1]) + (alpha ? width * height : 0);
}

async function readFrameHead(stream: ByteStream, place: ErrorPlace, signal: AbortSignal): Promise<void> {
  const line = await stream.line(MAX_HEAD, signal);
  if (line === 'FRAME' || line?.startsWith('FRAME ')) return;
  if (line === undefined && (await stream.peek(1, signal)).length === 0) throw cutOff('a line FRAME', 'the end', place);
  throw badHead('a line FRAME', line === undefined ? 'other bytes' : quoted(line), place);
}

/** Converts little-endian samples of two bytes to numbers. */
function wordsOf(bytes: Uint8Array): Uint16Array {
  const { buffer, byteOffset, length } = LITTLE_ENDIAN_MACHINE ? bytes : swappedBytes(bytes, 2);
  return new Uint16Array(buffer, byteOffset, length / 2);
}

function badHead(expected: string, got: string, place: ErrorPlace): FormatError {
  const remedy = 'Write it again, for example with ffmpeg -i INPUT -pix_fmt gray -f yuv4mpegpipe -.';
  return new FormatError('format/damaged-y4m', 'The YUV4MPEG2 is damaged.', { expected, got, remedy, place });
}

/** The error for a stream that was changed because a pipe treated it as text, as pipes of PowerShell do. */
function changedOnTheWay(line: string, place: ErrorPlace): FormatError {
  return new FormatError('format/damaged-y4m', 'The YUV4MPEG2 was changed on the way, as if it were text.', {
    expected: 'a first line that ends with a line feed alone',
    got: quoted(line.slice(-12)),
    remedy: 'Write it to a file and name that, or pipe it in a shell that leaves bytes as they are.',
    place,
  });
}

function unsupported(coding: string, file: string): FormatError {
  return new FormatError('format/unsupported-codec', 'The samples of the YUV4MPEG2 are of a kind that is not read.', {
    expected: 'C410, C411, C420, C422, C440, C444 or Cmono, of 8 to 16 bits',
    got: quoted(`C${coding}`),
    remedy: CONVERT,
    place: { file, byte: 0 },
  });
}
