import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import {
  chunksOf,
  control,
  type InstallMessage,
  type KernelFunction,
  positionWord,
  type Runtime,
  slot,
  slotWord,
  type WorkerMessage,
  type WorkerSetup,
} from './queue.ts';

/** Looks that a worker takes before it goes to sleep: some tens of microseconds. */
const SPINS = 4000;

const { worker, memory, control: shared, runtime: runtimeModule } = workerData as WorkerSetup;
const words = new Int32Array(shared);
const imports = { env: { memory } };
const runtime = new WebAssembly.Instance(runtimeModule, imports).exports as unknown as Runtime;
const functions: KernelFunction[] = [];
const position = positionWord(worker);

tell({ kind: 'ready' });
try {
  serve();
} catch (error) {
  tell({ kind: 'failed', error });
}

function tell(message: WorkerMessage): void {
  parentPort!.postMessage(message);
}

function serve(): void {
  let phase = 0;
  for (;;) {
    Atomics.store(words, position, phase);
    if (!waitWhile(control.issued, phase)) return;
    const completed = Atomics.load(words, control.completed);
    if (completed === phase) {
      if (!runPhase(phase) || !waitWhile(control.completed, phase)) return;
      phase = Atomics.load(words, control.completed);
    } else {
      phase = completed;
    }
  }
}

/** Waits until a word is no longer what it was; false when it is time to leave. */
function waitWhile(word: number, value: number): boolean {
  for (let spins = 0; Atomics.load(words, word) === value; spins++) {
    if (Atomics.load(words, control.stop) !== 0) return false;
    if (spins >= SPINS) Atomics.wait(words, word, value);
  }
  return Atomics.load(words, control.stop) === 0;
}

/** Takes chunks until there are none left; false when it is time to leave. */
function runPhase(phase: number): boolean {
  const at = slotWord(phase);
  const run = functionOf(words[at + slot.run]!);
  const args = words[at + slot.arguments]!;
  const chunks = chunksOf(
    runtime,
    words[at + slot.count]!,
    words[at + slot.minus]!,
    words[at + slot.limit]!,
    words[at + slot.chunkSize]!,
    words[at + slot.minimum]!,
  );
  for (;;) {
    const chunk = Atomics.add(words, at + slot.next, 1);
    if (chunk >= chunks) {
      // A phase without chunks is completed by whoever comes first.
      if (chunks === 0 && chunk === 0) complete(phase);
      return true;
    }
    if (Atomics.load(words, control.stop) !== 0) return false;
    run(args, chunk, worker);
    if (Atomics.add(words, at + slot.done, 1) === chunks - 1) complete(phase);
  }
}

function complete(phase: number): void {
  const completed = (phase + 1) | 0;
  Atomics.store(words, control.completed, completed);
  Atomics.notify(words, control.completed);
  if (Atomics.load(words, control.target) !== completed) return;
  Atomics.add(words, control.signal, 1);
  Atomics.notify(words, control.signal);
}

/** The function of a number; what is new waits in the port. */
function functionOf(number: number): KernelFunction {
  while (functions[number] === undefined) {
    const received = receiveMessageOnPort(parentPort!) as { message: InstallMessage } | undefined;
    if (received === undefined) throw new Error(`kernel function ${number} was never installed`);
    const { first, module, exports } = received.message;
    const instance = new WebAssembly.Instance(module, imports);
    exports.forEach((name, k) => {
      functions[first + k] = instance.exports[name] as KernelFunction;
    });
  }
  return functions[number];
}
