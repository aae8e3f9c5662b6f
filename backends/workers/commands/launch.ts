import type { SymbolicUniform } from '../../../primitives/columns/symbolic.ts';
import type { ArrayBinding, Cell } from '../../../primitives/contract/backend.ts';
import type { FunctionBody } from '../wasm/wasm-encoder.ts';

/** Turns the buffers of a launch into addresses. */
export interface Addresses {
  /** The address of a word of a buffer, from which at least `words` words must follow. */
  of(cell: Cell, words: number): number;
  /** The address of the first element of an array with elements of `bytes` bytes. */
  ofArray(binding: ArrayBinding, bytes: number): number;
  /** The word for a uniform that differs from call to call; missing if there are no such uniforms. */
  ofUniform?(uniform: SymbolicUniform): number;
}

/** An extent in words: the address of a count or 0, the number to subtract, and the limit. */
export type LengthWords = readonly [number, number, number];

/** A parallel loop over chunks. The next phase starts when all chunks are done. */
export interface Phase {
  /** Number of the function to call for every chunk. */
  readonly run: number;
  readonly length: LengthWords;
  /** There are ⌈length ÷ chunkSize⌉ chunks … */
  readonly chunkSize: number;
  /** … and at least `minimum`. */
  readonly minimum: number;
  /** Byte offset of its arguments in the block; 0 by default. */
  readonly offset?: number;
  /** The address of a word; if the word is not 0, the phase has no chunks. If missing or 0, the phase has no gate. */
  readonly gate?: number;
}

/** A unit of work for the queue: phases that share one block of argument words. */
export interface Submission {
  readonly words: ArrayLike<number>;
  readonly phases: readonly Phase[];
  /** Called before the words are written to their address; may change them and the phases. */
  placed?(address: number): void;
}

/** A command in the form that the queue takes. */
export interface Launch extends Submission {
  readonly words: readonly number[];
  readonly phases: readonly Phase[];
  /** Present if its last phase may run tile by tile with those of other commands. */
  readonly tiles?: Tiles;
}

/** The data for fusing a launch. */
export interface Tiles {
  /** The key of its kernel, which has one function for every phase. */
  readonly key: string;
  build(): readonly FunctionBody[];
  /** Whether its tiles may have any size. */
  readonly anySize: boolean;
  /** The memory that it reads and writes, except its private memory. */
  uses(): readonly Use[];
}

/** A range of addresses that a launch uses. */
export interface Use {
  readonly from: number;
  readonly to: number;
  readonly writes: boolean;
  /** Whether index i uses only the word at `from + 4 · i`. */
  readonly inPlace: boolean;
  /** Whether every index overwrites its word unconditionally. */
  readonly whole: boolean;
  /** Index of the argument word that holds `from`, if any. */
  readonly word: number | undefined;
}

/** Compiled functions, as numbers for the queue. */
export interface Kernel {
  readonly functions: readonly number[];
}

/** The services that kernels use. */
export interface Launcher {
  readonly addresses: Addresses;
  /** Number of workers that may take part; 1 if the launch runs on the calling thread. */
  readonly workers: number;
  /** The kernel for a key, compiled at the first request. */
  compile(key: string, build: () => readonly FunctionBody[]): Kernel;
  /** Memory that belongs only to this launch; returns its address. */
  scratch(bytes: number): number;
}

const LARGEST_CHUNK = 65536;
const SMALLEST_CHUNK = 1024;
const CHUNKS_PER_WORKER = 8;

/**
 * Elements per chunk: at most 64K, so that V8 can optimize kernels between two calls and an abort takes effect soon;
 * fewer if each worker would not get several chunks.
 */
export function chunkSizeOf(elements: number, workers: number, largest: number = LARGEST_CHUNK): number {
  const even = Math.ceil(elements / (workers * CHUNKS_PER_WORKER) / SMALLEST_CHUNK) * SMALLEST_CHUNK;
  return Math.max(SMALLEST_CHUNK, Math.min(largest, even));
}

/** A phase of a fixed number of chunks. */
export function fixedPhase(run: number, chunks: number): Phase {
  return { run, length: [0, 0, chunks], chunkSize: 1, minimum: 0 };
}
