import { requireFunction, requireRecord } from '../../primitives/arguments.ts';
import type { Backend, Counters, DeviceBuffer, SharedDevice, WordSink } from '../../primitives/backend.ts';
import { type Command, issue, rebound } from '../../primitives/command.ts';
import { ArgumentError, DeviceLostError } from '../../primitives/errors.ts';
import { aFunction, anything, type FieldKinds, someRecord } from '../../primitives/kinds.ts';
import { requireOptions } from '../../primitives/options.ts';
import { playScript } from '../../primitives/prepared/play.ts';
import { requireBackend } from '../../primitives/require-backend.ts';
import { type OnWarning, QuadrilleWarning, tell, warn } from '../../primitives/warnings.ts';
import { copyOf, SourceFailure, uploadTo } from '../../primitives/word-sources.ts';
import { CLOSE_LIMIT, endsWithin } from '../close-limit.ts';
import {
  type Answer,
  bytesKept,
  type CommandEntry,
  createLog,
  type Entry,
  type Held,
  isWhole,
  replacesContents,
  type Slack,
  type UploadEntry,
  type WaitEntry,
  type WriteEntry,
} from './log.ts';

/** That another backend has taken over. */
export interface Failover {
  /** What was lost … */
  readonly from: Backend['name'];
  /** … and what stands in for it. */
  readonly to: Backend['name'];
  readonly reason: DeviceLostError;
  /** Kernels that were run again. */
  readonly commands: number;
}

export interface FailoverOptions {
  /** Opens the backend that takes over; called at every loss. */
  readonly standby: (reason: DeviceLostError) => Promise<Backend>;
  /** Is told when another backend has taken over. What it throws, or rejects with, is a warning; the work goes on. */
  readonly onFailover?: ((failover: Failover) => void) | undefined;
  /** Is told when `onFailover` fails, and when a standby is left at closing. Default: a warning of the platform. */
  readonly onWarning?: OnWarning | undefined;
  /**
   * Bytes of host copies, and kernels, that are kept beside copies of what is in use now. Past either, what is in use is
   * copied to the host, and what came before is forgotten. 256 MiB and 10,000 by default.
   */
  readonly keep?: { readonly bytes?: number | undefined; readonly commands?: number | undefined } | undefined;
}

const OPTIONS: FieldKinds<FailoverOptions> = {
  standby: anything,
  onFailover: aFunction,
  onWarning: aFunction,
  keep: someRecord,
};

/** A backend that is replaced by another when it is lost. */
export interface FailoverBackend extends Backend {
  /** What has happened so far. */
  readonly failovers: readonly Failover[];
  /** What would be done again after a loss: kernels, and bytes of host copies. */
  readonly kept: { readonly commands: number; readonly bytes: number };
}

const KEPT_BYTES = 2 ** 28;
const KEPT_COMMANDS = 10_000;
const SLACK: Slack = { entries: 64, bytes: 2 ** 20 };
/** Entries that are done again before waiting for the backend to be through with them. */
const REPLAYED_AT_ONCE = 256;

/**
 * Wraps a backend so that its loss costs time alone: what the buffers in use depend on is done again on a standby, and
 * whoever waits gets the answer from there. Since the bytes of a result do not depend on the backend, it is the same one.
 *
 * Every upload and every kernel is kept on the host until no buffer in use and no wait under way depends on it. Where that
 * grows past `keep`, the buffers in use are copied to the host between other commands, and the rest is forgotten. The cost
 * is host memory: a copy of what was uploaded or of what is in use, and at most `keep.bytes` beside it.
 *
 * Only a `DeviceLostError` of the backend makes another take over; other errors are the caller's. A standby that is lost
 * later is replaced in its turn; one that is lost while it takes over, or cannot do the work, ends the backend.
 *
 * @throws DeviceLostError `device/standby`, from whatever waits or comes later, where no standby could take over; the cause
 * says why.
 *
 * @example
 * const standby = async () => createReferenceBackend();
 * const backend = createFailoverBackend(await createWorkersBackend({ workers: 1 }), { standby });
 * await using context = new Context(backend);
 * await context.read(sort(context.column(Uint32Array.of(3, 1, 2)))); // Uint32Array [1, 2, 3]
 */
