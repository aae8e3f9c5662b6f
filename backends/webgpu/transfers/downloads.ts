import type { WordSink } from '../../../primitives/contract/backend.ts';
import { MAP_MODE_READ } from '../device/usage.ts';
import type { Staged } from '../launches/recorder.ts';
import { type Memory, sizeClass } from '../memory/memory.ts';
import type { BufferPart } from '../memory/part.ts';
import { rangesOf, type WordRange } from '../memory/ranges.ts';
import { DOWNLOAD_USAGE, type StagingOptions } from './staging.ts';

/** Copies data from the device to the host. */
export interface Downloads {
  /**
   * Reads words and passes them to `take`. The words are read after all commands recorded so far and before all later
   * commands.
   */
  read(memory: Memory, word: number, words: number, take: WordSink): Promise<void>;
  /** Destroys the staging buffers that are not in use. */
  trim(): void;
  destroy(): void;
}

/** A pending call of {@link Downloads.read}. */
interface Read {
  readonly take: WordSink;
  failed: { readonly reason: unknown } | undefined;
}

/** A piece of a read: a range of words in one GPU buffer. */
interface ReadPiece extends WordRange {
  readonly read: Read;
}

/** A staging buffer that receives pieces of one submission, one after another. */
interface Landing extends Staged {
  readonly part: BufferPart;
  readonly pieces: { readonly piece: ReadPiece; readonly from: number }[];
  used: number;
  /** Resolves when all pieces have been passed to their readers. */
  readonly done: Promise<void>;
}

/**
 * Pieces of at most this fraction of `StagingSize.bytes` are small. The small pieces of a submission share a staging
 * buffer, which has room for four pieces of this size.
 */
const SMALL = 2 ** -10;
/**
 * The copy of a piece of at least this fraction of `StagingSize.bytes` is submitted immediately, so that the device
 * executes the copy while the host continues.
 */
const WORTH_SUBMITTING = 2 ** -4;

