import type { LercData } from 'lerc';
import { SAMPLE_BYTES } from '../../../algorithms/geometry/raster.ts';
import { messageOf } from '../../../primitives/checks/message-of.ts';
import { viewOf } from '../../bytes/byte-arrays.ts';
import type { CodecFaults } from '../../bytes/codec-faults.ts';
import { CELL_ARRAYS, swappedBytes } from './samples.ts';

/** Sample types of LERC, in the order of their numbers. */
export const LERC_SAMPLES = ['i8', 'u8', 'i16', 'u16', 'i32', 'u32', 'f32', 'f64'] as const;
export type LercSample = (typeof LERC_SAMPLES)[number];

/** What the head of a blob says. */
export interface LercHead {
  readonly rows: number;
  readonly columns: number;
  /** Number of samples of a cell, which stand beside each other. */
  readonly depth: number;
  /** Number of cells that have values. */
  readonly valid: number;
  /** Length of the blob. */
  readonly bytes: number;
  readonly sample: LercSample | undefined;
  /** How far values may be from those that were encoded: 0 for exact floats, 0.5 for exact integers. */
  readonly maxError: number;
}

const MAGIC = 'Lerc2 ';
const OLD_MAGIC = 'CntZImage ';
const MAX_VERSION = 6;

/** Reads the head of a blob of LERC 2. */
export function readLercHead(bytes: Uint8Array, faults: CodecFaults): LercHead {
  const magic = new TextDecoder('latin1').decode(bytes.subarray(0, OLD_MAGIC.length));
  if (magic === OLD_MAGIC) throw faults.unsupported('LERC of version 1');
  const view = viewOf(bytes);
  if (!magic.startsWith(MAGIC) || bytes.length < MAGIC.length + 4) throw faults.damaged('it has no head of LERC');
  const version = view.getInt32(MAGIC.length, true);
  if (version < 1 || version > MAX_VERSION) throw faults.unsupported(`LERC of version 2.${version}`);
  // A checksum came with version 3, the depth with 4, and the number of further blobs with 6.
  let at = MAGIC.length + 4 + (version >= 3 ? 4 : 0);
  if (bytes.length < at + 4 * (version >= 4 ? 7 : 6) + (version >= 6 ? 8 : 0) + 24)
    throw faults.damaged('its head of LERC is cut off');
  const next = (): number => {
    at += 4;
    return view.getInt32(at - 4, true);
  };
  const [rows, columns, depth, valid] = [next(), next(), version >= 4 ? next() : 1, next()];
  next();
  const [length, type] = [next(), next()];
  if (version >= 6) at += 8;
  return {
    ...{ rows, columns, depth, valid, bytes: length },
    sample: LERC_SAMPLES[type],
    maxError: view.getFloat64(at, true),
  };
}

/** What the blobs of a block must hold. */
export interface LercShape {
  readonly sample: LercSample;
  readonly columns: number;
  readonly minRows: number;
  readonly maxRows: number;
  /** Number of samples of a cell. */
  readonly samples: number;
  /** Whether the last sample is an alpha band. It may be stored as the mask of the blob, which says 0 or 255. */
  readonly hasAlpha: boolean;
  /** Whether the bytes of samples were reversed before they were encoded, as libtiff does for the other byte order. */
  readonly isSwapped: boolean;
  /** The value for cells without a value, if samples are integers. Floats are NaN there. */
  readonly missing: number | undefined;
}

/** Makes the errors for blobs that are not decoded. */
export interface LercFaults extends CodecFaults {
  /** Cells have no value, but there is no value to mark them with. */
  unmarked(): Error;
}

/** Samples of cells in the order of the machine, row by row, those of a cell beside each other. */
export type LercCells = LercData['pixels'][number];

/** Decodes the blobs of a block: one for all samples of a cell, or one for each. */
export type UnpackLerc = (bytes: Uint8Array, shape: LercShape, faults: LercFaults) => LercCells;

/** Maximum bytes of blobs and of what they decode to. The decoder does not recover when it runs out of memory. */
const MAX_BYTES = 2 ** 29;

let loading: Promise<UnpackLerc> | undefined;

/** Imports the decoder's package. */
export type ImportLerc = () => Promise<Pick<typeof import('lerc'), 'load' | 'decode'>>;

/** Loads the decoder of LERC once, when it is first needed. */
export function loadLerc(importLerc: ImportLerc): Promise<UnpackLerc> {
  loading ??= load(importLerc);
  return loading;
}

