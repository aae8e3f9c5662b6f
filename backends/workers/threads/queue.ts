/**
 * The command queue shared by the host and the workers: a ring of phases in a separate buffer.
 *
 * The host writes phases and raises `issued`. Phase p may run when `completed` is p. Workers take chunks of it by
 * incrementing its `next`; the worker that finishes the last chunk raises `completed`. Every worker announces in its
 * position which phase it is about to read, and the host reuses a slot of the ring only when every worker is past the
 * phase in it, so nobody takes a chunk of one phase for that of another. A worker that sleeps until a phase is issued
 * reads no slot, and checks `completed` before it does.
 */

/** Words of the control block. */
export const control = {
  /** Number of phases written by the host. */
  issued: 0,
  /** Number of phases that are done. */
  completed: 16,
  /** Not 0 if the workers must leave. */
  stop: 32,
  /** The host waits until this many phases are done … */
  target: 48,
  /** … and is woken through this word. */
  signal: 64,
  /** Number of messages sent to every worker. */
  messages: 80,
  /** Number of workers that sleep until a phase is issued and have not been woken. */
  asleep: 96,
  /** For every worker, the phase that it is at, and who works in its place. */
  positions: 112,
} as const;

export const RING_SLOTS = 1024;
const SLOT_WORDS = 48;

/** Words of a slot of the ring; the counters are on cache lines of their own. */
export const slot = {
  run: 0,
  arguments: 1,
  count: 2,
  minus: 3,
  limit: 4,
  chunkSize: 5,
  minimum: 6,
  /** The address of a word that shuts the phase if it is not 0; or 0 for no gate. */
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

/** The index of the word that says who works in a worker's place. */
export function seatWord(worker: number): number {
  return positionWord(worker) + 1;
}

/**
 * Who works in a worker's place. While its thread sleeps, the place is free and the host may take it. So no two threads
 * ever use the memory of one worker, and no more threads are at work than there are workers.
 */
export const seat = {
  free: 0,
  thread: 1,
  host: 2,
  /** Taken by the host; the thread waits for it. */
  wanted: 3,
} as const;

/** The index of the first word of a phase's slot. */
export function slotWord(phase: number): number {
  return RING_START + (phase & (RING_SLOTS - 1)) * SLOT_WORDS;
}

/** Addresses in the shared memory outside the allocator's heap. */
export const fixed = {
  /** Not 0 if kernels that wait for one another must give up. */
  stop: 64,
  /** 16 permutations of 16 bytes, which move the selected lanes of a vector to its front. */
  compaction: 1024,
  /** 16 masks of 16 bytes: the last selected lane and the lanes after it; all lanes if none is selected. */
  lastRun: 1280,
  /** 16 masks of 16 bytes: all lanes if none is selected, otherwise none. */
  noHead: 1536,
  /** The area of argument blocks. */
  arguments: 65536,
  argumentBytes: (2 ** 20) as number,
  heap: (65536 + 2 ** 20) as number,
} as const;

/** The signature of kernel functions. */
export type KernelFunction = (args: number, chunk: number, worker: number) => void;

/** Installs functions in the workers: `exports[k]` gets the number `first + k`. */
export interface InstallMessage {
  readonly kind: 'install';
  readonly first: number;
  readonly module: WebAssembly.Module;
  readonly exports: readonly string[];
}

/** Removes functions from the workers that no phase from `phase` on uses. */
export interface ForgetMessage {
  readonly kind: 'forget';
  readonly functions: readonly number[];
  readonly phase: number;
}

export type HostMessage = InstallMessage | ForgetMessage;

/** The data that a worker is started with. */
export interface WorkerSetup {
  readonly worker: number;
  readonly memory: WebAssembly.Memory;
  readonly control: SharedArrayBuffer;
  readonly runtime: WebAssembly.Module;
  /** Whether it must also report by message that it signalled the host. */
  readonly saysSignals: boolean;
  /** The number of workers, and how many of them may poll for the next phase for a while before they sleep. */
  readonly workers: number;
  readonly lingering: number;
}

/** Messages from a worker to the host. */
export type WorkerMessage =
  | { readonly kind: 'ready' | 'signal' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Functions of the runtime module. */
export interface Runtime {
  /** The current value of a length: `min(limit, max(0, memory[count] − minus))`, or the limit if count is 0. */
  length(count: number, minus: number, limit: number): number;
}

/** Whether the word at an address shuts a phase; address 0 means no gate. */
export function isShut(runtime: Runtime, gate: number): boolean {
  return gate !== 0 && runtime.length(gate, 0, 1) !== 0;
}

/** The number of chunks of a phase. */
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
