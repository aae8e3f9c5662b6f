import { FormatError } from '../../primitives/errors.ts';
import { truncated } from '../tiff/byte-source.ts';
import { closeWindow, need, offsetOf, openWindow } from './byte-window.ts';
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
  /** Whether the records follow each other in the Shapefile in the order of the index. */
  readonly isInOrder: boolean;
  /** Number of bytes of the Shapefile that are in no record, if the records are not in order. */
  readonly unused: number;
  /** The place of the next record; undefined after the last one. A record that was removed is at byte 0. */
  next(): Promise<RecordPlace | undefined>;
  close(): Promise<void>;
}

const PLACE_BYTES = 8;
/** Length of the header of a record. */
export const RECORD_HEAD_BYTES = 8;

/**
 * Opens the index of a Shapefile. An index whose records are not in order is held in memory.
 *
 * @param end - Length of the Shapefile in bytes.
 * @throws FormatError if the index has no valid header or is shorter than its header states, or if it places records over
 * each other.
 */
export async function openIndex(input: LayerInput, end: number, signal?: AbortSignal): Promise<RecordIndex> {
  const check = await placesIn(input, signal);
  const isInOrder = await areInOrder(check);
  await check.close();
  const places = await placesIn(input, signal);
  const unused = isInOrder ? 0 : await unusedBytes(input, end, signal);
  return { file: input.file, isInOrder, unused, ...places };
}

type Places = Pick<RecordIndex, 'next' | 'close'>;

async function placesIn(input: LayerInput, signal: AbortSignal | undefined): Promise<Places> {
  const { file, size } = input;
  const window = openWindow(input, signal);
  if (!(await need(window, HEAD_BYTES))) throw truncated(file, size, 0, HEAD_BYTES, 'The head');
  const code = window.bytes.readInt32BE(0);
  if (code !== SHAPEFILE_CODE) throw unusableIndex(file, `code ${SHAPEFILE_CODE}`, String(code));
  const end = 2 * window.bytes.readUInt32BE(24);
  if (end < HEAD_BYTES || end > size) throw truncated(file, size, 0, Math.max(end, HEAD_BYTES));
  window.at = HEAD_BYTES;
  return {
    async next() {
      const at = offsetOf(window);
      if (at === end) return undefined;
      if (at + PLACE_BYTES > end || !(await need(window, PLACE_BYTES))) throw truncated(file, end, at, PLACE_BYTES);
      const start = 2 * window.bytes.readUInt32BE(window.at);
      const length = 2 * window.bytes.readUInt32BE(window.at + 4);
      window.at += PLACE_BYTES;
      return { start, length };
    },
    close: () => closeWindow(window),
  };
}

/** Whether a record was removed: the index places it at byte 0, without contents. */
export function isRemoved({ start, length }: RecordPlace): boolean {
  return start === 0 && length === 0;
}

async function areInOrder({ next }: Places): Promise<boolean> {
  let reached = HEAD_BYTES;
  for (let place = await next(); place !== undefined; place = await next()) {
    if (isRemoved(place)) continue;
    if (place.start < reached) return false;
    reached = place.start + RECORD_HEAD_BYTES + place.length;
  }
  return true;
}

/** Number of bytes of a Shapefile that are in no record. Throws if two records share bytes. */
async function unusedBytes(input: LayerInput, end: number, signal: AbortSignal | undefined): Promise<number> {
  const { next, close } = await placesIn(input, signal);
  const places: (RecordPlace & { readonly index: number })[] = [];
  let index = 0;
  for (let place = await next(); place !== undefined; place = await next(), index++) {
    if (!isRemoved(place)) places.push({ ...place, index });
  }
  await close();
  places.sort((a, b) => a.start - b.start || a.index - b.index);
  let [reached, unused] = [HEAD_BYTES, 0];
  let before = -1;
  for (const place of places) {
    if (place.start < reached) {
      const other = before === -1 ? 'the header' : `record ${Math.min(before, place.index)}`;
      throw unusableIndex(
        input.file,
        'records that share no bytes',
        `one at byte ${place.start}, in ${other}`,
        Math.max(before, place.index),
      );
    }
    unused += place.start - reached;
    reached = place.start + RECORD_HEAD_BYTES + place.length;
    before = place.index;
  }
  return unused + Math.max(0, end - reached);
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
