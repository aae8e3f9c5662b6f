import type { Note } from '../../algorithms/notes.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import type { ByteSource } from '../rasters/tiff/byte-source.ts';
import { decodeBlock } from '../rasters/tiff/decode.ts';
import { damaged, type TiffDirectory } from '../rasters/tiff/directory.ts';
import { type BandLayout, decodedRows, readLayout, rowBytes } from '../rasters/tiff/layout.ts';
import { nodeCodecs } from '../rasters/tiff/node-codecs.ts';
import { isGreyPalette, paletteTable, RGB, takeChannel, takeSamples } from './grey.ts';
import type { Grey, VideoChannel } from './video.ts';
import { checkSize } from './video-error.ts';
import { ALPHA_NOTE, greyChannelNotes, PALETTE_NOTE } from './video-notes.ts';

/** A page of a TIFF: where its pixels are stored, and how they are converted to grey values. */
export interface TiffPage {
  readonly width: number;
  readonly height: number;
  readonly bits: 8 | 16;
  /** The layouts of the bands: a single layout if the bands are interleaved, otherwise one layout per band. */
  readonly layouts: readonly BandLayout[];
  readonly colours: Colours;
  /**
   * Mask of the bits that are inverted in each sample. It contains the sign bit if samples are signed, and all bits if
   * 0 means white.
   */
  readonly turned: number;
  /** The grey value of every palette index; undefined if the page has no palette. */
  readonly table: Uint8Array | undefined;
  readonly notes: readonly Note[];
}

type Colours = 'grey' | 'RGB' | 'palette';

/** Meaning of the tag PhotometricInterpretation. */
const COLOURS: Readonly<Record<number, Colours>> = { 0: 'grey', 1: 'grey', 2: 'RGB', 3: 'palette' };
const OTHER_COLOURS: Readonly<Record<number, string>> = { 4: 'a mask', 5: 'CMYK', 6: 'YCbCr', 8: 'CIE Lab' };
const WHITE_IS_ZERO = 0;

/**
 * Reads how the pixels of a page are stored. Signed samples are converted to unsigned ones by adding half their range,
 * so that −32768 becomes 0. If 0 means white, values are subtracted from the maximum of their type.
 */
export async function readPage(source: ByteSource, directory: TiffDirectory, channel: VideoChannel): Promise<TiffPage> {
  const { file } = source;
  const photometric = (await directory.number('photometricInterpretation')) ?? 1;
  const colours = COLOURS[photometric];
  if (colours === undefined)
    throw unsupported('colours', OTHER_COLOURS[photometric] ?? `colours of kind ${photometric}`, file);
  const layouts = await readLayouts(source, directory, colours);
  const { width, height, sample, bits: stored } = layouts[0]!;
  checkSize(width, height, { file });
  if (sample !== 'u8' && sample !== 'i8' && sample !== 'u16' && sample !== 'i16')
    throw unsupported('sample-type', `samples of type ${sample}`, file);
  if (stored < 8) throw unsupported('sample-type', `samples of ${stored} bits`, file);
  const bits = sample === 'u8' || sample === 'i8' ? 8 : 16;
  const palette = colours === 'palette' ? await readPalette(directory, bits, file) : undefined;
  const isSigned = sample === 'i8' || sample === 'i16';
  const all = 2 ** bits - 1;
  for (const layout of layouts) checkBlocks(layout, source);
  return {
    ...{ width, height, bits, layouts, colours },
    turned: (isSigned ? 2 ** (bits - 1) : 0) ^ (photometric === WHITE_IS_ZERO ? all : 0),
    table: palette && paletteTable(palette, RGB, channel),
    notes: [
      ...(isSigned ? [signedNote(bits)] : []),
      ...(colours === 'grey' ? greyChannelNotes(channel) : []),
      ...(palette === undefined || isGreyPalette(palette, RGB) ? [] : [PALETTE_NOTE]),
      ...extraNotes((await directory.number('samplesPerPixel')) ?? 1, colours),
    ],
  };
}

async function readLayouts(source: ByteSource, directory: TiffDirectory, colours: Colours): Promise<BandLayout[]> {
  const wanted = colours === 'RGB' ? 3 : 1;
  const samples = (await directory.number('samplesPerPixel')) ?? 1;
  if (samples < wanted) throw damaged(source.file, `it has ${samples} samples per pixel for RGB`);
  const separate = (await directory.number('planarConfiguration')) === 2;
  const layouts: BandLayout[] = [];
  for (let band = 1; band <= (separate ? wanted : 1); band++) layouts.push(await readLayout(source, directory, band));
  return layouts;
}

/**
 * Reads the palette. The tag ColorMap contains 2^bits values of red, followed by as many values of green and of blue.
 * Each value has 16 bits.
 */
async function readPalette(directory: TiffDirectory, bits: 8 | 16, file: string): Promise<Uint8Array> {
  if (bits === 16) throw unsupported('colours', 'a palette of 16 bits', file);
  const map = await directory.numbers('colorMap', 768);
  if (map === undefined || map.length < 768) throw damaged(file, `its colorMap has ${map?.length ?? 0} values of 768`);
  return Uint8Array.from({ length: 768 }, (_, i) => map[(i % 3) * 256 + Math.floor(i / 3)]! >> 8);
}

/**
 * Throws if a block is omitted from the file, or if the blocks together have more bytes than the file. With this check,
 * the size of the file limits the memory for a frame.
 */
