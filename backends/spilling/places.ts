import { OutOfMemoryError } from '../../primitives/checks/errors.ts';
import type { Backend, DeviceBuffer, SpillCounters, WordSink } from '../../primitives/contract/backend.ts';
import { usedAfterRelease } from '../common/memory-errors.ts';
import { CHUNK_WORDS, createHostWords, type HostWords } from './host-words.ts';

/**
 * A buffer whose contents are on the device, on the host or on both. Until its first write, the buffer may have no
 * memory at all. While the buffer is on the device, its `id` is the id of a buffer of the inner backend, so that
 * commands of the inner backend accept the buffer.
 */
export interface Spillable extends DeviceBuffer {
  id: number;
  resident: boolean;
  /** The copy of the contents on the host, if there is one. */
  host: HostWords | undefined;
  lastUse: number;
  /** Number of queued commands that use the buffer. */
  holds: number;
  released: boolean;
  /**
   * Number of uploads and loans to other code that are using the device memory. While this number is not 0, the buffer
   * stays on the device.
   */
  lent: number;
  /**
   * Whether the memory is borrowed from other code, which owns it and may change it. A borrowed buffer is always on the
   * device and does not count towards `memoryBytes`.
   */
  readonly borrowed: boolean;
  /** The error of a command that failed to write the buffer. */
  failure: { readonly reason: unknown } | undefined;
}

/** Tracks where buffers are, and moves them between device and host. */
export interface BufferPlaces {
  readonly live: { buffers: number; bytes: number };
  readonly report: SpillCounters;
  /** Device memory in bytes. */
  readonly memoryBytes: number;
  /** Whether all buffers are on the device, without host copies and failures. */
  readonly calm: boolean;
  /**
   * Allocates a buffer. The buffer gets device memory at once if `now` is set and there is room. Otherwise it gets no
   * memory until it is used.
   */
  allocate(words: number, now: boolean): Spillable;
  /** Registers a buffer that the inner backend has borrowed from other code. */
  adopt(borrowed: DeviceBuffer): Spillable;
  /** Drops the host copies of borrowed buffers, because their owners may change the originals. */
  forgetBorrowed(buffers: Iterable<Spillable>): void;
  release(buffer: DeviceBuffer): void;
  resolve(buffer: DeviceBuffer): Spillable;
  hold(buffers: Iterable<Spillable>): void;
  letGo(buffers: Iterable<Spillable>): void;
  /** Free bytes on the device. */
  room(): number;
  /** Uploads buffers if this is possible without waiting. Returns whether all of them are on the device. */
  placeNow(buffers: ReadonlySet<Spillable>): boolean;
  /**
   * Reads words of a buffer from the device or the host. If `take` is given, it receives the words and the result is
   * empty.
   */
  read(buffer: Spillable, word: number, words: number, take?: WordSink): Promise<Uint32Array>;
  /**
   * Frees device memory until `bytes` bytes are available: waits for pending reads of released buffers and spills the
   * least recently used buffers, except those in `keep`. Returns whether there is room.
   */
  makeRoom(bytes: number, keep: ReadonlySet<Spillable>): Promise<boolean>;
  place(buffer: Spillable): void;
  /** Copies the contents to the host and keeps them on the device. */
  copyToHost(buffer: Spillable): Promise<void>;
  /** Moves a buffer from the device to the host. */
  spill(buffer: Spillable): Promise<void>;
  /**
   * Records that a command used the buffers `all` and wrote the buffers `written`. The host copies of the written
   * buffers become invalid.
   */
  used(all: Iterable<Spillable>, written: Iterable<Spillable>): void;
  /** The host memory of a buffer that is not on the device; allocated if necessary. */
  hostOf(buffer: Spillable): HostWords;
  /** Replaces the contents of a buffer by host words. The buffer leaves the device unless it must stay there. */
  keepOnHost(buffer: Spillable, words: HostWords): void;
  fail(buffers: Iterable<Spillable>, reason: unknown): void;
  heal(buffer: Spillable): void;
  clear(): void;
}

/**
 * Buffers below this share of the device memory are spilled last: small buffers, such as counts and tables, are soon
 * used again.
 */
const SMALL_SHARE = 1 / 64;

