import { FormatError } from '../../primitives/checks/errors.ts';
import { resized } from '../bytes/byte-arrays.ts';
import { fileError } from '../bytes/file-error.ts';
import type { VideoStream } from './video.ts';

/** Bytes that are read sequentially from a pipe or a file. */
export interface ByteStream {
  readonly file: string;
  /** Number of bytes consumed so far, including skipped bytes. */
  readonly offset: number;
  /** Returns the next bytes, at most `length`, without consuming them. */
  peek(length: number, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * Consumes and returns the next `length` bytes. Returns fewer bytes if the stream ends earlier. For a large length,
   * memory is allocated only as bytes arrive, because a damaged file may state any length.
   */
  take(length: number, signal: AbortSignal): Promise<Uint8Array>;
  /**
   * Skips `length` bytes. Returns the number of skipped bytes, which is less than `length` only at the end of the
   * stream.
   */
  skip(length: number, signal: AbortSignal): Promise<number>;
  /**
   * Consumes the next line and its line feed, and returns the line without the line feed. Returns undefined if the line
   * is longer than `max` bytes or the stream ends before a line feed.
   */
  line(max: number, signal: AbortSignal): Promise<string | undefined>;
  close(): Promise<void>;
}

/**
 * Maximum bytes of memory that `take` allocates before any byte arrives. If more bytes are requested, the memory grows
 * as bytes arrive.
 */
const FIRST_BYTES = 2 ** 24;
const LINE_FEED = 10;

/**
 * Reads from a Node stream. `close` destroys the Node stream, and waits for `closed` if it is given: a stream of a file
 * holds the file open until its last read ends.
 */
export function byteStream(source: VideoStream, file: string, closed?: Promise<void>): ByteStream {
  const pieces = source[Symbol.asyncIterator]();
  let piece: Uint8Array = new Uint8Array(0);
  let [at, offset] = [0, 0];
  /** Waits until a byte is available. Returns false at the end of the stream. */
  const more = async (signal: AbortSignal): Promise<boolean> => {
    while (at === piece.length) {
      const { value, done } = await abortable(pieces.next(), signal).catch((error) => {
        throw signal.aborted ? signal.reason : unreadable(error, file);
      });
      if (done) return false;
      if (!(value instanceof Uint8Array)) throw notBytes(value, file);
      [piece, at] = [value, 0];
    }
    return true;
  };
  const each = async (
    length: number,
    signal: AbortSignal,
    visit: (part: Uint8Array, done: number) => void,
  ): Promise<number> => {
    let done = 0;
    while (done < length && (await more(signal))) {
      const part = piece.subarray(at, at + length - done);
      visit(part, done);
      at += part.length;
      done += part.length;
      offset += part.length;
    }
    return done;
  };
  const take: ByteStream['take'] = async (length, signal) => {
    let bytes: Uint8Array = new Uint8Array(Math.min(length, FIRST_BYTES));
    const taken = await each(length, signal, (part, done) => {
      if (done + part.length > bytes.length)
        bytes = resized(bytes, Math.min(length, Math.max(2 * bytes.length, done + part.length)));
      bytes.set(part, done);
    });
    return taken === bytes.length ? bytes : bytes.subarray(0, taken);
  };
  return {
    file,
    get offset() {
      return offset;
    },
    take,
    async peek(length, signal) {
      if ((await more(signal)) && piece.length - at >= length) return piece.subarray(at, at + length);
      const start = offset;
      const bytes = await take(length, signal);
      piece = Buffer.concat([bytes, piece.subarray(at)]);
      [at, offset] = [0, start];
      return bytes;
    },
    skip: (length, signal) => each(length, signal, () => {}),
    async line(max, signal) {
      let text = '';
      while (text.length <= max && (await more(signal))) {
        const end = piece.indexOf(LINE_FEED, at);
        const part = piece.subarray(at, Math.min(end < 0 ? piece.length : end, at + max + 1));
        text += Buffer.from(part).toString('latin1');
        at += part.length;
        offset += part.length;
        if (piece[at] !== LINE_FEED) continue;
        at++;
        offset++;
        return text;
      }
      return undefined;
    },
    async close() {
      source.destroy();
      await pieces.return?.();
      await closed;
    },
  };
}

/** Waits for a promise. Rejects as soon as the signal is aborted. */
async function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  let end: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    end = () => reject(signal.reason);
    signal.addEventListener('abort', end);
  });
  promise.catch(() => {});
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', end!);
  }
}

function unreadable(error: unknown, file: string): unknown {
  const told = fileError(file, error);
  if (told instanceof FormatError) return told;
  return new FormatError('format/unreadable-stream', 'The stream failed before its end.', {
    remedy: 'Check the program that writes it.',
    place: { file },
    cause: error,
  });
}

function notBytes(value: unknown, file: string): FormatError {
  return new FormatError('format/not-bytes', 'The stream gives no bytes.', {
    expected: 'Uint8Arrays or Buffers',
    got: typeof value,
    remedy: 'Do not set an encoding for the stream.',
    place: { file },
  });
}
