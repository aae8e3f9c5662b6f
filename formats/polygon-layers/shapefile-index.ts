import { FormatError } from '../../primitives/errors.ts';
import { truncated } from '../tiff/byte-source.ts';
import { type ByteWindow, need, offsetOf, openWindow } from './byte-window.ts';
import type { LayerInput } from './layer-input.ts';

/** Magic number of a Shapefile and of its index: the first four bytes, big-endian. */
export const SHAPEFILE_CODE = 9994;
/** Length of the header of a Shapefile and of its index. */
export const HEAD_BYTES = 100;

/** Where a record of a Shapefile is, as its index states it, in bytes. */
export interface RecordPlace {
  /** Position of the header of the record. */
  readonly start: number;
  /** Length of the contents, without the header. */
  readonly length: number;
}

/** The index of a Shapefile (`.shx`). It states the places of all records, between which there may be unused bytes. */
export interface RecordIndex {
  readonly file: string;
  readonly window: ByteWindow;
  /** The place of the next record; undefined after the last one. */
  next(): Promise<RecordPlace | undefined>;
}

const PLACE_BYTES = 8;

/** Opens the index of a Shapefile. Throws if it has no valid header, or is shorter than the header states. */
export async function openIndex(input: LayerInput, signal?: AbortSignal): Promise<RecordIndex> {
  const { file, size } = input;
  const window = openWindow(input, signal);
  if (!(await need(window, HEAD_BYTES))) throw truncated(file, size, 0, HEAD_BYTES, 'The head');
  const code = window.bytes.readInt32BE(0);
  if (code !== SHAPEFILE_CODE) throw unusableIndex(file, `code ${SHAPEFILE_CODE}`, String(code));
  const end = 2 * window.bytes.readUInt32BE(24);
  if (end < HEAD_BYTES || end > size) throw truncated(file, size, 0, Math.max(end, HEAD_BYTES));
  window.at = HEAD_BYTES;
  return {
    file,
    window,
    async next() {
      const at = offsetOf(window);
      if (at === end) return undefined;
      if (at + PLACE_BYTES > end || !(await need(window, PLACE_BYTES))) throw truncated(file, end, at, PLACE_BYTES);
      const place = {
        start: 2 * window.bytes.readUInt32BE(window.at),
        length: 2 * window.bytes.readUInt32BE(window.at + 4),
      };
      window.at += PLACE_BYTES;
      return place;
    },
  };
}

/** The error for an index that contradicts the file of shapes. */
export function unusableIndex(file: string, expected: string, got: string, record?: number): FormatError {
  return new FormatError('format/malformed-index', 'The index of the Shapefile contradicts its shapes.', {
    expected,
    got,
    remedy: 'Write the Shapefile again, or remove the .shx file if records follow each other without gaps.',
    place: { file, record },
  });
}
