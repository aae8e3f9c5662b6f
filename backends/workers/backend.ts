import {
  type Backend,
  type Cell,
  type Counters,
  capacityOf,
  type Determinism,
  type DeviceBuffer,
  type Extent,
  type HistogramCommand,
  type Length,
  type Limits,
  type MonoidProgram,
  type Program,
} from '../../primitives/backend.ts';
import { createCache } from '../../primitives/cache.ts';
import { ArgumentError, DeviceLostError, FunctorError, OutOfMemoryError } from '../../primitives/errors.ts';
import { aNumber, anAddress, type FieldKinds, someRecord, where } from '../../primitives/kinds.ts';
import { requireOptions } from '../../primitives/options.ts';
import { requireHangLimit, requireLimits } from '../backend-options.ts';
import { createWatchdog, type Watchdog } from '../watchdog.ts';
import type { Block } from './allocator.ts';
import { costOf, costOfClearing, costOfCount, costOfWalk } from './cost.ts';
import { launchForEach } from './for-each.ts';
import { createHeldCommands, isTiled } from './held-commands.ts';
import { launchHistogram } from './histogram.ts';
import type { Kernel, Launch, Launcher } from './launch.ts';
import { createPool, type Pool } from './pool.ts';
import { MAX_WORKERS } from './queue.ts';
import { launchExactReduce } from './reduce.ts';
import { requireWebAssembly } from './runtime.ts';
import { launchExactScan } from './scan.ts';
import { createSharedMemory, type SharedBuffer, type SharedMemory } from './shared-memory.ts';
import { launchSort } from './sort.ts';
import type { Threads } from './threads.ts';
import { createTransfers } from './transfers.ts';
import { launchTreeReduce } from './tree-reduce.ts';
import { launchTreeScan } from './tree-scan.ts';
import { launchWalk } from './walk.ts';
import type { FunctionBody } from './wasm-encoder.ts';

export interface WorkersOptions {
  /** Number of worker threads; as many as the machine can run at once by default. */
  readonly workers?: number | undefined;
  readonly limits?: Partial<Limits> | undefined;
  /**
   * Commands that take less than about so many nanoseconds in the worst case are run by the calling thread while the workers
   * are idle, which saves waking them, and who waits for commands of up to eight times 300,000 helps the workers for so long at
   * most. 300,000 by default; 0 leaves everything to the workers. Loops whose rounds have no bound that the functor itself
   * shows, such as a `While` or a `For` up to an element of a column, always go to the workers.
   */
  readonly inlineNanoseconds?: number | undefined;
  /**
   * Commands over at least so many rows wait, within a turn of the event loop, for those that follow: maps, scans and
   * compactions of the same rows run tile by tile together, so that what one writes is in the cache when the next reads it.
   * 2^18 by default.
   */
  readonly fusedRows?: number | undefined;
  /**
   * Compiled kernels that are kept, at most: beyond that, those that were not used lately are compiled anew when they come
   * again. 1,024 by default, which is some tens of MB.
   */
  readonly keptKernels?: number | undefined;
  /**
   * Milliseconds that may pass without a step forward while somebody waits, after which the workers are taken for lost: a
   * loop of a functor that never ends, for one. Without it, waits are as long as the workers take.
   */
  readonly hangLimit?: number | undefined;
  /**
   * Pages alone: where the page serves `quadrille/page-worker.js`, the program of the workers. Without it
   * they are started out of a `blob:` address, which a Content-Security-Policy may forbid.
   */
  readonly workerUrl?: string | URL | undefined;
}

const OPTIONS: FieldKinds<WorkersOptions> = {
  workers: where('a whole number from 1', (workers) => typeof workers === 'number', { code: 'workers/number' }),
  limits: someRecord,
  inlineNanoseconds: aNumber,
  fusedRows: aNumber,
  keptKernels: aNumber,
  hangLimit: aNumber,
  workerUrl: anAddress,
};

const determinism: Determinism = {
  level: 'exact',
  ulp: 0,
  reasons: ['WebAssembly rounds after every operation, contracts nothing and keeps subnormals.'],
};

const INLINE_NANOSECONDS = 300_000;
const FUSED_ROWS = 2 ** 18;
const KEPT_KERNELS = 1024;

