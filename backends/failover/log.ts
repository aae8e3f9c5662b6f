import type { DeviceBuffer, WordSink, WordSource } from '../../primitives/backend.ts';
import type { Command } from '../../primitives/command.ts';
import type { QuadrilleError } from '../../primitives/errors.ts';

/** A buffer of the context: what stands for it on the backend that works now. */
export interface Held extends DeviceBuffer {
  /** Missing while no backend works, and where nothing has been done with the buffer on the one that took over. */
  physical: DeviceBuffer | undefined;
  released: boolean;
  /** The entry that wrote all of it, as long as nothing else has written to it since. */
  known: WriteEntry | UploadEntry | undefined;
  /** How often it was written to. */
  writes: number;
  /** Whether it is somebody else's, and gone with the device that it lies on. */
  readonly borrowed: boolean;
  /** Why it cannot hold what it should: that came from a borrowed buffer. */
  lost: QuadrilleError | undefined;
}

/** What somebody waits for. */
export interface Answer<T> {
  settled: boolean;
  /** Whether it was an error. */
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

/** What filled a whole buffer, once it has been answered. A source that does not last stands here as a copy. */
export interface UploadEntry {
  readonly kind: 'upload';
  readonly buffer: Held;
  readonly source: WordSource;
  /** Bytes of the copy. */
  readonly bytes: number;
  readonly answer: Answer<void>;
}

export type Entry = WriteEntry | CommandEntry | WaitEntry;

/** What has to be done again for the buffers that are in use to hold what they hold, in order. */
export interface Log {
  readonly entries: readonly Entry[];
  /** Bytes of host copies. */
  readonly bytes: number;
  /** How many commands are in it. */
  readonly commands: number;
  append(entry: Entry): void;
  /** Whether so much was added since the last sweep that the next one is worth its time. */
  readonly worthSweeping: boolean;
  /** Drops what no buffer in use and nobody who waits depends on. */
  sweep(inUse: Iterable<Held>): void;
  /** Puts copies of buffers in the place of all entries before a number. */
  cut(before: number, copies: readonly (WriteEntry | UploadEntry)[]): void;
  clear(): void;
}

/** What may be added to a swept log before it is swept again, beside as much as it had. */
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

/** Bytes of the host that an entry keeps. */
export function bytesKept(entry: Entry): number {
  if (entry.kind === 'write') return entry.data.byteLength;
  return entry.kind === 'upload' ? entry.bytes : 0;
}

/** Keeps account of what buffers hold. */
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

/** Whether what its buffers held before does not matter: those of a prepared pipeline's results. */
export function replacesContents({ command }: CommandEntry): boolean {
  return command.kind === 'play';
}

/** The entries that the contents of some buffers, or an answer that is still missing, depend on. */
function needed(entries: readonly Entry[], buffers: Set<Held>): Entry[] {
  const kept: Entry[] = [];
  for (let i = entries.length - 1; i >= 0; i--) {
    const entry = entries[i]!;
    if (isNeeded(entry, buffers)) kept.push(entry);
  }
  return kept.reverse();
}

/** Whether an entry is needed for what comes after it; then the buffers are those that are needed before it. */
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
        // A command need not write all words of a buffer: what was there before counts as well.
        else buffers.add(buffer);
      }
      return true;
    }
  }
}
