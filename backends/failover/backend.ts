import { requireFunction, requireOptions, requireRecord } from '../../primitives/checks/arguments.ts';
import { DeviceLostError } from '../../primitives/checks/errors.ts';
import { aFunction, anything, type FieldKinds, someRecord } from '../../primitives/checks/kinds.ts';
import { type OnWarning, tell, warn } from '../../primitives/checks/warnings.ts';
import { copyOf, SourceFailure, uploadTo } from '../../primitives/context/word-sources.ts';
import type { Backend, Counters, DeviceBuffer, SharedDevice, WordSink } from '../../primitives/contract/backend.ts';
import { requireBackend } from '../../primitives/contract/require-backend.ts';
import { issue } from '../../primitives/derived/issue.ts';
import { type Command, rebound } from '../../primitives/prepared/command.ts';
import { playScript } from '../../primitives/prepared/play.ts';
import { CLOSE_LIMIT, endsWithin } from '../common/close-limit.ts';
import { withGetters } from '../common/getters.ts';
import { inRange, usedAfterRelease } from '../common/memory-errors.ts';
import { bufferLost, noStandby, sourceLost, standbyLeft } from './errors.ts';
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

/** One failover: the lost backend, the backend that replaces it, and the reason. */
export interface Failover {
  /** The backend that was lost. */
  readonly from: Backend['name'];
  /** The backend that replaces it. */
  readonly to: Backend['name'];
  readonly reason: DeviceLostError;
  /** Number of kernels that the new backend ran again. A call of a prepared pipeline counts as one kernel. */
  readonly commands: number;
}

export interface FailoverOptions {
  /** Opens the backend that takes over. It is called at every loss. */
  readonly standby: (reason: DeviceLostError) => Promise<Backend>;
  /**
   * Called when another backend has taken over. If this function throws or rejects, a warning is issued and the work
   * continues.
   */
  readonly onFailover?: ((failover: Failover) => void) | undefined;
  /**
   * Called when `onFailover` fails, and when `close` stops waiting for a standby that is still being opened. By default
   * the platform issues a warning.
   */
  readonly onWarning?: OnWarning | undefined;
  /**
   * Bounds of the replay log. `bytes` bounds the host copies, not counting copies of the current contents of buffers in
   * use. `commands` bounds the number of kernels. When the log exceeds either bound, the buffers in use are copied to
   * the host and all older entries are dropped. Default: 256 MiB and 10,000 kernels.
   */
  readonly keep?: { readonly bytes?: number | undefined; readonly commands?: number | undefined } | undefined;
}

const OPTIONS: FieldKinds<FailoverOptions> = {
  standby: anything,
  onFailover: aFunction,
  onWarning: aFunction,
  keep: someRecord,
};

/** A backend that continues on a standby when the wrapped backend is lost. */
export interface FailoverBackend extends Backend {
  /** All failovers so far. */
  readonly failovers: readonly Failover[];
  /** The amount of data that a failover would replay now: number of kernels, and bytes of host copies. */
  readonly kept: { readonly commands: number; readonly bytes: number };
}

const KEPT_BYTES = 2 ** 28;
const KEPT_COMMANDS = 10_000;
const SLACK: Slack = { entries: 64, bytes: 2 ** 20 };
/** Number of log entries that are replayed between two calls of `sync`. */
const REPLAYED_AT_ONCE = 256;

