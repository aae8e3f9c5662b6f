import { TAG, type TagName } from './directory.ts';

/**
 * A tag with the values to write. The values of `ascii` are a string; the values of all other types are numbers.
 * `long8` is only allowed in BigTIFF. A `rational` is written as a fraction with the denominator 1,000,000.
 */
export type Field =
  | {
      readonly tag: TagName;
      readonly type: 'short' | 'long' | 'long8' | 'rational' | 'double';
      readonly values: ArrayLike<number>;
    }
  | { readonly tag: TagName; readonly type: 'ascii'; readonly text: string };

/**
 * Encodes an image file directory that will be stored at byte `offset`. Values that do not fit in an entry of the
 * directory follow after the entries.
 *
 * @param next - Byte offset of the next directory, or 0 if there is none.
 */
export function encodeDirectory(
  fields: readonly Field[],
  offset: number,
  littleEndian: boolean,
  big: boolean,
  next = 0,
): Uint8Array {
  const sorted = [...fields].sort((a, b) => TAG[a.tag] - TAG[b.tag]);
  const [countBytes, entryBytes, inlineBytes] = big ? [8, 20, 8] : [2, 12, 4];
  const entriesEnd = countBytes + sorted.length * entryBytes + inlineBytes;
  const size = sorted.reduce((end, field) => end + outsideBytes(field, inlineBytes), entriesEnd);
  const view = new DataView(new ArrayBuffer(size));
  const putWide = (at: number, value: number) =>
    big ? view.setBigUint64(at, BigInt(value), littleEndian) : view.setUint32(at, value, littleEndian);
  if (big) putWide(0, sorted.length);
  else view.setUint16(0, sorted.length, littleEndian);
  let outside = entriesEnd;
  for (const [index, field] of sorted.entries()) {
    const at = countBytes + index * entryBytes;
    const valueAt = at + entryBytes - inlineBytes;
    view.setUint16(at, TAG[field.tag], littleEndian);
    view.setUint16(at + 2, TYPES[field.type].code, littleEndian);
    putWide(at + 4, countOf(field));
    const elsewhere = outsideBytes(field, inlineBytes);
    if (elsewhere > 0) putWide(valueAt, offset + outside);
    putValues(view, elsewhere > 0 ? outside : valueAt, field, littleEndian);
    outside += elsewhere;
  }
  putWide(entriesEnd - inlineBytes, next);
  return new Uint8Array(view.buffer);
}

const TYPES = {
  ascii: { code: 2, bytes: 1 },
  short: { code: 3, bytes: 2 },
  long: { code: 4, bytes: 4 },
  rational: { code: 5, bytes: 8 },
  double: { code: 12, bytes: 8 },
  long8: { code: 16, bytes: 8 },
} as const;

function countOf(field: Field): number {
  return field.type === 'ascii' ? field.text.length + 1 : field.values.length;
}

/**
 * Number of bytes that the values of a field need after the entries, padded to an even number; 0 if the values fit in
 * the entry.
 */
function outsideBytes(field: Field, inlineBytes: number): number {
  const bytes = countOf(field) * TYPES[field.type].bytes;
  return bytes <= inlineBytes ? 0 : bytes + (bytes % 2);
}

function putValues(view: DataView, start: number, field: Field, littleEndian: boolean): void {
  if (field.type === 'ascii') {
    for (let i = 0; i < field.text.length; i++) view.setUint8(start + i, field.text.charCodeAt(i));
    return;
  }
  for (let i = 0; i < field.values.length; i++) {
    const at = start + i * TYPES[field.type].bytes;
    const value = field.values[i]!;
    if (field.type === 'short') view.setUint16(at, value, littleEndian);
    else if (field.type === 'long') view.setUint32(at, value, littleEndian);
    else if (field.type === 'rational') putRational(view, at, value, littleEndian);
    else if (field.type === 'double') view.setFloat64(at, value, littleEndian);
    else view.setBigUint64(at, BigInt(value), littleEndian);
  }
}

const MILLION = 1e6;

function putRational(view: DataView, at: number, value: number, littleEndian: boolean): void {
  const isSmall = value * MILLION < 2 ** 32;
  view.setUint32(at, Math.round(isSmall ? value * MILLION : value), littleEndian);
  view.setUint32(at + 4, isSmall ? MILLION : 1, littleEndian);
}

/** The header of a TIFF whose first directory is at byte `offset`. */
export function encodeHeader(offset: number, littleEndian: boolean, big: boolean): Uint8Array {
  const view = new DataView(new ArrayBuffer(big ? 16 : 8));
  view.setUint16(0, littleEndian ? 0x4949 : 0x4d4d);
  view.setUint16(2, big ? 43 : 42, littleEndian);
  if (!big) {
    view.setUint32(4, offset, littleEndian);
    return new Uint8Array(view.buffer);
  }
  view.setUint16(4, 8, littleEndian);
  view.setBigUint64(8, BigInt(offset), littleEndian);
  return new Uint8Array(view.buffer);
}
