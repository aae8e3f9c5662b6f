import { type ChunkTaker, takeChunks } from './threads/chunks.ts';
import {
  control,
  type ForgetMessage,
  fixed,
  type HostMessage,
  type InstallMessage,
  type KernelFunction,
  positionWord,
  type Runtime,
  seat,
  seatWord,
  type WorkerMessage,
  type WorkerSetup,
} from './threads/queue.ts';

/** How a worker thread receives messages from the host, and sends its own. */
export interface Port {
  /** The next message that has arrived; undefined if there is none. */
  take(): HostMessage | undefined;
  /** Resolves when a message on its way may have arrived. */
  arrival(): Promise<unknown>;
  /** Yields to the event loop. */
  turn(): Promise<unknown>;
  say(message: WorkerMessage): void;
}

/** Number of forgotten functions after which the worker yields to the event loop. */
const FORGOTTEN_A_TURN = 64;

/** Number of polls before a worker sleeps: some tens of microseconds. */
const SPINS = 4000;

/**
 * Additional milliseconds that a worker polls for the next phase, as long as a core is left for the calling thread. A
 * caller that calls, waits, computes a little and calls again then need not wait for threads to wake, which takes about
 * 50 µs.
 */
const LINGER = 0.05;

/** The main function of a worker thread: runs the phases that the host issues, until it is told to leave. */
export async function serve(setup: WorkerSetup, port: Port): Promise<void> {
  const { worker, memory, control: shared, runtime: runtimeModule, saysSignals, workers, lingering } = setup;
  const words = new Int32Array(shared);
  const imports = { env: { memory } };
  const runtime = new WebAssembly.Instance(runtimeModule, imports).exports as unknown as Runtime;
  const functions = new Map<number, () => KernelFunction>();
  const forgetful: ForgetMessage[] = [];
  /** Number of messages received so far. */
  let taken = 0;
  /** Number of functions forgotten since the last turn of the event loop. */
  let forgotten = 0;

  const run = async (): Promise<void> => {
    let phase = 0;
    for (;;) {
      Atomics.store(words, positionWord(worker), phase);
      while (!takeMessages()) await port.arrival();
      forget(phase);
      if (forgotten >= FORGOTTEN_A_TURN) {
        // V8 frees modules only in turns of the event loop.
        await port.turn();
        forgotten = 0;
      }
      if (!awaitPhase(phase)) return;
      // Before it issues a phase, the host has sent its functions and counted the message.
      while (!takeMessages()) await port.arrival();
      const completed = Atomics.load(words, control.completed);
      if (completed === phase) {
        if (!takeChunks(taker, phase, worker, isWanted) || !waitWhile(control.completed, phase)) return;
        phase = Atomics.load(words, control.completed);
      } else {
        phase = completed;
      }
    }
  };

  const isWanted = (): boolean => Atomics.load(words, control.stop) === 0;

  /** Waits until a phase is issued; returns false if it is time to leave. */
  const awaitPhase = (phase: number): boolean => {
    let sleepAt: number | undefined;
    for (let spins = 1; Atomics.load(words, control.issued) === phase; spins++) {
      if (!isWanted()) return false;
      if (spins < SPINS) continue;
      const now = performance.now();
      sleepAt ??= now + LINGER;
      const awake = workers - Atomics.load(words, control.asleep);
      if (now >= sleepAt || awake > lingering) {
        sleep(phase);
        sleepAt = undefined;
        spins = 0;
      }
    }
    return isWanted();
  };

  /** Sleeps until a phase is issued, and leaves its place to the host meanwhile. */
  const sleep = (phase: number): void => {
    Atomics.store(words, seatWord(worker), seat.free);
    Atomics.add(words, control.asleep, 1);
    // A waker has already counted this worker as awake.
    if (Atomics.wait(words, control.issued, phase) !== 'ok') Atomics.sub(words, control.asleep, 1);
    sitDown();
  };

  /** Takes its place, once the host has left it. */
  const sitDown = (): void => {
    const at = seatWord(worker);
    while (Atomics.compareExchange(words, at, seat.free, seat.thread) !== seat.free) {
      Atomics.compareExchange(words, at, seat.host, seat.wanted);
      Atomics.wait(words, at, seat.wanted);
    }
  };

  /** Waits until a word changes; returns false if it is time to leave. */
  const waitWhile = (word: number, value: number): boolean => {
    for (let spins = 0; Atomics.load(words, word) === value; spins++) {
      if (!isWanted()) return false;
      if (spins >= SPINS) Atomics.wait(words, word, value);
    }
    return isWanted();
  };

  const functionOf = (number: number): KernelFunction => {
    const make = functions.get(number);
    if (make === undefined) throw new Error(`kernel function ${number} was never installed`);
    return make();
  };

  /** Handles the messages that have arrived; returns false if one that was sent has not arrived yet. */
  const takeMessages = (): boolean => {
    while (Atomics.load(words, control.messages) !== taken) {
      const message = port.take();
      if (message === undefined) return false;
      taken = (taken + 1) | 0;
      if (message.kind === 'install') install(message);
      else forgetful.push(message);
    }
    return true;
  };

  /** Installs functions; they are instantiated together when one of them first runs. */
  const install = ({ first, module, exports: names }: InstallMessage): void => {
    let instance: WebAssembly.Instance | undefined;
    for (const [k, name] of names.entries()) {
      functions.set(first + k, () => {
        instance ??= new WebAssembly.Instance(module, imports);
        return instance.exports[name] as KernelFunction;
      });
    }
  };

  /** Removes functions that no phase from the current one on uses. */
  const forget = (phase: number): void => {
    for (let next = forgetful[0]; next !== undefined && ((phase - next.phase) | 0) >= 0; next = forgetful[0]) {
      for (const number of next.functions) functions.delete(number);
      forgotten += next.functions.length;
      forgetful.shift();
    }
  };

  const taker: ChunkTaker = {
    words,
    runtime,
    functionOf,
    signalled() {
      if (saysSignals) port.say({ kind: 'signal' });
    },
  };

  sitDown();
  port.say({ kind: 'ready' });
  try {
    await run();
  } catch (error) {
    // Kernels must not wait for the results of the failed one, least of all on the host, which must receive the
    // failure.
    Atomics.store(new Int32Array(memory.buffer), fixed.stop / 4, 1);
    port.say({ kind: 'failed', error });
  }
}
