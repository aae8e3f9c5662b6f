import { DeviceLostError, type QuadrilleError } from '../../../primitives/checks/errors.ts';
import { smallestOf } from '../../../primitives/host/extremes.ts';
import type { Launch, Phase, Submission } from '../commands/launch.ts';
import { createArgumentRing } from '../memory/argument-ring.ts';
import { encodeRuntime } from '../wasm/runtime.ts';
import { encodeModule, type FunctionBody } from '../wasm/wasm-encoder.ts';
import type { ChunkTaker } from './chunks.ts';
import { helpUntil } from './helping.ts';
import {
  CONTROL_WORDS,
  chunksOf,
  control,
  fixed,
  type HostMessage,
  type InstallMessage,
  type KernelFunction,
  positionWord,
  RING_SLOTS,
  type Runtime,
  seat,
  seatWord,
  slot,
  slotWord,
  type WorkerSetup,
} from './queue.ts';
import { createSignal, type Signal } from './signal.ts';
import type { Thread, Threads } from './threads.ts';
import { createWaking, isBrief } from './waking.ts';

/**
 * Worker threads with a queue of commands, which works like the queue of a GPU. The host appends commands and
 * continues. The workers run the phases of the commands in order, and the chunks of a phase in parallel.
 */
export interface Pool {
  readonly workers: number;
  /** Number of phases issued so far, and number of phases completed so far. */
  readonly issued: number;
  readonly completed: number;
  /** A number that changes whenever a phase or a chunk is done. A watchdog uses it to detect workers that hang. */
  readonly progress: number;
  /** Whether all issued phases are done. Only then may the calling thread run a command itself. */
  readonly idle: boolean;
  /** Throws the reason for the stop if the pool was stopped. */
  check(): void;
  /**
   * Compiles functions and gives them consecutive numbers. Returns the number of the first function. The worker threads
   * receive the functions with the first command that uses them.
   */
  install(functions: readonly FunctionBody[]): number;
  /** Whether the function with number `run` is installed. */
  has(run: number): boolean;
  /** Drops functions. Commands issued later must not use them. */
  uninstall(functions: readonly number[]): void;
  /**
   * Adds the phases from index `first` on to the queue. `nanoseconds` bounds the time that these phases take in the
   * worst case; by default there is no bound. Returns whether all phases fit into the ring buffer from which the
   * workers read phases. If some phases do not fit, the caller must no longer change the submission.
   */
  submit(given: Submission, nanoseconds?: number, first?: number): boolean;
  /** Runs a command on the calling thread as worker 0. Must only be called while the pool is idle. */
  runHere(launch: Launch): void;
  /**
   * Writes the argument words of phases that will run on the calling thread, and returns their address. Must only be
   * called while the pool is idle. The words stay valid until something else is run or submitted.
   */
  placeHere(given: Submission): number;
  /**
   * Runs the phases `from` … `to − 1` on the calling thread, with the arguments at address `args`. Must only be called
   * while the pool is idle.
   */
  runPlaced(given: Submission, args: number, from: number, to: number): void;
  /** Resolves when at least `phase` phases are completed. Rejects if the pool stops earlier. */
  until(phase: number): Promise<void>;
  /** Yields to the event loop of the calling thread. */
  turn(): Promise<void>;
  /** Stops the workers and drops all phases that have not run. Pending and later calls fail with `reason`. */
  stop(reason: unknown): void;
  /** Stops the workers and waits until the threads have ended. */
  close(): Promise<void>;
}