export function createFailoverBackend(primary: Backend, options: FailoverOptions): FailoverBackend {
  requireBackend('createFailoverBackend', 'primary', primary);
  requireOptions('createFailoverBackend', OPTIONS, options);
  requireRecord('createFailoverBackend', 'options', options, '{ standby }');
  const { standby, onFailover, onWarning, keep } = options;
  requireFunction('createFailoverBackend', 'the option standby', standby);
  const most = { bytes: keep?.bytes ?? KEPT_BYTES, commands: keep?.commands ?? KEPT_COMMANDS };
  const log = createLog({ entries: Math.min(SLACK.entries, most.commands), bytes: Math.min(SLACK.bytes, most.bytes) });
  const byId = new Map<number, Held>();
  const failovers: Failover[] = [];
  const retired: Backend[] = [];
  const closing: Promise<void>[] = [];
  let current = primary;
  let takingOver: Promise<void> | undefined;
  let copying = false;
  let ended: { readonly reason: unknown } | undefined;
  let nextId = 1;
  let readbacks = 0;
  const live = { buffers: 0, bytes: 0 };
  const total = (counter: 'submissions' | 'dispatches' | 'compilations' | 'allocations' | 'bindGroups'): number =>
    [...retired, current].reduce((sum, { counters }) => sum + counters[counter], 0);
  const counters = {
    get submissions() {
      return total('submissions');
    },
    get dispatches() {
      return total('dispatches');
    },
    get compilations() {
      return total('compilations');
    },
    get allocations() {
      return total('allocations');
    },
    get bindGroups() {
      return total('bindGroups');
    },
    get readbacks() {
      return readbacks;
    },
    get liveBuffers() {
      return live.buffers;
    },
    get liveBytes() {
      return live.bytes;
    },
    get spilling() {
      return current.counters.spilling;
    },
  } as Counters;

  const guard = (): void => {
    if (ended !== undefined) throw ended.reason;
  };

  const resolve = (buffer: DeviceBuffer): Held => {
    const held = byId.get(buffer.id);
    if (held !== undefined) return held;
    throw new ArgumentError('memory/released', `Buffer ${buffer.id} is used after its release.`, {
      remedy: 'Keep the column alive, or return it from its scope.',
    });
  };

  /** Does an entry on the backend that works now. */
  const perform = (entry: Entry): void => {
    switch (entry.kind) {
      case 'write':
        if (isWhole(entry)) entry.buffer.lost = undefined;
        if (entry.buffer.lost === undefined) current.write(physical(entry.buffer), entry.word, entry.data);
        break;
      case 'command':
        if (isLost(entry)) break;
        carryOut(current, rebound(entry.command, { reading: physical, writing: physical }));
        break;
      case 'read':
        if (entry.buffer.lost !== undefined) entry.answer.reject(entry.buffer.lost);
        else if (!entry.answer.settled) askToRead(entry);
        break;
      case 'upload':
        if (!entry.answer.settled) ask(entry.answer, uploadTo(current, physical(entry.buffer), entry.source));
        break;
      case 'sync':
        if (!entry.answer.settled) ask(entry.answer, current.sync());
    }
  };

  /** Whether a command needs what is lost; then so is what it should have written. */
  const isLost = (entry: CommandEntry): boolean => {
    const { reads, writes } = entry;
    if (replacesContents(entry)) for (const held of writes) held.lost = undefined;
    const lost = [...reads, ...writes].find((held) => held.lost !== undefined)?.lost;
    if (lost !== undefined) for (const held of writes) held.lost ??= lost;
    return lost !== undefined;
  };

  /** What stands for a buffer of a command in the log, which is one of ours. */
  const physical = (buffer: DeviceBuffer): DeviceBuffer => {
    const held = buffer as Held;
    held.physical ??= current.allocate(held.words);
    return held.physical;
  };

  const ask = <T>(answer: Answer<T>, promise: Promise<T>): void => {
    const asked = current;
    promise.then(
      (value) => answer.resolve(value),
      (error: unknown) => {
        // Who was asked again since will answer.
        if (asked !== current || answer.settled) return;
        if (error instanceof DeviceLostError) lose(error);
        else answer.reject(error);
      },
    );
  };

  const askToRead = ({ buffer, word, words, take, answer }: Extract<Entry, { readonly kind: 'read' }>): void => {
    const asked = current;
    // What was read of a backend that is lost is read again.
    const taken: WordSink | undefined =
      take && ((piece, at) => (asked === current && !answer.settled ? take(piece, at) : undefined));
    ask(answer, asked.read(physical(buffer), word, words, taken));
  };

  /** Does something on the backend, if one works now; what is lost with it is done by the one that takes over. */
  const attempt = (work: () => void): void => {
    if (takingOver !== undefined) return;
    try {
      work();
    } catch (error) {
      if (!(error instanceof DeviceLostError)) throw error;
      lose(error);
    }
  };

  const submit = (entry: Entry): void => {
    attempt(() => perform(entry));
    log.append(entry.kind === 'write' ? { ...entry, data: entry.data.slice() } : entry);
    tidy();
  };

  const command = (given: Command): void => {
    guard();
    const [reads, writes] = [new Set<Held>(), new Set<Held>()];
    const into = (set: Set<Held>) => (buffer: DeviceBuffer) => {
      const held = resolve(buffer);
      set.add(held);
      return held;
    };
    const held = rebound(given, { reading: into(reads), writing: into(writes) });
    const entry: CommandEntry = { kind: 'command', command: held, reads: [...reads], writes: [...writes] };
    for (const { lost } of replacesContents(entry) ? reads : [...reads, ...writes]) if (lost !== undefined) throw lost;
    submit(entry);
  };

  const wait = <T>(entryOf: (answer: Answer<T>) => WaitEntry): Promise<T> => {
    guard();
    return new Promise((onValue, onError) => {
      const answer: Answer<T> = {
        settled: false,
        failed: false,
        resolve(value) {
          answer.settled = true;
          onValue(value);
        },
        reject(reason) {
          answer.settled = true;
          answer.failed = true;
          onError(reason);
        },
      };
      submit(entryOf(answer));
    });
  };

  /** Keeps the log short. */
  const tidy = (): void => {
    if (takingOver !== undefined || copying || !log.worthSweeping) return;
    log.sweep(byId.values());
    const inCopies = [...byId.values()].reduce(
      (sum, { known }) => sum + (known === undefined ? 0 : bytesKept(known)),
      0,
    );
    if (log.bytes - inCopies > most.bytes || log.commands > most.commands) void copyAll();
  };

  /** Copies what is in use to the host, so that what it came from can be forgotten. */
  const copyAll = async (): Promise<void> => {
    copying = true;
    const from = current;
    const before = log.entries.length;
    const held = [...byId.values()].filter(({ writes, lost }) => writes > 0 && lost === undefined);
    const copies = held.map(async (buffer): Promise<WriteEntry | UploadEntry> => {
      const { writes, known } = buffer;
      if (known !== undefined) return known;
      const data = await from.read(physical(buffer), 0, buffer.words);
      const copy = { kind: 'write', buffer, word: 0, data } as const;
      if (buffer.writes === writes) buffer.known = copy;
      return copy;
    });
    const outcomes = await Promise.allSettled(copies);
    copying = false;
    // A backend that fails here fails those who wait for it too; then, or while one takes over, nothing is forgotten.
    if (ended !== undefined || takingOver !== undefined || from !== current) return;
    if (outcomes.some(({ status }) => status === 'rejected') || log.entries.slice(0, before).some(isAwaited)) return;
    log.cut(
      before,
      outcomes.map((outcome) => (outcome as PromiseFulfilledResult<WriteEntry | UploadEntry>).value),
    );
    log.sweep(byId.values());
  };

  /** Ends the backend that works now; another takes over. */
  const lose = (reason: DeviceLostError): void => {
    if (takingOver !== undefined || ended !== undefined) return;
    takingOver = takeOver(reason).catch((cause: unknown) => end(noStandby(reason, cause)));
  };

  const takeOver = async (reason: DeviceLostError): Promise<void> => {
    const lost = current;
    // Where a device hangs, nobody knows how long it takes to close: that must not keep the standby from its work.
    if (reason.code !== 'device/hang') closing.push(lost.close().catch(() => {}));
    const next = await standby(reason);
    if (ended !== undefined) return next.close();
    retired.push(lost);
    current = next;
    log.sweep(byId.values());
    for (const held of [...byId.values(), ...log.entries.flatMap(buffersOf)]) {
      held.physical = undefined;
      if (held.borrowed) held.lost ??= bufferLost(reason);
    }
    const commands = await replay();
    if (ended !== undefined) return;
    const failover: Failover = { from: lost.name, to: next.name, reason, commands };
    failovers.push(failover);
    // What it throws is no failure of the standby.
    if (onFailover !== undefined) queueMicrotask(() => tell('onFailover', onFailover, failover, onWarning));
  };

  /** Does everything in the log again, and what is appended meanwhile; returns the number of kernels. */
  const replay = async (): Promise<number> => {
    // Buffers that were released before are let go where they were, so that no more memory is in use than was then.
    const lastUse = new Map<Held, number>();
    for (const [i, entry] of log.entries.entries()) {
      for (const held of buffersOf(entry)) if (held.released) lastUse.set(held, i);
    }
    let done = 0;
    while (ended === undefined && done < log.entries.length) {
      const end = Math.min(log.entries.length, done + REPLAYED_AT_ONCE);
      for (; done < end; done++) {
        const entry = log.entries[done]!;
        if (entry.kind === 'upload' && entry.answer.settled) await uploadAgain(entry);
        else perform(entry);
        for (const held of buffersOf(entry)) if (lastUse.get(held) === done) letGo(held);
      }
      await current.sync();
    }
    if (ended === undefined) {
      for (const held of log.entries.flatMap(buffersOf)) if (held.released) letGo(held);
      // From here on commands go to the backend again: nothing may come between this and the last look at the log.
      takingOver = undefined;
    }
    return log.commands;
  };

  /** Reads a source once more; where it fails, what it filled is lost. */
  const uploadAgain = async ({ buffer, source, answer }: UploadEntry): Promise<void> => {
    if (answer.failed) return;
    buffer.lost = undefined;
    try {
      await uploadTo(current, physical(buffer), source);
    } catch (cause) {
      if (!(cause instanceof SourceFailure)) throw cause;
      buffer.lost = sourceLost(cause.reason);
    }
  };

  const letGo = (held: Held): void => {
    if (held.physical !== undefined) current.release(held.physical);
    held.physical = undefined;
  };

  /** Ends everything under way with a reason. */
  const end = (reason: unknown): void => {
    ended ??= { reason };
    for (const entry of log.entries) if (isAwaited(entry)) entry.answer.reject(ended.reason);
    log.clear();
  };

  /** The device that works now, where its owner works with it too. */
  const sharedNow = (): SharedDevice => {
    guard();
    const shared = takingOver === undefined ? current.shared : undefined;
    if (shared === undefined) throw bufferLost(failovers.at(-1)?.reason);
    return shared;
  };
  const sharing: SharedDevice = {
    borrow(given, byte, bytes) {
      const { buffer, byte: at } = sharedNow().borrow(given, byte, bytes);
      const held = createHeld(buffer.words, true);
      held.physical = buffer;
      byId.set(held.id, held);
      return { buffer: held, byte: at };
    },
    lend(buffer, onLost) {
      const held = resolve(buffer);
      if (held.lost !== undefined) throw held.lost;
      return sharedNow().lend(physical(held), onLost);
    },
  };
  const createHeld = (words: number, borrowed: boolean): Held => ({
    id: nextId++,
    words,
    physical: undefined,
    released: false,
    known: undefined,
    writes: 0,
    borrowed,
    lost: undefined,
  });

  return {
    get name() {
      return current.name;
    },
    get limits() {
      return current.limits;
    },
    get determinism() {
      return current.determinism;
    },
    get walkRows() {
      return current.walkRows;
    },
    counters,
    failovers,
    kept: log,
    allocate(words) {
      guard();
      const held = createHeld(words, false);
      attempt(() => physical(held));
      byId.set(held.id, held);
      live.buffers++;
      live.bytes += 4 * words;
      return held;
    },
    release(buffer) {
      if (ended !== undefined && !byId.has(buffer.id)) return;
      const held = resolve(buffer);
      byId.delete(held.id);
      held.released = true;
      if (!held.borrowed) {
        live.buffers--;
        live.bytes -= 4 * held.words;
      }
      if (takingOver === undefined && ended === undefined) letGo(held);
      if (ended === undefined) tidy();
    },
    write(buffer, word, data) {
      guard();
      submit({ kind: 'write', buffer: inRange(resolve(buffer), word, data.length), word, data });
    },
    async upload(buffer, source) {
      guard();
      const held = inRange(resolve(buffer), 0, Math.ceil(source.bytes / 4));
      const kept = source.lasting ? source : copyOf(source);
      const bytes = source.lasting ? 0 : source.bytes;
      await wait((answer) => ({ kind: 'upload', buffer: held, source: kept, bytes, answer }));
    },
    async read(buffer, word, words, take) {
      guard();
      const held = inRange(resolve(buffer), word, words);
      if (held.lost !== undefined) throw held.lost;
      readbacks++;
      return wait((answer) => ({ kind: 'read', buffer: held, word, words, take, answer }));
    },
    async lendWords(buffer, word, words) {
      guard();
      const held = inRange(resolve(buffer), word, words);
      if (held.lost !== undefined) throw held.lost;
      if (takingOver !== undefined) return undefined;
      const asked = current;
      try {
        return await asked.lendWords?.(physical(held), word, words);
      } catch (error) {
        if (!(error instanceof DeviceLostError)) throw error;
        // By now another one may have taken over, which is not lost.
        if (asked === current) lose(error);
        return undefined;
      }
    },
    sync: async () => wait((answer) => ({ kind: 'sync', answer })),
    forEach: (extent, program, stores) => command({ kind: 'forEach', extent, program, stores }),
    reduce: (extent, program, monoid, into) => command({ kind: 'reduce', extent, program, monoid, into }),
    walk: (given) => command({ kind: 'walk', command: given }),
    scan: (given) => command({ kind: 'scan', command: given }),
    sort: (given) => command({ kind: 'sort', command: given }),
    histogram: (given) => command({ kind: 'histogram', command: given }),
    relax(given) {
      command({ kind: 'relax', command: given });
      return true;
    },
    weightedHistogram(given) {
      command({ kind: 'weightedHistogram', command: given });
      return true;
    },
    crossReduce(given) {
      command({ kind: 'crossReduce', command: given });
      return true;
    },
    play(script, call) {
      // A round of a loop may come behind its last one, which the standby would not know.
      if (script.gate !== undefined) return false;
      command({ kind: 'play', script, call });
      return true;
    },
    prepareScript: (script) => attempt(() => current.prepareScript?.(script)),
    forgetScript: (script) => current.forgetScript?.(script),
    scriptBytes: (script) => current.scriptBytes?.(script) ?? 0,
    isLost(buffer) {
      const { physical: held } = byId.get(buffer.id) ?? {};
      return held !== undefined && (current.isLost?.(held) ?? false);
    },
    submit() {
      let done = true;
      attempt(() => {
        done = current.submit?.() ?? true;
      });
      return done;
    },
    ...(primary.shared && { shared: sharing }),
    abort(reason) {
      end(reason);
      current.abort(reason);
    },
    async close() {
      end(new DeviceLostError('device/closed', 'The backend was closed.'));
      // What takes over waits for its backend, which answers once it is closed.
      const closed = Promise.all([...retired, current].map((each) => each.close()));
      const [inTime] = await Promise.all([endsWithin(CLOSE_LIMIT, takingOver ?? closed), closed]);
      if (!inTime && takingOver !== undefined) warn(standbyLeft(), onWarning);
      await Promise.all(closing);
      byId.clear();
      live.buffers = 0;
      live.bytes = 0;
    },
  };
}

