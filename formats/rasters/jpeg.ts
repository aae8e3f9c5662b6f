import { messageOf } from '../../primitives/checks/message-of.ts';
import { joinedArrays } from '../bytes/byte-arrays.ts';
import type { CodecFaults } from '../bytes/codec-faults.ts';
import { splitComponents } from './jpeg-components.ts';

/** What the segments of a JPEG say that stand before its first scan. */
export interface JpegHead {
  readonly width: number;
  readonly height: number;
  readonly components: number;
  /** Whether all components have as many samples as the image has pixels. */
  readonly isWhole: boolean;
  readonly isProgressive: boolean;
  /** Whether the end of the image is there. */
  readonly hasEnd: boolean;
  /** Whether Adobe's marker says that three components are red, green and blue. */
  readonly saysRgb: boolean;
  /** The segments that decoding needs: of tables, sizes and restarts, without those of applications. */
  readonly segments: readonly Uint8Array[];
  /** The scans: the bytes from the first one on. */
  readonly scans: Uint8Array;
}

const MARKER = { start: 0xd8, end: 0xd9, scan: 0xda, quantization: 0xdb, huffman: 0xc4, restart: 0xdd, adobe: 0xee };
/** Baseline, extended and progressive frames. Other markers mean lossless frames or arithmetic coding. */
const FRAMES: readonly number[] = [0xc0, 0xc1, 0xc2];
const PROGRESSIVE = 0xc2;
const OTHER_FRAMES: readonly number[] = [0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf];
/** The text `Adobe`. */
const ADOBE: readonly number[] = [0x41, 0x64, 0x6f, 0x62, 0x65];
const TABLES: readonly number[] = [MARKER.quantization, MARKER.huffman, MARKER.restart];

/** Reads the segments up to the first scan. */
export function readJpegHead(bytes: Uint8Array, faults: CodecFaults): JpegHead {
  let frame: Frame | undefined;
  let saysRgb = false;
  const segments: Uint8Array[] = [];
  for (const { marker, segment, end } of listSegments(bytes, faults)) {
    if (OTHER_FRAMES.includes(marker)) throw faults.unsupported(`a frame of kind ${marker - FRAMES[0]!}`);
    if (FRAMES.includes(marker)) {
      if (frame !== undefined) throw faults.damaged('two sizes');
      frame = { ...readFrame(segment.subarray(4), faults), isProgressive: marker === PROGRESSIVE };
    }
    if (marker === MARKER.adobe && ADOBE.every((byte, i) => segment[4 + i] === byte) && segment.length >= 16)
      saysRgb = segment[15] === 0;
    if (FRAMES.includes(marker) || TABLES.includes(marker)) segments.push(segment);
    if (marker !== MARKER.scan) continue;
    if (frame === undefined) throw faults.damaged('no size of its frame');
    const scans = bytes.subarray(end - segment.length);
    return { ...frame, hasEnd: hasEnd(scans), saysRgb, segments, scans };
  }
  throw faults.damaged('no data');
}

function hasEnd(scans: Uint8Array): boolean {
  for (let at = scans.lastIndexOf(MARKER.end); at > 0; at = scans.lastIndexOf(MARKER.end, at - 1))
    if (scans[at - 1] === 0xff) return true;
  return false;
}

interface Segment {
  readonly marker: number;
  /** Its bytes, which begin with the marker and the length. */
  readonly segment: Uint8Array;
  readonly end: number;
}

/** Lists the segments up to the end of the image, or up to the first scan, whose data follow its segment. */
function* listSegments(bytes: Uint8Array, faults: CodecFaults): Generator<Segment> {
  if (bytes[0] !== 0xff || bytes[1] !== MARKER.start) throw faults.damaged('no start of an image');
  for (let at = 2; at + 4 <= bytes.length; ) {
    if (bytes[at] !== 0xff) throw faults.damaged('bytes between its segments');
    // Any number of these bytes may stand before a marker.
    if (bytes[at + 1] === 0xff) {
      at++;
      continue;
    }
    const marker = bytes[at + 1]!;
    if (marker === MARKER.end) return;
    const length = bytes[at + 2]! * 256 + bytes[at + 3]!;
    const end = at + 2 + length;
    if (length < 2 || end > bytes.length) throw faults.damaged('a segment beyond its end');
    yield { marker, segment: bytes.subarray(at, end), end };
    if (marker === MARKER.scan) return;
    at = end;
  }
}

/** Maximum number of components in a scan. */
const MAX_COMPONENTS = 4;

type Frame = Pick<JpegHead, 'width' | 'height' | 'components' | 'isWhole' | 'isProgressive'>;

function readFrame(content: Uint8Array, faults: CodecFaults): Omit<Frame, 'isProgressive'> {
  const components = content[5] ?? 0;
  if (content.length < 6 + 3 * components) throw faults.damaged('a frame segment that is too short');
  if (content[0] !== 8) throw faults.unsupported(`samples of ${content[0]} bits`);
  if (components < 1 || components > MAX_COMPONENTS) throw faults.unsupported(`${components} components`);
  const samplings = Array.from({ length: components }, (_, i) => content[7 + 3 * i]);
  return {
    height: content[1]! * 256 + content[2]!,
    width: content[3]! * 256 + content[4]!,
    components,
    isWhole: samplings.every((sampling) => sampling === samplings[0]),
  };
}

