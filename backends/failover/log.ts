import type { QuadrilleError } from '../../primitives/checks/errors.ts';
import type { DeviceBuffer, WordSink, WordSource } from '../../primitives/contract/backend.ts';
import type { Command } from '../../primitives/prepared/command.ts';

/** A buffer that the failover backend handed out, with the buffer that stands for it on the current backend. */
export interface Held extends DeviceBuffer {
  /** The current backend's buffer. Undefined until the first use, and again after a failover until the next use. */
  physical: DeviceBuffer | undefined;
  released: boolean;
  /** The entry that wrote the whole buffer, if no later entry wrote to the buffer. */
  known: WriteEntry | UploadEntry | undefined;
  /** Number of writes so far. */
  writes: number;
  /** Whether the buffer is borrowed: the memory belongs to other code, and its contents are lost with the device. */
  readonly borrowed: boolean;
  /**
   * The reason why the contents are lost; undefined if they are not lost. After a failover, contents that came from a
   * borrowed buffer or from a source that fails cannot be restored.
   */
  lost: QuadrilleError | undefined;
}

/** The answer to a read, an upload or a `sync`, as a promise that is settled from outside. */
export interface Answer<T> {
  settled: boolean;
  /** Whether the answer was an error. */
  failed: boolean;
  resolve(value: T): void;
  reject(reason: unknown): void;
}

export interface WriteEntry {
  readonly kind: 'write';
  readonly buffer: Held;
  readonly word: number;
  readonly data: Uint32Array;
}

export interface CommandEntry {
  readonly kind: 'command';
  readonly command: Command;
  readonly reads: readonly Held[];
  readonly writes: readonly Held[];
}

export type WaitEntry =
  | {
      readonly kind: 'read';
      readonly buffer: Held;
      readonly word: number;
      readonly words: number;
      readonly take: WordSink | undefined;
      readonly answer: Answer<Uint32Array>;
    }
  | { readonly kind: 'sync'; readonly answer: Answer<void> }
  | UploadEntry;

/** An upload that fills a whole buffer. If the source cannot be read again, `source` is a host copy of its bytes. */
export interface UploadEntry {
  readonly kind: 'upload';
  readonly buffer: Held;
  readonly source: WordSource;
  /** Bytes of the host copy; 0 if the original source is kept. */
  readonly bytes: number;
  readonly answer: Answer<void>;
}

export type Entry = WriteEntry | CommandEntry | WaitEntry;

/** The entries that, replayed in order, restore the contents of all buffers in use. */
export interface Log {
  readonly entries: readonly Entry[];
  /** Bytes of host copies. */
  readonly bytes: number;
  /** Number of commands in the log. */
  readonly commands: number;
  append(entry: Entry): void;
  /** Whether the log has grown enough since the last sweep to be worth another sweep. */
  readonly worthSweeping: boolean;
  /** Drops the entries on which neither a buffer in use nor a pending answer depends. */
  sweep(inUse: Iterable<Held>): void;
  /** Replaces the entries before index `before` by copies of buffers. */
  cut(before: number, copies: readonly (WriteEntry | UploadEntry)[]): void;
  clear(): void;
}

/** A log is swept again when its entries or bytes exceed this slack plus twice their number after the last sweep. */
export interface Slack {
  readonly entries: number;
  readonly bytes: number;
}

export function createLog(slack: Slack): Log {
  let entries: Entry[] = [];
  let bytes = 0;
  let commands = 0;
  let swept = { entries: 0, bytes: 0 };

  const recount = (): void => {
    bytes = 0;
    commands = 0;
    for (const entry of entries) add(entry);
    swept = { entries: entries.length, bytes };
  };
  const add = (entry: Entry): void => {
    bytes += bytesKept(entry);
    if (entry.kind === 'command') commands++;
  };

  return {
    get entries() {
      return entries;
    },
    get bytes() {
      return bytes;
    },
    get commands() {
      return commands;
    },
    get worthSweeping() {
      return entries.length > 2 * swept.entries + slack.entries || bytes > 2 * swept.bytes + slack.bytes;
    },
    append(entry) {
      entries.push(entry);
      add(entry);
      note(entry);
    },
    sweep(inUse) {
      entries = needed(entries, new Set(inUse));
      recount();
    },
    cut(before, copies) {
      entries = [...copies, ...entries.slice(before)];
      recount();
    },
    clear() {
      entries = [];
      recount();
    },
  };
}

/** Bytes of host memory that an entry occupies. */
export function bytesKept(entry: Entry): number {
  if (entry.kind === 'write') return entry.data.byteLength;
  return entry.kind === 'upload' ? entry.bytes : 0;
}

/** Updates `writes` and `known` of the buffers that a new entry writes. */
function note(entry: Entry): void {
  for (const buffer of writtenBy(entry)) {
    buffer.writes++;
    const isKnown = entry.kind === 'upload' || (entry.kind === 'write' && isWhole(entry));
    buffer.known = isKnown ? entry : undefined;
  }
}

function writtenBy(entry: Entry): readonly Held[] {
  if (entry.kind === 'command') return entry.writes;
  return entry.kind === 'write' || entry.kind === 'upload' ? [entry.buffer] : [];
}

export function isWhole({ buffer, word, data }: WriteEntry): boolean {
  return word === 0 && data.length === buffer.words;
}

/**
 * Whether a command replaces the whole contents of the buffers that it writes, so that the old contents do not matter.
 * Only calls of prepared pipelines are known to do so.
 */
export function replacesContents({ command }: CommandEntry): boolean {
  return command.kind === 'play';
}

/** The entries on which the contents of the given buffers or a pending answer depend. */
function needed(entries: readonly Entry[], buffers: Set<Held>): Entry[] {
  const kept: Entry[] = [];
  for (let i = entries.length - 1; i >= 0; i--) {
    const entry = entries[i]!;
    if (isNeeded(entry, buffers)) kept.push(entry);
  }
  return kept.reverse();
}

/**
 * Whether `entry` must stay in the log: it writes some of `buffers`, which later entries need, or its answer is
 * pending. Updates `buffers` to the buffers that are needed before the entry.
 */
function isNeeded(entry: Entry, buffers: Set<Held>): boolean {
  switch (entry.kind) {
    case 'sync':
      return !entry.answer.settled;
    case 'read':
      if (!entry.answer.settled) buffers.add(entry.buffer);
      return !entry.answer.settled;
    case 'upload': {
      const wanted = buffers.has(entry.buffer) || !entry.answer.settled;
      buffers.delete(entry.buffer);
      return wanted && !entry.answer.failed;
    }
    case 'write': {
      const wanted = buffers.has(entry.buffer);
      if (isWhole(entry)) buffers.delete(entry.buffer);
      return wanted;
    }
    case 'command': {
      const wanted = entry.writes.some((buffer) => buffers.has(buffer));
      if (!wanted) return false;
      for (const buffer of entry.reads) buffers.add(buffer);
      for (const buffer of entry.writes) {
        if (replacesContents(entry)) buffers.delete(buffer);
        // A command may leave words of a buffer unwritten, so the earlier contents are needed as well.
        else buffers.add(buffer);
      }
      return true;
    }
  }
}