/** Nanoseconds that an element takes in one pass of a sort. */
const SORT_PASS_COST = 8;

/**
 * Opens the backend on the worker threads of Node or of a page.
 *
 * @throws `DeviceLostError` where they cannot be had, `OutOfMemoryError` `memory/shared` where their memory cannot be reserved.
 */
export async function openWorkersBackend(threads: Threads, options: WorkersOptions = {}): Promise<Backend> {
  requireOptions('createWorkersBackend', OPTIONS, options);
  requireLimits(options.limits);
  requireHangLimit(options.hangLimit);
  const workers = options.workers ?? Math.min(threads.cores(), MAX_WORKERS);
  if (!Number.isInteger(workers) || workers < 1 || workers > MAX_WORKERS) throw badWorkers(workers);
  threads.requireSharing();
  requireWebAssembly();
  const memory = createSharedMemory(options.limits?.memoryBytes);
  const limits = limitsOf(memory.heapBytes, options.limits);
  const watchdog = createWatchdog({
    limit: options.hangLimit,
    giveUp: (limit) => pool.stop(hangError(limit)),
    progress: () => pool.completed,
  });
  const help = (options.inlineNanoseconds ?? INLINE_NANOSECONDS) / 1e6;
  const pool = await createPool(memory.memory, workers, threads, help);
  return createBackend(pool, memory, limits, watchdog, options);
}

function limitsOf(heapBytes: number, wanted: Partial<Limits> = {}): Limits {
  const most = { bindingBytes: heapBytes, workgroups: 2 ** 32 - 1, storageBuffers: 2 ** 16, memoryBytes: heapBytes };
  const lowered = (name: keyof Limits): number => Math.min(most[name], wanted[name] ?? most[name]);
  return {
    bindingBytes: lowered('bindingBytes'),
    workgroups: lowered('workgroups'),
    storageBuffers: lowered('storageBuffers'),
    memoryBytes: lowered('memoryBytes'),
  };
}

function hangError(limit: number): DeviceLostError {
  return new DeviceLostError('device/hang', `The workers made no step for ${limit} ms and are taken for lost.`, {
    remedy: 'Open a new context, see that every loop of a functor ends, work in smaller windows, or raise hangLimit.',
  });
}

function badWorkers(workers: number): ArgumentError {
  return new ArgumentError('workers/number', 'That number of workers cannot be started: the option workers is wrong.', {
    expected: `an integer from 1 to ${MAX_WORKERS}`,
    got: workers,
    remedy: 'Leave it out to use every core.',
  });
}

/** What a kernel is launched on: the length that its cost is reckoned by, the buffers it writes. */
interface Task {
  readonly extent: Extent;
  /** The most nanoseconds an element, roughly; infinite where it may take any time. */
  readonly cost: number;
  /** The same of what does not depend on the extent. */
  readonly fixedCost?: number;
  readonly writes: readonly DeviceBuffer[];
  readonly launch: (launcher: Launcher) => Launch;
}

