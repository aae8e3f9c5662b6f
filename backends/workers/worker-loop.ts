import {
  chunksOf,
  control,
  type ForgetMessage,
  type HostMessage,
  type InstallMessage,
  type KernelFunction,
  positionWord,
  type Runtime,
  slot,
  slotWord,
  type WorkerMessage,
  type WorkerSetup,
} from './queue.ts';

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

/** What a worker thread does: it runs the phases that the host issues, until it is told to leave. */
export async function serve(setup: WorkerSetup, port: Port): Promise<void> {
  const { worker, memory, control: shared, runtime: runtimeModule } = setup;
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
      if (!waitWhile(control.issued, phase)) return;
      // The host has sent the functions of a phase, and counted the message, before it issues the phase.
      while (!takeMessages()) await port.arrival();
      const completed = Atomics.load(words, control.completed);
      if (completed === phase) {
        if (!runPhase(phase) || !waitWhile(control.completed, phase)) return;
        phase = Atomics.load(words, control.completed);
      } else {
        phase = completed;
      }
    }
  };

  /** Waits until a word is no longer what it was; false when it is time to leave. */
  const waitWhile = (word: number, value: number): boolean => {
    for (let spins = 0; Atomics.load(words, word) === value; spins++) {
      if (Atomics.load(words, control.stop) !== 0) return false;
      if (spins >= SPINS) Atomics.wait(words, word, value);
    }
    return Atomics.load(words, control.stop) === 0;
  };

  /** Takes chunks until there are none left; false when it is time to leave. */
  const runPhase = (phase: number): boolean => {
    const at = slotWord(phase);
    const args = words[at + slot.arguments]!;
    const chunks = chunksOf(
      runtime,
      words[at + slot.count]!,
      words[at + slot.minus]!,
      words[at + slot.limit]!,
      words[at + slot.chunkSize]!,
      words[at + slot.minimum]!,
    );
    let call: KernelFunction | undefined;
    for (;;) {
      const chunk = Atomics.add(words, at + slot.next, 1);
      if (chunk >= chunks) {
        // A phase without chunks is completed by whoever comes first.
        if (chunks === 0 && chunk === 0) complete(phase);
        return true;
      }
      if (Atomics.load(words, control.stop) !== 0) return false;
      // A phase that still has a chunk is not done, so that its function is not forgotten.
      call ??= functionOf(words[at + slot.run]!);
      call(args, chunk, worker);
      if (Atomics.add(words, at + slot.done, 1) === chunks - 1) complete(phase);
    }
  };

  const complete = (phase: number): void => {
    const completed = (phase + 1) | 0;
    Atomics.store(words, control.completed, completed);
    Atomics.notify(words, control.completed);
    if (Atomics.load(words, control.target) !== completed) return;
    Atomics.add(words, control.signal, 1);
    Atomics.notify(words, control.signal);
    if (setup.saysSignals) port.say({ kind: 'signal' });
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

  port.say({ kind: 'ready' });
  try {
    await run();
  } catch (error) {
    port.say({ kind: 'failed', error });
  }
}