export function createPlaces(inner: Backend): BufferPlaces {
  const owned = new Set<Spillable>();
  /** Buffers that are spilled, have a host copy or have failed. */
  const elsewhere = new Set<Spillable>();
  const live = { buffers: 0, bytes: 0 };
  const report: SpillCounters = { spilledBytes: 0, restoredBytes: 0, windows: 0, rowsOnHost: 0 };
  const memoryBytes = inner.limits.memoryBytes;
  /** Pending reads from the device, and the buffers that they read. */
  const reads = new Map<Promise<unknown>, Spillable>();
  let clock = 0;
  let nextPlaceless = -1;

  const note = (buffer: Spillable): void => {
    if (buffer.resident && buffer.host === undefined && buffer.failure === undefined) elsewhere.delete(buffer);
    else elsewhere.add(buffer);
  };
  const room = (): number => memoryBytes - inner.counters.liveBytes;

  const takeDevice = (buffer: Spillable): void => {
    buffer.id = inner.allocate(buffer.words).id;
    buffer.resident = true;
    note(buffer);
  };
  const leaveDevice = (buffer: Spillable): void => {
    if (!buffer.resident || staysOnDevice(buffer)) return;
    inner.release({ id: buffer.id, words: buffer.words });
    buffer.id = nextPlaceless--;
    buffer.resident = false;
    note(buffer);
  };

  const place = (buffer: Spillable): void => {
    if (buffer.resident) return;
    takeDevice(buffer);
    if (buffer.host === undefined) return;
    try {
      for (const { at, data } of buffer.host.pieces(0, buffer.words)) inner.write(buffer, at, data);
    } catch (error) {
      // The device copy is incomplete, so it must not be used.
      leaveDevice(buffer);
      throw error;
    }
    report.restoredBytes += 4 * buffer.words;
  };

  const readDevice = (buffer: Spillable, word: number, words: number, take?: WordSink): Promise<Uint32Array> => {
    const found = inner.read(buffer, word, words, take);
    const end = (): void => {
      reads.delete(settled);
    };
    const settled: Promise<void> = found.then(end, end);
    reads.set(settled, buffer);
    return found;
  };

  /**
   * Pending reads keep the memory of buffers that have left the device. Waits for such reads until `bytes` bytes are
   * free or no read is pending.
   */
  const awaitReads = async (bytes: number): Promise<void> => {
    while (room() < bytes) {
      const leaving = [...reads].filter(([, { resident }]) => !resident);
      if (leaving.length === 0) return;
      await Promise.race(leaving.map(([settled]) => settled));
    }
  };

  const copyToHost = async (buffer: Spillable): Promise<void> => {
    if (!buffer.resident || buffer.host !== undefined) return;
    const host = createHostWords(buffer.words);
    for (let word = 0; word < buffer.words; word += CHUNK_WORDS) {
      host.write(word, await readDevice(buffer, word, Math.min(CHUNK_WORDS, buffer.words - word)));
    }
    report.spilledBytes += 4 * buffer.words;
    // The buffer may have been released meanwhile.
    if (!owned.has(buffer)) return;
    buffer.host = host;
    note(buffer);
  };

  const spill = async (buffer: Spillable): Promise<void> => {
    await copyToHost(buffer);
    leaveDevice(buffer);
  };

  const hostOf = (buffer: Spillable): HostWords => {
    buffer.host ??= createHostWords(buffer.words);
    return buffer.host;
  };

  /** Buffers that may leave the device, in the order in which they should leave. */
  const candidates = (keep: ReadonlySet<Spillable>): Spillable[] => {
    const small = (buffer: Spillable): number => (4 * buffer.words < memoryBytes * SMALL_SHARE ? 1 : 0);
    return [...owned]
      .filter((buffer) => buffer.resident && !keep.has(buffer) && !staysOnDevice(buffer))
      .sort((a, b) => small(a) - small(b) || a.lastUse - b.lastUse);
  };

  const drop = (buffer: Spillable): void => {
    owned.delete(buffer);
    if (buffer.resident) inner.release({ id: buffer.id, words: buffer.words });
    buffer.resident = false;
    buffer.host = undefined;
    elsewhere.delete(buffer);
  };

  return {
    live,
    report,
    memoryBytes,
    room,
    place,
    copyToHost,
    spill,
    get calm() {
      return elsewhere.size === 0;
    },
    allocate(words, now) {
      const buffer = createSpillable({ id: nextPlaceless--, words }, clock++, false);
      try {
        if (now && 4 * words <= room()) takeDevice(buffer);
      } catch (error) {
        if (!(error instanceof OutOfMemoryError)) throw error;
      }
      owned.add(buffer);
      note(buffer);
      live.buffers++;
      live.bytes += 4 * words;
      return buffer;
    },
    adopt(borrowed) {
      const buffer = createSpillable(borrowed, clock++, true);
      owned.add(buffer);
      return buffer;
    },
    forgetBorrowed(buffers) {
      for (const buffer of buffers) {
        if (!buffer.borrowed) continue;
        buffer.host = undefined;
        note(buffer);
      }
    },
    release(given) {
      const buffer = this.resolve(given);
      buffer.released = true;
      if (!buffer.borrowed) {
        live.buffers--;
        live.bytes -= 4 * buffer.words;
      }
      if (buffer.holds === 0) drop(buffer);
    },
    resolve(given) {
      const buffer = given as Spillable;
      if (owned.has(buffer) && !buffer.released) return buffer;
      throw usedAfterRelease(given);
    },
    hold(buffers) {
      for (const buffer of buffers) buffer.holds++;
    },
    letGo(buffers) {
      for (const buffer of buffers) if (--buffer.holds === 0 && buffer.released && owned.has(buffer)) drop(buffer);
    },
    placeNow(buffers) {
      const missing = [...buffers].filter(({ resident }) => !resident);
      const needed = bytesOf(missing);
      const idle = candidates(buffers).filter(({ host }) => host !== undefined);
      if (room() + bytesOf(idle) < needed) return false;
      for (const buffer of idle) {
        if (room() >= needed) break;
        leaveDevice(buffer);
      }
      try {
        for (const buffer of missing) place(buffer);
      } catch (error) {
        if (error instanceof OutOfMemoryError) return false;
        throw error;
      }
      return true;
    },
    async read(buffer, word, words, take) {
      if (buffer.resident) return readDevice(buffer, word, words, take);
      if (take === undefined) return hostOf(buffer).read(word, words);
      for (const { at, data } of hostOf(buffer).pieces(word, words)) take(data, at);
      return new Uint32Array();
    },
    async makeRoom(bytes, keep) {
      await awaitReads(bytes);
      for (const buffer of candidates(keep)) {
        if (room() >= bytes) return true;
        await spill(buffer);
        await awaitReads(bytes);
      }
      return room() >= bytes;
    },
    used(all, written) {
      for (const buffer of all) buffer.lastUse = clock;
      clock++;
      for (const buffer of written) {
        buffer.host = undefined;
        note(buffer);
      }
    },
    hostOf,
    keepOnHost(buffer, words) {
      buffer.host = words;
      if (staysOnDevice(buffer))
        for (const { at, data } of words.pieces(0, buffer.words)) inner.write(buffer, at, data);
      leaveDevice(buffer);
      note(buffer);
    },
    fail(buffers, reason) {
      for (const buffer of buffers) {
        buffer.failure ??= { reason };
        note(buffer);
      }
    },
    heal(buffer) {
      buffer.failure = undefined;
      note(buffer);
    },
    clear() {
      for (const buffer of owned) buffer.host = undefined;
      owned.clear();
      elsewhere.clear();
      live.buffers = 0;
      live.bytes = 0;
    },
  };
}

/** Creates a buffer. A borrowed buffer is on the device; any other buffer has no memory yet. */
function createSpillable({ id, words }: DeviceBuffer, lastUse: number, borrowed: boolean): Spillable {
  return {
    id,
    words,
    resident: borrowed,
    host: undefined,
    lastUse,
    holds: 0,
    released: false,
    lent: 0,
    borrowed,
    failure: undefined,
  };
}

/** Whether a buffer must stay on the device. */
export function staysOnDevice({ lent, borrowed }: Spillable): boolean {
  return borrowed || lent > 0;
}

/** Total bytes of buffers. Borrowed buffers do not count. */
export function bytesOf(buffers: Iterable<Spillable>): number {
  let bytes = 0;
  for (const { words, borrowed } of buffers) if (!borrowed) bytes += 4 * words;
  return bytes;
}