interface Waiter {
  readonly phase: number;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** A submission with phases that are not yet in the ring (the ring buffer from which the workers read phases). */
interface Pending {
  readonly given: Submission;
  /** Number of phases issued up to the end of this submission. */
  readonly end: number;
  arguments: number | undefined;
  next: number;
}

/** The functions of one kernel, which are compiled as one module. */
interface InstalledKernel {
  readonly message: InstallMessage;
  /** Whether the kernel's module was sent to the worker threads. */
  sent: boolean;
  /** The instance of the module on the calling thread, created when this thread first runs one of the functions. */
  instance: WebAssembly.Instance | undefined;
}

interface Installed {
  readonly of: InstalledKernel;
  readonly name: string;
}

interface Heap {
  readonly memory: WebAssembly.Memory;
  readonly imports: WebAssembly.Imports;
  readonly runtime: Runtime;
}

function createHeap(memory: WebAssembly.Memory, runtimeModule: WebAssembly.Module): Heap {
  const imports = { env: { memory } };
  const runtime = new WebAssembly.Instance(runtimeModule, imports).exports as unknown as Runtime;
  return { memory, imports, runtime };
}

/**
 * Starts the workers and resolves when all are ready. A caller that waits for short commands helps the workers, for at
 * most `helpMilliseconds`.
 */
export async function createPool(
  memory: WebAssembly.Memory,
  workers: number,
  platform: Threads,
  helpMilliseconds = 0,
): Promise<Pool> {
  const shared = new SharedArrayBuffer(4 * CONTROL_WORDS);
  const runtimeModule = new WebAssembly.Module(encodeRuntime());
  const signal = createSignal(shared);
  // One core is left for the calling thread.
  const lingering = Math.max(1, platform.cores() - 1);
  const setups = Array.from({ length: workers }, (_, worker) => ({
    worker,
    memory,
    control: shared,
    runtime: runtimeModule,
    saysSignals: signal.isSaid,
    workers,
    lingering,
  }));
  const threads = await startAll(setups, platform);
  const { turn } = platform;
  const pool = createQueue({ memory, shared, runtimeModule, signal, threads, turn, lingering, helpMilliseconds });
  // Failures must be noticed from the start: a thread that is ready can end while other threads are still starting.
  let giveUp: ((error: unknown) => void) | undefined;
  const failed = new Promise<never>((_, reject) => {
    giveUp = reject;
  });
  const started = threads.map((thread) => follow(thread, pool, signal, giveUp!));
  // Nothing awaits this promise after the start, so this handler prevents an unhandled rejection. After the start,
  // `pool.check` reports failures to the callers.
  failed.catch(() => {});
  try {
    await Promise.race([Promise.all(started), failed]);
    pool.check();
  } catch (error) {
    await pool.close();
    throw error;
  }
  for (const thread of threads) thread.unref();
  return pool;
}

/**
 * Starts all threads. If one of them cannot be started, terminates the threads that were already started and throws.
 */
async function startAll(setups: readonly WorkerSetup[], platform: Threads): Promise<Thread[]> {
  platform.requireRoom(setups.length);
  const threads: Thread[] = [];
  try {
    for (const setup of setups) threads.push(platform.start(setup));
  } catch (cause) {
    // These threads are being terminated, so their failures are ignored.
    const nobody = (): void => {};
    for (const thread of threads) thread.follow(nobody, nobody);
    await Promise.all(threads.map((thread) => thread.terminate()));
    throw platform.refused(setups.length, cause);
  }
  return threads;
}

/**
 * Handles the messages of a thread; resolves once the thread is ready. If the thread fails or ends, stops the pool and
 * calls `failed`.
 */
function follow(thread: Thread, pool: Pool, signal: Signal, failed: (error: unknown) => void): Promise<void> {
  return new Promise((resolve) => {
    const fail = (cause: unknown): void => {
      const error = cause instanceof DeviceLostError ? cause : workerFailed(cause);
      pool.stop(error);
      failed(error);
    };
    thread.follow((message) => {
      if (message.kind === 'failed') fail(message.error);
      else if (message.kind === 'signal') signal.wake();
      else resolve();
    }, fail);
  });
}

function workerFailed(cause: unknown): QuadrilleError {
  return new DeviceLostError('device/worker', 'A worker thread failed.', {
    remedy: 'Close the context and open a new one; the cause says what happened.',
    cause,
  });
}

interface QueueParts {
  readonly memory: WebAssembly.Memory;
  readonly shared: SharedArrayBuffer;
  readonly runtimeModule: WebAssembly.Module;
  readonly signal: Signal;
  readonly threads: readonly Thread[];
  readonly turn: Pool['turn'];
  readonly lingering: number;
  readonly helpMilliseconds: number;
}

function createQueue(parts: QueueParts): Pool {
  const { memory, shared, runtimeModule, signal, threads, turn, lingering, helpMilliseconds } = parts;
  const words = new Int32Array(shared);
  /**
   * The shared memory and the instances that use it. Set to undefined when the pool is closed, so that the memory can
   * be freed.
   */
  let heap: Heap | undefined = createHeap(memory, runtimeModule);
  const functions = new Map<number, Installed>();
  let installed = 0;
  const backlog: Pending[] = [];
  const room = createArgumentRing();
  let waiters: Waiter[] = [];
  let issued = 0;
  let written = 0;
  let completed = 0;
  let stopped: { readonly reason: unknown } | undefined;
  let watching = false;
  let closed: Promise<void> | undefined;
  /**
   * The calling thread must not help the workers until this number of phases are completed. The reason is that one of
   * these phases may take too long, or use a function that the calling thread has dropped.
   */
  let longUntil = 0;

  const look = (): number => {
    if (stopped === undefined) completed += (Atomics.load(words, control.completed) - completed) | 0;
    return completed;
  };
  const writeArguments = (address: number, given: Submission): void => {
    given.placed?.(address);
    new Uint32Array(heap!.memory.buffer, address, given.words.length).set(given.words);
  };

  /**
   * The lowest number of a phase that a worker may still read from the ring. Sleeping workers are ignored, because they
   * read no phases.
   */
  const slowest = (): number => {
    const now = look();
    let min = now;
    for (let worker = 0; worker < threads.length; worker++) {
      if (Atomics.load(words, seatWord(worker)) !== seat.thread) continue;
      min = Math.min(min, now + ((Atomics.load(words, positionWord(worker)) - now) | 0));
    }
    return min;
  };

  const writeSlot = (number: number, phase: Phase, args: number): void => {
    const at = slotWord(number);
    words[at + slot.run] = phase.run;
    words[at + slot.arguments] = args + (phase.offset ?? 0);
    words[at + slot.count] = phase.length[0];
    words[at + slot.minus] = phase.length[1];
    words[at + slot.limit] = phase.length[2];
    words[at + slot.chunkSize] = phase.chunkSize;
    words[at + slot.minimum] = phase.minimum;
    words[at + slot.gate] = phase.gate ?? 0;
    Atomics.store(words, at + slot.next, 0);
    Atomics.store(words, at + slot.done, 0);
  };

  /** Moves phases from the backlog (phases that are not yet in the ring) into the ring, until the ring is full. */
  const pump = (): void => {
    const before = written;
    const reach = backlog.length === 0 ? 0 : slowest() + RING_SLOTS;
    for (let pending = backlog[0]; pending !== undefined; pending = backlog[0]) {
      const { given, end } = pending;
      const { phases } = given;
      if (pending.arguments === undefined) {
        pending.arguments = room.place(given.words.length, end, look());
        if (pending.arguments === undefined) break;
        writeArguments(pending.arguments, given);
      }
      while (pending.next < phases.length && written < reach) {
        writeSlot(written, phases[pending.next]!, pending.arguments);
        pending.next++;
        written++;
      }
      if (pending.next < phases.length) break;
      backlog.shift();
    }
    if (written === before) return;
    Atomics.store(words, control.issued, written | 0);
  };

  const waking = createWaking({
    words,
    workers: threads.length,
    lingering,
    mayHelp: helpMilliseconds > 0,
    isWorkLeft: () => stopped === undefined && look() < written,
  });

  /**
   * Lets the calling thread help the workers, unless a phase in the queue may take long. Returns whether all phases
   * before number `phase` are completed.
   */
  const help = (phase: number): boolean => {
    if (longUntil > look() || phase > written) return false;
    const taker: ChunkTaker = { words, runtime: heap!.runtime, functionOf, signalled: signal.wake };
    try {
      return helpUntil(phase, taker, {
        workers: threads.length,
        lingering,
        milliseconds: helpMilliseconds,
        look,
        isStopped: () => stopped !== undefined,
      });
    } catch (error) {
      stop(workerFailed(error));
      return false;
    }
  };

  const settle = (): void => {
    const now = look();
    const done = waiters.filter(({ phase }) => phase <= now);
    if (done.length === 0) return;
    waiters = waiters.filter(({ phase }) => phase > now);
    for (const { resolve } of done) resolve();
  };

  /**
   * Refills the ring from the backlog and resolves the promises of callers that wait, until no caller waits and the
   * backlog is empty.
   */
  const watch = async (): Promise<void> => {
    if (watching) return;
    watching = true;
    // A pending wait for the signal does not keep the process alive, but a timer does.
    const alive = setInterval(() => {}, 2 ** 30);
    try {
      for (;;) {
        const done = look();
        pump();
        waking.all();
        settle();
        if (stopped !== undefined || (waiters.length === 0 && backlog.length === 0)) return;
        const refill = backlog.length === 0 ? Number.POSITIVE_INFINITY : Math.max(done + 1, written - RING_SLOTS / 2);
        const target = smallestOf(
          waiters.map(({ phase }) => phase),
          refill,
        );
        const before = signal.now();
        Atomics.store(words, control.target, target | 0);
        // Workers that complete a phase compare the number of completed phases with `control.target`. The target is
        // already set, so a worker raises the signal if the target is reached after the following check.
        const now = look();
        if (now >= target) continue;
        // If everything in the ring is done, no worker will raise the signal. The backlog (phases outside the ring)
        // then only waits for a slow worker to advance its position, so `watch` checks again after 1 ms.
        const timeout = now === written ? 1 : Number.POSITIVE_INFINITY;
        await signal.change(before, timeout);
      }
    } finally {
      clearInterval(alive);
      watching = false;
    }
  };

  const stop = (reason: unknown): void => {
    if (stopped !== undefined) return;
    look();
    stopped = { reason };
    backlog.length = 0;
    Atomics.store(words, control.stop, 1);
    Atomics.store(new Int32Array(heap!.memory.buffer), fixed.stop / 4, 1);
    // Changes the words on which threads sleep, so that a thread that is about to sleep notices the change and stays
    // awake.
    for (const word of [control.issued, control.completed]) {
      Atomics.add(words, word, 1);
      Atomics.notify(words, word);
    }
    signal.raise();
    const rejected = waiters;
    waiters = [];
    for (const { reject } of rejected) reject(reason);
  };

  const close = async (): Promise<void> => {
    stop(new DeviceLostError('device/closed', 'The workers were closed.'));
    await Promise.all(threads.map((thread) => thread.leave()));
    // A closed backend may still be referenced, and must not keep the memory alive.
    functions.clear();
    heap = undefined;
  };

  const post = (message: HostMessage): void => {
    for (const thread of threads) thread.post(message);
    Atomics.add(words, control.messages, 1);
    waking.noteMessage();
  };

  /** Sends the functions of a submission to the worker threads, if the threads do not have the functions yet. */
  const send = ({ phases }: Submission): void => {
    for (const { run } of phases) {
      const kernel = functions.get(run)!.of;
      if (!kernel.sent) post(kernel.message);
      kernel.sent = true;
    }
  };

  const functionOf = (number: number): KernelFunction => {
    const { of: kernel, name } = functions.get(number)!;
    kernel.instance ??= new WebAssembly.Instance(kernel.message.module, heap!.imports);
    return kernel.instance.exports[name] as KernelFunction;
  };

  const placeHere = (given: Submission): number => {
    const args = room.place(given.words.length, issued, issued)!;
    writeArguments(args, given);
    return args;
  };

  const runPlaced = ({ phases }: Submission, args: number, from: number, to: number): void => {
    try {
      for (let k = from; k < to; k++) {
        const { run, length, chunkSize, minimum, offset = 0 } = phases[k]!;
        const chunks = chunksOf(heap!.runtime, length[0], length[1], length[2], chunkSize, minimum);
        const call = functionOf(run);
        for (let chunk = 0; chunk < chunks; chunk++) call(args + offset, chunk, 0);
      }
    } catch (error) {
      stop(workerFailed(error));
    }
  };

  return {
    workers: threads.length,
    get issued() {
      return issued;
    },
    get completed() {
      return look();
    },
    get progress() {
      const phase = look();
      return phase + Atomics.load(words, slotWord(phase) + slot.done) / 2 ** 32;
    },
    get idle() {
      return stopped === undefined && look() === issued;
    },
    check() {
      if (stopped !== undefined) throw stopped.reason;
    },
    install(bodies) {
      const first = installed;
      const named = new Map(bodies.map((body, k) => [`k${k}`, body]));
      const module = new WebAssembly.Module(encodeModule(named));
      const message: InstallMessage = { kind: 'install', first, module, exports: [...named.keys()] };
      const kernel: InstalledKernel = { message, sent: false, instance: undefined };
      for (const name of message.exports) functions.set(installed++, { of: kernel, name });
      return first;
    },
    has: (run) => functions.has(run),
    uninstall(numbers) {
      // Phases in the queue may still use these functions. The calling thread has already dropped the functions, so it
      // must not help with these phases.
      longUntil = issued;
      const sent = numbers.filter((number) => functions.get(number)?.of.sent);
      for (const number of numbers) functions.delete(number);
      if (sent.length > 0) post({ kind: 'forget', functions: sent, phase: issued | 0 });
    },
    submit(given, nanoseconds = Number.POSITIVE_INFINITY, first = 0) {
      if (stopped !== undefined) throw stopped.reason;
      send(given);
      const isIdle = look() === issued;
      issued += given.phases.length - first;
      backlog.push({ given, end: issued, arguments: undefined, next: first });
      if (!isBrief(nanoseconds)) longUntil = issued;
      pump();
      waking.forCommand(nanoseconds, isIdle);
      if (backlog.length === 0) return true;
      void watch();
      return false;
    },
    runHere(launch) {
      runPlaced(launch, placeHere(launch), 0, launch.phases.length);
    },
    placeHere,
    runPlaced,
    until(phase) {
      if (stopped === undefined && (phase <= look() || help(phase))) return Promise.resolve();
      if (stopped !== undefined) return Promise.reject(stopped.reason);
      waking.all();
      return new Promise((resolve, reject) => {
        waiters.push({ phase, resolve, reject });
        signal.raise();
        void watch();
      });
    },
    turn,
    stop,
    close: () => (closed ??= close()),
  };
}
