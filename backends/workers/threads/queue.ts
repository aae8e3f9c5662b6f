/**
 * The command queue, which the host and the workers share: a ring of phases in a separate shared buffer.
 *
 * The host writes phases into the ring and raises `issued`. Phase p may run while `completed` is p. A worker takes a
 * chunk of the phase by incrementing `next` in the phase's slot. The worker that finishes the last chunk raises
 * `completed`.
 *
 * The position of each worker is the number of the phase that the worker will read next. The host reuses a slot of the
 * ring only when the positions of all workers are beyond the phase in the slot. No worker can therefore take a chunk of
 * a wrong phase. Positions of sleeping workers are ignored: after waking, a worker reads no slot before it has checked
 * `completed` again.
 */

import type { WasmMemory, WasmModule } from '../../../primitives/host/platform-types.ts';

/** Indices of the words of the control block. */
export const control = {
  /** Number of phases that the host has written so far. */
  issued: 0,
  /** Number of phases completed so far. */
  completed: 16,
  /** A word that is not 0 if the workers must end. */
  stop: 32,
  /** The workers must wake the host when this number of phases are completed. */
  target: 48,
  /** The host sleeps on this word. A thread that wakes the host changes the word. */
  signal: 64,
  /** Number of messages sent so far. Every message goes to all workers. */
  messages: 80,
  /** Number of workers that sleep until a phase is issued. Workers that have been woken do not count. */
  asleep: 96,
  /**
   * Start of the workers' words. Each worker has a position (the phase that it reads next) and a seat (see
   * {@link seat}).
   */
  positions: 112,
} as const;

export const RING_SLOTS = 1024;
const SLOT_WORDS = 48;

/**
 * Indices of the words of a slot, which holds one phase. The counters `next` and `done` are on separate cache lines.
 */
export const slot = {
  run: 0,
  arguments: 1,
  count: 2,
  minus: 3,
  limit: 4,
  chunkSize: 5,
  minimum: 6,
  /** Address of a word that disables the phase if it is not 0. If the address is 0, the phase always runs. */
  gate: 7,
  next: 16,
  done: 32,
} as const;

const POSITION_WORDS = 16;

export const MAX_WORKERS = 256;
const RING_START = control.positions + MAX_WORKERS * POSITION_WORDS;
export const CONTROL_WORDS: number = RING_START + RING_SLOTS * SLOT_WORDS;

export function positionWord(worker: number): number {
  return control.positions + worker * POSITION_WORDS;
}

/** Index of the word with a worker's seat. */
export function seatWord(worker: number): number {
  return positionWord(worker) + 1;
}

/**
 * The states of a worker's seat. The thread that holds the seat runs chunks as this worker. While the worker's thread
 * sleeps, the seat is free and the host may take it. Two threads therefore never use the private memory of one worker
 * at the same time, and no more threads run chunks than there are workers.
 */
export const seat = {
  free: 0,
  thread: 1,
  host: 2,
  /** The host holds the seat, and the worker's thread waits for it. */
  wanted: 3,
} as const;

/** Index of the first word of the slot for a phase. */
export function slotWord(phase: number): number {
  return RING_START + (phase & (RING_SLOTS - 1)) * SLOT_WORDS;
}

/**
 * Bytes of memory that a worker has for the local arrays of functors: as much as the smallest cache of a core holds.
 * Pages of it that no worker uses take no memory.
 */
export const FRAME_BYTES: number = 2 ** 15;

/** Addresses of the fixed areas of the shared memory. The allocator's heap starts after them. */
export const fixed = {
  /**
   * A word that becomes nonzero when a worker fails or the pool stops. Kernels must then stop waiting for one another.
   */
  stop: 64,
  /**
   * Table of byte permutations for the 16 subsets of four lanes. Each permutation moves the lanes of its subset to the
   * front.
   */
  compaction: 1024,
  /**
   * Table of vector masks for the 16 subsets of four lanes. Each mask selects the last lane of the subset and all lanes
   * after this lane. The mask of the empty subset selects all lanes.
   */
  lastRun: 1280,
  /**
   * Table of vector masks for the 16 subsets of four lanes. The mask of the empty subset selects all lanes; the other
   * masks select no lanes.
   */
  noHead: 1536,
  /** Start of the ring of argument blocks. */
  arguments: 65536,
  argumentBytes: (2 ** 20) as number,
  /** Start of the memory for local arrays of functors: {@link FRAME_BYTES} for each worker. */
  frames: (65536 + 2 ** 20) as number,
  heap: (65536 + 2 ** 20 + MAX_WORKERS * FRAME_BYTES) as number,
} as const;

/** Signature of kernel functions: the address of the arguments, the chunk number and the worker number. */
export type KernelFunction = (args: number, chunk: number, worker: number) => void;

/** Tells the workers to install functions: `exports[k]` gets the number `first + k`. */
export interface InstallMessage {
  readonly kind: 'install';
  readonly first: number;
  readonly module: WasmModule;
  readonly exports: readonly string[];
}

/** Tells the workers to remove functions. No phase from number `phase` on uses these functions. */
export interface ForgetMessage {
  readonly kind: 'forget';
  readonly functions: readonly number[];
  readonly phase: number;
}

export type HostMessage = InstallMessage | ForgetMessage;

/** The data passed to a worker at its start. */
export interface WorkerSetup {
  readonly worker: number;
  readonly memory: WasmMemory;
  readonly control: SharedArrayBuffer;
  readonly runtime: WasmModule;
  /**
   * Whether the worker must also send a message when it raises the signal. Needed if the host has no
   * `Atomics.waitAsync` to wait for the signal.
   */
  readonly saysSignals: boolean;
  /**
   * The number of workers, and the number of workers that may continue to poll for the next phase before they sleep.
   */
  readonly workers: number;
  readonly lingering: number;
}

/** Messages from a worker to the host. */
export type WorkerMessage =
  | { readonly kind: 'ready' | 'signal' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Functions of the runtime module, which each thread instantiates before any kernel. */
export interface Runtime {
  /** The current value of a length: `limit` if `count` is 0, else `min(limit, max(0, memory[count] − minus))`. */
  length(count: number, minus: number, limit: number): number;
}

/** Whether the word at address `gate` disables a phase. Address 0 means that there is no gate. */
export function isShut(runtime: Runtime, gate: number): boolean {
  return gate !== 0 && runtime.length(gate, 0, 1) !== 0;
}

/** The number of chunks of a phase, computed from the current length of the phase. */
export function chunksOf(
  runtime: Runtime,
  count: number,
  minus: number,
  limit: number,
  chunkSize: number,
  minimum: number,
): number {
  return Math.max(minimum, Math.ceil((runtime.length(count, minus, limit) >>> 0) / chunkSize));
}