function checkBlocks({ byteCounts }: BandLayout, { file, size }: ByteSource): void {
  let sum = 0;
  for (const [block, bytes] of byteCounts.entries()) {
    if (bytes === 0) throw damaged(file, `its block ${block} was never written`);
    sum += bytes;
  }
  if (sum > size) throw damaged(file, `its blocks have ${sum} bytes, more than the file`);
}

function signedNote(bits: number): Note {
  const message = `Values are signed: ${2 ** (bits - 1)} is added to each, so that the smallest becomes 0.`;
  return { code: 'video/signed-values', message };
}

function extraNotes(samples: number, colours: Colours): Note[] {
  const extra = samples - (colours === 'RGB' ? 3 : 1);
  if (extra === 0) return [];
  if (extra === 1) return [ALPHA_NOTE];
  return [{ code: 'video/other-samples', message: `The last ${extra} of ${samples} samples per pixel are not read.` }];
}

/**
 * Reads and decodes a page. `shift` is added to the byte offsets of the page's blocks. In a stack with a single
 * directory, this selects a later image, which has no directory of its own.
 */
export async function decodePage(
  source: ByteSource,
  page: TiffPage,
  channel: VideoChannel,
  shift: number,
): Promise<Grey> {
  const { width, height, bits, layouts } = page;
  const grey = bits === 8 ? new Uint8Array(width * height) : new Uint16Array(width * height);
  const planes = await Promise.all(layouts.map((layout) => decodeBlocks(source, layout, shift)));
  for (let block = 0; block < layouts[0]!.blocks; block++) {
    const words = planes.map((blocks) => blocks[block] as Grey);
    if (page.turned !== 0) for (const each of words) turnBits(each, page.turned);
    copyBlock(page, block, words, channel, grey);
  }
  return grey;
}

async function decodeBlocks(source: ByteSource, layout: BandLayout, shift: number): Promise<Grey[]> {
  const { offsets, byteCounts, blocks } = layout;
  const [start, end] = extentOf(layout);
  const packed = byteCounts.reduce((sum, bytes) => sum + bytes, 0);
  // If the gaps between the blocks are small (at most an eighth of their bytes), all blocks are read with one request.
  const together = end - start <= packed + packed / 8 ? await source.read(start + shift, end - start) : undefined;
  const each = Array.from({ length: blocks }, async (_, block) => {
    const [offset, bytes] = [offsets[block]!, byteCounts[block]!];
    const size = decodedRows(layout, layout.height, block) * rowBytes(layout);
    const there = together?.slice(offset - start, offset - start + bytes) ?? (await source.read(offset + shift, bytes));
    return (await decodeBlock(there, size, layout, nodeCodecs, source.file, block)) as Grey;
  });
  return settled(each);
}

/**
 * Waits until all promises have settled, even if one of them is rejected, so that no read continues in the background.
 */
async function settled<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

/** Byte range in the file that contains all blocks of a layout. */
export function extentOf({ offsets, byteCounts }: BandLayout): [start: number, end: number] {
  let [start, end] = [Number.POSITIVE_INFINITY, 0];
  for (const [block, offset] of offsets.entries()) {
    start = Math.min(start, offset);
    end = Math.max(end, offset + byteCounts[block]!);
  }
  return [start, end];
}

function turnBits(words: Grey, bits: number): void {
  for (let at = 0; at < words.length; at++) words[at]! ^= bits;
}

function copyBlock(
  { width, height, layouts, colours, table }: TiffPage,
  block: number,
  words: readonly Grey[],
  channel: VideoChannel,
  grey: Grey,
): void {
  const { blockColumns, blockRows, blocksAcross, interleaved } = layouts[0]!;
  const left = (block % blocksAcross) * blockColumns;
  const top = Math.floor(block / blocksAcross) * blockRows;
  const count = Math.min(blockColumns, width - left);
  const [samples, step] = words.length === 3 ? [interleave(words), 3] : [words[0]!, interleaved];
  for (let row = 0; row < Math.min(blockRows, height - top); row++) {
    const from = row * blockColumns * step;
    const at = (top + row) * width + left;
    if (colours === 'RGB') takeChannel(samples, from, { ...RGB, step }, channel, grey, at, count);
    else takeSamples(samples, from, step, grey, at, count);
    if (table !== undefined) for (let x = at; x < at + count; x++) grey[x] = table[grey[x]!]!;
  }
}

/** Combines three planes (red, green, blue) to three interleaved samples per pixel. */
function interleave(planes: readonly Grey[]): Grey {
  const { length } = planes[0]!;
  const samples = planes[0] instanceof Uint16Array ? new Uint16Array(3 * length) : new Uint8Array(3 * length);
  for (const [plane, words] of planes.entries()) {
    for (let at = 0; at < length; at++) samples[3 * at + plane] = words[at]!;
  }
  return samples;
}

/** Text of the remedy in errors about unsupported pages. */
export const TIFF_REMEDY =
  'Convert it to 8 or 16 bits of grey or RGB, for example in ImageJ (Image > Type) or with tiffcp -c none.';

function unsupported(what: string, got: string, file: string): FormatError {
  return new FormatError(`format/unsupported-${what}`, 'The pixels of the TIFF are of a kind that is not read.', {
    expected: 'grey, RGB or a palette, of 8 or 16 bits in whole numbers',
    got,
    remedy: TIFF_REMEDY,
    place: { file },
  });
}
