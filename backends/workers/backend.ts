import { requireOptions } from '../../primitives/checks/arguments.ts';
import { ArgumentError, DeviceLostError, FunctorError, OutOfMemoryError } from '../../primitives/checks/errors.ts';
import { aNumber, anAddress, type FieldKinds, someRecord, where } from '../../primitives/checks/kinds.ts';
import {
  type Backend,
  type Counters,
  capacityOf,
  type Determinism,
  type DeviceBuffer,
  type KernelCommand,
  type Length,
  type Limits,
} from '../../primitives/contract/backend.ts';
import { cached, createCache } from '../../primitives/host/cache.ts';
import type { Url } from '../../primitives/host/platform-types.ts';
import { requireHangLimit, requireLimits } from '../common/backend-options.ts';
import { createWatchdog, type Watchdog } from '../common/watchdog.ts';
import { createHeldCommands, isTiled } from './commands/held-commands.ts';
import type { Addresses, Kernel, Launch, Launcher } from './commands/launch.ts';
import { taskOf, WALK_ROWS } from './commands/task.ts';
import type { HeapBlock } from './memory/allocator.ts';
import { createSharedMemory, type SharedBuffer, type SharedMemory } from './memory/shared-memory.ts';
import { createTransfers } from './memory/transfers.ts';
import { createTapes } from './tape/tapes.ts';
import { createPool, type Pool } from './threads/pool.ts';
import { MAX_WORKERS } from './threads/queue.ts';
import type { Threads } from './threads/threads.ts';
import { requireWebAssembly } from './wasm/runtime.ts';
import type { FunctionBody } from './wasm/wasm-encoder.ts';

export interface WorkersOptions {
  /** Number of worker threads; by default, the number that the machine can run in parallel. */
  readonly workers?: number | undefined;
  readonly limits?: Partial<Limits> | undefined;
  /**
   * A command runs on the calling thread if the workers are idle and its estimated worst-case time is below this number
   * of nanoseconds: waking the workers would take longer. If a caller waits for work of at most 2,400,000 ns, the
   * calling thread helps the workers, but for no more than `inlineNanoseconds`. Default 300,000; 0 leaves every command
   * to the workers. A functor that has a loop without a fixed bound always runs on the workers, for example a `While`,
   * or a `For` up to an element of a column.
   */
  readonly inlineNanoseconds?: number | undefined;
  /**
   * Minimum number of rows for fusing commands. A command over at least this many rows waits until the end of the
   * current turn of the event loop. Maps, scans and compactions of the same rows that follow within the turn run
   * together with the command, tile by tile. Data that one command writes is therefore still in the cache when the next
   * command reads it. Default 2^18.
   */
  readonly fusedRows?: number | undefined;
  /**
   * Maximum number of compiled kernels in the cache. When the cache is full, the least recently used kernels are
   * dropped; a dropped kernel is compiled again at its next use. Default 1,024, which takes some tens of MB.
   */
  readonly keptKernels?: number | undefined;
  /**
   * Milliseconds without progress after which the workers are considered lost. Workers make no progress, for example,
   * if a loop in a functor never ends. Only the time during which a caller waits counts. By default, waits are
   * unlimited.
   */
  readonly hangLimit?: number | undefined;
  /**
   * Only on pages: the address at which the page serves `quadrille/page-worker.js`, the program of the workers. If
   * omitted, the workers are started from a `blob:` address, which a Content-Security-Policy may forbid.
   */
  readonly workerUrl?: string | Url | undefined;
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

/**
 * Opens the backend on the worker threads of Node or of a page.
 *
 * @throws `DeviceLostError` if the threads cannot be started, `OutOfMemoryError` `memory/shared` if their memory cannot
 * be reserved.
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
    progress: () => pool.progress,
  });
  const help = (options.inlineNanoseconds ?? INLINE_NANOSECONDS) / 1e6;
  const pool = await createPool(memory.memory, workers, threads, help);
  return createBackend(pool, memory, limits, watchdog, options);
}

function limitsOf(heapBytes: number, wanted: Partial<Limits> = {}): Limits {
  const max = { bindingBytes: heapBytes, workgroups: 2 ** 32 - 1, storageBuffers: 2 ** 16, memoryBytes: heapBytes };
  const lowered = (name: keyof Limits): number => Math.min(max[name], wanted[name] ?? max[name]);
  return {
    bindingBytes: lowered('bindingBytes'),
    workgroups: lowered('workgroups'),
    storageBuffers: lowered('storageBuffers'),
    memoryBytes: lowered('memoryBytes'),
  };
}

function hangError(limit: number): DeviceLostError {
  return new DeviceLostError('device/hang', `The workers made no progress for ${limit} ms and are considered lost.`, {
    remedy:
      'Open a new context, make sure that every loop of a functor ends, work in smaller windows, or raise hangLimit.',
  });
}

function badWorkers(workers: number): ArgumentError {
  return new ArgumentError('workers/number', 'The option workers must be a number of threads that can be started.', {
    expected: `an integer from 1 to ${MAX_WORKERS}`,
    got: workers,
    remedy: 'Omit it to use every core.',
  });
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
  let forgettings = 0;
  const kernels = createCache<string, Kernel>({
    max: keptKernels,
    onForget: (values) => {
      forgettings++;
      for (const { functions } of values) for (const each of functions) forgotten.push(each);
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

  const compile: Launcher['compile'] = (key, build) =>
    cached(kernels, key, () => {
      const bodies = build();
      const first = install(bodies);
      counters.compilations++;
      return { functions: bodies.map((_, k) => first + k) };
    });

  const install = (bodies: readonly FunctionBody[]): number => {
    try {
      return pool.install(bodies);
    } catch (cause) {
      throw new FunctorError('functor/webassembly', 'WebAssembly cannot compile this functor.', {
        remedy: 'Split it: the cause says which limit it exceeds.',
        cause,
      });
    }
  };

  /**
   * Allocates memory. If there is too little free memory, first frees released buffers that were kept for waiting
   * commands or pending reads.
   */
  const withRoom = <T>(take: () => T): T => {
    try {
      return held.withRoom(take);
    } catch (error) {
      if (memory.beingRead.size === 0 || !(error instanceof OutOfMemoryError)) throw error;
      transfers.freeReleased();
      return take();
    }
  };