/** Collects the segments of tables from a JPEG that has no image, as TIFF's tag JPEGTables holds. */
export function jpegTables(bytes: Uint8Array, faults: CodecFaults): Uint8Array[] {
  return [...listSegments(bytes, faults)].filter(({ marker }) => TABLES.includes(marker)).map(({ segment }) => segment);
}

/** How the samples of three components are returned: as they are stored, or as red, green and blue from luma and chroma. */
export type JpegColours = 'stored' | 'rgb';

/**
 * Decodes an image whose head was read and checked.
 *
 * @param tables - Further segments of tables, which those of the image come after.
 * @returns All samples, row by row, the components of a pixel beside each other.
 */
export type UnpackJpeg = (
  head: JpegHead,
  colours: JpegColours,
  faults: CodecFaults,
  tables?: readonly Uint8Array[],
) => Uint8Array;

/** Maximum number of pixels per byte. A block of 64 pixels takes at least one bit. */
const MAX_PIXELS_A_BYTE = 512;
/** Maximum number of scans, as in libtiff. Each takes time for all pixels, however few bytes it has. */
const MAX_SCANS = 100;
/** Maximum bytes that the decoder takes. It does not recover when it runs out of memory. */
const MAX_BYTES = 2 ** 30;

/** What is used of the package `@cornerstonejs/codec-libjpeg-turbo-8bit`, which has no types. */
interface JpegCodec {
  readonly JPEGDecoder: new () => {
    getEncodedBuffer(length: number): Uint8Array;
    decode(): void;
    getDecodedBuffer(): Uint8ClampedArray<ArrayBuffer>;
    delete(): void;
  };
}

let loading: Promise<UnpackJpeg> | undefined;

/** Imports the decoder's package. */
export type ImportJpeg = () => Promise<{ default: () => Promise<JpegCodec> }>;

/** Loads the decoder once, when it is first needed. */
export function loadJpeg(importJpeg: ImportJpeg): Promise<UnpackJpeg> {
  loading ??= load(importJpeg);
  return loading;
}

async function load(importJpeg: ImportJpeg): Promise<UnpackJpeg> {
  const { default: open } = await importJpeg();
  const { JPEGDecoder } = await open();
  const decode = (whole: Uint8Array, faults: CodecFaults): Uint8Array => {
    const decoder = new JPEGDecoder();
    try {
      decoder.getEncodedBuffer(whole.length).set(whole);
      decoder.decode();
      const samples = decoder.getDecodedBuffer();
      return new Uint8Array(samples.buffer, samples.byteOffset, samples.length);
    } catch (cause) {
      // What it throws itself is the address of a text in its memory.
      throw faults.damaged(typeof cause === 'number' ? 'data that libjpeg cannot decode' : messageOf(cause), cause);
    } finally {
      decoder.delete();
    }
  };
  return (head, colours, faults, tables = []) => {
    checkEnd(head, faults);
    checkCost(head, faults);
    const { width, height, components } = head;
    if (components === 1 || components === 3) return decode(assembled(head, colours, tables), faults);
    const samples = new Uint8Array(width * height * components);
    for (const [at, part] of splitComponents(head, tables, faults).entries()) {
      const ofOne = decode(assembled({ ...head, ...part, components: 1 }, colours, tables), faults);
      for (let from = 0, to = at; from < ofOne.length; from++, to += components) samples[to] = ofOne[from]!;
    }
    return samples;
  };
}

/** Throws if scans may be missing, which the decoder does not notice: it notices only where the data of a scan end. */
function checkEnd({ components, isProgressive, hasEnd, scans }: JpegHead, faults: CodecFaults): void {
  const isOnly = !isProgressive && scans[4] === components;
  if (!isOnly && !hasEnd) throw faults.damaged('no end');
}

function checkCost({ width, height, components, isProgressive, scans }: JpegHead, faults: CodecFaults): void {
  const pixels = width * height;
  if (pixels > MAX_PIXELS_A_BYTE * scans.length) throw faults.damaged(`${scans.length} bytes for its pixels`);
  const bytes = scans.length + pixels * components * (isProgressive ? 3 : 1);
  if (bytes > MAX_BYTES) throw faults.unsupported(`${width} × ${height} pixels at once`);
  let count = 0;
  for (let at = scans.indexOf(0xff); at !== -1; at = scans.indexOf(0xff, at + 1)) {
    if (scans[at + 1] === MARKER.scan && ++count > MAX_SCANS) throw faults.unsupported(`more than ${MAX_SCANS} scans`);
  }
}

/**
 * A whole JPEG. Adobe's marker says what the components are, and no other marker says something else. An end is added,
 * as libtiff does: the decoder refuses a scan that is not complete by then.
 */
function assembled({ components, segments, scans }: JpegHead, colours: JpegColours, tables: readonly Uint8Array[]) {
  const adobe = components === 3 ? [adobeSegment(colours === 'rgb' ? 1 : 0)] : [];
  return joinedArrays([START, ...adobe, ...tables, ...segments, scans, END], Uint8Array);
}

const START: Uint8Array = Uint8Array.of(0xff, MARKER.start);
const END: Uint8Array = Uint8Array.of(0xff, MARKER.end);

/** Adobe's marker. `transform` is 0 for components as they are, 1 for luma and chroma. */
function adobeSegment(transform: 0 | 1): Uint8Array {
  return Uint8Array.from([0xff, MARKER.adobe, 0, 14, ...ADOBE, 0, 100, 0, 0, 0, 0, transform]);
}
