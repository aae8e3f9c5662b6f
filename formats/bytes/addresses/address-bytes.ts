import { overMemory } from '../../memory.ts';
import { type ByteRange, type ByteSource, checkRange, closedError } from '../../rasters/tiff/byte-source.ts';
import { type Patience, RemoteFile } from './remote-file.ts';
import { onAbort, untilAborted } from './waiting.ts';

/** Options of {@link openAddressBytes}. */
export interface AddressOptions {
  /** Maximum bytes that are held of the file. Default 256 MiB. */
  readonly maxBytes?: number | undefined;
  readonly patience?: Partial<Patience> | undefined;
  /** Bytes of the first request. Small reads fetch as many. Default 64 KiB. */
  readonly headBytes?: number | undefined;
  /** Ends everything that is read, also after opening. */
  readonly signal?: AbortSignal | undefined;
}

const MAX_BYTES = 2 ** 28;

/** The header and the directories of a COG of 3,000 tiles are in so many bytes. */
const HEAD_BYTES = 2 ** 16;

/** Maximum bytes between two ranges of one request. They take less time than another request. */
const GAP_BYTES = 2 ** 16;

/** Maximum bytes of a request for several ranges. */
const JOINED_BYTES = 2 ** 21;

/** Maximum bytes that are fetched before they are read. */
const AHEAD_BYTES = 2 ** 25;

/** Number of requests that are made ahead at the same time. */
const REQUESTS_AHEAD = 8;

/** Bytes of the file that were fetched, or are being fetched, by one request. */
interface Piece extends ByteRange {
  readonly bytes: Promise<Uint8Array>;
  readonly abort: AbortController;
  /** The first bytes of ranges that were announced, and have not been read. */
  readonly unread: Set<number>;
  /** How many wait for the bytes. */
  waiting: number;
  state: 'under way' | 'there' | 'failed';
}

/**
 * Opens a file of the web (`http://…`, `https://…`), whose bytes are read by ranges. Ranges that are announced are fetched
 * ahead, several at a time; those that are at most {@link GAP_BYTES} apart by one request. What was read stays until
 * its memory is needed.
 *
 * @throws FormatError `format/address-…`; `format/changed` if the file is another than when it was opened;
 * OutOfMemoryError `memory/limit` if the server sends the whole file instead of ranges, and it is too large.
 */
