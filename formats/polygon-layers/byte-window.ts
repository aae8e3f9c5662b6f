import { CapacityError } from '../../primitives/errors.ts';
import { overMemory } from '../memory.ts';
import type { LayerInput } from './layer-input.ts';

/**
 * The part of a stream of bytes that a reader is looking at: `bytes[at … end − 1]` is there and not yet taken.
 *
 * `bytes[end]` is always 0, which stands in no text, so that a scanner need not ask at every byte whether it may go on.
 */
export interface ByteWindow {
  /** What errors call it. */
  readonly file: string;
  bytes: Buffer;
  at: number;
  end: number;
  /** Where in the stream `bytes[0]` is from. */
  base: number;
  readonly blocks: AsyncIterator<Uint8Array>;
  ended: boolean;
  /** Bytes that the stream's reader may take. */
  readonly memoryBytes: number;
}

/** One record, which must lie in one piece in memory, may have so many bytes; a string of JavaScript has no more. */
const MAX_RECORD_BYTES: number = 2 ** 29 - 24;

/** Starts at the first byte of a stream, none of which is there yet. */
export function openWindow(input: LayerInput, signal?: AbortSignal): ByteWindow {
  const { file, memoryBytes = Number.POSITIVE_INFINITY } = input;
  const blocks = input.blocks(signal)[Symbol.asyncIterator]();
  return { file, bytes: Buffer.alloc(1), at: 0, end: 0, base: 0, blocks, ended: false, memoryBytes };
}

/** Lets the stream go, before its end too. */
export async function closeWindow({ blocks }: ByteWindow): Promise<void> {
  await blocks.return?.();
}

/** Where in the stream the window's next byte is. */
export function offsetOf({ base, at }: ByteWindow): number {
  return base + at;
}

/** Bytes that are there and not yet taken. */
export function bytesThere({ at, end }: ByteWindow): number {
  return end - at;
}

/**
 * Brings so many bytes into the window, if the stream has them. What is taken goes out of it: memory grows with the
 * longest record, not with the stream.
 *
 * @returns Whether they are there.
 * @throws CapacityError `capacity/record-bytes` where a record is too long, OutOfMemoryError `memory/limit` where it takes more
 * memory than it may.
 */
export async function need(window: ByteWindow, length: number): Promise<boolean> {
  while (bytesThere(window) < length && !window.ended) {
    const { done, value } = await window.blocks.next();
    if (done === true) window.ended = true;
    else append(window, value);
  }
  return bytesThere(window) >= length;
}

/** Brings at least one byte more, and at least twice as many as are there, so that reading anew from `at` costs O(bytes). */
export async function needMore(window: ByteWindow): Promise<boolean> {
  const before = bytesThere(window);
  await need(window, 2 * before + 1);
  return bytesThere(window) > before;
}

function append(window: ByteWindow, block: Uint8Array): void {
  const kept = bytesThere(window);
  const length = kept + block.length;
  if (length > MAX_RECORD_BYTES) throw tooLong(window);
  if (length * RECORD_FACTOR > window.memoryBytes) throw recordTooLarge(window, length);
  const { bytes } = window;
  // Into new memory, also where the old would do: what was taken may still be looked at.
  if (length >= bytes.length) {
    window.bytes = Buffer.allocUnsafeSlow(length < 2 * kept ? 2 * length + 1 : length + 1);
    bytes.copy(window.bytes, 0, window.at, window.end);
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

/** What a record takes beside its bytes: room to grow, its text, its coordinates as columns that grow as well. */
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
