import { requireOptions } from '../../primitives/checks/arguments.ts';
import { ArgumentError, DeviceLostError, OutOfMemoryError } from '../../primitives/checks/errors.ts';
import { aNumber } from '../../primitives/checks/kinds.ts';
import { uploadTo } from '../../primitives/context/word-sources.ts';
import {
  type Backend,
  type CommandOf,
  type Counters,
  capacityOf,
  type KernelCommand,
  type KernelKind,
  type SharedDevice,
  type SpillCounters,
  type WordSink,
  type WordSource,
} from '../../primitives/contract/backend.ts';
import { requireBackend } from '../../primitives/contract/require-backend.ts';
import { buffersOf } from '../../primitives/contract/visit-command.ts';
import { fillMemory } from '../common/fill-memory.ts';
import { withGetters } from '../common/getters.ts';
import { inRange } from '../common/memory-errors.ts';
import { reduceExact, scanExact } from './carry.ts';
import { forEachInWindows, forEachOneByOne, walkInWindows } from './for-each.ts';
import { histogramInWindows } from './histogram.ts';
import { createHostWords } from './host-words.ts';
import { withResultsOnHost } from './on-host.ts';
import { bytesOf, createPlaces, type Spillable } from './places.ts';
import { createQueue } from './queue.ts';
import { isShortage, isWantOfBindings } from './shortage.ts';
import { sortInWindows } from './sort.ts';
import { stripsOnHost } from './strips-on-host.ts';
import { reduceTree, scanTree } from './tree.ts';
import { walkOnHost } from './walk-on-host.ts';
import type { WindowMachine } from './windows.ts';

export interface SpillingOptions {
  /**
   * For tests: maximum number of rows of a window (a range of a command's indices). Commands with more indices run in
   * windows even if memory is plentiful, and the device holds only what the windows need.
   */
  readonly windowRows?: number | undefined;
  /**
   * Maximum time in milliseconds that the host may spend on one row of a command; if a row takes longer, the command
   * fails. Unlimited by default. Regardless of this limit, the host yields to the event loop every few milliseconds.
   */
  readonly hangLimit?: number | undefined;
}

/** A backend that works on more data than fits in its device memory. */
export type SpillingBackend<B extends Backend = Backend> = B & {
  readonly counters: Counters & { readonly spilling: SpillCounters };
};

/** How commands of a kernel run that do not fit in device memory in one piece. */
interface Ways<C> {
  inWindows(machine: WindowMachine, command: C): Promise<void>;
  /** Runs a command with the help of the host, if it does not fit in memory even in windows. */
  onHost(machine: WindowMachine, command: C): Promise<void>;
}

/** Commands of the kernels that are not listed here are derived from others while data is spilled. */
const WAYS: { readonly [K in KernelKind]?: Ways<CommandOf<K>> } = {
  forEach: { inWindows: forEachInWindows, onHost: forEachOneByOne },
  walk: { inWindows: walkInWindows, onHost: walkOnHost },
  strips: { inWindows: stripsOnHost, onHost: stripsOnHost },
  reduce: withResultsOnHost((machine, command) => (command.monoid.exact ? reduceExact : reduceTree)(machine, command)),
  scan: withResultsOnHost((machine, command) => (command.monoid.exact ? scanExact : scanTree)(machine, command)),
  sort: withResultsOnHost(sortInWindows),
  histogram: withResultsOnHost(histogramInWindows),
};

/**
 * Adds host memory to a backend that has `limits.memoryBytes` of device memory. As long as all buffers fit, commands go
 * straight to that backend. Otherwise the least recently used buffers are spilled to the host until they are needed
 * again. A command whose buffers do not fit together runs in windows, which are ranges of its indices. For each window,
 * the pieces of arrays that are read near the window's indices are uploaded, and results that do not fit on the device
 * are downloaded. Arrays that are read at random must fit on the device; if they do not fit, the host computes the
 * results if it can.
 *
 * Commands still return immediately: a command that must wait for memory is queued, and so are all commands after it.
 * If a queued command fails, reads of the buffers that the command should have written throw the error. If no read has
 * thrown the error yet, the next `sync` throws it.
 *
 * Results have the same bytes as without spilling, f32 sums included. `counters.spilling` counts the bytes moved
 * between device and host, the windows, and the rows that the host has evaluated.
 *
 * @example
 * await using context = new Context(createSpillingBackend(createReferenceBackend({ limits: { memoryBytes: 4096 } })));
 * const sorted = sort(context.materialize(map(fn({ x: u32 }, u32, ({ x }) => x.not()), { x: sequence(3000) })));
 * const words = await context.read(sorted);
 * [words.length, words[0], words[2999]]; // [3000, 4294964296, 4294967295]
 */