function createBackend(
  pool: Pool,
  memory: SharedMemory,
  limits: Limits,
  watchdog: Watchdog,
  options: WorkersOptions,
): Backend {
  const { inlineNanoseconds = INLINE_NANOSECONDS, fusedRows = FUSED_ROWS, keptKernels = KEPT_KERNELS } = options;
  const { allocator } = memory;
  const forgotten: number[] = [];
  const kernels = createCache<string, Kernel>({
    most: keptKernels,
    onForget: (values) => {
      for (const { functions } of values) forgotten.push(...functions);
    },
  });
  const counters: Counters = {
    submissions: 0,
    dispatches: 0,
    readbacks: 0,
    compilations: 0,
    bindGroups: 0,
    get allocations() {
      return memory.growths;
    },
    get liveBuffers() {
      return memory.live.buffers;
    },
    get liveBytes() {
      return memory.live.bytes;
    },
  };
  let ended: { readonly reason: unknown } | undefined;

  const guard = (): void => {
    if (ended !== undefined) throw ended.reason;
    pool.check();
  };

  const compile: Launcher['compile'] = (key, build) => {
    let kernel = kernels.get(key);
    if (kernel === undefined) {
      const bodies = build();
      const first = install(bodies);
      kernel = { functions: bodies.map((_, k) => first + k) };
      kernels.set(key, kernel);
      counters.compilations++;
    }
    return kernel;
  };

  const install = (bodies: readonly FunctionBody[]): number => {
    try {
      return pool.install(bodies);
    } catch (cause) {
      throw new FunctorError('functor/webassembly', 'WebAssembly does not take this functor.', {
        remedy: 'Split it: the cause says which limit it passes.',
        cause,
      });
    }
  };

  /** Takes memory; where there is too little, what only commands and reads under way still hold is freed first. */
  const withRoom = <T>(take: () => T): T => {
    try {
      return held.withRoom(take);
    } catch (error) {
      if (memory.beingRead.size === 0 || !(error instanceof OutOfMemoryError)) throw error;
      transfers.freeReleased();
      return take();
    }
  };

  /** Between commands, as launches that are not in the queue yet name functions by their numbers. */
  const uninstallForgotten = (): void => {
    if (forgotten.length === 0) return;
    held.flush();
    pool.uninstall(forgotten.splice(0));
  };

  /** Memory for one launch, to be given back when it stands in the queue. */
  const takeScratch = (): { scratch: Launcher['scratch']; freeScratch: () => void } => {
    const blocks: Block[] = [];
    return {
      scratch: (bytes) => {
        const block = withRoom(() => allocator.allocate(bytes));
        blocks.push(block);
        return block.address;
      },
      freeScratch: () => {
        for (let block = blocks.pop(); block !== undefined; block = blocks.pop()) allocator.release(block, pool.issued);
      },
    };
  };

  const held = createHeldCommands({
    run: (launch) => run(launch, false),
    fusion: () => {
      const { scratch, freeScratch } = takeScratch();
      return { workers: pool.workers, compile, scratch, finish: freeScratch };
    },
    free: (buffer) => memory.free(buffer, pool.issued),
    fail: (reason) => {
      ended ??= { reason };
      pool.stop(reason);
    },
  });

  /** Runs a command: here where that is quicker; else in the queue, maybe together with those that follow. */
  const issue = ({ extent, cost, fixedCost = 0, writes, launch }: Task): void => {
    guard();
    uninstallForgotten();
    for (const buffer of writes) transfers.settleReads(memory.resolve(buffer));
    const here = held.idle && pool.idle && fixedCost + lengthNow(extent) * cost < inlineNanoseconds;
    const { scratch, freeScratch } = takeScratch();
    const touched = new Set<SharedBuffer>();
    try {
      const made = launch({
        addresses: { of: (cell, words) => addressOf(cell, words, touched) },
        workers: here ? 1 : pool.workers,
        compile,
        scratch,
      });
      const finish = (): void => {
        freeScratch();
        for (const buffer of touched) buffer.fence = pool.issued;
      };
      if (!here && capacityOf(extent) >= fusedRows && isTiled(made)) {
        held.add({ launch: made, uses: made.tiles.uses(), touched, finish });
        return;
      }
      held.flush();
      run(made, here, fixedCost + capacityOf(extent) * cost);
      finish();
    } catch (error) {
      freeScratch();
      throw error;
    }
  };

  const run = (launch: Launch, here: boolean, nanoseconds?: number): void => {
    counters.submissions++;
    counters.dispatches += launch.phases.length;
    if (here) pool.runHere(launch);
    else pool.submit(launch, nanoseconds);
  };

  /** What stands behind a handle, which has so many words at least. */
  const resolve = (handle: DeviceBuffer, words: number): SharedBuffer => {
    const buffer = memory.resolve(handle);
    if (words <= buffer.words) return buffer;
    throw new ArgumentError('memory/range', 'A command reaches beyond the end of a buffer.', {
      expected: `at most ${buffer.words} words`,
      got: words,
    });
  };

  const addressOf = ({ buffer, word }: Cell, words: number, touched: Set<SharedBuffer>): number => {
    const found = resolve(buffer, word + words);
    touched.add(found);
    return found.address + 4 * word;
  };

  /** A length as it is now; only while all commands are done. */
  const lengthNow = (length: Length): number => {
    if (typeof length === 'number') return length;
    const word = memory.resolve(length.buffer).address / 4 + length.word;
    return Math.min(length.limit, Math.max(0, memory.words()[word]! - length.minus));
  };

  const until = async (phase: number): Promise<void> => {
    watchdog.begin();
    try {
      await pool.until(phase);
    } finally {
      watchdog.end();
    }
  };

  const transfers = createTransfers({
    memory,
    pool,
    until,
    flush: () => held.flush(),
    copy: (launch) => run(launch, false),
    compile,
  });

  return {
    name: 'workers',
    limits,
    determinism,
    walkRows: 64,
    counters,
    allocate: (words) => {
      guard();
      return withRoom(() => memory.allocate(words));
    },
    release: (buffer) => {
      if (ended !== undefined) return;
      const released = memory.release(buffer);
      if (!held.keeps(released)) memory.free(released, pool.issued);
    },
    write: (handle, word, data) => {
      guard();
      transfers.write(resolve(handle, word + data.length), word, data);
    },
    upload: async (handle, source) => {
      guard();
      await transfers.upload(resolve(handle, Math.ceil(source.bytes / 4)), source);
    },
    read: async (handle, word, words, take) => {
      guard();
      counters.readbacks++;
      const buffer = resolve(handle, word + words);
      if (take === undefined) return transfers.read(buffer, word, words);
      await transfers.readTo(buffer, word, words, take);
      return new Uint32Array();
    },
    lendWords: async (handle, word, words) => {
      guard();
      return transfers.lend(resolve(handle, word + words), word, words);
    },
    sync: async () => {
      guard();
      held.flush();
      await until(pool.issued);
    },
    forEach: (extent, program, stores) =>
      issue({
        extent,
        cost: costOf(program.module),
        writes: stores.map(({ buffer }) => buffer),
        launch: (launcher) => launchForEach(launcher, extent, program, stores),
      }),
    walk: (command) =>
      issue({
        extent: command.extent,
        cost: costOfWalk(command),
        writes: command.stores.map(({ buffer }) => buffer),
        launch: (launcher) => launchWalk(launcher, command),
      }),
    reduce: (extent, program, monoid, into) =>
      issue({
        extent,
        cost: costOf(program.module) + costOf(monoid.module),
        writes: [into.buffer],
        launch: (launcher) => launchReduce(launcher, extent, program, monoid, into),
      }),
    scan: (command) =>
      issue({
        extent: command.extent,
        cost: 2 * (costOf(command.program.module) + costOf(command.monoid.module)) + costOf(command.emit.module),
        writes: [...command.stores, ...(command.total === undefined ? [] : [command.total])].map(
          ({ buffer }) => buffer,
        ),
        launch: (launcher) =>
          command.monoid.exact ? launchExactScan(launcher, command) : launchTreeScan(launcher, command),
      }),
    sort: (command) =>
      issue({
        extent: command.extent,
        cost: costOf(command.program.module) + SORT_PASS_COST * Math.ceil((command.endBit - command.beginBit) / 8),
        writes: [command.keys, command.payload].flatMap((cell) => (cell === undefined ? [] : [cell.buffer])),
        launch: (launcher) => launchSort(launcher, command),
      }),
    histogram: (command) =>
      issue({
        extent: command.extent,
        cost: costOfCount(command),
        fixedCost: costOfClearing(wordsCounted(command)),
        writes: [command.into.buffer],
        launch: (launcher) => launchHistogram(launcher, command),
      }),
    abort: (reason) => {
      ended ??= { reason };
      held.drop();
      pool.stop(reason);
    },
    close: async () => {
      ended ??= { reason: new DeviceLostError('device/closed', 'The backend was closed.') };
      held.drop();
      await pool.close();
      memory.clear();
      kernels.clear();
    },
  };
}

/** Words that a histogram writes. */
function wordsCounted({ extent, bins, segment, histograms }: HistogramCommand): number {
  return bins * (histograms ?? (segment === undefined ? 1 : Math.ceil(capacityOf(extent) / segment)));
}

function launchReduce(launcher: Launcher, extent: Extent, program: Program, monoid: MonoidProgram, into: Cell): Launch {
  const launch = monoid.exact ? launchExactReduce : launchTreeReduce;
  return launch(launcher, extent, program, monoid, into);
}