/**
 * Wraps a backend so that its loss costs only time. After a loss, a standby backend replays all commands that the
 * buffers in use depend on, and answers the pending reads. Results do not depend on the backend, so their bytes stay
 * the same.
 *
 * Every upload and every kernel is logged on the host until no buffer in use and no pending read depends on it. When
 * the log exceeds `keep`, the buffers in use are copied to the host and older entries are dropped. The cost is host
 * memory: up to one copy of each buffer in use, plus the other copies in the log, which `keep.bytes` bounds.
 *
 * Only a `DeviceLostError` of the backend causes a failover; all other errors go to the caller. A standby that is lost
 * later is replaced in the same way. If a standby fails or is lost while it takes over, the failover backend ends.
 *
 * @throws DeviceLostError `device/standby`, from pending and later calls, if no standby could take over; its `cause`
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
  const max = { bytes: keep?.bytes ?? KEPT_BYTES, commands: keep?.commands ?? KEPT_COMMANDS };
  const log = createLog({ entries: Math.min(SLACK.entries, max.commands), bytes: Math.min(SLACK.bytes, max.bytes) });
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
  const total = (counter: 'submissions' | 'dispatches' | 'compilations' | 'allocations' | 'bindGroups') => (): number =>
    [...retired, current].reduce((sum, { counters }) => sum + counters[counter], 0);
  const counters = withGetters<Counters>({
    submissions: total('submissions'),
    dispatches: total('dispatches'),
    compilations: total('compilations'),
    allocations: total('allocations'),
    bindGroups: total('bindGroups'),
    readbacks: () => readbacks,
    liveBuffers: () => live.buffers,
    liveBytes: () => live.bytes,
    spilling: () => current.counters.spilling,
  });

  const guard = (): void => {
    if (ended !== undefined) throw ended.reason;
  };

  const resolve = (buffer: DeviceBuffer): Held => {
    const held = byId.get(buffer.id);
    if (held !== undefined) return held;
    throw usedAfterRelease(buffer);
  };

  /** Runs a log entry on the current backend. */
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

  /**
   * Whether a command needs a buffer whose contents are lost. If so, the buffers that the command writes are marked as
   * lost too.
   */
  const isLost = (entry: CommandEntry): boolean => {
    const { reads, writes } = entry;
    if (replacesContents(entry)) for (const held of writes) held.lost = undefined;
    const lost = [...reads, ...writes].find((held) => held.lost !== undefined)?.lost;
    if (lost !== undefined) for (const held of writes) held.lost ??= lost;
    return lost !== undefined;
  };

  /** The current backend's buffer that stands for a {@link Held} buffer; allocated at the first use. */
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
        // Ignore errors of a replaced backend: the request is repeated on the current one.
        if (asked !== current || answer.settled) return;
        if (error instanceof DeviceLostError) lose(error);
        else answer.reject(error);
      },
    );
  };

  const askToRead = ({ buffer, word, words, take, answer }: Extract<Entry, { readonly kind: 'read' }>): void => {
    const asked = current;
    // Ignore data from a replaced backend: the current one repeats the whole read.
    const taken: WordSink | undefined =
      take && ((piece, at) => (asked === current && !answer.settled ? take(piece, at) : undefined));
    ask(answer, asked.read(physical(buffer), word, words, taken));
  };

  /**
   * Runs `work` on the current backend, if there is one. If the backend is lost meanwhile, its successor replays the
   * work.
   */
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

  /**
   * Keeps the log short: drops the entries that are no longer needed. If the log is still too long, copies the buffers
   * in use to the host.
   */
  const tidy = (): void => {
    if (takingOver !== undefined || copying || !log.worthSweeping) return;
    log.sweep(byId.values());
    const inCopies = [...byId.values()].reduce(
      (sum, { known }) => sum + (known === undefined ? 0 : bytesKept(known)),
      0,
    );
    if (log.bytes - inCopies > max.bytes || log.commands > max.commands) void copyAll();
  };

  /** Copies the buffers in use to the host, so that the entries that produced them can be dropped. */
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
    // If the backend was lost meanwhile, the copies are incomplete and the log must stay as it is.
    if (ended !== undefined || takingOver !== undefined || from !== current) return;
    if (outcomes.some(({ status }) => status === 'rejected') || log.entries.slice(0, before).some(isAwaited)) return;
    log.cut(
      before,
      outcomes.map((outcome) => (outcome as PromiseFulfilledResult<WriteEntry | UploadEntry>).value),
    );
    log.sweep(byId.values());
  };

  /** Retires the current backend and starts a failover. */
  const lose = (reason: DeviceLostError): void => {
    if (takingOver !== undefined || ended !== undefined) return;
    takingOver = takeOver(reason).catch((cause: unknown) => end(noStandby(reason, cause)));
  };

  const takeOver = async (reason: DeviceLostError): Promise<void> => {
    const lost = current;
    // Closing a hung device can take arbitrarily long. The standby must not wait for it.
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
    // onFailover runs in a microtask, so that an error in it does not count as a failure of the standby.
    if (onFailover !== undefined) queueMicrotask(() => tell('onFailover', onFailover, failover, onWarning));
  };

  /** Replays the log, including entries appended meanwhile. Returns the number of kernels. */
  const replay = async (): Promise<number> => {
    // The caller has already released some buffers of the log. The replay allocates these buffers again. Each of these
    // buffers is released right after its last use in the log, so that the replay needs no more memory than the
    // original run.
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
      // From here on commands go to the backend again. There must be no `await` between the last check of the log and
      // this line, or entries could be missed.
      takingOver = undefined;
    }
    return log.commands;
  };

  /** Repeats an upload from its source. If the source fails, the contents of the buffer are lost. */
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

  /** Ends the failover backend: rejects all pending answers with `reason`. */
  const end = (reason: unknown): void => {
    ended ??= { reason };
    for (const entry of log.entries) if (isAwaited(entry)) entry.answer.reject(ended.reason);
    log.clear();
  };

  /**
   * The sharing interface of the current backend. Throws during a failover, and if the current backend shares no
   * device.
   */
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
        // If a standby has replaced `asked` in the meantime, the error does not mean that the standby is lost.
        if (asked === current) lose(error);
        return undefined;
      }
    },
    sync: async () => wait((answer) => ({ kind: 'sync', answer })),
    run(given) {
      command(given);
      return true;
    },
    play(script, call) {
      // Refuse scripts (recorded commands) with a gate: a word on the device that disables the remaining rounds of a
      // loop once the loop has ended. A standby could not tell which of the logged rounds were disabled.
      if (script.gate !== undefined) return false;
      command({ kind: 'play', script, call });
      return true;
    },
    prepareScript: (script) => attempt(() => current.prepareScript?.(script)),
    forgetScript: (script) => current.forgetScript?.(script),
    scriptBytes: (script) => current.scriptBytes?.(script) ?? 0,
    isLost(buffer) {
      // During a failover, `current` is closed, and the standby will compute all buffers again.
      if (takingOver !== undefined) return false;
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
      // During a replay, `current` is already the standby. Closing the standby ends the replay, so that `takingOver`
      // settles.
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

function isAwaited(entry: Entry): entry is WaitEntry {
  return entry.kind !== 'write' && entry.kind !== 'command' && !entry.answer.settled;
}