export function createSpillingBackend<B extends Backend>(inner: B, options: SpillingOptions = {}): SpillingBackend<B> {
  requireBackend('createSpillingBackend', 'inner', inner);
  requireOptions<SpillingOptions>('createSpillingBackend', { windowRows: aNumber, hangLimit: aNumber }, options);
  const { windowRows = Number.POSITIVE_INFINITY, hangLimit } = options;
  const places = createPlaces(inner);
  const queue = createQueue();
  const forced = Number.isFinite(windowRows);
  const machine: WindowMachine = { inner, places, maxRows: windowRows, thrifty: forced, hangLimit };
  let closed = false;

  /**
   * Whether commands can go straight to the inner backend, because all buffers are on the device and nothing is queued.
   */
  const calm = (): boolean => !forced && queue.idle && places.calm;

  const issue = (command: KernelCommand): void => {
    const buffers = buffersOf(command);
    const reads = new Set(buffers.reads.map(places.resolve));
    const writes = new Set(buffers.writes.map(places.resolve));
    if (queue.idle && !forced && !isFailed(reads) && runHere(command, reads, writes)) return;
    const all = new Set([...reads, ...writes]);
    places.hold(all);
    queue.add({
      async run() {
        const failed = [...reads].find(({ failure }) => failure !== undefined);
        if (failed !== undefined) throw failed.failure!.reason;
        try {
          await runQueued(command, reads, writes);
        } finally {
          places.forgetBorrowed(reads);
        }
      },
      failed: (reason) => places.fail(writes, reason),
      settled: () => places.letGo(all),
    });
  };

  /** Runs a command in one piece. Returns whether the inner backend has a kernel for it and enough memory. */
  const attempt = (command: KernelCommand): boolean => {
    const { dispatches } = inner.counters;
    try {
      return inner.run(command);
    } catch (error) {
      const begun = runsOnce(command) && inner.counters.dispatches > dispatches;
      if (!isShortage(error) || begun) throw error;
      return false;
    }
  };

  const runHere = (command: KernelCommand, reads: ReadonlySet<Spillable>, writes: ReadonlySet<Spillable>): boolean => {
    const all = new Set([...reads, ...writes]);
    if (bytesOf(all) > places.memoryBytes || !places.placeNow(all) || !attempt(command)) return false;
    places.used(all, writes);
    return true;
  };

  const runQueued = async (
    command: KernelCommand,
    reads: ReadonlySet<Spillable>,
    writes: ReadonlySet<Spillable>,
  ): Promise<void> => {
    const all = new Set([...reads, ...writes]);
    const long = capacityOf(command.extent) > windowRows;
    if (!long && bytesOf(all) <= places.memoryBytes) {
      if (runHere(command, reads, writes)) return;
      const missing = bytesOf([...all].filter(({ resident }) => !resident));
      if ((await places.makeRoom(missing, all)) && runHere(command, reads, writes)) return;
      await places.makeRoom(places.memoryBytes, all);
      if (runHere(command, reads, writes)) return;
    }
    await inSomeWay(command);
  };

  /**
   * Runs a command in the first of three ways that fits in memory: in windows (ranges of indices), in windows after all
   * buffers that the windows do not need have left the device, or with the help of the host.
   */
  const inSomeWay = async (command: KernelCommand): Promise<void> => {
    const { dispatches } = inner.counters;
    const { inWindows, onHost } = WAYS[command.kind] as Ways<KernelCommand>;
    const ways = [inWindows, inWindows, onHost];
    let { maxRows } = machine;
    for (const [i, way] of ways.entries()) {
      try {
        await way({ ...machine, maxRows: maxRows, thrifty: forced || i > 0 }, command);
        return;
      } catch (error) {
        const begun = runsOnce(command) && inner.counters.dispatches > dispatches;
        if (!isShortage(error) || begun || i === ways.length - 1) throw error;
        // At two words (8 bytes) per row, the uploads of this number of rows fit in one binding.
        if (isWantOfBindings(error)) maxRows = Math.min(maxRows, Math.floor(inner.limits.bindingBytes / 8));
        await places.makeRoom(places.memoryBytes, new Set());
      }
    }
  };

  const isFailed = (buffers: ReadonlySet<Spillable>): boolean =>
    [...buffers].some(({ failure }) => failure !== undefined);

  const write = (buffer: Spillable, word: number, data: Uint32Array): void => {
    if (data.length === buffer.words) places.heal(buffer);
    if (!buffer.resident && buffer.host === undefined) places.placeNow(new Set([buffer]));
    if (!buffer.resident) {
      places.hostOf(buffer).write(word, data);
      return;
    }
    try {
      inner.write(buffer, word, data);
    } catch (error) {
      if (!(error instanceof OutOfMemoryError) || data.length < buffer.words) throw error;
      // The write replaces the whole buffer, so its old contents need not be downloaded.
      places.keepOnHost(buffer, createHostWords(buffer.words));
      places.hostOf(buffer).write(0, data);
      return;
    }
    places.used([buffer], [buffer]);
  };

  const read = async (
    buffer: Spillable,
    word: number,
    words: number,
    take: WordSink | undefined,
  ): Promise<Uint32Array> => {
    if (buffer.failure !== undefined) throw queue.tell(buffer.failure.reason);
    return places.read(buffer, word, words, take);
  };

  /** Fills a buffer on the device if device memory is free or can be freed without waiting, else on the host. */
  const upload = async (buffer: Spillable, source: WordSource): Promise<void> => {
    if (queue.idle && !forced && (await uploadToDevice(buffer, source))) return;
    const host = createHostWords(buffer.words);
    await fillMemory(source, { place: (at, bytes) => host.bytes(at, bytes) });
    queue.guard();
    places.keepOnHost(buffer, host);
  };

  const uploadToDevice = async (buffer: Spillable, source: WordSource): Promise<boolean> => {
    if (!places.placeNow(new Set([buffer]))) return false;
    // The buffer must stay on the device during the upload.
    buffer.lent++;
    try {
      await uploadTo(inner, buffer, source);
    } catch (error) {
      if (!(error instanceof OutOfMemoryError)) throw error;
      return false;
    } finally {
      buffer.lent--;
    }
    places.used([buffer], [buffer]);
    return true;
  };

  const share = (device: SharedDevice): SharedDevice => ({
    borrow(given, byte, bytes) {
      queue.guard();
      const { buffer, byte: at } = device.borrow(given, byte, bytes);
      return { buffer: places.adopt(buffer), byte: at };
    },
    lend(given, onLost) {
      queue.guard();
      const buffer = places.resolve(given);
      if (buffer.failure !== undefined) throw queue.tell(buffer.failure.reason);
      if (!queue.idle || !places.placeNow(new Set([buffer]))) throw spilled(buffer, places.memoryBytes);
      const lent = device.lend(buffer, onLost);
      buffer.lent++;
      let ended = false;
      const end = (): void => {
        if (!ended) buffer.lent--;
        ended = true;
        lent.end();
      };
      return { ...lent, end };
    },
  });

  const counters = withGetters<SpillingBackend['counters']>({
    ...passedOn(inner.counters),
    spilling: () => places.report,
    liveBuffers: () => places.live.buffers,
    liveBytes: () => places.live.bytes,
  });

  const backend: Backend = {
    name: inner.name,
    limits: inner.limits,
    determinism: inner.determinism,
    walkRows: inner.walkRows,
    counters,
    allocate(words) {
      queue.guard();
      return places.allocate(words, !forced && queue.idle);
    },
    release(buffer) {
      if (!closed) places.release(buffer);
    },
    write(given, word, data) {
      queue.guard();
      const buffer = inRange(places.resolve(given), word, data.length);
      if (queue.idle) {
        write(buffer, word, data);
        return;
      }
      const kept = data.slice();
      places.hold([buffer]);
      queue.add({
        run: async () => write(buffer, word, kept),
        failed: (reason) => places.fail([buffer], reason),
        settled: () => places.letGo([buffer]),
      });
    },
    async upload(given, source) {
      queue.guard();
      const buffer = inRange(places.resolve(given), 0, Math.ceil(source.bytes / 4));
      places.hold([buffer]);
      try {
        await upload(buffer, source);
      } finally {
        places.letGo([buffer]);
      }
    },
    async read(given, word, words, take) {
      queue.guard();
      const buffer = inRange(places.resolve(given), word, words);
      if (queue.idle) return read(buffer, word, words, take);
      places.hold([buffer]);
      // The read starts when its turn in the queue comes. Later jobs do not wait for its end.
      const begun = await queue
        .join(async () => ({ words: read(buffer, word, words, take) }))
        .finally(() => places.letGo([buffer]));
      return begun.words;
    },
    async lendWords(given, word, words) {
      queue.guard();
      const buffer = inRange(places.resolve(given), word, words);
      if (!queue.idle) await queue.join(async () => {});
      if (buffer.failure !== undefined) throw queue.tell(buffer.failure.reason);
      if (!buffer.resident) return undefined;
      // A lent buffer must not be spilled until the loan ends.
      buffer.lent++;
      const letGo = (): void => {
        buffer.lent--;
      };
      try {
        const lent = await inner.lendWords?.(buffer, word, words);
        if (lent === undefined) letGo();
        const end = (): void => {
          letGo();
          lent?.end();
        };
        return lent && { words: lent.words, end };
      } catch (error) {
        letGo();
        throw error;
      }
    },
    async sync() {
      queue.guard();
      await (queue.idle ? inner.sync() : queue.join(() => inner.sync()));
      queue.throwUntold();
    },
    run(command) {
      queue.guard();
      if (calm() && attempt(command)) return true;
      // The inner backend has no kernel for the command, or it runs again after other buffers were spilled.
      if (WAYS[command.kind] === undefined) return false;
      issue(command);
      return true;
    },
    play(script, call) {
      queue.guard();
      // If the result is `false`, the caller issues the commands of the script (recorded commands) one by one.
      return calm() && (inner.play?.(script, call) ?? false);
    },
    prepareScript(script) {
      if (calm()) inner.prepareScript?.(script);
    },
    forgetScript: (script) => inner.forgetScript?.(script),
    scriptBytes: (script) => inner.scriptBytes?.(script) ?? 0,
    isLost(buffer) {
      // Unlike commands, this question is also answered after the backend was stopped or closed.
      const { failure, resident } = buffer as Spillable;
      return failure !== undefined || (resident && (inner.isLost?.(buffer) ?? false));
    },
    submit: () => queue.idle && (inner.submit?.() ?? true),
    shared: inner.shared && share(inner.shared),
    abort(reason) {
      queue.stop(reason);
      inner.abort(reason);
    },
    async close() {
      closed = true;
      queue.stop(new DeviceLostError('device/closed', 'The backend was closed.'));
      await inner.close();
      await queue.settled();
      places.clear();
    },
  };
  return { ...inner, ...backend } as SpillingBackend<B>;
}

/** Whether a command must not be repeated after a part of it has run. */
function runsOnce(command: KernelCommand): boolean {
  return 'stores' in command && command.stores.some(({ combine }) => combine !== undefined);
}

/** Getters that read the counters of the inner backend on demand. */
function passedOn(counters: Counters): { [K in keyof Counters]-?: () => Counters[K] } {
  return Object.fromEntries(
    Object.keys(counters).map((name) => [name, () => counters[name as keyof Counters]]),
  ) as never;
}

function spilled({ words }: Spillable, memoryBytes: number): ArgumentError {
  const sentence = 'The column cannot be lent: it is on the host or waits for memory.';
  return new ArgumentError('buffer/spilled', sentence, {
    expected: `room on the device, which may be used up to ${memoryBytes} bytes`,
    got: `${words * 4} bytes that are not on the device`,
    remedy: 'Await context.sync() first, free other columns, or raise limits.memoryBytes.',
  });
}
