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

/** How a worker thread hears from the host, and answers. */
export interface Port {
  /** The next message that has arrived; undefined where none has. */
  take(): HostMessage | undefined;
  /** Resolves when a message that is under way may have arrived. */
  arrival(): Promise<unknown>;
  /** Gives the event loop a turn. */
  turn(): Promise<unknown>;
  say(message: WorkerMessage): void;
}

/** Functions after which the event loop has a turn. */
const FORGOTTEN_A_TURN = 64;

/** Looks that a worker takes before it goes to sleep: some tens of microseconds. */
const SPINS = 4000;

/**
 * Milliseconds more that a worker looks for the next phase, as long as a core is left for the calling thread: who calls, waits,
 * computes a little and calls again then does not wait for threads to wake, which takes some 50 µs.
 */
const LINGER = 0.05;

/** What a worker thread does: it runs the phases that the host issues, until it is told to leave. */
export async function serve(setup: WorkerSetup, port: Port): Promise<void> {
  const { worker, memory, control: shared, runtime: runtimeModule, saysSignals, workers, lingering } = setup;
  const words = new Int32Array(shared);
  const imports = { env: { memory } };
  const runtime = new WebAssembly.Instance(runtimeModule, imports).exports as unknown as Runtime;
  const functions = new Map<number, () => KernelFunction>();
  const forgetful: ForgetMessage[] = [];
  /** Messages taken so far. */
  let taken = 0;
  /** Functions forgotten since the event loop had its last turn. */
  let forgotten = 0;

  const run = async (): Promise<void> => {
    let phase = 0;
    for (;;) {
      Atomics.store(words, positionWord(worker), phase);
      while (!takeMessages()) await port.arrival();
      forget(phase);
      if (forgotten >= FORGOTTEN_A_TURN) {
        // What V8 frees of modules, it frees in turns of the event loop.
        await port.turn();
        forgotten = 0;
      }
      if (!awaitPhase(phase)) return;
      // The host has sent the functions of a phase, and counted the message, before it issues the phase.
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

  /** Waits until a phase is issued; false when it is time to leave. */
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

  /** Sleeps while no phase is issued, and leaves its place to the host meanwhile. */
  const sleep = (phase: number): void => {
    Atomics.store(words, seatWord(worker), seat.free);
    Atomics.add(words, control.asleep, 1);
    // Who wakes others counts them as awake.
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

  /** Waits until a word is no longer what it was; false when it is time to leave. */
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

  /** Takes what has arrived; false where a message that the host has sent has not. */
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

  /** Makes functions known, which are instantiated together when one of them first runs. */
  const install = ({ first, module, exports: names }: InstallMessage): void => {
    let instance: WebAssembly.Instance | undefined;
    for (const [k, name] of names.entries()) {
      functions.set(first + k, () => {
        instance ??= new WebAssembly.Instance(module, imports);
        return instance.exports[name] as KernelFunction;
      });
    }
  };

  /** Forgets functions that no phase from the one at hand on runs. */
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
    // Nobody waits in a kernel for what this one would have handed on, least of all the host, which is to hear of it.
    Atomics.store(new Int32Array(memory.buffer), fixed.stop / 4, 1);
    port.say({ kind: 'failed', error });
  }
}
