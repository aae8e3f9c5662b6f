import type { Command } from '../../primitives/command.ts';
import type { DeviceBuffer, WordSink, WordSource } from '../../primitives/contract/backend.ts';
import type { QuadrilleError } from '../../primitives/errors.ts';

/** A buffer of the context, with its counterpart on the current backend. */
export interface Held extends DeviceBuffer {
  /** Undefined while there is no backend, and after a failover until the buffer is first used. */
  physical: DeviceBuffer | undefined;
  released: boolean;
  /** The entry that wrote the whole buffer. Undefined if anything else has written to it since. */
  known: WriteEntry | UploadEntry | undefined;
  /** Number of writes so far. */
  writes: number;
  /** Whether the buffer is borrowed: it belongs to somebody else and is lost with its device. */
  readonly borrowed: boolean;
  /** Why the contents are lost: they came from a borrowed buffer. */
  lost: QuadrilleError | undefined;
}

/** A pending answer that somebody waits for. */
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

/**
 * An upload that filled a whole buffer, once it has been answered. A source that cannot be read again is kept as a
 * copy.
 */
export interface UploadEntry {
  readonly kind: 'upload';
  readonly buffer: Held;
  readonly source: WordSource;
  /** Bytes of the copy. */
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
  /** Whether enough was added since the last sweep to make the next one worth its time. */
  readonly worthSweeping: boolean;
  /** Drops the entries that no buffer in use and no pending answer depends on. */
  sweep(inUse: Iterable<Held>): void;
  /** Replaces all entries before an index by copies of buffers. */
  cut(before: number, copies: readonly (WriteEntry | UploadEntry)[]): void;
  clear(): void;
}

/** How much may be added to a swept log, beyond its own size, before it is swept again. */
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

/** Bytes of host memory that an entry keeps. */
export function bytesKept(entry: Entry): number {
  if (entry.kind === 'write') return entry.data.byteLength;
  return entry.kind === 'upload' ? entry.bytes : 0;
}

/** Updates the records of buffer contents for a new entry. */
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

/** Whether the previous contents of the buffers do not matter. This holds for results of a prepared pipeline. */
export function replacesContents({ command }: CommandEntry): boolean {
  return command.kind === 'play';
}

/** The entries that the contents of the given buffers, or a pending answer, depend on. */
function needed(entries: readonly Entry[], buffers: Set<Held>): Entry[] {
  const kept: Entry[] = [];
  for (let i = entries.length - 1; i >= 0; i--) {
    const entry = entries[i]!;
    if (isNeeded(entry, buffers)) kept.push(entry);
  }
  return kept.reverse();
}

/** Whether later entries need this one. If so, `buffers` is updated to those needed before it. */
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
