import { quoteName } from '../../algorithms/quoted-names.ts';
import { FormatError } from '../../primitives/checks/errors.ts';
import { fileTooLarge } from '../memory.ts';
import type { ByteSource } from '../rasters/tiff/byte-source.ts';
import { latin1Text, viewOf } from './byte-arrays.ts';

/** A file in a ZIP archive, as the directory of the archive states it. */
export interface ZipEntry {
  /** Its path, with slashes. */
  readonly name: string;
  readonly method: number;
  readonly flags: number;
  readonly crc: number;
  /** Bytes as they are stored, and unpacked. */
  readonly packed: number;
  readonly size: number;
  /** Where its local header begins. */
  readonly start: number;
}

const END = 0x06054b50;
const END_64 = 0x06064b50;
const LOCATOR_64 = 0x07064b50;
const ENTRY = 0x02014b50;
const LOCAL = 0x04034b50;
const [END_BYTES, LOCATOR_BYTES, END_64_BYTES, ENTRY_BYTES, LOCAL_BYTES] = [22, 20, 56, 46, 30];
/** A 32-bit field whose value stands in the extra field of ZIP64. */
const IN_EXTRA = 0xffffffff;
const MAX_COMMENT = 65_535;

const [STORED, DEFLATED] = [0, 8];
const METHODS: ReadonlyMap<number, string> = new Map([
  [1, 'Shrink'],
  [6, 'Implode'],
  [9, 'Deflate64'],
  [12, 'BZIP2'],
  [14, 'LZMA'],
  [93, 'Zstandard'],
  [95, 'XZ'],
  [98, 'PPMd'],
  [99, 'AES'],
]);
const ENCRYPTED = 1;

/**
 * Reads the directory of a ZIP archive (PKWARE APPNOTE 6.3), also with ZIP64. Whatever it states is compared with the size of
 * the archive before anything is read.
 *
 * @throws FormatError `format/malformed-zip`; OutOfMemoryError if the directory does not fit `memoryBytes`.
 */
export async function zipEntries(source: ByteSource, memoryBytes: number): Promise<ZipEntry[]> {
  const { count, start, length } = await directoryOf(source);
  if (length > memoryBytes) throw fileTooLarge(source.file, length, memoryBytes);
  const view = viewOf(await source.read(start, length));
  const entries: ZipEntry[] = [];
  let at = 0;
  for (let index = 0; index < count; index++) {
    if (at + ENTRY_BYTES > length || view.getUint32(at, true) !== ENTRY) {
      throw malformed(source.file, `an entry ${index} in its directory`, 'none');
    }
    const [names, extras, comments] = [
      view.getUint16(at + 28, true),
      view.getUint16(at + 30, true),
      view.getUint16(at + 32, true),
    ];
    const next = at + ENTRY_BYTES + names + extras + comments;
    if (next > length) throw malformed(source.file, `${next} bytes of a directory`, `${length}`);
    entries.push(entryOf(view, at, names, extras));
    at = next;
  }
  return entries;
}

interface Directory {
  readonly count: number;
  readonly start: number;
  readonly length: number;
}

async function directoryOf(source: ByteSource): Promise<Directory> {
  const { file, size } = source;
  const tailBytes = Math.min(size, END_BYTES + MAX_COMMENT + LOCATOR_BYTES);
  const tail = viewOf(await source.read(size - tailBytes, tailBytes));
  let at = tailBytes - END_BYTES;
  while (at >= 0 && !(tail.getUint32(at, true) === END && at + END_BYTES + tail.getUint16(at + 20, true) === tailBytes))
    at--;
  if (at < 0) throw malformed(file, 'a directory at its end', 'none');
  const end = size - tailBytes + at;
  const short = {
    count: tail.getUint16(at + 10, true),
    length: tail.getUint32(at + 12, true),
    start: tail.getUint32(at + 16, true),
  };
  const isLong = at >= LOCATOR_BYTES && tail.getUint32(at - LOCATOR_BYTES, true) === LOCATOR_64;
  const found = isLong ? await longDirectory(source, Number(tail.getBigUint64(at - LOCATOR_BYTES + 8, true))) : short;
  if (found.start + found.length > end || found.count * ENTRY_BYTES > found.length) {
    throw malformed(
      file,
      `a directory before byte ${end}`,
      `${found.count} entries in ${found.length} bytes from byte ${found.start}`,
    );
  }
  return found;
}

