/**
 * The command queue that the host and the workers share: a ring of phases in a buffer of its own.
 *
 * The host writes phases and raises `issued`. Phase p may run when `completed` is p. Workers take chunks of it by adding
 * to its `next`; whoever finishes the last chunk raises `completed`. A worker announces in its position which phase it
 * is about to read, and the host writes a slot of the ring anew only when every worker is past the phase that it held: so
 * nobody ever takes a chunk of one phase for that of another. A worker that sleeps until a phase is issued reads none, and
 * looks at `completed` before it does.
 */

/** Words of the control block. */
export const control = {
  /** Number of phases that the host has written. */
  issued: 0,
  /** Number of phases that are done. */
  completed: 16,
  /** Not 0 when workers have to leave. */
  stop: 32,
  /** The host waits until so many phases are done … */
  target: 48,
  /** … and is woken through this word. */
  signal: 64,
  /** How many messages every worker was sent. */
  messages: 80,
  /** How many workers sleep until a phase is issued, and were not woken. */
  asleep: 96,
  /** The phase that every worker is at, and who works in its place. */
  positions: 112,
} as const;

export const RING_SLOTS = 1024;
const SLOT_WORDS = 48;

/** Words of a slot of the ring; the counters stand on lines of their own. */
export const slot = {
  run: 0,
  arguments: 1,
  count: 2,
  minus: 3,
  limit: 4,
  chunkSize: 5,
  minimum: 6,
  /** The address of a word that shuts the phase where it is not 0; or 0. */
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

/** The word that says who works in the place of a worker. */
export function seatWord(worker: number): number {
  return positionWord(worker) + 1;
}

/**
 * Who works in the place of a worker. While its thread sleeps, nobody does, and the host may: so there are never two who
 * use what belongs to one worker, nor more at work than there are workers.
 */
export const seat = {
  free: 0,
  thread: 1,
  host: 2,
  /** The host's, which the thread waits for. */
  wanted: 3,
} as const;

/** The first word of the slot of a phase. */
export function slotWord(phase: number): number {
  return RING_START + (phase & (RING_SLOTS - 1)) * SLOT_WORDS;
}

/** Addresses in the shared memory that are not the allocator's. */
export const fixed = {
  /** Not 0 when kernels that wait for one another have to give up. */
  stop: 64,
  /** 16 permutations of 16 bytes that move the chosen lanes of a vector to its front. */
  compaction: 1024,
  /** 16 masks of 16 bytes: the last chosen lane and those behind it; all lanes where none is chosen. */
  lastRun: 1280,
  /** The same: all lanes where none is chosen, else none. */
  noHead: 1536,
  /** Where argument blocks go. */
  arguments: 65536,
  argumentBytes: (2 ** 20) as number,
  heap: (65536 + 2 ** 20) as number,
} as const;

/** What a kernel is called with. */
export type KernelFunction = (args: number, chunk: number, worker: number) => void;

/** Tells workers of new functions: `exports[k]` has the number `first + k`. */
export interface InstallMessage {
  readonly kind: 'install';
  readonly first: number;
  readonly module: WebAssembly.Module;
  readonly exports: readonly string[];
}

/** Tells workers of functions that no phase from a number on runs. */
export interface ForgetMessage {
  readonly kind: 'forget';
  readonly functions: readonly number[];
  readonly phase: number;
}

export type HostMessage = InstallMessage | ForgetMessage;

/** What a worker is started with. */
export interface WorkerSetup {
  readonly worker: number;
  readonly memory: WebAssembly.Memory;
  readonly control: SharedArrayBuffer;
  readonly runtime: WebAssembly.Module;
  /** Whether it says, too, that it woke the host. */
  readonly saysSignals: boolean;
  /** How many workers there are, and how many of them may look for the next phase for a while before they go to sleep. */
  readonly workers: number;
  readonly lingering: number;
}

/** What a worker tells the host. */
export type WorkerMessage =
  | { readonly kind: 'ready' | 'signal' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Functions of the runtime module. */
export interface Runtime {
  /** A length now: `min(limit, max(0, memory[count] − minus))`, or the limit where count is 0. */
  length(count: number, minus: number, limit: number): number;
}

/** Whether a phase is shut by the word at an address; none is by the address 0. */
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
