import { FormatError } from '../../primitives/checks/errors.ts';
import { beginsWith, viewOf } from '../bytes/byte-arrays.ts';
import type { Steps } from '../bytes/steps.ts';
import { truncated } from '../rasters/tiff/byte-source.ts';
import { type ByteWindow, need, offsetOf } from './byte-window.ts';
import {
  type FlatTable,
  i32Field,
  rootTable,
  tableAt,
  tableField,
  textField,
  u8Field,
  u16Field,
  u64Field,
  vectorField,
} from './flatbuffer.ts';
import type { LayerInput } from './layer-input.ts';
import { crsOfWkt } from './projection.ts';

/** A column of properties, and the number of the type of its values. */
export interface FlatGeobufColumn {
  readonly name: string;
  readonly type: number;
}

/** The header of a FlatGeobuf file. */
export interface FlatGeobufHeader {
  /** Geometry type of all features; 0 if each feature states its own. */
  readonly geometryType: number;
  readonly columns: readonly FlatGeobufColumn[];
  /** Number of features; 0 if the writer of the file did not know it. */
  readonly features: number;
  readonly crs: string | undefined;
  /** The well-known text of the coordinate system. */
  readonly crsText: string | undefined;
}

/**
 * Magic number: the first three bytes of a FlatGeobuf file. The file continues with a version, the same three letters
 * again, and a patch level.
 */
export const FLATGEOBUF_MAGIC: Uint8Array = new TextEncoder().encode('fgb');
const VERSION = 3;
const MAGIC_BYTES = 8;
/** Maximum length of a header in bytes. Other readers have the same limit. */
const MAX_HEADER_BYTES = 10 * 2 ** 20;

/**
 * Reads the header of a file, and skips the spatial index after the header. The index is not needed if all features are
 * read.
 *
 * @throws FormatError if the header is malformed, or the file ends within the header or the index.
 */
export function* readFlatGeobufHeader(window: ByteWindow, input: LayerInput): Steps<FlatGeobufHeader> {
  const length = yield* readPreamble(window, input);
  yield* requireBytes(window, input, length, 'The header');
  const bytes = window.bytes.subarray(window.at, window.at + length);
  const { header, indexNode } = parseHeader(bytes, input.file);
  window.at += length;
  yield* skip(window, input, indexBytes(header.features, indexNode));
  return header;
}

function* readPreamble(window: ByteWindow, input: LayerInput): Steps<number> {
  yield* requireBytes(window, input, MAGIC_BYTES + 4, 'The header');
  const { bytes } = window;
  if (!beginsWith(bytes, 0, FLATGEOBUF_MAGIC) || !beginsWith(bytes, 4, FLATGEOBUF_MAGIC)) {
    throw headerError(input.file, 'The file is not FlatGeobuf.', 'the letters "fgb", twice', 'other bytes');
  }
  if (bytes[3] !== VERSION) {
    throw headerError(input.file, 'The file is of another version.', `FlatGeobuf ${VERSION}`, `${bytes[3]}`);
  }
  const length = viewOf(bytes).getUint32(MAGIC_BYTES, true);
  if (length > MAX_HEADER_BYTES) {
    throw headerError(input.file, 'The header is too long.', `at most ${MAX_HEADER_BYTES} bytes`, `${length}`);
  }
  window.at = MAGIC_BYTES + 4;
  return length;
}

function parseHeader(bytes: Uint8Array, file: string): { header: FlatGeobufHeader; indexNode: number } {
  try {
    const table = rootTable(viewOf(bytes));
    const columns = vectorField(table, 7, 4);
    const header = {
      geometryType: u8Field(table, 2, 0),
      columns: Array.from({ length: columns.length }, (_, index) => columnOf(tableAt(columns, index))),
      features: u64Field(table, 8, 0),
      crs: crsOf(tableField(table, 10)),
      crsText: crsTextOf(tableField(table, 10)),
    };
    return { header, indexNode: u16Field(table, 9, 16) };
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw headerError(file, 'The header is damaged.', 'offsets inside of the header', 'one outside', cause);
  }
}

function columnOf(table: FlatTable): FlatGeobufColumn {
  return { name: textField(table, 0) ?? '', type: u8Field(table, 1, 0) };
}

function crsOf(crs: FlatTable | undefined): string | undefined {
  if (crs === undefined) return undefined;
  const authority = textField(crs, 0) || 'EPSG';
  const code = i32Field(crs, 1, 0);
  const name = code !== 0 ? String(code) : textField(crs, 5);
  if (name) return `${authority}:${name}`;
  return crsOfWkt(crsTextOf(crs) ?? '');
}

function crsTextOf(crs: FlatTable | undefined): string | undefined {
  return (crs && textField(crs, 4)) || undefined;
}

/** Size of an entry in the spatial index (a packed Hilbert R-tree): a box of four f64 and an offset. */
const INDEX_ENTRY_BYTES = 40;

function indexBytes(features: number, nodeSize: number): number {
  if (features === 0 || nodeSize === 0) return 0;
  const width = Math.max(nodeSize, 2);
  let entries = features;
  for (let level = features; level > 1; ) {
    level = Math.ceil(level / width);
    entries += level;
  }
  // The index of a single feature has two entries: the feature and the root of the tree.
  return (features === 1 ? 2 : entries) * INDEX_ENTRY_BYTES;
}

function* skip(window: ByteWindow, input: LayerInput, length: number): Steps {
  requireInFile(window, input, length, 'The index');
  let left = length;
  while (left > 0) {
    if (!(yield* need(window, 1))) throw truncated(input.file, input.size, offsetOf(window), left, 'The index');
    const step = Math.min(left, window.end - window.at);
    window.at += step;
    left -= step;
  }
}

/**
 * Reads until `length` bytes are available. Before any memory is allocated, the length is compared with the file size,
 * because a damaged file may state a wrong length.
 */
export function* requireBytes(window: ByteWindow, input: LayerInput, length: number, what: string): Steps {
  requireInFile(window, input, length, what);
  if (!(yield* need(window, length))) throw truncated(input.file, offsetOf(window), offsetOf(window), length, what);
}

function requireInFile(window: ByteWindow, input: LayerInput, length: number, what: string): void {
  if (offsetOf(window) + length > input.size) {
    throw truncated(input.file, input.size, offsetOf(window), length, what);
  }
}

function headerError(file: string, sentence: string, expected: string, got: string, cause?: unknown): FormatError {
  const remedy = 'Check that the file is FlatGeobuf, and complete; write it again if it is.';
  return new FormatError('format/malformed-flatgeobuf', sentence, { expected, got, remedy, place: { file }, cause });
}