async function longDirectory(source: ByteSource, at: number): Promise<Directory> {
  const inside = at + END_64_BYTES <= source.size;
  const view = inside ? viewOf(await source.read(at, END_64_BYTES)) : undefined;
  if (view?.getUint32(0, true) !== END_64) throw malformed(source.file, 'the end of a directory of ZIP64', 'none');
  const wordAt = (place: number): number => Number(view.getBigUint64(place, true));
  return { count: wordAt(32), length: wordAt(40), start: wordAt(48) };
}

function entryOf(view: DataView, at: number, names: number, extras: number): ZipEntry {
  let [packed, size, start] = [
    view.getUint32(at + 20, true),
    view.getUint32(at + 24, true),
    view.getUint32(at + 42, true),
  ];
  const from = at + ENTRY_BYTES + names;
  const words = longFields(view, from, from + extras);
  // The extra field has those of the three numbers that do not fit 32 bits, in this order.
  if (size === IN_EXTRA) size = words.shift() ?? size;
  if (packed === IN_EXTRA) packed = words.shift() ?? packed;
  if (start === IN_EXTRA) start = words.shift() ?? start;
  const bytes = new Uint8Array(view.buffer, view.byteOffset + at + ENTRY_BYTES, names);
  return {
    ...{ packed, size, start },
    name: textOf(bytes),
    flags: view.getUint16(at + 8, true),
    method: view.getUint16(at + 10, true),
    crc: view.getUint32(at + 16, true),
  };
}

const ZIP64 = 1;

function longFields(view: DataView, from: number, to: number): number[] {
  for (let at = from; at + 4 <= to; ) {
    const [kind, bytes] = [view.getUint16(at, true), view.getUint16(at + 2, true)];
    const words = Math.floor(Math.min(bytes, to - at - 4) / 8);
    if (kind === ZIP64)
      return Array.from({ length: words }, (_, word) => Number(view.getBigUint64(at + 4 + 8 * word, true)));
    at += 4 + bytes;
  }
  return [];
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replaceAll('\\', '/');
  } catch {
    return latin1Text(bytes, 0, bytes.length).replaceAll('\\', '/');
  }
}

/** What unpacking asks of Node or of a page. */
export interface Unzip {
  /** Decompresses deflate without a head to at most `max` bytes. Throws if it is damaged; what is more may be cut off. */
  inflateRaw(bytes: Uint8Array, max: number): Uint8Array;
  /** The CRC-32 of bytes. */
  crc32(bytes: Uint8Array): number;
}

/**
 * Unpacks a file of an archive. Never unpacks more bytes than the directory states.
 *
 * @throws FormatError `format/unsupported-zip` for a file that is encrypted or packed otherwise than by deflate,
 * `format/malformed-zip` if it does not unpack to what the directory states.
 */
export async function unzipped(source: ByteSource, entry: ZipEntry, unpack: Unzip): Promise<Uint8Array> {
  const { file, size: total } = source;
  const { method, flags, packed, size, start, crc } = entry;
  const what = quoteName(entry.name);
  if ((flags & ENCRYPTED) !== 0) throw unsupported(file, what, 'encryption');
  if (method !== STORED && method !== DEFLATED)
    throw unsupported(file, what, METHODS.get(method) ?? `method ${method}`);
  const head = start + LOCAL_BYTES <= total ? viewOf(await source.read(start, LOCAL_BYTES)) : undefined;
  if (head?.getUint32(0, true) !== LOCAL) throw malformed(file, `${what} at byte ${start}`, 'none');
  const from = start + LOCAL_BYTES + head.getUint16(26, true) + head.getUint16(28, true);
  if (from + packed > total) throw malformed(file, `${packed} bytes of ${what}`, `${Math.max(0, total - from)}`);
  const bytes = unpackedBytes(await source.read(from, packed), method, size, unpack);
  if (bytes?.length !== size || unpack.crc32(bytes) !== crc) {
    throw malformed(file, `${size} bytes of ${what}, with the stated checksum`, 'others');
  }
  return bytes;
}

function unpackedBytes(bytes: Uint8Array, method: number, size: number, unpack: Unzip): Uint8Array | undefined {
  if (method === STORED) return bytes;
  try {
    return unpack.inflateRaw(bytes, size);
  } catch {
    return undefined;
  }
}

function unsupported(file: string, what: string, got: string): FormatError {
  return new FormatError('format/unsupported-zip', `The archive has ${what} in a form that is not read.`, {
    expected: 'stored, or packed by deflate, and not encrypted',
    got,
    remedy: 'Unpack the archive, and name the file in it.',
    place: { file },
  });
}

function malformed(file: string, expected: string, got: string): FormatError {
  return new FormatError('format/malformed-zip', 'The ZIP archive is damaged.', {
    expected,
    got,
    remedy: 'Copy or download it again.',
    place: { file },
  });
}