export async function openAddressBytes(address: string, options: AddressOptions = {}): Promise<ByteSource> {
  const { maxBytes = MAX_BYTES, headBytes = HEAD_BYTES, patience, signal } = options;
  const aheadBytes = Math.min(AHEAD_BYTES, Math.floor(maxBytes / 4));
  const remote = new RemoteFile(address, maxBytes - aheadBytes, patience);
  const { file } = remote;
  const ending = new AbortController();
  const ignore = signal && onAbort(signal, () => ending.abort(signal.reason));
  let isOpen = true;
  /** In the order in which they were last read. */
  let pieces: Piece[] = [];
  let queue: ByteRange[] = [];
  let held = 0;

  const drop = (piece: Piece): void => {
    if (!pieces.includes(piece)) return;
    pieces = pieces.filter((other) => other !== piece);
    held -= piece.end - piece.start;
    piece.abort.abort();
  };
  const fetchNow = (start: number, end: number, unread: readonly ByteRange[]): Piece => {
    makeRoom(end - start);
    const abort = new AbortController();
    const ignore = onAbort(ending.signal, () => abort.abort(ending.signal.reason));
    const piece: Piece = {
      ...{ start, end, abort, waiting: 0, state: 'under way' },
      unread: new Set(unread.map((range) => range.start)),
      bytes: remote.read(start, end, abort.signal),
    };
    pieces.push(piece);
    held += end - start;
    const settle = (state: Piece['state']): void => {
      ignore();
      piece.state = state;
      if (remote.whole !== undefined) drop(piece);
      fetchAhead();
    };
    // Those who read it hear of the error.
    piece.bytes.then(
      () => settle('there'),
      () => settle('failed'),
    );
    return piece;
  };
  /** Drops what was read, the oldest first, until there is room for further bytes. */
  const makeRoom = (bytes: number): boolean => {
    for (const piece of pieces) {
      if (held + bytes <= aheadBytes) break;
      if (piece.unread.size === 0 && piece.waiting === 0 && piece.state !== 'under way') drop(piece);
    }
    return held + bytes <= aheadBytes;
  };
  /** How many of the ranges that wait from a place on are joined in one request. */
  const joinedFrom = (at: number): { readonly count: number; readonly end: number } => {
    const { start } = queue[at]!;
    let [count, last] = [1, queue[at]!.end];
    for (let next = queue[at + 1]; next !== undefined; next = queue[at + ++count]) {
      const end = Math.max(last, next.end);
      if (next.start < start || next.start - last > GAP_BYTES || end - start > JOINED_BYTES) break;
      last = end;
    }
    return { count, end: last };
  };
  const fetchQueued = (at: number): Piece => {
    const { count, end } = joinedFrom(at);
    const ranges = queue.splice(at, count);
    return fetchNow(ranges[0]!.start, end, ranges);
  };
  const fetchAhead = (): void => {
    while (queue.length > 0 && isOpen && remote.whole === undefined) {
      if (pieces.filter(({ state }) => state === 'under way').length >= REQUESTS_AHEAD) return;
      const bytes = joinedFrom(0).end - queue[0]!.start;
      if (!makeRoom(bytes) && held > 0) return;
      fetchQueued(0);
    }
  };
  const pieceOf = (start: number, end: number): Piece => {
    const holds = (range: ByteRange): boolean => range.start <= start && end <= range.end;
    const piece = pieces.find(holds);
    if (piece !== undefined) return piece;
    const at = queue.findIndex(holds);
    // What is waited for is fetched at once, even if more is held then than is fetched ahead.
    return at === -1 ? fetchNow(start, Math.min(size, Math.max(end, start + headBytes)), []) : fetchQueued(at);
  };
  const wait = async (piece: Piece, start: number, signal: AbortSignal | undefined): Promise<Uint8Array> => {
    piece.waiting++;
    try {
      const bytes = await untilAborted(piece.bytes, signal);
      pieces = [...pieces.filter((other) => other !== piece), ...(pieces.includes(piece) ? [piece] : [])];
      return bytes;
    } catch (error) {
      if (piece.state === 'failed') drop(piece);
      throw error;
    } finally {
      piece.waiting--;
      piece.unread.delete(start);
      fetchAhead();
    }
  };

  const close = async (): Promise<void> => {
    isOpen = false;
    ignore?.();
    queue = [];
    ending.abort(closedError(file));
    for (const piece of pieces) drop(piece);
  };
  let first: Uint8Array;
  try {
    first = await remote.read(0, headBytes, ending.signal);
    remote.refusePage(first);
  } catch (error) {
    await close();
    throw error;
  }
  const size = remote.size!;
  if (remote.whole === undefined) {
    const abort = new AbortController();
    const bytes = Promise.resolve(first);
    pieces.push({ start: 0, end: first.length, bytes, abort, unread: new Set(), waiting: 0, state: 'there' });
    held += first.length;
  }
  return {
    file,
    size,
    version: remote.version,
    async read(offset, length, into, signal) {
      checkRange(file, size, offset, length, isOpen);
      const end = offset + length;
      const copy = (bytes: Uint8Array, start: number): Uint8Array => {
        const part = bytes.subarray(offset - start, end - start);
        into?.set(part);
        return into ?? part.slice();
      };
      if (length > maxBytes) {
        const place = { file };
        throw overMemory('A block of the file is too large.', {
          needed: length,
          what: 'its bytes',
          allowed: maxBytes,
          place,
        });
      }
      if (length === 0) return into ?? new Uint8Array();
      if (remote.whole !== undefined) return copy(remote.whole, 0);
      const piece = pieceOf(offset, end);
      return copy(await wait(piece, offset, signal), piece.start);
    },
    announce(ranges) {
      if (remote.whole !== undefined || !isOpen) return false;
      for (const range of ranges) {
        const holds = (other: ByteRange): boolean => other.start <= range.start && range.end <= other.end;
        const piece = pieces.find(holds);
        if (piece !== undefined) piece.unread.add(range.start);
        else if (!queue.some(holds)) queue.push(range);
      }
      fetchAhead();
      return queue.length === 0 && held < aheadBytes;
    },
    forget(ranges) {
      const starts = new Set(ranges.map(({ start }) => start));
      queue = queue.filter(({ start }) => !starts.has(start));
      for (const piece of pieces) {
        for (const start of starts) piece.unread.delete(start);
        if (piece.state !== 'there' && piece.waiting === 0 && piece.unread.size === 0) drop(piece);
      }
      fetchAhead();
    },
    close,
  };
}