export function createDownloads(options: StagingOptions): Downloads {
  const { device, size, mapped, recorder, failure, counters, explain } = options;
  const max = size.buffers * size.bytes;
  const small = size.bytes * SMALL;
  const worthSubmitting = size.bytes * WORTH_SUBMITTING;
  const idle: BufferPart[] = [];
  let idleBytes = 0;
  let landingBytes = 0;
  /** The staging buffer that receives the small pieces of the open submission. */
  let shared: Landing | undefined;
  /** Pieces that wait for free staging memory, in order, with the functions that start their copies. */
  const waiting = new Map<ReadPiece, () => void>();
  let isClosed = false;

  const takePart = (bytes: number): BufferPart => {
    const found = idle.findIndex((part) => part.bytes === bytes);
    if (found >= 0) {
      idleBytes -= bytes;
      return idle.splice(found, 1)[0]!;
    }
    counters.allocations++;
    const gpu = recorder.watched(() => device.createBuffer({ size: bytes, usage: DOWNLOAD_USAGE }));
    const part: BufferPart = { id: 0, gpu, bytes, lastUse: -1 };
    recorder.made(part);
    return part;
  };

  /** Keeps a staging buffer for reuse, because mapping a new buffer costs ten times as much as the copy. */
  const putBack = (part: BufferPart): void => {
    idle.push(part);
    idleBytes += part.bytes;
    while (idleBytes > 2 * max) destroyPart(idle.shift()!);
    if (isClosed || part.spoiled !== undefined) trim();
  };
  const destroyPart = (part: BufferPart): void => {
    idleBytes -= part.bytes;
    part.gpu.destroy();
  };
  const trim = (): void => {
    for (const part of idle.splice(0)) destroyPart(part);
  };

  /** Records the copy of a piece to a staging buffer. Resolves when the piece has been passed to its reader. */
  const land = (piece: ReadPiece): Promise<void> => {
    const bytes = piece.words * 4;
    const isSmall = bytes <= small;
    if (!isSmall || shared === undefined || shared.used + bytes > shared.part.bytes) {
      const landing = createLanding(isSmall ? 4 * small : stagingBytes(piece));
      if (isSmall) shared = landing;
      return copyTo(landing, piece);
    }
    return copyTo(shared, piece);
  };

  /**
   * Returns the size of the staging buffer for a piece. The first piece of a read gets a buffer of about its own size.
   * Every later piece gets a full-sized buffer, even if the piece is short, because only buffers of equal size are
   * reused.
   */
  const stagingBytes = ({ words, at }: ReadPiece): number =>
    at > 0 ? size.bytes : sizeClass(words * 4, device.limits.maxBufferSize);

  const copyTo = (landing: Landing, piece: ReadPiece): Promise<void> => {
    recorder.stage(landing);
    recorder.copy(piece.part, piece.word * 4, landing.part, landing.used, piece.words * 4);
    landing.pieces.push({ piece, from: landing.used });
    landing.used += piece.words * 4;
    return landing.done;
  };

  const createLanding = (bytes: number): Landing => {
    const { accepted } = recorder.begin();
    const part = takePart(bytes);
    const isNew = part.lastUse < 0;
    landingBytes += bytes;
    let settle: ((outcome: Promise<void>) => void) | undefined;
    const done = new Promise<void>((resolve) => {
      settle = resolve;
    });
    // It is possible that nobody awaits this promise, so its rejection must not count as unhandled.
    done.catch(() => {});
    const landing: Landing = {
      part,
      pieces: [],
      used: 0,
      done,
      handOver() {
        if (shared === landing) shared = undefined;
      },
      ended(handedOver) {
        if (shared === landing) shared = undefined;
        // If the submission was dropped, `accepted` rejects with the reason, and so does the promise `done`.
        settle!(handedOver ? finish(landing, accepted, isNew) : accepted.finally(() => leave(landing)));
      },
    };
    return landing;
  };

  const leave = ({ part }: Landing): void => {
    landingBytes -= part.bytes;
    part.gpu.destroy();
    // Waiting pieces are started later, because this function may run in the middle of dropping a submission.
    queueMicrotask(beginMore);
  };

  const finish = async (landing: Landing, accepted: Promise<void>, isNew: boolean): Promise<void> => {
    const { part, pieces, used } = landing;
    try {
      // Wait until the device has accepted a new buffer. If the device lacks memory, mapping the buffer would fail with
      // a less useful error.
      if (isNew) await accepted;
      await failure.guarded(Promise.all([mapped(part.gpu, MAP_MODE_READ, used), accepted]));
      const words = new Uint32Array(part.gpu.getMappedRange(0, used));
      for (const { piece, from } of pieces) hand(piece, words.subarray(from / 4, from / 4 + piece.words));
      part.gpu.unmap();
    } catch (cause) {
      leave(landing);
      // If the commands failed too, this line throws their error, which is more useful than the error of the mapping.
      await accepted;
      throw await explain(cause);
    }
    landingBytes -= part.bytes;
    putBack(part);
    beginMore();
  };

  const hand = ({ read, at }: ReadPiece, words: Uint32Array): void => {
    if (read.failed !== undefined) return;
    try {
      read.take(words, at);
    } catch (reason) {
      read.failed = { reason };
    }
  };

  const hasRoom = ({ words }: ReadPiece): boolean => landingBytes === 0 || landingBytes + words * 4 <= max;

  const beginMore = (): void => {
    for (const [piece, begin] of waiting) {
      if (failure.failed || !hasRoom(piece)) return;
      waiting.delete(piece);
      begin();
      if (piece.words * 4 >= worthSubmitting) recorder.flush();
      else recorder.flushSoon().catch(() => {});
    }
  };

  /**
   * Queues a piece until there is free staging memory. The piece is copied earlier if its words are about to be
   * overwritten.
   */
  const wait = (piece: ReadPiece): Promise<void> => {
    piece.part.beforeWrite = () => beginAll(piece.part);
    return new Promise((resolve, reject) => {
      waiting.set(piece, () => {
        if (piece.part.spoiled !== undefined) reject(piece.part.spoiled);
        else resolve(land(piece));
      });
    });
  };

  const beginAll = (part: BufferPart): void => {
    part.beforeWrite = undefined;
    if (failure.failed) return;
    for (const [piece, begin] of waiting) {
      if (piece.part !== part) continue;
      waiting.delete(piece);
      begin();
    }
  };

  const begin = (piece: ReadPiece): Promise<void> => {
    const isSmall = piece.words * 4 <= small;
    // Pieces of borrowed buffers do not wait for staging memory, because the buffer's owner may overwrite the buffer at
    // any time.
    const mayWait = piece.part.borrowedAt === undefined && !isSmall;
    if (mayWait && (waiting.size > 0 || !hasRoom(piece))) return wait(piece);
    const done = land(piece);
    if (piece.words * 4 >= worthSubmitting) recorder.flush();
    return done;
  };

  const forget = (read: Read): void => {
    for (const piece of waiting.keys()) if (piece.read === read) waiting.delete(piece);
  };

  const read: Downloads['read'] = async (memory, word, words, take) => {
    const of: Read = { take, failed: undefined };
    try {
      const pieces = [...rangesOf(memory, word, words, size.bytes / 4)].map((range) => begin({ ...range, read: of }));
      await Promise.all([...pieces, recorder.flushSoon()]);
    } catch (reason) {
      of.failed ??= { reason };
      forget(of);
    }
    if (of.failed !== undefined) throw of.failed.reason;
  };

  return {
    read: (...args) => failure.guarded(read(...args)),
    trim,
    destroy() {
      isClosed = true;
      for (const { part } of waiting.keys()) part.beforeWrite = undefined;
      waiting.clear();
      trim();
    },
  };
}
