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

/** The connection of a worker thread to the host, for messages in both directions. */
export interface Port {
  /** Returns and removes the next message that has arrived; undefined if there is none. */
  take(): HostMessage | undefined;
  /** Resolves when another message may have arrived. Called while a message is known to be on its way. */
  arrival(): Promise<unknown>;
  /** Yields to the event loop of the worker. */
  turn(): Promise<unknown>;
  say(message: WorkerMessage): void;
}

/** Number of removed functions after which the worker yields to the event loop, so that V8 frees their modules. */
const FORGOTTEN_A_TURN = 64;

/** Number of polls before a worker may sleep. These polls take some tens of microseconds. */
const SPINS = 4000;

/**
 * Milliseconds for which a worker continues to poll for the next phase after `SPINS` polls, as long as a core is left
 * for the calling thread. If workers slept directly after `SPINS` polls, a caller that issues short commands in quick
 * succession would wait about 50 µs at each command for a thread to wake.
 */
const LINGER = 0.05;

/** The main function of a worker thread. Runs the phases that the host issues until the host stops the workers. */
export async function serve(setup: WorkerSetup, port: Port): Promise<void> {
  const { worker, memory, control: shared, runtime: runtimeModule, saysSignals, workers, lingering } = setup;
  const words = new Int32Array(shared);
  const imports = { env: { memory } };
  const runtime = new WebAssembly.Instance(runtimeModule, imports).exports as unknown as Runtime;
  const functions = new Map<number, () => KernelFunction>();
  const forgetful: ForgetMessage[] = [];
  /** Number of messages received so far. */
  let taken = 0;
  /** Number of functions removed since the last turn of the event loop. */
  let forgotten = 0;

  const run = async (): Promise<void> => {
    let phase = 0;
    for (;;) {
      Atomics.store(words, positionWord(worker), phase);
      while (!takeMessages()) await port.arrival();
      forget(phase);
      if (forgotten >= FORGOTTEN_A_TURN) {
        // V8 frees the modules of removed functions only between turns of the event loop.
        await port.turn();
        forgotten = 0;
      }
      if (!awaitPhase(phase)) return;
      // The host sends the functions of a phase, and counts their message in `control.messages`, before the host issues
      // the phase. So `takeMessages` returns false until these functions have arrived.
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

  /** Waits until the host issues the phase. Returns false if the worker must end. */
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

  /**
   * Sleeps until the host issues the phase. Meanwhile the host may take the seat of the worker and run chunks as this
   * worker (see {@link seat}).
   */
  const sleep = (phase: number): void => {
    Atomics.store(words, seatWord(worker), seat.free);
    Atomics.add(words, control.asleep, 1);
    // A thread that wakes workers also subtracts their number from `asleep`. If the wait ends in any other way, the
    // worker must subtract itself.
    if (Atomics.wait(words, control.issued, phase) !== 'ok') Atomics.sub(words, control.asleep, 1);
    sitDown();
  };

  /**
   * Takes the seat of the worker: only the thread that holds the seat may run chunks as this worker. If the host holds
   * the seat, waits until the host gives the seat back.
   */
  const sitDown = (): void => {
    const at = seatWord(worker);
    while (Atomics.compareExchange(words, at, seat.free, seat.thread) !== seat.free) {
      Atomics.compareExchange(words, at, seat.host, seat.wanted);
      Atomics.wait(words, at, seat.wanted);
    }
  };

  /** Waits until a word differs from `value`. Returns false if the worker must end. */
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

  /** Handles the messages that have arrived. Returns false if a message was sent that has not arrived yet. */
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

  /** Installs functions of one module. The module is instantiated when one of its functions first runs. */
  const install = ({ first, module, exports: names }: InstallMessage): void => {
    let instance: WebAssembly.Instance | undefined;
    for (const [k, name] of names.entries()) {
      functions.set(first + k, () => {
        instance ??= new WebAssembly.Instance(module, imports);
        return instance.exports[name] as KernelFunction;
      });
    }
  };

  /** Removes functions that are used neither by the current phase nor by later phases. */
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
    // Other kernels must stop waiting for results of the failed kernel. For example, the host may be helping as a
    // worker; it must return to its event loop to receive the failure.
    Atomics.store(new Int32Array(memory.buffer), fixed.stop / 4, 1);
    port.say({ kind: 'failed', error });
  }
}