  /**
   * Uninstalls the functions of dropped kernels. Must only run between commands: a launch that is not in the queue yet
   * refers to functions by number, and these functions must not be uninstalled.
   */
  const uninstallForgotten = (): void => {
    if (forgotten.length === 0) return;
    held.flush();
    pool.uninstall(forgotten.splice(0));
  };

  /**
   * Returns functions that allocate and free the scratch memory of one launch. `freeScratch` must be called once the
   * launch is in the queue.
   */
  const takeScratch = (): { scratch: Launcher['scratch']; freeScratch: () => void } => {
    const blocks: HeapBlock[] = [];
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

  /**
   * Runs a command on the calling thread if that is faster. Otherwise adds the command to the queue, where it may be
   * fused with the commands that follow.
   */
  const issue = (command: KernelCommand): void => {
    const { extent, cost, fixedCost, writes, launch } = taskOf(command);
    guard();
    uninstallForgotten();
    for (const buffer of writes) transfers.settleReads(memory.resolve(buffer));
    const here = held.idle && pool.idle && fixedCost + lengthNow(extent) * cost < inlineNanoseconds;
    const { scratch, freeScratch } = takeScratch();
    const touched = new Set<SharedBuffer>();
    try {
      const made = launch({
        addresses: addressesIn(touched),
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

  const note = (phases: number): void => {
    counters.submissions++;
    counters.dispatches += phases;
  };
  const run = (launch: Launch, here: boolean, nanoseconds?: number): void => {
    note(launch.phases.length);
    if (here) pool.runHere(launch);
    else pool.submit(launch, nanoseconds);
  };

  /** The buffer of a handle. Throws if the buffer has fewer than `words` words. */
  const resolve = (handle: DeviceBuffer, words: number): SharedBuffer => {
    const buffer = memory.resolve(handle);
    if (words <= buffer.words) return buffer;
    throw new ArgumentError('memory/range', 'A command must not reach beyond the end of a buffer.', {
      expected: `at most ${buffer.words} words`,
      got: words,
    });
  };

  /** Resolves the buffers of a command to addresses, and adds each resolved buffer to `touched`. */
  const addressesIn = (touched: Set<SharedBuffer>): Addresses => {
    const addressOf = (buffer: DeviceBuffer, words: number): number => {
      const found = resolve(buffer, words);
      touched.add(found);
      return found.address;
    };
    return {
      of: ({ buffer, word }, words) => addressOf(buffer, word + words) + 4 * word,
      ofArray: ({ buffer, offset, length }, bytes) =>
        addressOf(buffer, Math.ceil(((offset + capacityOf(length)) * bytes) / 4)) + offset * bytes,
    };
  };

  /**
   * Returns the current value of a length. Must only be called while no command is running: the length may depend on a
   * count in memory, which a command may change.
   */
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
  });

  const tapes = createTapes({
    pool,
    memory,
    fusedRows,
    inlineNanoseconds,
    compile,
    flush: () => held.flush(),
    isForgotten: (run) => !pool.has(run) || forgotten.includes(run),
    forgettings: () => forgettings,
    settleReads: transfers.settleReads,
    withRoom,
    note,
  });

  return {
    name: 'workers',
    limits,
    determinism,
    walkRows: WALK_ROWS,
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
      await Promise.all([until(pool.issued), transfers.settled()]);
    },
    run(command) {
      issue(command);
      return true;
    },
    play(script, call) {
      guard();
      uninstallForgotten();
      return tapes.play(script, call);
    },
    forgetScript: tapes.forget,
    scriptBytes: tapes.bytesOf,
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
