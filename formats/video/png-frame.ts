import { promisify } from 'node:util';
import { inflate, type ZlibOptions } from 'node:zlib';
import type { Note } from '../../algorithms/notes.ts';
import { messageOf } from '../../primitives/checks/message-of.ts';
import { damagedPng, type PngChunks, readPngImage } from '../result-sets/png-chunks.ts';
import { decodeWhole, samplesOf, unfilter } from '../result-sets/png-labels.ts';
import { isGreyPalette, paletteTable, RGB, takeChannel, takeSamples } from './grey.ts';
import type { Grey, VideoChannel } from './video.ts';
import { checkSize } from './video-error.ts';
import { ALPHA_NOTE, greyChannelNotes, PALETTE_NOTE } from './video-notes.ts';

/** A frame decoded from a PNG. */
export interface PngFrame {
  readonly width: number;
  readonly height: number;
  readonly bits: 8 | 16;
  readonly grey: Grey;
  readonly notes: readonly Note[];
}

/**
 * Decodes a PNG with any colour type to grey values. 16-bit values are kept. Values of fewer than 8 bits are scaled to
 * 0 … 255.
 */
export async function decodePng(bytes: Uint8Array, file: string, channel: VideoChannel): Promise<PngFrame> {
  const png = readPngImage(bytes, file);
  const { width, height, depth } = png;
  checkSize(width, height, { file });
  const bits = depth === 16 ? 16 : 8;
  const grey = bits === 16 ? new Uint16Array(width * height) : new Uint8Array(width * height);
  const place = placeRow(png, channel, grey, file);
  if (png.interlaced) eachDecodedRow(png, bytes, file, place);
  else await eachRow(png, file, place);
  return { width, height, bits, grey, notes: notesOf(png, channel) };
}

type PlaceRow = (samples: Grey, row: number) => void;

const PALETTE = 3;
const TRUE_COLOURS: readonly number[] = [2, 6];

/** Returns a function that converts the samples of a row to grey values and stores them in the frame. */
function placeRow(
  { width, colour, depth, samples: step, palette }: PngChunks,
  channel: VideoChannel,
  grey: Grey,
  file: string,
): PlaceRow {
  if (TRUE_COLOURS.includes(colour)) {
    return (samples, row) => takeChannel(samples, 0, { ...RGB, step }, channel, grey, row * width, width);
  }
  if (colour === PALETTE && palette === undefined) throw damagedPng('no palette', file);
  const table = colour === PALETTE ? paletteTable(palette!, RGB, channel) : depth < 8 ? spreadTable(depth) : undefined;
  return (samples, row) => {
    const at = row * width;
    takeSamples(samples, 0, step, grey, at, width);
    if (table !== undefined) for (let x = at; x < at + width; x++) grey[x] = table[grey[x]!]!;
  };
}

/** Table that converts values of `depth` bits to 8 bits by scaling. */
function spreadTable(depth: number): Uint8Array {
  const max = 2 ** depth - 1;
  return Uint8Array.from({ length: max + 1 }, (_, value) => (255 / max) * value);
}

const inflateBytes = promisify<Uint8Array, ZlibOptions, Buffer>(inflate);

async function eachRow(png: PngChunks, file: string, place: PlaceRow): Promise<void> {
  const { width, height, depth, stride, samples: step } = png;
  const size = height * (1 + stride);
  const unpacked = await inflateBytes(Buffer.concat(png.data), {
    maxOutputLength: size + SLACK,
    chunkSize: size + SLACK,
  }).catch((cause) => {
    throw damagedPng(messageOf(cause), file, cause);
  });
  if (unpacked.length < size) throw damagedPng(`${unpacked.length} bytes of ${size}`, file);
  const samples = samplesOf({ width: width * step, depth });
  let above: Uint8Array = new Uint8Array(1 + stride);
  for (let row = 0; row < height; row++) {
    const line = unpacked.subarray(row * (1 + stride), (row + 1) * (1 + stride));
    if (!unfilter(line, above, Math.max(1, (depth * step) >> 3))) throw damagedPng(`filter ${line[0]}`, file);
    place(samples(line), row);
    above = line;
  }
}

/**
 * Number of extra bytes in the output buffer of zlib. They let zlib recognize the end of the data without allocating
 * another buffer.
 */
const SLACK = 64;

/** Decodes an interlaced PNG as a whole, because its rows are not stored in order. Then calls `place` for each row. */
function eachDecodedRow(
  { width, height, depth, samples: step }: PngChunks,
  bytes: Uint8Array,
  file: string,
  place: PlaceRow,
): void {
  if (depth < 8) throw damagedPng(`${depth} bits a sample, interlaced`, file);
  const samples = decodeWhole(bytes, file);
  for (let row = 0; row < height; row++) place(samples.subarray(row * width * step, (row + 1) * width * step), row);
}

function notesOf({ colour, palette }: PngChunks, channel: VideoChannel): Note[] {
  if (colour === PALETTE) return isGreyPalette(palette!, RGB) ? greyChannelNotes(channel) : [PALETTE_NOTE];
  return [
    ...(TRUE_COLOURS.includes(colour) ? [] : greyChannelNotes(channel)),
    ...(colour > PALETTE ? [ALPHA_NOTE] : []),
  ];
}