async function load(importLerc: ImportLerc): Promise<UnpackLerc> {
  const { load: start, decode } = await importLerc();
  await start();
  return (bytes, shape, faults) => {
    const heads = readHeads(bytes, shape, faults);
    // The decoder takes all blobs for empty if the first one is.
    const first = heads.findIndex(({ valid }) => valid > 0);
    const before = heads.slice(0, Math.max(0, first)).reduce((sum, head) => sum + head.bytes, 0);
    if (first === -1) return placeBands([], heads, shape, faults);
    let decoded: LercData;
    try {
      decoded = decode(bytes.subarray(before), { returnInterleaved: true });
    } catch (cause) {
      throw faults.damaged(`LERC says "${messageOf(cause)}"`, cause);
    }
    const { pixels, mask, bandMasks, noDataValues } = decoded;
    if (shape.isSwapped && noDataValues?.some((value) => value !== null))
      throw faults.unsupported('LERC with nodata values of its own in the other byte order');
    const bands = pixels.map((values, band) => ({
      values: shape.isSwapped ? swapped(values, shape.sample) : values,
      mask: bandMasks?.[band] ?? mask ?? undefined,
      none: noDataValues?.[band] ?? undefined,
    }));
    const only = bands[0]!;
    const isPlain =
      heads.length === 1 && heads[0]!.depth === shape.samples && only.mask === undefined && only.none === undefined;
    return isPlain ? only.values : placeBands([...Array(first).fill(undefined), ...bands], heads, shape, faults);
  };
}

function swapped({ buffer, byteOffset, byteLength, length }: LercCells, sample: LercSample): LercCells {
  const bytes = swappedBytes(new Uint8Array(buffer, byteOffset, byteLength), SAMPLE_BYTES[sample]);
  return new CELL_ARRAYS[sample](new Uint8Array(bytes).buffer, 0, length);
}

/** Reads the heads of all blobs, and checks what they declare before anything is allocated for it. */
function readHeads(bytes: Uint8Array, shape: LercShape, faults: CodecFaults): LercHead[] {
  const heads: LercHead[] = [];
  for (let at = 0; at < bytes.length; ) {
    const head = readLercHead(bytes.subarray(at), faults);
    checkHead(head, heads[0] ?? head, shape, bytes.length - at, faults);
    heads.push(head);
    at += head.bytes;
  }
  const [{ depth, rows } = { depth: 0, rows: 0 }] = heads;
  const [wanted, color] = [shape.samples, shape.hasAlpha && shape.sample === 'u8' ? shape.samples - 1 : 0];
  const fits = heads.length === 1 ? depth === wanted || depth === color : depth === 1 && heads.length === wanted;
  if (!fits) throw faults.damaged(`its LERC has ${heads.length} × ${depth} bands, not ${wanted}`);
  if (bytes.length + SAMPLE_BYTES[shape.sample] * rows * shape.columns * wanted > MAX_BYTES)
    throw faults.unsupported(`LERC of ${shape.columns} × ${rows} cells at once`);
  return heads;
}

function checkHead(head: LercHead, first: LercHead, shape: LercShape, room: number, faults: CodecFaults): void {
  const { rows, columns, depth, valid, bytes, sample } = head;
  if (columns !== shape.columns || rows < shape.minRows || rows > shape.maxRows || rows !== first.rows)
    throw faults.damaged(`its LERC has ${columns} × ${rows} cells, not ${shape.columns} × ${shape.minRows}`);
  if (sample !== shape.sample) throw faults.damaged(`its LERC has samples of type ${sample ?? 'unknown'}`);
  if (depth !== first.depth || valid < 0 || valid > rows * columns || bytes <= 0 || bytes > room)
    throw faults.damaged('its LERC contradicts itself');
}

/**
 * The values of a blob, its mask, which is 0 where a cell has no value, and the value that stands for none in a sample (LERC
 * 2.6); undefined if no cell has one.
 */
type Band =
  | { readonly values: LercCells; readonly mask: Uint8Array | undefined; readonly none: number | undefined }
  | undefined;

/** Puts the samples of a cell beside each other, and marks cells that have no value. */
function placeBands(
  bands: readonly Band[],
  heads: readonly LercHead[],
  shape: LercShape,
  faults: LercFaults,
): LercCells {
  const { samples, columns, sample } = shape;
  const cells = heads[0]!.rows * columns;
  const { depth } = heads[0]!;
  const placed = new CELL_ARRAYS[sample](cells * samples);
  // The mask of a single blob is the alpha band, unless the blob has that band itself.
  const isAlpha = heads.length === 1 && depth < samples;
  for (const [index, { valid }] of heads.entries()) {
    const band = valid === 0 ? undefined : bands[index];
    for (let cell = 0, to = index; cell < cells; cell++, to += samples) {
      const isThere = band !== undefined && (band.mask === undefined || band.mask[cell] !== 0);
      if (isThere)
        for (let i = 0; i < depth; i++) {
          const value = band.values[cell * depth + i]!;
          placed[to + i] = value === band.none ? markOf(shape, faults) : value;
        }
      else if (!isAlpha) placed.fill(markOf(shape, faults), to, to + depth);
      if (isAlpha) placed[to + depth] = isThere ? 255 : 0;
    }
  }
  return placed;
}

function markOf({ sample, missing }: LercShape, faults: LercFaults): number {
  if (sample === 'f32' || sample === 'f64') return Number.NaN;
  if (missing === undefined) throw faults.unmarked();
  return missing;
}
