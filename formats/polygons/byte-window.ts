import { CapacityError } from '../../primitives/checks/errors.ts';
import { iteratorOf, type Steps, wait } from '../bytes/steps.ts';
import { overMemory } from '../memory.ts';
import type { LayerInput } from './layer-input.ts';

/**
 * The part of a byte stream that is in memory: `bytes[at … end − 1]` is available and not yet consumed.
 *
 * `bytes[end]` is always 0, a value that valid text does not contain. So a scanner stops at this byte without comparing
 * its position with `end`.
 */
export interface ByteWindow {
  /** Name of the file in error messages. */
  readonly file: string;
  bytes: Uint8Array;
  at: number;
  end: number;
  /** Position of `bytes[0]` in the stream. */
  base: number;
  blocks: AsyncIterator<Uint8Array> | Iterator<Uint8Array>;
  ended: boolean;
  /** Memory limit of the reader in bytes. */
  readonly memoryBytes: number;
}

/**
 * Maximum bytes of a record. A record is held in one piece in memory, and must not be longer than a JavaScript string
 * can be.
 */
const MAX_RECORD_BYTES: number = 2 ** 29 - 24;

/** Creates an empty {@link ByteWindow} at the start of a stream, without reading from the stream. */
export function openWindow(input: LayerInput, signal?: AbortSignal): ByteWindow {
  const { file, memoryBytes = Number.POSITIVE_INFINITY } = input;
  const blocks = iteratorOf(input.blocks(signal));
  return { file, bytes: new Uint8Array(1), at: 0, end: 0, base: 0, blocks, ended: false, memoryBytes };
}

/** What `start` makes of a window at the start of a stream. Closes the stream if `start` throws. */
export function* withWindow<T>(
  input: LayerInput,
  signal: AbortSignal | undefined,
  start: (window: ByteWindow) => Steps<T>,
): Steps<T> {
  const window = openWindow(input, signal);
  try {
    return yield* start(window);
  } catch (error) {
    yield* closeWindow(window);
    throw error;
  }
}

/** Closes the stream, even if it has not been read to its end. */
export function* closeWindow({ blocks }: ByteWindow): Steps {
  yield* wait(blocks.return?.());
}

/** Position of the next byte to consume, counted from the start of the stream. */
export function offsetOf({ base, at }: ByteWindow): number {
  return base + at;
}

/** Number of bytes that are in memory and not yet consumed. */
export function bytesThere({ at, end }: ByteWindow): number {
  return end - at;
}

/**
 * Reads until at least `length` bytes are available, or the stream ends. Consumed bytes are dropped, so memory depends
 * on the length of the longest record, not on the length of the stream.
 *
 * @param record - Number of these bytes that belong to one record.
 * @returns Whether `length` bytes are available.
 * @throws CapacityError `capacity/record-bytes` if a record is too long for a string, OutOfMemoryError `memory/limit`
 * if the record exceeds the memory limit.
 */
export function* need(window: ByteWindow, length: number, record: number = length): Steps<boolean> {
  while (bytesThere(window) < length && !window.ended) {
    const { done, value } = yield* wait(window.blocks.next());
    if (done === true) window.ended = true;
    else append(window, value, record);
  }
  return bytesThere(window) >= length;
}

/**
 * Reads until the number of available bytes has more than doubled, or is more than a record may have, or the stream
 * ends. So even a scanner that starts again from `window.at` after each call needs only O(bytes) in total.
 *
 * @returns Whether more bytes are available than before the call.
 */
export function* needMore(window: ByteWindow): Steps<boolean> {
  const before = bytesThere(window);
  const most = Math.max(before, Math.floor(window.memoryBytes / RECORD_FACTOR));
  yield* need(window, Math.min(2 * before, most) + 1, before + 1);
  return bytesThere(window) > before;
}

/** Consumes all bytes before a position of the stream, without keeping them. Returns false if the stream ends before. */
export function* skipTo(window: ByteWindow, offset: number): Steps<boolean> {
  while (window.base + window.end < offset) {
    window.at = window.end;
    if (!(yield* need(window, 1))) return false;
  }
  window.at = offset - window.base;
  return true;
}

/** Moves to a position of the stream, forward or backward. Opens the stream again if the position is not in memory. */
export function* moveTo(window: ByteWindow, input: LayerInput, offset: number, signal?: AbortSignal): Steps {
  if (offset < window.base || offset > window.base + window.end) {
    yield* closeWindow(window);
    const blocks = iteratorOf(input.blocks(signal, offset));
    Object.assign(window, { blocks, base: offset, end: 0, ended: false });
  }
  window.at = offset - window.base;
}

function append(window: ByteWindow, block: Uint8Array, record: number): void {
  const kept = bytesThere(window);
  const length = kept + block.length;
  if (length > MAX_RECORD_BYTES) throw tooLong(window);
  const held = Math.min(record, length);
  if (held * RECORD_FACTOR > window.memoryBytes) throw recordTooLarge(window, held);
  const { bytes } = window;
  // If the available bytes, the new block and the final 0 do not fit into `bytes`, new memory is allocated. Otherwise
  // the available bytes move to the start of `bytes`.
  if (length >= bytes.length) {
    window.bytes = new Uint8Array(length < 2 * kept ? 2 * length + 1 : length + 1);
    window.bytes.set(bytes.subarray(window.at, window.end));
  } else bytes.copyWithin(0, window.at, window.end);
  window.bytes.set(block, kept);
  window.base += window.at;
  window.at = 0;
  window.end = length;
  window.bytes[length] = 0;
}

function tooLong(window: ByteWindow): CapacityError {
  return new CapacityError('capacity/record-bytes', 'A record is too long to be held in memory.', {
    expected: `at most ${MAX_RECORD_BYTES} bytes`,
    got: `more, from byte ${offsetOf(window)} on`,
    remedy: 'Check that the file is of the format that it is read as; if it is, split the polygon.',
    place: { file: window.file },
  });
}

/**
 * Bytes of memory needed per byte of a record: for the growing window, the text of the record, and the growing columns
 * of coordinates.
 */
const RECORD_FACTOR = 16;

function recordTooLarge(window: ByteWindow, length: number): Error {
  return overMemory('A record is too large to be read.', {
    needed: length * RECORD_FACTOR,
    what: `a record of ${length} bytes or more, from byte ${offsetOf(window)} on`,
    allowed: window.memoryBytes,
    instead: 'split the polygon',
    place: { file: window.file },
  });
}