function carryOut(backend: Backend, command: Command): void {
  if (command.kind === 'play') playScript(backend, command.script, command.call);
  else issue(backend, command);
}

function buffersOf(entry: Entry): readonly Held[] {
  if (entry.kind === 'command') return [...entry.reads, ...entry.writes];
  return entry.kind === 'sync' ? [] : [entry.buffer];
}

function inRange(buffer: Held, word: number, words: number): Held {
  if (word >= 0 && words >= 0 && word + words <= buffer.words) return buffer;
  throw new ArgumentError('memory/range', 'A transfer reaches beyond its buffer.', {
    expected: `words within 0 … ${buffer.words}`,
    got: `${word} … ${word + words}`,
  });
}

function isAwaited(entry: Entry): entry is WaitEntry {
  return entry.kind !== 'write' && entry.kind !== 'command' && !entry.answer.settled;
}

function sourceLost(cause: unknown): DeviceLostError {
  const sentence = 'The standby could not read a source again, and what came from it is lost.';
  return new DeviceLostError('upload/source-lost', sentence, {
    remedy: 'Keep what a reader reads as it is while its column is in use, or upload arrays.',
    cause,
  });
}

function bufferLost(cause: DeviceLostError | undefined): DeviceLostError {
  const sentence = 'A buffer of the device was lost with it, and with it what was computed from it.';
  return new DeviceLostError('buffer/lost', sentence, {
    remedy: 'Open a new context on a new device, upload there, and do it again.',
    cause,
  });
}

function standbyLeft(): QuadrilleWarning {
  const sentence = `The standby did not open within ${CLOSE_LIMIT} ms of closing, and is left.`;
  return new QuadrilleWarning('warning/standby-left', sentence, { remedy: 'It is closed as soon as it has opened.' });
}

function noStandby(reason: DeviceLostError, cause: unknown): DeviceLostError {
  return new DeviceLostError('device/standby', `No standby could take over after: ${reason.message}`, {
    remedy: 'Open a new context; what was on the device is gone. The cause says what kept the standby from it.',
    cause,
  });
}
