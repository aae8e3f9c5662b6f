import { FormatError } from '../../primitives/checks/errors.ts';
import { viewOf } from '../bytes/byte-arrays.ts';
import { type Steps, wait } from '../bytes/steps.ts';
import { truncated } from '../rasters/tiff/byte-source.ts';
import { type ByteWindow, closeWindow, need, offsetOf, withWindow } from './byte-window.ts';
import type { LayerInput } from './layer-input.ts';

/** Magic number of a Shapefile and of its index: the first four bytes, big-endian. */
export const SHAPEFILE_CODE = 9994;
/** Length of the header of a Shapefile and of its index. */
export const HEAD_BYTES = 100;

/** Where a record of a Shapefile is, as its index states it, in bytes. */
export interface RecordPlace {
  /** Position of the header of the record. */
  readonly start: number;
  /** Length of the contents. It may be stated too long, for example with the header. */
  readonly length: number;
  /** If records are not in order: the record that comes next in the Shapefile. */
  readonly next?: { readonly start: number; readonly index: number } | undefined;
}

/** The index of a Shapefile (`.shx`). It states the places of all records, between which there may be unused bytes. */
export interface RecordIndex {
  readonly file: string;
  /** Whether the records follow each other in the Shapefile in the order of the index. */
  readonly isInOrder: boolean;
  /** The place of the next record; undefined after the last one. A record that was removed is at byte 0. */
  next(): Steps<RecordPlace | undefined>;
  close(): Steps;
}

const PLACE_BYTES = 8;
/** Length of the header of a record. */
export const RECORD_HEAD_BYTES = 8;

/**
 * Opens the index of a Shapefile. An index whose records are not in order is held in memory.
 *
 * @throws FormatError if the index has no valid header or is shorter than its header states.
 */
export function* openIndex(input: LayerInput, signal?: AbortSignal): Steps<RecordIndex> {
  const { file } = input;
  const isInOrder = yield* usePlaces(input, signal, areInOrder);
  if (isInOrder) return { file, isInOrder, ...(yield* placesIn(input, signal)) };
  const places = (yield* usePlaces(input, signal, listPlaces)).values();
  return {
    file,
    isInOrder,
    next: () => wait(places.next().value),
    close: () => wait(undefined),
  };
}

type Places = Pick<RecordIndex, 'next' | 'close'>;

function* usePlaces<T>(
  input: LayerInput,
  signal: AbortSignal | undefined,
  use: (places: Places) => Steps<T>,
): Steps<T> {
  const places = yield* placesIn(input, signal);
  try {
    return yield* use(places);
  } finally {
    yield* places.close();
  }
}

function placesIn(input: LayerInput, signal: AbortSignal | undefined): Steps<Places> {
  return withWindow(input, signal, (window) => startPlaces(window, input));
}

function* startPlaces(window: ByteWindow, { file, size }: LayerInput): Steps<Places> {
  if (!(yield* need(window, HEAD_BYTES))) throw truncated(file, size, 0, HEAD_BYTES, 'The head');
  const code = viewOf(window.bytes).getInt32(0);
  if (code !== SHAPEFILE_CODE) throw unusableIndex(file, `code ${SHAPEFILE_CODE}`, String(code));
  const end = 2 * viewOf(window.bytes).getUint32(24);
  if (end < HEAD_BYTES || end > size) throw truncated(file, size, 0, Math.max(end, HEAD_BYTES));
  window.at = HEAD_BYTES;
  return {
    *next() {
      const at = offsetOf(window);
      if (at === end) return undefined;
      if (at + PLACE_BYTES > end || !(yield* need(window, PLACE_BYTES))) throw truncated(file, end, at, PLACE_BYTES);
      const view = viewOf(window.bytes);
      const start = 2 * view.getUint32(window.at);
      const length = 2 * view.getUint32(window.at + 4);
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

function* areInOrder({ next }: Places): Steps<boolean> {
  let before = 0;
  for (let place = yield* next(); place !== undefined; place = yield* next()) {
    if (isRemoved(place)) continue;
    if (place.start < before) return false;
    before = place.start;
  }
  return true;
}

/** All places, each with the one that comes next in the Shapefile. */
function* listPlaces({ next }: Places): Steps<RecordPlace[]> {
  const places: (RecordPlace & { index: number; next?: RecordPlace['next'] })[] = [];
  for (let place = yield* next(); place !== undefined; place = yield* next()) {
    places.push({ ...place, index: places.length });
  }
  const sorted = places.filter((place) => !isRemoved(place)).sort((a, b) => a.start - b.start || a.index - b.index);
  for (const [at, place] of sorted.entries()) place.next = sorted[at + 1];
  return places;
}

/** Throws if a record, which ends at the byte `end`, shares bytes with the one that comes next in the Shapefile. */
export function requireApart({ file }: RecordIndex, { next }: RecordPlace, index: number, end: number): void {
  if (next === undefined || end <= next.start) return;
  const got = `one at byte ${next.start}, in record ${Math.min(index, next.index)}`;
  throw unusableIndex(file, 'records that share no bytes', got, Math.max(index, next.index));
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
